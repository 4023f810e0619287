package sink

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/engines"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/match"
)

// A Kind says how the options of the engines for one sort of broker differ.
type Kind struct {
	Topic    string          // name of the option with the topic
	Default  string          // topic without that option
	MaxTopic int             // of a topic, in bytes
	Schemes  map[string]bool // those of addresses, and whether they mean TLS
	Plain    string          // scheme of an address without one
	Port     string          // of an address without one; with TLS it is PortTLS
	PortTLS  string
	Own      []string // names of further options
	// Clean returns a value as a part of a topic.
	Clean func(value string) string
	// Check returns the error of a topic that no broker takes.
	Check func(topic string) error
}

// Options are the options that all sinks have.
type Options struct {
	Servers      []string // host:port
	User         string
	PasswordFile string
	TLS          *TLS // nil means a connection without TLS
	MaxMessage   int  // bytes of a message
	MaxEvents    int  // limit of the queue
	MaxBytes     int  // limit of the queue

	tags     []*match.Glob
	topic    topic
	maxTopic int
	clean    func(string) string
}

// Limits of options and files.
const (
	defaultMessage = 1_000_000
	defaultEvents  = 16384
	defaultBytes   = 64 << 20
	passwordLimit  = 64 << 10
)

// Parse parses the options of a sink.
//
//	servers       list of addresses; needed. None has a password
//	topic         (subject for NATS) template with {tag}, {id} and {master}
//	tags          globs of the tags of the events to send; all without them
//	user          name of the user; needs password_file
//	password_file file of the user's password, read for each connection
//	tls           whether connections use TLS; any of the next three means that they do
//	tls_ca        file of the CAs that sign servers' certificates, instead of those of the system
//	tls_cert      file of a certificate for servers that demand one, with tls_key
//	max_message   bytes of a message; larger ones are dropped and counted
//	max_events    limit of events that wait
//	max_bytes     limit of their size
func Parse(h engines.Host, options *data.Map, k Kind) (*Options, error) {
	names := append([]string{"servers", k.Topic, "tags", "user", "password_file", "tls", "tls_ca", "tls_cert",
		"tls_key", "max_message", "max_events", "max_bytes"}, k.Own...)
	if err := engines.Only(options, names...); err != nil {
		return nil, err
	}
	o := &Options{clean: k.Clean, maxTopic: k.MaxTopic}
	errs := []error{o.parseLogin(options), o.parseServers(options, k), o.parseLimits(options)}
	tags, err := engines.Texts(options, "tags")
	errs = append(errs, err)
	for _, tag := range tags {
		o.tags = append(o.tags, match.CompileGlob(tag))
	}
	return o, errors.Join(append(errs, o.parseTopic(h, options, k))...)
}

// parseTopic parses the option of the topic.
func (o *Options) parseTopic(h engines.Host, options *data.Map, k Kind) error {
	text, err := engines.Text(options, k.Topic, k.Default)
	if err != nil {
		return err
	}
	t, err := parseTopic(text)
	if err == nil {
		o.topic = t.withMaster(strings.ReplaceAll(h.ID, "/", "_"), k.Clean)
		err = k.Check(o.topic.of("tag", "id", k.Clean))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", k.Topic, err)
	}
	return nil
}

// Optional returns an option that is text, or "".
func Optional(options *data.Map, name string) (string, error) {
	if options.Value(name) == nil {
		return "", nil
	}
	return engines.Text(options, name, "")
}

// Flag returns an option that is true or false.
func Flag(options *data.Map, name string) (bool, error) {
	v, ok := options.Value(name).(bool)
	if !ok && options.Value(name) != nil {
		return false, fmt.Errorf("%s: expected true or false, not %s", name, data.Repr(options.Value(name)))
	}
	return v, nil
}

// parseLogin parses the options of the user and of TLS.
func (o *Options) parseLogin(options *data.Map) error {
	var t TLS
	var errs [6]error
	o.User, errs[0] = Optional(options, "user")
	o.PasswordFile, errs[1] = Optional(options, "password_file")
	t.CA, errs[2] = Optional(options, "tls_ca")
	t.Cert, errs[3] = Optional(options, "tls_cert")
	t.Key, errs[4] = Optional(options, "tls_key")
	on, err := Flag(options, "tls")
	errs[5] = err
	if on || t != (TLS{}) {
		o.TLS = &t
	}
	all := errors.Join(errs[:]...)
	switch {
	case (o.User == "") != (o.PasswordFile == ""):
		all = errors.Join(all, errors.New("user and password_file: one needs the other"))
	case (t.Cert == "") != (t.Key == ""):
		all = errors.Join(all, errors.New("tls_cert and tls_key: one needs the other"))
	case options.Value("tls") == false && o.TLS != nil:
		all = errors.Join(all, errors.New("tls: it is false, but there are options of TLS"))
	}
	return all
}

// parseLimits parses the limits of messages and of the queue.
func (o *Options) parseLimits(options *data.Map) error {
	var errs [3]error
	o.MaxMessage, errs[0] = number(options, "max_message", defaultMessage, 1000, 64<<20)
	o.MaxEvents, errs[1] = number(options, "max_events", defaultEvents, 1, 10_000_000)
	o.MaxBytes, errs[2] = number(options, "max_bytes", defaultBytes, 1<<20, 16<<30)
	return errors.Join(errs[:]...)
}

func number(options *data.Map, name string, otherwise, least, most int64) (int, error) {
	v := options.Value(name)
	if v == nil {
		return int(otherwise), nil
	}
	n, ok := v.(int64)
	if !ok || n < least || n > most {
		return 0, fmt.Errorf("%s: expected a number from %d to %d, not %s", name, least, most, data.Repr(v))
	}
	return int(n), nil
}

// wants reports whether events with a tag are sent. The notice of dropped events always is.
func (o *Options) wants(tag string) bool {
	return len(o.tags) == 0 || tag == eventbus.DroppedTag ||
		slices.ContainsFunc(o.tags, func(g *match.Glob) bool { return g.Match(tag) })
}

// Shown returns the servers for the log.
func (o *Options) Shown() string { return strings.Join(o.Servers, ", ") }

// Password reads the password of the user, "" without a user.
func (o *Options) Password() (string, error) {
	if o.PasswordFile == "" {
		return "", nil
	}
	text, err := readFile(o.PasswordFile)
	if err != nil {
		return "", fmt.Errorf("read password_file: %w", err)
	}
	return strings.TrimRight(string(text), "\r\n"), nil
}

// readFile reads a small file.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it is only read
	text, err := io.ReadAll(io.LimitReader(f, passwordLimit+1))
	if err == nil && len(text) > passwordLimit {
		err = fmt.Errorf("%s has more than %d bytes", path, passwordLimit)
	}
	return text, err
}

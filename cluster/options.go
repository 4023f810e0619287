package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
)

// Options describe a cluster and how a master reaches it.
type Options struct {
	Servers []string // addresses such as nats://10.0.0.1:4222; at least one
	Name    string   // of the cluster: letters, digits, - and _, at most 32; "" means salt
	Member  string   // id of this master; each member has its own
	Domain  string   // JetStream domain; "" means that of the server

	Credentials    string // file of a user's JWT and seed
	NKey           string // file of an nkey's seed
	User, Password string
	TLS            TLS

	Replicas int    // of each stream: 1 to 5; 0 means 3
	KeyFile  string // the cluster key, see NewKey

	// AllowOldServer accepts several replicas on servers before 2.10.29. They can lose acknowledged
	// messages when a server stands still for seconds.
	AllowOldServer bool

	PublicationsBytes int64 // limit of the stream of publications; 0 means 256 MiB
	ReturnsBytes      int64 // limit of the stream of returns, and of that of chunks; 0 means 1 GiB
	MaxReturn         int   // limit of one return in bytes; 0 means 64 MiB

	// LocalEvents are globs of the tags of events that stay on this member.
	LocalEvents []string

	// LeaseTime is how long a lease lasts without a renewal; 0 means 10 s, the least is 1 s. It must
	// be the same on all members.
	LeaseTime time.Duration

	Log logrus.FieldLogger // nil means no log
}

// TLS names the files of a connection with TLS. With the zero TLS, addresses that begin with tls://
// use the CAs of the system.
type TLS struct {
	CA        string // CAs that sign the servers' certificates
	Cert, Key string // certificate for servers that demand one
}

const (
	defaultName     = "salt"
	defaultReplicas = 3
	maxReplicas     = 5
	defaultLease    = 10 * time.Second
	leastLease      = time.Second
	maxMember       = 255
)

func (o Options) withDefaults() Options {
	if o.Name == "" {
		o.Name = defaultName
	}
	if o.Replicas == 0 {
		o.Replicas = defaultReplicas
	}
	if o.PublicationsBytes == 0 {
		o.PublicationsBytes = 256 << 20
	}
	if o.ReturnsBytes == 0 {
		o.ReturnsBytes = 1 << 30
	}
	if o.MaxReturn == 0 {
		o.MaxReturn = 64 << 20
	}
	if o.LeaseTime == 0 {
		o.LeaseTime = defaultLease
	}
	return o
}

// check returns the error of options that no server can satisfy.
func (o Options) check() error {
	switch {
	case len(o.Servers) == 0:
		return errors.New("cluster: no servers are given")
	case !validName(o.Name):
		return fmt.Errorf("cluster: the name %q is not 1 to 32 letters, digits, - and _", o.Name)
	case o.Member == "" || len(o.Member) > maxMember:
		return fmt.Errorf("cluster: the member id has %d bytes, allowed are 1 to %d", len(o.Member), maxMember)
	case o.Replicas < 1 || o.Replicas > maxReplicas:
		return fmt.Errorf("cluster: %d replicas, allowed are 1 to %d", o.Replicas, maxReplicas)
	case o.KeyFile == "":
		return errors.New("cluster: no key file is given")
	case o.LeaseTime < leastLease:
		return fmt.Errorf("cluster: leases of %s, the least is %s", o.LeaseTime, leastLease)
	}
	return nil
}

// proofs returns the options of the connection that prove who the master is.
func (o Options) proofs() []nats.Option {
	var all []nats.Option
	if o.Credentials != "" {
		all = append(all, nats.UserCredentials(o.Credentials))
	}
	if o.NKey != "" {
		all = append(all, func(to *nats.Options) error {
			set, err := nats.NkeyOptionFromSeed(o.NKey)
			if err != nil {
				return err
			}
			return set(to)
		})
	}
	if o.User != "" {
		all = append(all, nats.UserInfo(o.User, o.Password))
	}
	if o.TLS.CA != "" {
		all = append(all, nats.RootCAs(o.TLS.CA))
	}
	if o.TLS.Cert != "" {
		all = append(all, nats.ClientCert(o.TLS.Cert, o.TLS.Key))
	}
	return all
}

// addresses returns the servers without passwords.
func (o Options) addresses() string {
	var all []string
	for _, s := range o.Servers {
		all = append(all, shown(s))
	}
	return strings.Join(all, ", ")
}

// shown returns an address without its password or token.
func shown(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "(no address)" // the error and the text may have the password
	}
	if _, has := u.User.Password(); u.User != nil && !has {
		u.User = url.User("xxxxx")
	}
	return u.Redacted()
}

func validName(name string) bool {
	return regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`).MatchString(name)
}

// Words of the option cluster.
const (
	wordServers     = "servers"
	wordTLS         = "tls"
	wordCredentials = "credentials"
	wordNKey        = "nkey"
	wordUser        = "user"
)

// Parse reads the master's option cluster, a mapping:
//
//	cluster:
//	  servers: [nats://10.0.0.1:4222, nats://10.0.0.2:4222, nats://10.0.0.3:4222]
//	  name: salt                          # default salt
//	  member: master1                     # default: the id of the master, set by the caller
//	  key: /etc/salt/pki/cluster.key      # the cluster key.
//	  replicas: 3                         # default 3
//	  credentials: /etc/salt/nats.creds   # or nkey: FILE, or user: and password:.
//	  tls: {ca: FILE, cert: FILE, key: FILE}
//	  domain: hub                         # JetStream domain.
//	  publications_max_bytes: 268435456   # limits on the servers' disks.
//	  returns_max_bytes: 1073741824
//	  return_max_bytes: 67108864          # limit of one return, as it crosses the cluster.
//	  lease_seconds: 10
//	  local_events: ["salt/stats/*"]      # globs of the tags of events that stay on this member.
//	  allow_old_server: False             # several replicas on servers before 2.10.29
//
// The error joins a *config.Finding for each fault, all of them at once. Fields that are not set
// keep their zero value; Member is "" then. Files are not read.
func Parse(v any) (Options, error) {
	m, ok := v.(*data.Map)
	if !ok {
		return Options{}, config.Expected("a mapping", v,
			"write servers: [nats://HOST:4222] and key: FILE, indented, below cluster:")
	}
	r := &reader{m: m}
	o := Options{
		Servers:           r.servers(),
		Name:              cmp.Or(r.text("name"), defaultName),
		Member:            r.text("member"),
		Domain:            r.text("domain"),
		Credentials:       r.path(wordCredentials),
		NKey:              r.path(wordNKey),
		User:              r.text(wordUser),
		Password:          r.secret("password"),
		TLS:               r.tls(),
		Replicas:          int(r.number("replicas", 1, maxReplicas)),
		KeyFile:           r.path("key"),
		PublicationsBytes: r.number("publications_max_bytes", 1<<20, 1<<50),
		ReturnsBytes:      r.number("returns_max_bytes", 1<<20, 1<<50),
		MaxReturn:         int(r.number("return_max_bytes", 1<<10, 1<<30)),
		LeaseTime:         time.Duration(r.number("lease_seconds", 1, 3600)) * time.Second,
		LocalEvents:       r.texts("local_events"),
		AllowOldServer:    r.flag("allow_old_server"),
	}
	r.others()
	r.judge(o)
	return o, errors.Join(r.faults...)
}

// A reader takes sub-options from a mapping and collects their faults.
type reader struct {
	m      *data.Map
	known  []string
	faults []error
}

func (r *reader) fault(name string, err error) {
	r.faults = append(r.faults, config.Below(name, err))
}

// get returns a sub-option; None is the same as a missing one.
func (r *reader) get(name string) (any, bool) {
	r.known = append(r.known, name)
	v := r.m.Value(name)
	return v, v != nil
}

func (r *reader) text(name string) string {
	v, ok := r.get(name)
	if !ok {
		return ""
	}
	s, ok := v.(string)
	if !ok || s == "" {
		r.fault(name, config.Expected("a text", v, fmt.Sprintf("write %s: TEXT, in quotes if it is a number", name)))
	}
	return s
}

// secret is text for a value that no error may quote.
func (r *reader) secret(name string) string {
	v, ok := r.get(name)
	if !ok {
		return ""
	}
	s, ok := v.(string)
	if !ok || s == "" {
		r.fault(name, fmt.Errorf("expected a text that is not empty; write %s: TEXT, in quotes if it is a number", name))
	}
	return s
}

// texts reads a list of texts.
func (r *reader) texts(name string) []string {
	v, ok := r.get(name)
	if !ok {
		return nil
	}
	list, ok := v.([]any)
	var all []string
	for _, entry := range list {
		s, isText := entry.(string)
		ok = ok && isText && s != ""
		all = append(all, s)
	}
	if !ok {
		r.fault(name, config.Expected("a list of texts", v, fmt.Sprintf("write %s: [TEXT, TEXT]", name)))
	}
	return all
}

func (r *reader) path(name string) string {
	v, ok := r.get(name)
	if !ok {
		return ""
	}
	s, ok := v.(string)
	if !ok || !strings.HasPrefix(s, "/") {
		r.fault(name, config.Expected("the absolute path of a file", v, fmt.Sprintf("write %s: /PATH", name)))
	}
	return s
}

func (r *reader) flag(name string) bool {
	v, ok := r.get(name)
	if !ok {
		return false
	}
	b, ok := v.(bool)
	if !ok {
		r.fault(name, config.Expected("True or False", v, fmt.Sprintf("write %s: True, or leave it out", name)))
	}
	return b
}

func (r *reader) number(name string, least, most int64) int64 {
	v, ok := r.get(name)
	if !ok {
		return 0
	}
	n, ok := v.(int64)
	if !ok || n < least || n > most {
		r.fault(name, config.Expected(fmt.Sprintf("a whole number from %d to %d", least, most), v,
			fmt.Sprintf("write %s: NUMBER, or leave it out for the default", name)))
		return 0
	}
	return n
}

// servers reads the addresses. A lone text is a list of one.
func (r *reader) servers() []string {
	const example = "write servers: [nats://HOST:4222, nats://HOST2:4222]"
	v, ok := r.get(wordServers)
	if !ok {
		r.fault(wordServers, &config.Finding{Text: "is missing", Suggestion: example})
		return nil
	}
	list, ok := v.([]any)
	if one, isText := v.(string); isText {
		list, ok = []any{one}, true
	}
	if !ok || len(list) == 0 {
		r.fault(wordServers, config.Expected("a list of addresses", v, example))
		return nil
	}
	var all []string
	for i, entry := range list {
		address, err := serverAddress(entry)
		if err != nil {
			if _, isList := v.([]any); isList {
				err = config.Below(config.Entry{Index: i, Value: entry}, err)
			}
			r.fault(wordServers, err)
			continue
		}
		all = append(all, address)
	}
	return all
}

func serverAddress(v any) (string, error) {
	const example = "write nats://HOST:4222, or tls://HOST:4222"
	s, ok := v.(string)
	if !ok {
		return "", config.Expected("an address", v, example)
	}
	if !strings.Contains(s, "://") {
		s = "nats://" + s
	}
	u, err := url.Parse(s)
	if err != nil || u.Hostname() == "" {
		return "", &config.Finding{Text: "is no address of a server", Suggestion: example}
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return "", &config.Finding{Text: "has no port from 1 to 65535", Suggestion: example}
		}
	}
	switch u.Scheme {
	case "nats", "tls", "ws", "wss":
		return s, nil
	}
	return "", config.NoSuch("scheme", u.Scheme, []string{"nats", "tls", "ws", "wss"}, nil)
}

func (r *reader) tls() TLS {
	v, ok := r.get(wordTLS)
	if !ok {
		return TLS{}
	}
	m, ok := v.(*data.Map)
	if !ok {
		r.fault(wordTLS, config.Expected("a mapping of files", v, "write tls: {ca: FILE, cert: FILE, key: FILE}"))
		return TLS{}
	}
	files := &reader{m: m}
	t := TLS{CA: files.path("ca"), Cert: files.path("cert"), Key: files.path("key")}
	files.others()
	if (t.Cert == "") != (t.Key == "") {
		files.faults = append(files.faults, &config.Finding{Text: "cert and key belong together",
			Suggestion: "write both, or neither"})
	}
	for _, err := range files.faults {
		r.fault(wordTLS, err)
	}
	return t
}

// others reports unknown sub-options.
func (r *reader) others() {
	for key := range r.m.All() {
		name := data.Str(key)
		found := false
		for _, k := range r.known {
			found = found || k == name
		}
		if !found {
			r.fault(name, config.NoSuch("option", name, r.known, nil))
		}
	}
}

// judge reports faults that concern several sub-options, or what only this package knows.
func (r *reader) judge(o Options) {
	if o.Name != "" && !validName(o.Name) {
		r.fault("name", &config.Finding{Text: "is not 1 to 32 letters, digits, - and _",
			Suggestion: "NATS does not allow others in names of streams"})
	}
	if len(o.Member) > maxMember {
		r.fault("member", &config.Finding{Text: fmt.Sprintf("has more than %d bytes", maxMember)})
	}
	if v, ok := r.get("key"); !ok && v == nil {
		r.fault("key", &config.Finding{Text: "is missing",
			Suggestion: "write key: /etc/salt/pki/cluster.key, a file that all members have"})
	}
	proofs := 0
	for _, set := range []bool{o.Credentials != "", o.NKey != "", o.User != "" || o.Password != ""} {
		if set {
			proofs++
		}
	}
	if proofs > 1 {
		r.faults = append(r.faults, &config.Finding{Text: "several of credentials, nkey and user are set",
			Suggestion: "leave one"})
	}
	if (o.User == "") != (o.Password == "") {
		r.faults = append(r.faults, &config.Finding{Text: "user and password belong together",
			Suggestion: "write both, or neither"})
	}
	if o.Replicas == 2 || o.Replicas == 4 {
		r.fault("replicas", config.Doubt(&config.Finding{
			Text:       fmt.Sprintf("%d replicas survive no more losses than %d", o.Replicas, o.Replicas-1),
			Suggestion: "write 1, 3 or 5"}))
	}
}

// Package client gives orders to a master on the same host, as the command line does: it proves its user by the key
// file in the master's cache, publishes on the request port and reads the answers from the event bus
// (salt/client/__init__.py, LocalClient). The master may be ours or Salt's.
//
//	c, err := client.Open(ctx, client.Options{...})
//	job, err := c.Publish(ctx, client.Request{Target: "*", Kind: "glob", Fun: "test.ping"})
//	for result := range c.Results(ctx, job, client.Wait{...}) { … }
//
// Open connects to the bus before anything is published, so that no answer is missed.
package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/transport"
)

// Errors that callers decide on. Their texts are those that Salt prints.
var (
	// ErrNotAuthenticated is returned when the master does not accept the user's key.
	ErrNotAuthenticated = errors.New("Authentication error occurred.") //nolint:staticcheck // Salt's text
	// ErrNotAuthorized is returned when the user may not do what was asked.
	ErrNotAuthorized = errors.New("Authorization error occurred.") //nolint:staticcheck // Salt's text
	// ErrNoMaster is returned when no master answers on this host.
	ErrNoMaster = errors.New("The salt master could not be contacted. Is master running?") //nolint:staticcheck // Salt's text
	// ErrTimeout is returned when the master does not answer in time.
	ErrTimeout = errors.New("Salt request timed out. The master is not responding. You may need to run your command with `--async` in order " + //nolint:staticcheck,lll // Salt's text
		"to bypass the congested event bus. With `--async`, the CLI tool will print the job id (jid) and exit immediately without listening for " +
		"responses. You can then use `salt-run jobs.lookup_jid` to look up the results of the job in the job cache later.")
	// ErrKey is wrapped by what Publish returns when the caller's key file cannot be read.
	ErrKey = errors.New("no key to prove the user with")
)

// Options say which master a [Local] speaks to.
type Options struct {
	CacheDir string           // of the master; holds the key files
	SockDir  string           // of the master
	Sockets  eventbus.Sockets // of the master's bus; zero means those in SockDir
	User     string           // who the master runs for
	Caller   string           // who asks: the name of the running user
	Sudo     string           // who called sudo; may be empty
	Out      transport.Requester
	Timeout  time.Duration // of one request; 0 means 5 s
	Log      logrus.FieldLogger
}

// A Local gives orders to the master on this host. One goroutine at a time may use it.
type Local struct {
	opts   Options
	events *eventbus.Client
	login  *data.Map // proves the user in place of the key file
}

// Open connects to the master's event bus. The error wraps ErrNoMaster when nobody listens there.
func Open(ctx context.Context, o Options) (*Local, error) {
	if o.Timeout <= 0 {
		o.Timeout = 5 * time.Second
	}
	if o.Sockets == (eventbus.Sockets{}) {
		o.Sockets = eventbus.MasterSockets(o.SockDir)
	}
	l := &Local{opts: o}
	if err := l.listen(ctx); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoMaster, err)
	}
	return l, nil
}

// listen connects to the bus, in place of an earlier connection.
func (l *Local) listen(ctx context.Context) error {
	events, err := eventbus.Dial(ctx, l.opts.Sockets, eventbus.ClientOptions{
		Subscribe: eventbus.SubscribeOptions{Name: "client", Prefixes: []string{eventbus.Tagify("job") + "/", eventbus.Tagify("batch") + "/"}},
	})
	if err != nil {
		return err
	}
	if l.events != nil {
		l.events.Close()
	}
	l.events = events
	return nil
}

// Close ends the connection to the bus.
func (l *Local) Close() error { return l.events.Close() }

// A Request is a job to be published.
type Request struct {
	Target  any // text or []any
	Kind    string
	Fun     any // text or []any
	Arg     []any
	Ret     string
	JID     string
	Kwargs  *data.Map     // options such as metadata, ret_config, nocache
	Timeout time.Duration // sent as Salt's clients do
	command string        // of the master; empty means publish
}

// A Job is one that was published.
type Job struct {
	ID      job.ID
	Minions []string // expected to return
	Missing []string // named, but without an accepted key
	// Absent are those of Minions that had no connection when the job was sent. Told says whether the master tells of
	// them, as only those of ours do.
	Absent []string
	Told   bool
	// Queued are those of Absent for which the master keeps the job, until the time Expires.
	Queued  []string
	Expires time.Time
	request Request
}

// Publish sends a request and returns the job. When the master finds nobody to give it to, the error is a
// *NoMinionsError; others wrap ErrNotAuthenticated, ErrNotAuthorized, ErrKey or ErrTimeout.
func (l *Local) Publish(ctx context.Context, r Request) (*Job, error) {
	key, user, err := l.credentials()
	if err != nil {
		return nil, err
	}
	j, err := l.publishAs(ctx, r, key, user)
	if !errors.Is(err, ErrNotAuthenticated) {
		return j, err
	}
	fresh, _, keyErr := l.credentials() // a master that was started anew has written another
	if keyErr != nil || fresh == key {
		return nil, err
	}
	return l.publishAs(ctx, r, fresh, user)
}

func (l *Local) publishAs(ctx context.Context, r Request, key, user string) (*Job, error) {
	reply, err := l.send(ctx, r, key, user)
	if err != nil {
		return nil, err
	}
	m, ok := reply.(*data.Map)
	if err := refused(m); ok && err != nil {
		return nil, err
	}
	switch {
	case r.command == publishBatch && !data.Truth(m.Value("batch")):
		return nil, ErrNoBatches
	case !ok:
		return nil, fmt.Errorf("publish: the master answers %q", data.Str(reply))
	}
	j := &Job{ID: job.ID(m.Text("jid")), Minions: data.TextsOf(m.Value("minions")), Missing: data.TextsOf(m.Value("missing")), request: r,
		Absent: data.TextsOf(m.Value("absent")), Told: m.Has("absent"), Queued: data.TextsOf(m.Value("queued"))}
	if until, ok := m.Value("queued_until").(int64); ok {
		j.Expires = time.Unix(until, 0)
	}
	if len(j.Minions) == 0 {
		return nil, &NoMinionsError{Text: NobodyMatched}
	}
	return j, nil
}

// refused reads the error in a reply. Salt answers in two forms.
func refused(m *data.Map) error {
	switch e := m.Value("error").(type) {
	case string:
		return &NoMinionsError{Text: e}
	case *data.Map:
		switch e.Text("name") {
		case "AuthenticationError":
			return ErrNotAuthenticated
		case "AuthorizationError":
			return ErrNotAuthorized
		}
		return errors.New(e.Text("message"))
	}
	return nil
}

// NobodyMatched is the text of a NoMinionsError where the master does not say why.
const NobodyMatched = "no minions matched"

// NoMinionsError is returned by Publish when the master finds nobody to give the job to.
type NoMinionsError struct {
	Text string // as the master says it
}

func (e *NoMinionsError) Error() string { return e.Text }

// NotRecorded reports whether there are minions to give the job to, and the master could not keep it.
func (e *NoMinionsError) NotRecorded() bool {
	return strings.HasPrefix(e.Text, "The job was not published since it cannot be recorded")
}

func (l *Local) send(ctx context.Context, r Request, key, user string) (any, error) {
	whole := ctx
	ctx, cancel := context.WithTimeout(ctx, max(l.opts.Timeout, r.Timeout))
	defer cancel()
	arg := r.Arg
	if arg == nil {
		arg = []any{}
	}
	load := data.NewMap("cmd", cmp.Or(r.command, "publish"), "tgt", r.Target, "fun", r.Fun, "arg", arg, "key", key, "tgt_type", r.Kind,
		"ret", r.Ret, "timeout", int64(max(r.Timeout, time.Second)/time.Second), "jid", r.JID)
	if kwargs := l.kwargs(r); kwargs.Len() > 0 {
		load.Set("kwargs", kwargs)
	}
	load.Set("user", user)
	reply, err := channel.Clear(ctx, l.opts.Out, load)
	if errors.Is(err, context.DeadlineExceeded) && whole.Err() == nil {
		return nil, ErrTimeout
	}
	return reply, err
}

// credentials returns the key and the name of the running user; no key where a login stands in for it.
func (l *Local) credentials() (key, user string, err error) {
	key, user, err = l.opts.Key()
	if l.login.Len() > 0 {
		return "", user, nil
	}
	return key, user, err
}

// Key reads the key file of Caller in CacheDir, and returns the name under which the master knows who holds it
// (salt/client/__init__.py, __get_user and __read_master_key). The error wraps ErrKey; the name is returned with it. It looks at
// CacheDir, Caller, User and Sudo alone.
func (o Options) Key() (key, user string, err error) {
	name := o.Caller
	user = name
	if name == "root" || name == o.User {
		name = o.User
		if o.Sudo != "" && o.Caller == "root" {
			user = "sudo_" + o.Sudo
		}
	}
	file := filepath.Join(o.CacheDir, "."+strings.ReplaceAll(name, `\`, "_")+"_key")
	text, err := os.ReadFile(file)
	if err != nil {
		return "", user, fmt.Errorf("%w: %w", ErrKey, err)
	}
	return string(text), user, nil
}

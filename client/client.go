// Package client publishes jobs on a master on the same host, as the command line does. It proves
// its user with the key file in the master's cache, publishes on the request port, and reads
// returns from the event bus (salt/client/__init__.py, LocalClient). The master may be Brine's or
// Salt's.
//
//	c, err := client.Open(ctx, client.Options{...})
//	job, err := c.Publish(ctx, client.Request{Target: "*", Kind: "glob", Fun: "test.ping"})
//	for result := range c.Results(ctx, job, client.Wait{...}) { … }
//
// Open connects to the bus before anything is published, so that no return is missed.
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

// Errors that callers handle differently. Their texts are Salt's.
var (
	// ErrNotAuthenticated is returned if the master does not accept the user's key.
	ErrNotAuthenticated = errors.New("Authentication error occurred.") //nolint:staticcheck // Salt's text
	// ErrNotAuthorized is returned if the user may not run the job.
	ErrNotAuthorized = errors.New("Authorization error occurred.") //nolint:staticcheck // Salt's text
	// ErrNoMaster is returned if no master is running on this host.
	ErrNoMaster = errors.New("The salt master could not be contacted. Is master running?") //nolint:staticcheck // Salt's text
	// ErrTimeout is returned if the master does not reply in time.
	ErrTimeout = errors.New("Salt request timed out. The master is not responding. You may need to run your command with `--async` in order " + //nolint:staticcheck,lll // Salt's text
		"to bypass the congested event bus. With `--async`, the CLI tool will print the job id (jid) and exit immediately without listening for " +
		"responses. You can then use `salt-run jobs.lookup_jid` to look up the results of the job in the job cache later.")
	// ErrKey is wrapped by errors of Publish if the user's key file cannot be read.
	ErrKey = errors.New("cannot read the key of the user")
)

// Options configure a [Local].
type Options struct {
	CacheDir string           // of the master; holds the key files
	SockDir  string           // of the master
	Sockets  eventbus.Sockets // of the master's bus; zero means those in SockDir
	Share    *eventbus.Share  // connection to the bus; nil means that each Local has its own
	User     string           // user that the master runs as
	Caller   string           // name of the running user
	Sudo     string           // user who called sudo; may be empty
	Out      transport.Requester
	Timeout  time.Duration // of one request; 0 means 5 s
	Log      logrus.FieldLogger
	// Tiers is set for a master with order_masters, behind whose syndics there are further minions.
	Tiers *Tiers
	// Return reads the job cache for returns that the event bus has trimmed. With nil they stay
	// trimmed, as in Salt.
	Return ReturnReader
}

// A Local publishes jobs on the master on this host. It is not safe for concurrent use.
type Local struct {
	opts   Options
	events source
	login  *data.Map // authenticates the user instead of the key file
	whole  int       // bytes that Whole has read
}

// Open connects to the master's event bus. The error wraps ErrNoMaster if no master listens there.
// The caller must Close the Local.
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

// A source returns events of the master's bus.
type source interface {
	Next(ctx context.Context) (eventbus.Event, error)
	Close() error
}

// listen connects to the bus, and closes an earlier connection.
func (l *Local) listen(ctx context.Context) error {
	about := prefixes("job", "batch")
	if l.opts.Tiers != nil {
		about = append(about, syndicPrefix)
	}
	events, err := l.subscribe(ctx, about)
	if err != nil {
		return err
	}
	if l.events != nil {
		l.events.Close()
	}
	l.events = events
	return nil
}

// Limits of the events that wait for a reader of a shared connection.
const (
	sharedEvents = 32 << 10
	sharedBytes  = 32 << 20
)

// prefixes returns the beginnings of the tags of events about some things.
func prefixes(about ...string) []string {
	list := make([]string, len(about))
	for i, word := range about {
		list[i] = eventbus.Tagify(word) + "/"
	}
	return list
}

// subscribe returns a reader of the events whose tags begin with one of the prefixes.
func (l *Local) subscribe(ctx context.Context, prefixes []string) (source, error) {
	o := eventbus.SubscribeOptions{Name: "client", Prefixes: prefixes, Gaps: true}
	if l.opts.Share == nil {
		return dial(ctx, l.opts.Sockets, o)
	}
	o.MaxEvents, o.MaxBytes = sharedEvents, sharedBytes
	events, err := l.opts.Share.Subscribe(ctx, o)
	if err != nil {
		return nil, err
	}
	return events, nil
}

func dial(ctx context.Context, s eventbus.Sockets, o eventbus.SubscribeOptions) (source, error) {
	events, err := eventbus.Dial(ctx, s, eventbus.ClientOptions{Subscribe: o})
	if err != nil {
		return nil, err
	}
	return events, nil
}

// Close closes the connection to the bus.
func (l *Local) Close() error { return l.events.Close() }

// A Request is a job to publish.
type Request struct {
	Target  any // text or []any
	Kind    string
	Fun     any // text or []any
	Arg     []any
	Ret     string
	JID     string
	Kwargs  *data.Map     // options such as metadata, ret_config, nocache
	Timeout time.Duration // sent to the master, as Salt's clients do
	command string        // command of the master; "" means publish
}

// A Job is a published job.
type Job struct {
	ID      job.ID
	Minions []string // expected to return
	Missing []string // named by the target, but without an accepted key
	// Absent are those of Minions that were not connected when the job was sent. Told reports
	// whether the master provides this list; Salt's masters do not.
	Absent []string
	Told   bool
	// Queued are those of Absent for which the master queues the job, until Expires.
	Queued  []string
	Expires time.Time
	// Syndics are connected syndics that still have to name their minions of the job.
	Syndics []string
	// Below are those of Minions that are behind syndics, as far as the master knows.
	Below []string
	// Away are the syndics that were not connected, with those of Minions behind them.
	Away    map[string][]string
	request Request
}

// Publish sends a request and returns the job. If no minion can get the job, the error is a
// *NoMinionsError. Other errors wrap ErrNotAuthenticated, ErrNotAuthorized, ErrKey or ErrTimeout.
func (l *Local) Publish(ctx context.Context, r Request) (*Job, error) {
	key, user, err := l.credentials()
	if err != nil {
		return nil, err
	}
	j, err := l.publishAs(ctx, r, key, user)
	if !errors.Is(err, ErrNotAuthenticated) {
		return j, err
	}
	fresh, _, keyErr := l.credentials() // a restarted master has written a new key
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
	if err := replyError(m); ok && err != nil {
		return nil, err
	}
	switch {
	case r.command == publishBatch && !data.Truth(m.Value("batch")):
		return nil, ErrNoBatches
	case !ok:
		return nil, fmt.Errorf("publish: unexpected reply of the master: %q", data.Str(reply))
	}
	j := &Job{
		ID:      job.ID(m.Text("jid")),
		Minions: data.TextsOf(m.Value("minions")),
		Missing: data.TextsOf(m.Value("missing")),
		request: r,
		Absent:  data.TextsOf(m.Value("absent")),
		Told:    m.Has("absent"),
		Queued:  data.TextsOf(m.Value("queued")),
	}
	if until, ok := m.Value("queued_until").(int64); ok {
		j.Expires = time.Unix(until, 0)
	}
	j.readTiers(m)
	if len(j.Minions) == 0 && (l.opts.Tiers == nil || j.ID == "" || j.reachesNobody()) {
		return nil, &NoMinionsError{Text: NobodyMatched}
	}
	return j, nil
}

// replyError returns the error in a reply, or nil. Salt has two forms.
func replyError(m *data.Map) error {
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

// NobodyMatched is the text of a NoMinionsError if the master gives no reason.
const NobodyMatched = "no minions matched"

// NoMinionsError is returned by Publish if no minion can get the job.
type NoMinionsError struct {
	Text string // the master's reason
}

func (e *NoMinionsError) Error() string { return e.Text }

// Taken reports whether the job was not published because another one has its id.
func (e *NoMinionsError) Taken() bool {
	return e.Text == "Master failed to assign jid" || strings.Contains(e.Text, "another job has this id")
}

// NotRecorded reports whether the job was not published because the master could not record it.
func (e *NoMinionsError) NotRecorded() bool {
	return strings.HasPrefix(e.Text, "The job was not published since it cannot be recorded")
}

// send sends a request with the credentials of the user and returns the reply.
func (l *Local) send(ctx context.Context, r Request, key, user string) (any, error) {
	whole := ctx
	ctx, cancel := context.WithTimeout(ctx, max(l.opts.Timeout, r.Timeout))
	defer cancel()
	arg := r.Arg
	if arg == nil {
		arg = []any{}
	}
	load := data.NewMap("cmd", cmp.Or(r.command, "publish"), "tgt", r.Target,
		"fun", r.Fun, "arg", arg, "key", key, "tgt_type", r.Kind, "ret", r.Ret,
		"timeout", int64(max(r.Timeout, time.Second)/time.Second), "jid", r.JID)
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

// credentials returns the key and the name of the running user. The key is "" if there is a login.
func (l *Local) credentials() (key, user string, err error) {
	if l.login.Len() > 0 {
		_, user = l.opts.names()
		return "", user, nil
	}
	return l.opts.Key()
}

// Key reads the key file of Caller in CacheDir, and returns the name by which the master knows the
// key's owner (salt/client/__init__.py, __get_user and __read_master_key). If the error wraps
// ErrKey, the name is valid too. Key uses only CacheDir, Caller, User and Sudo.
func (o Options) Key() (key, user string, err error) {
	name, user := o.names()
	file := filepath.Join(o.CacheDir, "."+strings.ReplaceAll(name, `\`, "_")+"_key")
	text, err := os.ReadFile(file)
	if err != nil {
		return "", user, fmt.Errorf("%w: %w", ErrKey, err)
	}
	return string(text), user, nil
}

// names returns the name of the key file's owner, and the name by which the master knows them.
func (o Options) names() (name, user string) {
	name = o.Caller
	user = name
	if name == "root" || name == o.User {
		name = o.User
		if o.Sudo != "" && o.Caller == "root" {
			user = "sudo_" + o.Sudo
		}
	}
	return name, user
}

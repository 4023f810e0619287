package runners

import (
	"cmp"
	"context"
	"errors"
	"runtime/debug"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/loader"
)

// A Kind is a group of functions that run on the master.
type Kind string

// The kinds, by the names of Salt's commands.
const (
	Runner Kind = "runner"
	Wheel  Kind = "wheel"
)

// Tag returns the tag of a call's events.
func (k Kind) Tag(jid job.ID) string {
	if k == Runner {
		return eventbus.Tagify("run", string(jid))
	}
	return eventbus.Tagify(string(k), string(jid))
}

// Options configure a Client.
type Options struct {
	Kind      Kind
	Functions *loader.Registry
	// on the master's bus; nil fires nothing
	Fire func(ctx context.Context, tag string, body *data.Map) error
	Keep func(ctx context.Context, done *Done) error // stores a result; nil stores none
	ID   string                                      // the master's id
	// Begin begins the job of a call and returns its context and what ends it; nil does nothing
	Begin func(ctx context.Context) (job context.Context, end func())
	Log   logrus.FieldLogger
}

// A Client calls functions of one kind. Several goroutines may use it.
type Client struct{ o Options }

// New returns a Client.
func New(o Options) *Client { return &Client{o} }

// A Call is one function with its arguments.
type Call struct {
	Fun    string
	Args   []any
	Kwargs *data.Map
	// Low holds the arguments by name instead of Args and Kwargs, as clients of Salt's HTTP
	// interface send them.
	Low  *data.Map
	JID  job.ID
	User string
	Tag  bool // the events carry the tag as a field, as those of wheel calls do
	// Transient results are not stored: pages that renew themselves would fill the job cache.
	Transient bool

	Show  func(suffix string, body *data.Map) // receives each event except new; may be nil
	Print func(text string)                   // prints the function's output; may be nil
}

// Done is a finished call.
type Done struct {
	ID  string // the master's id
	JID job.ID // of the call
	// fields fun, jid, user, fun_args, return and success; also retcode after a fault
	Data *data.Map
}

// Run calls a function and waits for it. It returns the data of the event ret. Errors and panics
// are in the field return, and success is false. The data include the call's secrets, which events
// and stored results omit: see [Veil].
func (c *Client) Run(ctx context.Context, call Call) *data.Map {
	if c.o.Begin != nil {
		var end func()
		ctx, end = c.o.Begin(ctx)
		defer end()
	}
	tag := c.o.Kind.Tag(call.JID)
	d := data.NewMap("fun", string(c.o.Kind)+"."+call.Fun, "jid", string(call.JID))
	if call.Tag {
		d.Set("tag", tag)
	}
	d.Set("user", call.User)
	if call.Transient {
		d.Set("nocache", true) // for those who watch events
	}
	if loader.ScopeOf(ctx) == nil { // a call within another ends with that
		scoped, scope := loader.WithScope(ctx)
		defer func() {
			if err := scope.Close(); err != nil {
				c.o.Log.WithError(err).Warnf("end %s %s", c.o.Kind, call.Fun)
			}
		}()
		ctx = scoped
	}
	run := &Run{ID: call.JID, User: call.User, Tag: tag, fire: c.o.Fire, show: call.Show,
		print: call.Print}
	state := &loader.Context{}
	ctx = loader.WithJob(loader.WithContext(context.WithValue(ctx, runKey{}, run), state),
		data.NewMap("jid", string(call.JID), "user", call.User))
	if err := c.invoke(ctx, run, call, d); err != nil {
		c.fault(call.Fun, err, d)
	} else if !d.Has("success") {
		d.Set("success", succeeded(state, d.Value("return")))
	}
	c.end(ctx, run, d, !call.Transient)
	return d
}

// invoke binds the arguments, fires the first event and calls the function. As in Salt, invalid
// arguments become the result.
func (c *Client) invoke(ctx context.Context, run *Run, call Call, d *data.Map) error {
	f, ok := c.o.Functions.Func(call.Fun)
	if !ok {
		return loader.Execution("%s", c.o.Functions.MissingText(call.Fun))
	}
	args, kwargs := call.Args, call.Kwargs
	if call.Low != nil {
		var err error
		if args, kwargs, err = FromLow(f.Spec(), string(c.o.Kind)+"."+call.Fun,
			call.Low); err != nil {
			return err
		}
	}
	d.Set("fun_args", funArgs(args, kwargs))
	run.veil = NewVeil(f.Spec(), args, kwargs)
	c.fireEvent(ctx, run, "new", d)
	v, err := c.call(ctx, call.Fun, args, kwargs)
	switch kind := loader.KindOf(err); {
	// SaltInvocationError is a TypeError
	case kind == loader.KindType, kind == loader.KindInvocation:
		v = InvalidText(f.Spec(), err)
		if f.Spec().Strict {
			d.Set("success", false)
			d.Set("retcode", int64(1))
		}
	case err != nil:
		return err
	}
	d.Set("return", v)
	return nil
}

// InvalidText returns Salt's text about a call whose arguments a function does not take.
func InvalidText(spec *loader.Spec, err error) string {
	return "\nPassed invalid arguments: " + err.Error() + "\n\nUsage:\n" + cmp.Or(spec.Docstring(), "None")
}

func (c *Client) call(
	ctx context.Context, fun string, args []any, kwargs *data.Map,
) (v any, err error) {
	defer func() {
		if p := recover(); p != nil {
			c.o.Log.Errorf("%s %s: panic: %v\n%s", c.o.Kind, fun, p, debug.Stack())
			v, err = nil, loader.Exception("RuntimeError", "%v", p)
		}
	}()
	return c.o.Functions.Invoke(ctx, fun, args, kwargs)
}

// fault stores an error in the data of a call. Since Salt 3007 there is a return code.
func (c *Client) fault(fun string, err error, d *data.Map) {
	text := "Exception occurred in " + string(c.o.Kind) + " " + fun + ": " +
		loader.Traceback(asPython(err))
	var unable *UnableError
	if errors.As(err, &unable) {
		text = unable.Text
	}
	d.Set("return", text)
	d.Set("success", false)
	d.Set("retcode", int64(1))
}

// asPython converts an error other than *loader.Error to the class that Salt would raise.
func asPython(err error) error {
	var own *loader.Error
	if errors.As(err, &own) {
		return err
	}
	return loader.Execution("%w", err)
}

// An UnableError is returned by a function that cannot work here. Its text is the result, without a
// traceback (NotImplemented of salt/exceptions.py).
type UnableError struct{ Text string }

func (e *UnableError) Error() string { return e.Text }

// end stores the result, if it is to be kept, and fires the last event.
func (c *Client) end(ctx context.Context, run *Run, d *data.Map, keep bool) {
	ctx = context.WithoutCancel(ctx) // an interrupted call also has a result
	if keep && c.o.Keep != nil {
		if err := c.o.Keep(ctx, &Done{ID: c.o.ID, JID: run.ID,
			Data: run.veil.redacted(d)}); err != nil {
			c.o.Log.WithError(err).Error("Could not store job cache info. Job details for this run may be unavailable.")
		}
	}
	c.fireEvent(ctx, run, "ret", d)
	if run.show != nil {
		run.show("ret", d)
	}
	c.o.Log.Infof("Runner completed: %s", run.ID)
}

// fireEvent fires one of the two events of a call. A missing master is no error.
func (c *Client) fireEvent(ctx context.Context, run *Run, suffix string, d *data.Map) {
	if run.fire == nil {
		return
	}
	if err := run.fire(ctx, eventbus.JoinTag(run.Tag, suffix), run.veil.redacted(d)); err != nil {
		c.o.Log.WithError(err).Debugf("fire event %s/%s", run.Tag, suffix)
	}
}

// funArgs returns the arguments in the form of events.
func funArgs(args []any, kwargs *data.Map) []any {
	list := append([]any{}, args...)
	if kwargs.Len() > 0 {
		list = append(list, kwargs)
	}
	return list
}

// succeeded reports whether a finished call counts as a success: its return code is 0, and if it
// returned states under data, none of them has failed (salt/utils/state.py, check_result).
func succeeded(state *loader.Context, v any) bool {
	code, _ := state.Get("retcode")
	m, _ := v.(*data.Map)
	if inner, ok := m.Get("data"); ok {
		return checkResult(inner)
	}
	return !data.Truth(code)
}

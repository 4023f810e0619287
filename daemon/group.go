package daemon

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/thejerf/suture/v4"

	"github.com/brineproject/brine/internal/loglimit"
)

// A Part is a named child of a Group.
type Part struct {
	Name string
	// Vital parts, such as a port, cannot be restarted: their failure ends the group.
	Vital bool
	// Run works until ctx ends. It calls ready when later parts may start; an error before that
	// ends the group. Returning nil before ctx ends means that the part has finished its work. Run
	// is called again after an error or a panic, unless the part is vital; so it must not depend on
	// anything that its last call has used up, such as a closed channel.
	Run func(ctx context.Context, ready func()) error
}

// Fatal marks an error that ends the group even if the part is not vital.
func Fatal(err error) error { return &fatal{err} }

type fatal struct{ error }

func (f *fatal) Unwrap() error { return f.error }

// Always makes the Run of a part that is ready at once.
func Always(run func(context.Context) error) func(context.Context, func()) error {
	return func(ctx context.Context, ready func()) error {
		ready()
		return run(ctx)
	}
}

// GroupOptions configure a Group.
type GroupOptions struct {
	Name string
	Stop time.Duration // total time for all parts to end; the rest is abandoned
	Log  logrus.FieldLogger
}

// A Group runs and supervises parts. A part that fails or panics is restarted, at once the first
// time, and after a pause of a second if it has failed twice recently. Other parts are not
// affected. It is safe for concurrent use.
type Group struct {
	o      GroupOptions
	sup    *suture.Supervisor
	failed chan error // of a part without which there is no group

	mu    sync.Mutex
	parts []*child
}

// NewGroup returns a group without parts.
func NewGroup(o GroupOptions) *Group {
	g := &Group{o: o, failed: make(chan error, 1)}
	g.sup = suture.New(o.Name, suture.Spec{EventHook: func(suture.Event) {}, Timeout: o.Stop})
	return g
}

// Run starts the parts one after the other, each when the previous one is ready, and then calls
// ready. When ctx ends or a vital part fails, it stops all parts in reverse order and returns.
func (g *Group) Run(ctx context.Context, ready func(), parts ...Part) error {
	live, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	done := g.sup.ServeBackground(live)
	err := g.start(ctx, parts)
	if err == nil && ctx.Err() == nil {
		ready()
		err = g.wait(ctx)
	}
	by := time.Now().Add(g.o.Stop)
	g.stop(by)
	cancel()
	select {
	case e := <-done:
		if !errors.Is(e, context.Canceled) {
			err = errors.Join(err, e)
		}
	case <-time.After(time.Until(by)): // parts that did not end were reported
	}
	return err
}

func (g *Group) start(ctx context.Context, parts []Part) error {
	for _, p := range parts {
		c := g.add(p)
		select {
		case <-c.ready:
		case <-ctx.Done():
			return nil
		case err := <-g.failed:
			return err
		}
	}
	return nil
}

func (g *Group) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-g.failed:
		return err
	}
}

// add starts a part without waiting for it to be ready.
func (g *Group) add(p Part) *child {
	c := newChild(g, p)
	// stop times out earlier, and reports it
	own := suture.New(p.Name, suture.Spec{FailureThreshold: 1, FailureBackoff: restartPause,
		Timeout: 2 * g.o.Stop})
	own.Add(c)
	g.mu.Lock()
	defer g.mu.Unlock()
	c.token = g.sup.Add(own)
	g.parts = append(g.parts, c)
	return c
}

// stop ends all parts, last first, and abandons those that have not ended by then.
func (g *Group) stop(by time.Time) {
	g.mu.Lock()
	parts := slices.Clone(g.parts)
	g.mu.Unlock()
	for _, c := range slices.Backward(parts) {
		g.end(c, max(time.Until(by), time.Millisecond))
	}
}

func (g *Group) end(c *child, within time.Duration) {
	if err := g.sup.RemoveAndWait(c.token, within); errors.Is(err, suture.ErrTimeout) {
		g.o.Log.Warnf("%s of %s does not end in time; going on without it", c.Name, g.o.Name)
	}
}

// fail ends the group.
func (g *Group) fail(err error) {
	select {
	case g.failed <- err:
	default: // already ending
	}
}

// A child is a running part.
type child struct {
	Part
	group *Group
	token suture.ServiceToken
	ready chan struct{}
	begin sync.Once
	state partState
	told  loglimit.Limiter // limits log lines about failures
}

func newChild(g *Group, p Part) *child {
	return &child{Part: p, group: g, ready: make(chan struct{}),
		told: loglimit.Limiter{Free: toldFailures}}
}

// String returns the name, for the supervisor.
func (c *child) String() string { return c.Name }

// Serve runs the part for its supervisor.
func (c *child) Serve(ctx context.Context) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
		err = c.ended(ctx, err)
	}()
	c.state.begun()
	return c.Run(ctx, c.begun)
}

func (c *child) begun() { c.begin.Do(func() { close(c.ready) }) }

func (c *child) hasBegun() bool {
	select {
	case <-c.ready:
		return true
	default:
		return false
	}
}

// ended decides how to proceed after a part has ended: done, restart, or end of the group.
func (c *child) ended(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		if err != nil && !errors.Is(err, context.Canceled) {
			c.group.o.Log.Errorf("%s, at its end: %v", c.Name, err)
		}
		c.state.stopped(nil)
		return ctx.Err()
	case err == nil && !c.Vital && c.hasBegun():
		c.state.stopped(nil)
		return suture.ErrDoNotRestart
	case err == nil:
		err = errors.New("ended by itself")
	}
	c.state.stopped(err)
	var end *fatal
	if !c.Vital && c.hasBegun() && !errors.As(err, &end) {
		c.tell(err)
		return err
	}
	c.group.fail(fmt.Errorf("%s: %w", c.Name, err))
	return suture.ErrDoNotRestart
}

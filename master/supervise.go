package master

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/thejerf/suture/v4"

	"github.com/brineproject/brine/eventbus"
)

// stopLimit is how long a master takes to end: what is not done by then is left.
const stopLimit = 9 * time.Second

// A piece is a part of the master under supervision.
type piece struct {
	name  string
	vital bool // cannot be started again, as a port that is closed: its failure ends the master. So is one before it is ready
	run   func(ctx context.Context, ready func()) error
	ready chan struct{} // closed when others may begin
	fail  func(error)
}

func (p *piece) String() string { return p.name }

// Serve runs the part for its supervisor.
func (p *piece) Serve(ctx context.Context) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
		if p.vital || !p.hasBegun() {
			err = p.ended(ctx, err)
		}
	}()
	return p.run(ctx, p.begun)
}

// begun tells that others may begin.
func (p *piece) begun() {
	if !p.hasBegun() {
		close(p.ready)
	}
}

func (p *piece) hasBegun() bool {
	select {
	case <-p.ready:
		return true
	default:
		return false
	}
}

// ended reports the failure of a part without which there is no master.
func (p *piece) ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil {
		err = errors.New("ended by itself")
	}
	p.fail(fmt.Errorf("%s: %w", p.name, err))
	return suture.ErrDoNotRestart
}

// Run serves until ctx ends, and returns when everything has stopped. A part that fails is started again, with a
// pause that grows; when a port fails Run returns the error.
//
// The end has an order: first no more requests, and those that have come are done; then no more work of the master's
// own; then the publications on their way; last the event bus, which hands out what it holds. It takes 9 s at most.
func (m *Master) Run(ctx context.Context) error {
	live, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	failed := make(chan error, 1)
	fail := func(err error) {
		select {
		case failed <- err:
		default:
		}
	}
	sup := suture.New("master", suture.Spec{EventHook: m.logFailure, Timeout: stopLimit})
	done := sup.ServeBackground(live)
	err := m.attend(ctx, sup, fail, failed)
	cancel()
	if e := <-done; !errors.Is(e, context.Canceled) {
		err = errors.Join(err, e)
	}
	return errors.Join(err, m.close())
}

// attend starts the pieces one after the other, waits for the end or a failure, and stops them in reverse.
func (m *Master) attend(ctx context.Context, sup *suture.Supervisor, fail func(error), failed <-chan error) error {
	var running []suture.ServiceToken
	defer func() { m.stop(sup, running) }()
	for _, p := range m.pieces() {
		p.ready, p.fail = make(chan struct{}), fail
		running = append(running, sup.Add(p))
		select {
		case <-p.ready:
		case <-ctx.Done():
			return nil
		case err := <-failed:
			return err
		}
	}
	select {
	case <-ctx.Done():
		return nil
	case err := <-failed:
		return err
	}
}

func (m *Master) stop(sup *suture.Supervisor, running []suture.ServiceToken) {
	by := time.Now().Add(stopLimit)
	for _, token := range slices.Backward(running) {
		err := sup.RemoveAndWait(token, max(time.Until(by), time.Millisecond))
		if errors.Is(err, suture.ErrTimeout) {
			m.log.Warn("a part of the master does not end in time; going on without it")
		}
	}
}

// pieces returns what runs, in the order of the start.
func (m *Master) pieces() []*piece {
	at := func(run func(context.Context) error) func(context.Context, func()) error {
		return func(ctx context.Context, ready func()) error {
			ready()
			return run(ctx)
		}
	}
	return []*piece{
		{name: "event bus", run: m.serveBus},
		{name: "publisher", vital: true, run: at(m.publish.Serve)},
		{name: "submit", vital: true, run: at(m.submit.Serve)},
		{name: "maintenance", run: at(m.maint.Run)},
		{name: "replier", vital: true, run: at(func(ctx context.Context) error { return m.reply.Serve(ctx, m.server.Handle) })},
	}
}

func (m *Master) serveBus(ctx context.Context, ready func()) error {
	return m.bus.Serve(ctx, eventbus.MasterSockets(m.cfg.SockDir), eventbus.ServeOptions{MaxBytes: m.cfg.IPCWriteBuffer, Ready: ready})
}

func (m *Master) logFailure(e suture.Event) {
	if e.Type() == suture.EventTypeStopTimeout {
		return // told where it is stopped
	}
	m.log.Errorf("a part of the master has failed and is started again: %s", e)
}

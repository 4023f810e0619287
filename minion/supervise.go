package minion

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/brineproject/brine/daemon"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/internal/clock"
)

// stopLimit is how long a minion takes to end: what is not done by then is left.
const stopLimit = 9 * time.Second

// meetTime is how long the start of a minion waits for its masters.
const meetTime = 5 * time.Second

// Run works until ctx ends; then it gives jobs and returns a few seconds to end. It calls ready when its masters know that it
// has started and takes jobs, or when it is known that this is going to take time: a master cannot be reached or does not let
// it in, or five seconds have passed. The error wraps channel.ErrRejected or channel.ErrFingerprint when the minion must
// not go on, and is nil when ctx ended. A part that fails is started again.
//
// The end has an order: first no more publications; then the jobs; then the returns on their way; last the event bus.
func (m *Minion) Run(ctx context.Context, ready func()) error {
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	err := m.group.Run(ctx, ready, m.pieces(work)...)
	stop()
	return errors.Join(err, m.close())
}

// pieces returns what runs, in the order of the start. work is the context of jobs.
func (m *Minion) pieces(work context.Context) []daemon.Part {
	local := newLocal(m)
	parts := []daemon.Part{
		{Name: "event bus", Run: m.serveBus},
		{Name: "local requests", Run: daemon.Always(local.run)},
		{Name: "courier", Run: daemon.Always(m.deliver)},
		{Name: "jobs", Run: daemon.Always(m.holdJobs)},
		{Name: "scheduler", Run: daemon.Always(m.runSchedule)},
		{Name: "states of the start", Run: daemon.Always(m.runStartup)},
	}
	for _, l := range m.links {
		parts = append(parts, daemon.Part{Name: "master " + l.address.text, Run: daemon.Always(func(ctx context.Context) error { return l.stay(ctx, work) })})
	}
	return append(parts, daemon.Part{Name: "first contact", Run: m.meet})
}

// meet is ready when all masters have been met.
func (m *Minion) meet(ctx context.Context, ready func()) error {
	patience := time.NewTimer(meetTime)
	defer patience.Stop()
	for _, l := range m.links {
		select {
		case <-l.met:
			continue
		case <-patience.C:
		case <-ctx.Done():
		}
		break
	}
	ready()
	return ctx.Err()
}

// handOver is how long a minion waits for another one on its sockets to end, such as Salt's at a change of packages. The limit of systemd
// for the start of a service is 90 seconds.
const handOver = 30 * time.Second

func (m *Minion) serveBus(ctx context.Context, ready func()) error {
	sockets, err := eventbus.MinionSockets(m.cfg.SockDir, m.cfg.ID, m.cfg.HashType)
	if err != nil {
		return err
	}
	return m.bus.Serve(ctx, sockets, eventbus.ServeOptions{MaxBytes: m.cfg.IPCWriteBuffer, Ready: ready, Patience: handOver,
		Wait: func(why error) { m.log.Warnf("%v. Waiting up to %s for it to end", why, handOver) }})
}

// deliver sends returns to the masters until ctx ends, and then what can still be sent in a moment.
func (m *Minion) deliver(ctx context.Context) error {
	var couriers sync.WaitGroup
	for _, l := range m.links {
		couriers.Go(func() { l.courier.serve(ctx) })
	}
	couriers.Wait()
	return ctx.Err()
}

// holdJobs ends the jobs when ctx ends.
func (m *Minion) holdJobs(ctx context.Context) error {
	<-ctx.Done()
	return m.jobs.close()
}

// serve runs the courier until ctx ends, and finishes it.
func (c *courier) serve(ctx context.Context) {
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.run(run)
	}()
	<-ctx.Done()
	c.finish(stop, done)
}

// stay talks with the master until ctx ends. An error with which the minion must not go on ends it.
func (l *link) stay(ctx, work context.Context) error {
	if l.m.cfg.RandomStartupDelay > 0 {
		l.meet()
	}
	if err := l.m.delayStart(ctx); err != nil {
		return err
	}
	err := l.run(ctx, work)
	if err != nil && ctx.Err() == nil {
		return daemon.Fatal(err)
	}
	return err
}

// delayStart waits as random_startup_delay says, so that a fleet does not come all at once.
func (m *Minion) delayStart(ctx context.Context) error {
	most := m.cfg.RandomStartupDelay
	if most <= 0 {
		return nil
	}
	wait := rand.N(most + 1).Round(time.Second)
	m.log.Infof("Minion sleeping for %d seconds due to configured startup_delay between 0 and %d seconds", int(wait.Seconds()), int(most.Seconds()))
	return clock.Sleep(ctx, wait)
}

// Status says in a line how the minion is.
func (m *Minion) Status() string {
	var texts []string
	for _, l := range m.links {
		state := "not connected to"
		if l.gate.isOpen() {
			state = "connected to"
		}
		texts = append(texts, state+" "+l.address.text)
	}
	if len(m.links) == 0 {
		texts = append(texts, "without a master")
	}
	texts = append(texts, fmt.Sprintf("%d jobs run", len(m.Running())))
	if trouble := m.group.Trouble(); trouble != "" {
		texts = append(texts, trouble)
	}
	return strings.Join(texts, ", ")
}

// Dump tells the state of parts, jobs and returns that wait, for a person who looks for a fault.
func (m *Minion) Dump() string {
	var b strings.Builder
	b.WriteString("parts:\n" + m.group.Dump())
	for _, l := range m.links {
		fmt.Fprintf(&b, "master %s: connected %t, returns not yet acknowledged %d\n", l.address.text, l.gate.isOpen(), l.courier.spool.len())
	}
	for _, load := range m.Running() {
		fmt.Fprintf(&b, "job %s: %s\n", load.Text("jid"), load.Text("fun"))
	}
	return b.String()
}

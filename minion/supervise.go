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

// stopLimit is how long a minion may take to end. Work that is not done by then is abandoned.
const stopLimit = 9 * time.Second

// contactTime is how long the start of a minion waits for its masters.
const contactTime = 5 * time.Second

// Run runs the minion until ctx ends, and then gives jobs and returns a few seconds to finish. It
// calls ready when all masters know that the minion has started, or earlier if that will take a
// while: a master cannot be reached or does not accept the minion, or five seconds have passed. The
// error wraps channel.ErrRejected or channel.ErrFingerprint if the minion must not continue, and is
// nil if ctx ended. A part that fails is restarted.
//
// Parts end in order: first publications, then jobs, then returns in flight, and the event bus
// last.
func (m *Minion) Run(ctx context.Context, ready func()) error {
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	local := newLocal(m)
	defer local.close()
	err := m.group.Run(ctx, ready, m.parts(work, local)...)
	stop()
	return errors.Join(err, m.close())
}

// parts returns the parts of the minion in start order. Jobs run under the context work.
func (m *Minion) parts(work context.Context, local *local) []daemon.Part {
	parts := []daemon.Part{
		{Name: "event bus", Run: m.serveBus},
		{Name: "local requests", Run: daemon.Always(local.run)},
		{Name: "courier", Run: daemon.Always(m.deliver)},
		{Name: "jobs", Run: daemon.Always(m.endJobs)},
		{Name: "scheduler", Run: daemon.Always(m.runSchedule)},
		{Name: "events of beacons", Run: daemon.Always(m.sendBeacons)},
		{Name: "beacons", Run: daemon.Always(m.runBeacons)},
	}
	parts = append(parts, m.engines...)
	parts = append(parts, daemon.Part{Name: "startup states", Run: daemon.Always(m.runStartup)})
	if f := m.failover; f != nil {
		parts = append(parts, daemon.Part{Name: "returns for other masters", Run: daemon.Always(f.handOver)},
			daemon.Part{Name: "masters", Run: daemon.Always(func(ctx context.Context) error {
				return m.connect(ctx, m.links[0].contacted, func(ctx context.Context) error { return f.run(ctx, work) })
			})})
	} else {
		for _, l := range m.links {
			parts = append(parts, daemon.Part{Name: "master " + l.address.text,
				Run: daemon.Always(func(ctx context.Context) error {
					return m.connect(ctx, l.contacted, func(ctx context.Context) error { return l.run(ctx, work) })
				})})
		}
	}
	return append(parts, daemon.Part{Name: "first contact", Run: m.awaitContact})
}

// awaitContact calls ready when first contact with all masters was made, or after contactTime.
func (m *Minion) awaitContact(ctx context.Context, ready func()) error {
	patience := time.NewTimer(contactTime)
	defer patience.Stop()
	for _, l := range m.active() {
		select {
		case <-l.contacted.done:
			continue
		case <-patience.C:
		case <-ctx.Done():
		}
		break
	}
	ready()
	return ctx.Err()
}

// takeoverTime is how long a minion waits for another one that holds its sockets to end, such as
// Salt's during a package change. systemd allows 90 seconds for the start of a service.
const takeoverTime = 30 * time.Second

func (m *Minion) serveBus(ctx context.Context, ready func()) error {
	sockets, err := eventbus.MinionSockets(m.cfg.SockDir, m.cfg.ID, m.cfg.HashType)
	if err != nil {
		return err
	}
	return m.bus.Serve(ctx, sockets,
		eventbus.ServeOptions{MaxBytes: m.cfg.IPCWriteBuffer, Ready: ready, Patience: takeoverTime,
			Wait: func(why error) { m.log.Warnf("%v. Waiting up to %s for it to end", why, takeoverTime) }})
}

// deliver runs the couriers until ctx ends, and then lets each finish.
func (m *Minion) deliver(ctx context.Context) error {
	var couriers sync.WaitGroup
	for _, l := range m.links {
		couriers.Go(func() { l.courier.serve(ctx) })
	}
	couriers.Wait()
	return ctx.Err()
}

// endJobs waits until ctx ends and then ends the jobs.
func (m *Minion) endJobs(ctx context.Context) error {
	<-ctx.Done()
	return m.jobs.close()
}

// connect runs a connection to masters until ctx ends, after random_startup_delay. Any other error
// is fatal to the minion.
func (m *Minion) connect(ctx context.Context, contacted *milestone, run func(context.Context) error) error {
	if m.cfg.RandomStartupDelay > 0 {
		contacted.reach()
	}
	if err := m.delayStart(ctx); err != nil {
		return err
	}
	err := run(ctx)
	if err != nil && ctx.Err() == nil {
		return daemon.Fatal(err)
	}
	return err
}

// delayStart waits a random part of random_startup_delay, so that a fleet does not connect all at
// once.
func (m *Minion) delayStart(ctx context.Context) error {
	most := m.cfg.RandomStartupDelay
	if most <= 0 {
		return nil
	}
	wait := rand.N(most + 1).Round(time.Second)
	m.log.Infof("Minion sleeping for %d seconds due to configured startup_delay between 0 and %d seconds", int(wait.Seconds()), int(most.Seconds()))
	return clock.Sleep(ctx, wait)
}

// Status returns a one-line summary of connections, running jobs and failed parts.
func (m *Minion) Status() string {
	var texts []string
	for _, l := range m.active() {
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

// Dump returns the state of parts, running jobs and undelivered returns, for debugging.
func (m *Minion) Dump() string {
	var b strings.Builder
	b.WriteString("parts:\n" + m.group.Dump())
	for _, l := range m.links {
		fmt.Fprintf(&b, "master %s: connected %t, returns not yet acknowledged %d\n",
			l.address.text, l.gate.isOpen(), l.courier.spool.len())
	}
	for _, load := range m.Running() {
		fmt.Fprintf(&b, "job %s: %s\n", load.Text("jid"), load.Text("fun"))
	}
	return b.String()
}

package master

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/brineproject/brine/daemon"
	"github.com/brineproject/brine/eventbus"
)

// stopLimit is how long a master takes to end: what is not done by then is left.
const stopLimit = 9 * time.Second

// Run serves until ctx ends, and returns when everything has stopped; ready is called when everything answers. A part that
// fails is started again; when a port fails Run returns the error.
//
// The end has an order: first no more requests, and those that have come are done; then no more work of the master's
// own; then the publications on their way; last the event bus, which hands out what it holds. It takes 9 s at most.
func (m *Master) Run(ctx context.Context, ready func()) error {
	return errors.Join(m.group.Run(ctx, ready, m.pieces()...), m.close())
}

// pieces returns what runs, in the order of the start.
func (m *Master) pieces() []daemon.Part {
	parts := []daemon.Part{
		{Name: "event bus", Run: m.serveBus},
		{Name: "publisher", Vital: true, Run: daemon.Always(m.publish.Serve)},
		{Name: "submit", Vital: true, Run: daemon.Always(m.submit.Serve)},
		{Name: "batches", Run: daemon.Always(m.batches.serve)},
		{Name: "runners", Run: daemon.Always(m.parts.control.serve)},
		m.reactorPart(),
		{Name: "scheduler", Run: daemon.Always(m.schedule.Run)},
		{Name: "replier", Vital: true, Run: daemon.Always(func(ctx context.Context) error { return m.reply.Serve(ctx, m.server.Handle) })},
	}
	parts = slices.Insert(parts, 1, m.returners...)
	if m.metrics != nil {
		parts = append(parts, m.metricsPart())
	}
	parts = append(parts, m.engines...)
	for _, c := range m.programs {
		c.Name = "ext_processes " + c.Name
		parts = append(parts, c.Part(m.log))
	}
	return parts
}

func (m *Master) serveBus(ctx context.Context, ready func()) error {
	return m.bus.Serve(ctx, eventbus.MasterSockets(m.cfg.SockDir), eventbus.ServeOptions{MaxBytes: m.cfg.IPCWriteBuffer, Wants: m.parts.watchers.wants,
		Ready: func() {
			m.admitListeners(m.parts.settings.now())
			ready()
		}})
}

// Dump tells the state of parts and ports, for a person who looks for a fault.
func (m *Master) Dump() string {
	return fmt.Sprintf("parts:\n%srequest port: %+v\npublish port: %+v\nconnected: %d minions, %d events fired\n",
		m.group.Dump(), m.reply.Stats(), m.publish.Stats(), m.parts.presence.count(), m.bus.Fired())
}

// Status says in a line how the master is.
func (m *Master) Status() string {
	text := fmt.Sprintf("%d minions connected", m.parts.presence.count())
	if trouble := m.group.Trouble(); trouble != "" {
		text += "; " + trouble
	}
	return text
}

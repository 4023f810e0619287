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

// stopLimit is the maximum time for the shutdown of a master. Unfinished work is abandoned then.
const stopLimit = 9 * time.Second

// Run serves until ctx ends, and returns when everything has stopped. It calls ready once all parts
// are serving. A part that fails is restarted; if a port fails, Run returns the error.
//
// The shutdown is ordered: the master stops accepting requests and finishes those it has; then its
// own work stops; then pending publications are sent; last, the event bus delivers its remaining
// events. It takes at most 9 s.
func (m *Master) Run(ctx context.Context, ready func()) error {
	return errors.Join(m.group.Run(ctx, ready, m.allParts()...), m.close())
}

// allParts returns the parts in the order in which they start. In a cluster, some work only while
// this master leads.
func (m *Master) allParts() []daemon.Part {
	lead := m.parts.member.leading()
	parts := []daemon.Part{
		{Name: "event bus", Run: m.serveBus},
		{Name: "publisher", Vital: true, Run: daemon.Always(m.publish.Serve)},
		{Name: "submit", Vital: true, Run: daemon.Always(m.submit.Serve)},
		lead.once(daemon.Part{Name: "batches", Run: daemon.Always(m.batches.serve)}),
		{Name: "runners", Run: daemon.Always(m.parts.control.serve)},
		{Name: "reactor", Run: m.reactions.reactor.Run},
		{Name: "scheduler", Run: daemon.Always(m.schedule.Run)},
		{
			Name:  "replier",
			Vital: true,
			Run:   daemon.Always(func(ctx context.Context) error { return m.reply.Serve(ctx, m.server.Handle) }),
		},
	}
	parts = slices.Insert(parts, 1, m.returners...)
	// before the ports, so that a return finds its job
	parts = slices.Insert(parts, len(parts)-1, m.parts.member.parts(m.parts.presence.Index)...)
	if m.metrics != nil {
		parts = append(parts, m.metricsPart())
	}
	return append(parts, m.programs...)
}

func (m *Master) serveBus(ctx context.Context, ready func()) error {
	return m.parts.bus.Serve(
		ctx,
		eventbus.MasterSockets(m.cfg.SockDir),
		eventbus.ServeOptions{MaxBytes: m.cfg.IPCWriteBuffer, Wants: m.parts.watchers.wants,
			Ready: func() {
				m.admitListeners(m.parts.settings.config())
				ready()
			}},
	)
}

// Dump returns the state of parts and ports, for debugging.
func (m *Master) Dump() string {
	return fmt.Sprintf("parts:\n%srequest port: %+v\npublish port: %+v\nconnected: %d minions, %d events fired\n",
		m.group.Dump(), m.reply.Stats(), m.publish.Stats(), m.parts.presence.Count(),
		m.parts.bus.Fired())
}

// Status returns a one-line summary of the master's state.
func (m *Master) Status() string {
	text := fmt.Sprintf("%d minions connected", m.parts.presence.Count())
	if trouble := m.group.Trouble(); trouble != "" {
		text += "; " + trouble
	}
	if err := m.parts.member.quorum(); err != nil {
		text += "; " + err.Error()
	}
	return text
}

package minion

import (
	"context"
	"errors"
	"fmt"

	"github.com/brineproject/brine/beacons"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/loader"
)

// openBeacons creates the engine of the beacons.
func (m *Minion) openBeacons() {
	m.beacons = beacons.New(beacons.Options{
		ID: m.cfg.ID, Turn: m.cfg.LoopInterval, Functions: m.env.Registries["beacons"],
		Config: m.cfg.Beacons, Pillar: subMap(m.Pillar(), "beacons"), Running: m.runningFunctions,
		Fire: m.bus.Fire, MaxEventSize: m.cfg.MaxEventSize, Log: m.log,
	})
}

// runningFunctions returns the functions that run on this host, in jobs of the minion or of
// salt-call.
func (m *Minion) runningFunctions() []string {
	v, err := m.funcs.Invoke(context.Background(), "saltutil.running", nil, nil)
	if err != nil {
		m.log.WithError(err).Error("find the running jobs for the beacons")
	}
	var funs []string
	for _, load := range data.ListOf(v) {
		if load, ok := load.(*data.Map); ok {
			funs = append(funs, data.TextsOf(load.Value("fun"))...)
		}
	}
	return funs
}

// runBeacons runs the beacons until ctx ends. It first waits for a master to accept the minion,
// unless beacons_before_connect is on.
func (m *Minion) runBeacons(ctx context.Context) error {
	if len(m.links) > 0 && !m.cfg.BeaconsBeforeConnect {
		if err := m.awaitMaster(ctx); err != nil {
			return err
		}
	}
	return m.beacons.Run(ctx)
}

// sendBeacons sends the events of beacons to the masters, in order, until ctx ends. As in Salt,
// events are lost while no master is connected (salt/minion.py, handle_event).
func (m *Minion) sendBeacons(ctx context.Context) error {
	sub := m.bus.Subscribe(eventbus.SubscribeOptions{Name: "beacons",
		Prefixes: []string{beacons.ReturnTag}})
	defer sub.Close()
	for {
		event, err := sub.Next(ctx)
		if err != nil {
			return err
		}
		events, err := beaconEvents(event)
		if err != nil {
			m.log.WithError(err).Error("Events of beacons are lost")
		}
		if len(events) == 0 {
			continue
		}
		err = m.each(func(l *link) error { return l.send(ctx, masterEvent{several: events}) })
		switch {
		case errors.Is(err, errNotAccepted):
			m.log.WithError(err).Debug("events of beacons are dropped")
		case err != nil && ctx.Err() == nil:
			m.log.WithError(err).Error("send the events of beacons to the master")
		}
	}
}

// beaconEvents returns the events for the master in an event of the beacons.
func beaconEvents(event eventbus.Event) ([]any, error) {
	load, err := event.Map()
	if err != nil {
		return nil, fmt.Errorf("read event %s: %w", event.Tag, err)
	}
	v := load.Value("beacons")
	events, ok := v.([]any)
	if !ok && data.Truth(v) {
		return nil, fmt.Errorf("event %s has no list of them: %s", event.Tag, loader.TypeName(v))
	}
	return events, nil
}

// manageBeacons handles requests of the module beacons and fires the reply.
func (l *local) manageBeacons(ctx context.Context, _ string, load *data.Map) error {
	tag, body, err := l.m.beacons.Manage(ctx, load)
	if err != nil {
		return err
	}
	return l.m.bus.Fire(tag, body)
}

// refreshBeacons loads the beacons again, after they were synced.
func (l *local) refreshBeacons(context.Context, string, *data.Map) error {
	l.m.env.Registries["beacons"].Reload()
	l.m.beacons.Refresh()
	return nil
}

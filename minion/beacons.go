package minion

import (
	"context"
	"errors"

	"github.com/brineproject/brine/beacons"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
)

// openBeacons creates the engine of the beacons.
func (m *Minion) openBeacons() {
	m.beacons = beacons.New(beacons.Options{
		ID: m.cfg.ID, Turn: m.cfg.LoopInterval, Functions: m.env.Registries["beacons"],
		Config: m.cfg.Beacons, Pillar: subMap(m.Pillar(), "beacons"), Running: m.runningFunctions,
		Fire: m.bus.Fire, Log: m.log,
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
		load, err := event.Map()
		if err != nil || !data.Truth(load.Value("beacons")) {
			continue
		}
		err = m.each(func(l *link) error { return l.send(ctx, masterEvent{several: load.Value("beacons")}) })
		switch {
		case errors.Is(err, errNotAccepted):
			m.log.WithError(err).Debug("events of beacons are dropped")
		case err != nil && ctx.Err() == nil:
			m.log.WithError(err).Error("send the events of beacons to the master")
		}
	}
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

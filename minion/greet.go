package minion

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
)

// errNotAccepted is returned if an operation needs the master while it does not accept the minion.
var errNotAccepted = errors.New("the master does not let this minion in")

// greet fetches the pillar, announces the start of the minion and then pings the master every
// ping_interval.
func (l *link) greet(ctx context.Context) error {
	if err := l.firstPillar(ctx); err != nil && ctx.Err() == nil {
		l.log.WithError(err).Error("Unable to fetch the pillar")
	}
	l.ready.reach()
	select {
	case <-l.up.done: // subscribers of the start event may publish at once
	case <-ctx.Done():
		return ctx.Err()
	}
	l.announce(ctx)
	l.announced.reach()
	l.contacted.reach()
	return l.ping(ctx)
}

// firstPillar fetches the pillar unless the minion compiles its own.
func (l *link) firstPillar(ctx context.Context) error {
	if l.m.compilesPillar() {
		return nil
	}
	return l.fetchPillar(ctx, false)
}

// announce fires the start events.
func (l *link) announce(ctx context.Context) {
	text := fmt.Sprintf("Minion %s started at %s", l.m.cfg.ID, l.m.opts.Now().Format(time.ANSIC))
	tags := []string{"salt/minion/" + l.m.cfg.ID + "/start"}
	if l.m.settings.config().EnableLegacyStartupEvents {
		tags = append([]string{"minion_start"}, tags...)
	}
	for _, tag := range tags {
		load := data.NewMap("id", l.m.cfg.ID, "cmd", "_minion_event", "pretag", nil,
			"data", text, "tag", tag)
		if grains := l.startGrains(); grains.Len() > 0 && strings.HasPrefix(tag, "salt/") {
			load.Set("grains", grains)
		}
		if _, err := l.client.Do(ctx, load); err != nil && ctx.Err() == nil {
			l.log.WithError(err).Errorf("send start event %s", tag)
		}
	}
	l.log.Info("Minion is ready to receive requests!")
}

func (l *link) startGrains() *data.Map {
	chosen, grains := data.NewMap(), l.m.Grains()
	for _, name := range l.m.settings.config().StartEventGrains {
		if v, ok := grains.Get(name); ok {
			chosen.Set(name, v)
		}
	}
	return chosen
}

// ping fires minion_ping every ping_interval.
func (l *link) ping(ctx context.Context) error {
	for failed := false; ; {
		due, err := l.m.settings.pause(ctx, pingInterval)
		switch {
		case err != nil:
			return err
		case !due:
			continue
		}
		err = l.fire(ctx, "minion_ping", "ping")
		if err != nil && !failed && ctx.Err() == nil {
			l.log.WithError(err).Warn("Attempt to ping master failed.")
		}
		failed = err != nil
	}
}

func pingInterval(cfg *config.Minion) time.Duration {
	if cfg.PingInterval <= 0 {
		return -1
	}
	return cfg.PingInterval
}

func textOrNone(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// fire sends one event to the master.
func (l *link) fire(ctx context.Context, tag string, body any) error {
	return l.send(ctx, masterEvent{tag: tag, body: body})
}

// A masterEvent is an event for the master, or several in one request, each with its own tag.
type masterEvent struct {
	tag     string
	body    any
	several any // list of events; they replace tag and body unless it is nil
	pretag  any // prefix that the master puts before the tags, or nil
}

// send sends events to the master (salt/minion.py, _fire_master).
func (l *link) send(ctx context.Context, e masterEvent) error {
	load := data.NewMap("id", l.m.cfg.ID, "cmd", "_minion_event", "pretag", e.pretag)
	switch {
	case e.several != nil:
		load.Set("events", e.several)
	case e.body != nil && e.tag != "":
		load.Set("data", e.body)
		load.Set("tag", e.tag)
	default:
		return errors.New("event for the master has no tag or no data")
	}
	_, err := l.call(ctx, load)
	return err
}

// call sends an encrypted request. It fails if the master does not accept the minion.
func (l *link) call(ctx context.Context, load *data.Map) (any, error) {
	if !l.gate.isOpen() {
		return nil, fmt.Errorf("request %s: %w", load.Text("cmd"), errNotAccepted)
	}
	return l.client.Call(ctx, load)
}

// callRaw is like call but returns the reply undecoded.
func (l *link) callRaw(ctx context.Context, load *data.Map) (data.Raw, error) {
	if !l.gate.isOpen() {
		return nil, fmt.Errorf("request %s: %w", load.Text("cmd"), errNotAccepted)
	}
	return l.client.Do(ctx, load)
}

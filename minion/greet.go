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

// errOutside is returned for what needs the master while it does not let the minion in.
var errOutside = errors.New("the master does not let this minion in")

// greet fetches the pillar, tells the master that the minion has started, and then every now and then that it lives.
func (l *link) greet(ctx context.Context) error {
	if err := l.firstPillar(ctx); err != nil && ctx.Err() == nil {
		l.log.WithError(err).Error("Unable to fetch the pillar")
	}
	close(l.ready)
	select {
	case <-l.up: // who hears of the start may publish at once
	case <-ctx.Done():
		return ctx.Err()
	}
	l.announce(ctx)
	close(l.announced)
	l.meet()
	return l.ping(ctx)
}

// firstPillar fetches the pillar, unless the minion has compiled its own.
func (l *link) firstPillar(ctx context.Context) error {
	if l.m.ownPillar() {
		return nil
	}
	return l.fetchPillar(ctx, false)
}

// announce fires the events of the start.
func (l *link) announce(ctx context.Context) {
	text := fmt.Sprintf("Minion %s started at %s", l.m.cfg.ID, l.m.opts.Now().Format(time.ANSIC))
	tags := []string{"salt/minion/" + l.m.cfg.ID + "/start"}
	if l.m.settings.now().EnableLegacyStartupEvents {
		tags = append([]string{"minion_start"}, tags...)
	}
	for _, tag := range tags {
		load := data.NewMap("id", l.m.cfg.ID, "cmd", "_minion_event", "pretag", nil, "data", text, "tag", tag)
		if grains := l.startGrains(); grains.Len() > 0 && strings.HasPrefix(tag, "salt/") {
			load.Set("grains", grains)
		}
		if _, err := l.client.Do(ctx, load); err != nil && ctx.Err() == nil {
			l.log.WithError(err).Errorf("announce the start with %s", tag)
		}
	}
	l.log.Info("Minion is ready to receive requests!")
}

func (l *link) startGrains() *data.Map {
	chosen, grains := data.NewMap(), l.m.Grains()
	for _, name := range l.m.settings.now().StartEventGrains {
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
		err = l.fire(ctx, "minion_ping", "ping", nil, nil)
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

// fire sends one event, or several in events, to the master (salt/minion.py, _fire_master).
func (l *link) fire(ctx context.Context, tag string, body, events, pretag any) error {
	load := data.NewMap("id", l.m.cfg.ID, "cmd", "_minion_event", "pretag", pretag)
	switch {
	case events != nil:
		load.Set("events", events)
	case body != nil && tag != "":
		load.Set("data", body)
		load.Set("tag", tag)
	default:
		return errors.New("event for the master without a tag or data")
	}
	_, err := l.call(ctx, load)
	return err
}

// call sends an encrypted request, unless the master does not let the minion in.
func (l *link) call(ctx context.Context, load *data.Map) (any, error) {
	if !l.gate.isOpen() {
		return nil, fmt.Errorf("request %s: %w", load.Text("cmd"), errOutside)
	}
	return l.client.Call(ctx, load)
}

// callRaw is call with a reply that is not decoded.
func (l *link) callRaw(ctx context.Context, load *data.Map) (data.Raw, error) {
	if !l.gate.isOpen() {
		return nil, fmt.Errorf("request %s: %w", load.Text("cmd"), errOutside)
	}
	return l.client.Do(ctx, load)
}

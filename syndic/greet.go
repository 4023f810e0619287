package syndic

import (
	"context"
	"fmt"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/clock"
	"github.com/brineproject/brine/payload"
)

// greetPause is the time after which an announcement that has failed is sent again.
const greetPause = 2 * time.Second

// greet announces the syndic and its inventory after each sign-in, and the inventory after each change.
func (u *upper) greet(ctx context.Context) error {
	select {
	case <-u.reached: // subscribers of the start event may publish at once
	case <-ctx.Done():
		return ctx.Err()
	}
	for {
		select {
		case <-u.announce:
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := u.awaitConnected(ctx); err != nil {
			return err
		}
		err := u.introduceNow(ctx)
		if err == nil {
			continue
		}
		u.log.WithError(err).Debug("the syndic and its inventory are not announced")
		u.announceAgain()
		if err := clock.Sleep(ctx, greetPause); err != nil {
			return err
		}
	}
}

// introduceNow sends the start events, if the master may have forgotten the syndic, and the inventory.
func (u *upper) introduceNow(ctx context.Context) error {
	if u.unknown.Swap(false) {
		if err := u.sendStart(ctx); err != nil {
			u.unknown.Store(true)
			return fmt.Errorf("send start event: %w", err)
		}
	}
	if err := u.sendInventory(ctx); err != nil {
		return fmt.Errorf("send inventory: %w", err)
	}
	u.ready()
	return nil
}

// sendStart fires the start events (salt/minion.py, Syndic.fire_master_syndic_start).
func (u *upper) sendStart(ctx context.Context) error {
	id := u.s.minion.ID
	tags := []string{"salt/syndic/" + id + "/start"}
	if u.s.minion.EnableLegacyStartupEvents {
		tags = append([]string{"syndic_start"}, tags...)
	}
	for _, tag := range tags {
		_, err := u.client.Do(ctx, data.NewMap("id", id, "cmd", "_minion_event", "pretag", nil, "tag", tag,
			"data", "Syndic "+id+" started at "+u.s.opts.Now().Format(time.ANSIC)))
		if err != nil {
			return err
		}
	}
	return nil
}

// sendInventory sends the ids of the minions below. A Brine master that refuses returns of them says so.
func (u *upper) sendInventory(ctx context.Context) error {
	i, version := u.s.inventory.Load(), 0
	if i != nil { // else it cannot be read
		id := u.s.minion.ID
		event := data.NewMap("tag", "salt/syndic/"+id+"/minions", "data", i.data(id))
		reply, err := u.client.Do(ctx, data.NewMap("id", id, "cmd", "_minion_event", "pretag", nil,
			"events", []any{event}))
		if err != nil {
			return err
		}
		fields, _ := payload.ParseFields(reply, payload.WireLimits()) // only a refusal is a mapping
		if u.unknown.Load() {
			return nil // it has signed in again meanwhile, and so announces itself again
		}
		u.setBarred(refusalIn(fields))
		version = i.version
	}
	if !u.unknown.Load() {
		u.setAnnounced(version)
	}
	return nil
}

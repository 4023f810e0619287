package syndic

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/clock"
	"github.com/brineproject/brine/payload"
)

// eventTries is how often a single event is sent before it is dropped because the master does not take it.
const eventTries = 3

// An eventDelivery sends the events of an upper master.
type eventDelivery struct {
	u      *upper
	last   time.Duration // how long the last request took
	most   int           // events in one request
	pause  time.Duration // after the next failure
	tries  int           // failures of a single event
	waited bool          // it has waited for the inventory
}

// deliverEvents sends the events in the queue, until ctx ends.
func (u *upper) deliverEvents(ctx context.Context) error {
	d := eventDelivery{u: u, most: requestItems, pause: firstPause}
	for {
		if err := u.queue.wait(ctx, &u.queue.others, u.gather(d.last)); err != nil {
			return err
		}
		if err := u.awaitAnnounced(ctx, time.Hour, func() {}); err != nil {
			return err
		}
		events, missed := u.queue.takeEvents(d.most)
		if missed > 0 {
			u.log.Warnf("%d events of the lower master were not sent to this master, which was away or slow",
				missed)
		}
		if len(events) == 0 {
			continue
		}
		if !d.waited && !u.isTaking() { // an event about a minion that has just come
			d.waited = true
			u.queue.putBack(events)
			continue
		}
		d.waited = false
		if err := d.send(ctx, events); err != nil {
			return err
		}
	}
}

// send sends some events in one request. If that fails it puts them back into the queue, except for a single
// event that has failed eventTries times, which is dropped. The error is that of ctx.
func (d *eventDelivery) send(ctx context.Context, events []data.Raw) error {
	u := d.u
	list := make([]any, len(events))
	for i, e := range events {
		list[i] = e
	}
	id := u.s.minion.ID
	begun := time.Now()
	_, err := u.client.Do(ctx, data.NewMap("id", id, "cmd", "_minion_event", "pretag", "syndic/"+id,
		"events", list))
	d.last = time.Since(begun)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		u.s.quiet.Warnf(u.log, "events "+u.address.text, "send %d events to the master: %v", len(events), err)
	}
	if err == nil || errors.Is(err, channel.ErrBadReply) { // the master may have fired them: not again
		u.queue.gone(len(events))
		d.most, d.tries, d.pause = min(2*d.most, requestItems), 0, firstPause
		return nil
	}
	return d.failed(ctx, events, err)
}

// failed puts events back into the queue, and waits. If the master answers other requests, the next
// request of events is half as large, and a single event that has failed eventTries times is dropped.
func (d *eventDelivery) failed(ctx context.Context, events []data.Raw, err error) error {
	u := d.u
	u.queue.setStuck()
	blame := !isRefusal(err) && u.probe(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if blame && len(events) == 1 {
		d.tries++
	}
	switch {
	case !blame:
		u.disconnect()
	case d.tries >= eventTries:
		u.log.Errorf("An event is dropped that the master does not take: %s", describe(events[0]))
		u.queue.gone(1)
		d.tries, d.pause = 0, firstPause
		return nil
	default:
		d.most = max(len(events)/2, 1)
	}
	u.queue.putBack(events)
	pause := d.pause
	d.pause = min(2*d.pause, longestPause)
	return clock.Sleep(ctx, pause)
}

// describe returns the tag and the size of an encoded event.
func describe(event data.Raw) string {
	tag := "unknown"
	if f, err := payload.ParseFields(event, payload.WireLimits()); err == nil {
		tag, _ = f.Text("tag")
	}
	return fmt.Sprintf("%.200q, %d bytes", tag, len(event))
}

// probe reports whether the master answers a small request.
func (u *upper) probe(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, firstRequestTimeout)
	defer cancel()
	_, err := u.client.Do(ctx, data.NewMap("cmd", "_master_opts", "env_only", true))
	return err == nil
}

package syndic

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/clock"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
)

const (
	minGather     = 10 * time.Millisecond // how long items gather at least before they are sent
	handOverAfter = 10 * time.Second      // how long returns that nobody ordered wait for a master
	eventsFirst   = time.Second           // how long returns wait for earlier events
	firstPause    = 100 * time.Millisecond
	longestPause  = 30 * time.Second // between attempts to send
)

// errNotTaken is returned if a master refuses returns. A Brine master does so unless order_masters is
// on and the sender is a syndic.
var errNotTaken = errors.New("the master does not accept returns from this syndic")

// deliver sends returns and events, until ctx ends. Events that cannot be sent do not keep returns back.
func (u *upper) deliver(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return u.deliverEvents(ctx) })
	group.Go(func() error { return u.deliverReturns(ctx) })
	return group.Wait()
}

// deliverReturns sends the returns in the queue until ctx ends. Events that the lower master has fired before
// them go first, for example the event with the minions of a job.
func (u *upper) deliverReturns(ctx context.Context) error {
	d := delivery{u: u, most: requestItems, pause: firstPause}
	for {
		if err := u.queue.wait(ctx, &u.queue.returns, u.gather(d.last)); err != nil {
			return err
		}
		err := u.awaitAnnounced(ctx, handOverAfter, func() { u.s.router.handOver(u) })
		if err != nil {
			return err
		}
		answers := u.queue.peek(d.most)
		if err := u.queue.awaitEvents(ctx, eventsFirst); err != nil {
			return err
		}
		if !d.waited && !u.isTaking() { // a return of a minion that has just come
			d.waited = true
			continue
		}
		d.waited = false
		if err := d.send(ctx, answers); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err := d.failed(ctx, err); err != nil {
				return err
			}
			continue
		}
		d.pause, d.tries = firstPause, 0
	}
}

// gather returns how long items gather before the next request.
func (u *upper) gather(last time.Duration) time.Duration {
	return min(max(minGather, last), u.s.gather)
}

// A delivery sends the returns of an upper master.
type delivery struct {
	u      *upper
	last   time.Duration // how long the last request took
	most   int           // returns in one request
	sent   int           // returns in the last request
	pause  time.Duration // after the next failure
	tries  int           // failures in a row
	waited bool          // it has waited for the inventory
}

// failed logs a failure, requests a sign-in and waits. After syndic_retries failures the next request is
// smaller; a single return that has failed so often is read from the job cache later.
func (d *delivery) failed(ctx context.Context, err error) error {
	u := d.u
	d.tries++
	u.s.quiet.Warnf(u.log, "send "+u.address.text, "send to the master: %v", err)
	switch {
	case errors.Is(err, errNotTaken):
		u.introduce()
	case d.tries < u.s.retries:
		u.disconnect()
	case d.sent <= 1:
		d.setAside()
	default:
		d.most = max(d.sent/10, 1)
		d.tries, d.pause = 0, firstPause
	}
	pause := d.pause
	d.pause = min(2*d.pause, longestPause)
	return clock.Sleep(ctx, pause)
}

// setAside removes the oldest return from the queue. The next replay of all jobs reads it from the job cache.
func (d *delivery) setAside() {
	first := d.u.queue.peek(1)
	if len(first) == 0 {
		return
	}
	d.u.log.Errorf("The return of minion %s to job %s cannot be sent and is put off",
		first[0].minion, first[0].jid)
	d.u.queue.remove(1)
	d.u.s.router.settle(first)
	d.tries, d.pause = 0, firstPause
}

// do sends a request and measures how long it takes.
func (d *delivery) do(ctx context.Context, load *data.Map) (data.Raw, error) {
	begun := time.Now()
	reply, err := d.u.client.Do(ctx, load)
	d.last = time.Since(begun)
	return reply, err
}

// send sends the first of the returns, as many as fit in a request (salt/minion.py,
// Minion._return_pub_multi).
func (d *delivery) send(ctx context.Context, answers []*answer) error {
	u := d.u
	if len(answers) == 0 {
		return nil
	}
	b := d.bundle(ctx, answers)
	d.sent = b.count
	reply, err := d.do(ctx, data.NewMap("id", u.s.minion.ID, "cmd", "_syndic_return", "load", b.list()))
	if err == nil {
		err = checkReply(reply)
	}
	if err != nil {
		return fmt.Errorf("send %d returns: %w", b.count, err)
	}
	d.acknowledged(b, answers[:b.count])
	return nil
}

// acknowledged records that the master has some returns.
func (d *delivery) acknowledged(b *bundle, answers []*answer) {
	u := d.u
	for _, j := range b.jobs {
		u.s.journal.acknowledge(j.jid, j.minions)
		if j.load != nil {
			u.loads.add(j.jid)
		}
	}
	u.queue.remove(len(answers))
	u.s.router.settle(answers)
	d.most = min(2*d.most, requestItems)
	if u.queue.hasRoom() {
		u.s.replay.kickIfMarked()
	}
}

// errReply is returned if a master has answered that it could not handle returns.
var errReply = errors.New("the master could not handle the request")

// checkReply returns nil if a reply acknowledges returns: it is null then. After an error a master replies
// with an empty text (salt/master.py, AESFuncs.run_func).
func checkReply(reply data.Raw) error {
	const null = 0xc0
	if len(reply) == 1 && reply[0] == null {
		return nil
	}
	f, err := payload.ParseFields(reply, payload.WireLimits())
	switch why := refusalIn(f); {
	case err == nil && why != "":
		return fmt.Errorf("%w: %.200s", errNotTaken, why)
	case err == nil && len(f) == 0: // a Brine master of an earlier version
		return errNotTaken
	}
	return errReply
}

// refusalIn returns why a Brine master refuses a syndic, as its reply says, or "".
func refusalIn(reply payload.Fields) string {
	why, _ := reply.Text(job.Refused)
	return why
}

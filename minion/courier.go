package minion

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	"golang.org/x/sync/semaphore"

	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/loglimit"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/transport"
)

// Pauses between attempts to deliver a return.
const (
	minRetry = time.Second
	maxRetry = 30 * time.Second
)

const (
	maxInFlight    = 16                      // returns in flight to a master
	syncAfter      = time.Second             // a return that takes longer is flushed to disk
	maxReturn      = 100 << 20               // bytes; masters accept no more
	maxDisconnects = 8                       // disconnects tolerated while sending a large return
	largeReturn    = 1 << 20                 // bytes
	drainTime      = 1500 * time.Millisecond // time to empty the spool when the minion ends
)

// courier delivers returns to one master, oldest first. A return stays in the spool until the
// master has acknowledged it.
type courier struct {
	call  func(ctx context.Context, load *data.Map) (any, error) // sends an encrypted request
	sign  func(load []byte) (sig []byte, err error)              // nil if returns are not signed
	gate  *gate
	spool *spool
	id    string
	// address of the master
	master string
	log    logrus.FieldLogger
	quiet  loglimit.Limiter
	slots  *semaphore.Weighted
	wake   chan struct{}

	mu    sync.Mutex
	fails int       // failed attempts in a row
	until time.Time // no attempt before this time
}

func newCourier(m *Minion, l *link) *courier {
	c := &courier{call: l.client.Call, gate: l.gate, id: m.cfg.ID, master: l.address.text, log: l.log,
		slots: semaphore.NewWeighted(maxInFlight), wake: make(chan struct{}, 1)}
	if m.cfg.MinionSignMessages {
		c.sign = func(load []byte) ([]byte, error) { return m.key.Sign(load, crypto.SHA1Sign) }
	}
	lost := func(jid string, why error) {
		l.log.WithError(why).Errorf("drop return of job %s, which the master never acknowledged",
			jid)
		event := data.NewMap("jid", jid, "master", l.address.text, "reason", why.Error())
		if err := m.bus.Fire("salt/minion/"+m.cfg.ID+"/return_lost", event); err != nil {
			l.log.WithError(err).Error("fire event about a dropped return")
		}
	}
	var err error
	c.spool, err = openSpool(filepath.Join(m.cfg.CacheDir,
		"spool", hex.EncodeToString([]byte(l.address.text))), defaultBounds(), lost)
	if err != nil {
		l.log.WithError(err).Error("open spool; returns are kept in memory only")
	}
	return c
}

// deliver stores a return in the spool and has it sent. It returns once the return is stored.
func (c *courier) deliver(r *job.Return) { c.release(c.store(r)) }

// store stores a return in the spool. It is not sent before release.
func (c *courier) store(r *job.Return) heldReturn {
	sent := *r
	sent.Value = payload.Readable(r.Value) // a master that cannot read a return never takes it
	body, err := payload.Marshal(sent.Map())
	if err == nil && len(body) > maxReturn {
		err = fmt.Errorf("%d bytes are more than a master accepts", len(body))
	}
	if err != nil {
		c.log.WithError(err).Errorf("return of job %s cannot be sent", r.JID)
		body = c.failureBody(r, fmt.Sprintf("ERROR: the return cannot be sent: %v", err))
	}
	return c.put(r.JID, body)
}

// put puts an encoded return in the spool.
func (c *courier) put(id job.ID, body []byte) heldReturn {
	held, err := c.spool.add(string(id), body)
	if err != nil {
		c.log.WithError(err).Errorf("write return of job %s to spool", id)
	}
	return held
}

// release sends a stored return soon.
func (c *courier) release(held heldReturn) {
	held.release()
	c.wakeUp()
}

// moveTo moves the waiting returns to the courier of another master, oldest first. It stops at a return
// that cannot be moved, which stays here with those after it.
func (c *courier) moveTo(to *courier) {
	c.spool.retryNow()
	moved := 0
	for c.moveOne(to) {
		moved++
	}
	if moved == 0 {
		return
	}
	if err := c.spool.syncMove(to.spool); err != nil {
		to.log.WithError(err).Errorf("flush returns moved from the spool of master %s to disk", c.master)
	}
}

// moveOne moves the oldest waiting return to another courier. It reports false if there is none or it
// cannot be moved.
func (c *courier) moveOne(to *courier) bool {
	name, _ := c.spool.claim(time.Now())
	if name == "" {
		return false
	}
	jid := c.spool.jid(name)
	held, err := c.spool.move(name, to.spool)
	switch {
	case errors.Is(err, errDamaged):
		c.drop(name, err)
		return true
	case err != nil:
		c.spool.release(name)
		c.quiet.Warnf(c.log, "move", "move return of job %s to the spool of master %s, which is tried again "+
			"every second: %v", jid, to.master, err)
		return false
	}
	to.release(held)
	to.log.Infof("the return of job %s goes to this master, as master %s is away", jid, c.master)
	return true
}

// failureBody returns the body of a failed return that carries text in place of the result of r.
func (c *courier) failureBody(r *job.Return, text string) []byte {
	failed := *r
	failed.Value, failed.Retcode, failed.Success, failed.Out, failed.Metadata, failed.Extra = text,
		int64(1), false, "nested", nil, nil
	if body, err := payload.Marshal(failed.Map()); err == nil && len(body) <= maxReturn {
		return body
	}
	failed.Fun, failed.FunArgs = nil, nil
	body, _ := payload.Marshal(failed.Map()) // texts and numbers only
	return body
}

// wakeUp wakes the courier so that it checks the spool.
func (c *courier) wakeUp() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// retryNow makes every return due now and wakes the courier.
func (c *courier) retryNow() {
	c.mu.Lock()
	c.until = time.Time{}
	c.mu.Unlock()
	c.spool.retryNow()
	c.wakeUp()
}

// run delivers returns until ctx ends: those left in the spool by an earlier run and new ones.
func (c *courier) run(ctx context.Context) {
	var under sync.WaitGroup
	defer under.Wait()
	for c.gate.wait(ctx) == nil {
		if c.slots.Acquire(ctx, 1) != nil {
			return
		}
		name, next := c.claim()
		if name == "" {
			c.slots.Release(1)
			if !c.idle(ctx, next) {
				return
			}
			continue
		}
		under.Go(func() {
			defer c.slots.Release(1)
			c.try(ctx, name)
		})
	}
}

// claim returns the name of the next return to send, or the time when the next one is due. A zero
// time means that none is waiting.
func (c *courier) claim() (name string, next time.Time) {
	now := time.Now()
	c.mu.Lock()
	until := c.until
	c.mu.Unlock()
	if until.After(now) {
		return "", until
	}
	return c.spool.claim(now)
}

// idle waits until a return may be due or the courier is woken. It returns false when ctx ends.
func (c *courier) idle(ctx context.Context, next time.Time) bool {
	var due <-chan time.Time
	if !next.IsZero() {
		t := time.NewTimer(time.Until(next))
		defer t.Stop()
		due = t.C
	}
	select {
	case <-ctx.Done():
		return false
	case <-c.wake:
	case <-due:
	}
	return true
}

// errNotTaken is returned if the master has read a return but could not store it, for example
// because its disk is full.
var errNotTaken = errors.New("the master could not store the return")

// try sends one return and handles the outcome.
func (c *courier) try(ctx context.Context, name string) {
	body, err := c.spool.get(name)
	switch {
	case errors.Is(err, errDamaged), errors.Is(err, fs.ErrNotExist):
		c.drop(name, err)
		return
	case err != nil: // of this host: nothing is known of the file
		c.quiet.Warnf(c.log, "read", "read return of job %s, which is tried again: %v", c.spool.jid(name), err)
		c.retryLater(name, nil, err)
		return
	}
	late := time.AfterFunc(syncAfter, func() { c.sync(name) })
	err = c.send(ctx, body)
	late.Stop()
	switch {
	case err == nil:
		jid := c.spool.jid(name)
		c.log.Debugf("the master has acknowledged the return of job %s", jid)
		c.recordResult(nil)
		if err := c.spool.done(name); err != nil {
			c.log.WithError(err).Errorf("remove acknowledged return of job %s from spool", jid)
		}
	case errors.Is(err, errDamaged):
		c.drop(name, err)
	case errors.Is(err, errNotTaken): // only this return: the master may well accept others
		c.log.WithError(err).Warn("return not accepted by the master; it will be sent again")
		c.retryLater(name, body, err)
	default:
		if ctx.Err() == nil {
			c.recordResult(err)
		}
		c.retryLater(name, body, err)
	}
}

func (c *courier) sync(name string) {
	if err := c.spool.sync(name); err != nil {
		c.log.WithError(err).Errorf("flush return of job %s to disk", c.spool.jid(name))
	}
}

// drop discards a return and reports the loss.
func (c *courier) drop(name string, why error) {
	if err := c.spool.drop(name, why); err != nil {
		c.log.WithError(err).Errorf("remove dropped return of job %s from spool", c.spool.jid(name))
	}
}

// retryLater schedules a return for another attempt. If the connection breaks maxDisconnects times
// over a large return, it is more than the master accepts: a short return with that error replaces
// it.
func (c *courier) retryLater(name string, body []byte, why error) {
	defer c.wakeUp() // to schedule its next attempt
	fails := c.spool.fail(name, retryPause)
	if fails < maxDisconnects || len(body) < largeReturn ||
		!errors.Is(why, transport.ErrDisconnected) {
		return
	}
	load, err := payload.Unmarshal(body, payload.WireLimits())
	m, _ := load.(*data.Map)
	ret, parseErr := job.ParseReturn(m)
	if err != nil || parseErr != nil {
		c.drop(name, why)
		return
	}
	short := c.failureBody(ret, fmt.Sprintf(
		"ERROR: the master does not take the return, which has %d bytes: %v", len(body), why))
	c.put(ret.JID, short).release()
	c.drop(name, why)
}

// retryPause returns a random pause after the given number of failures in a row.
func retryPause(fails int) time.Duration {
	longest := min(minRetry<<min(fails-1, 10), maxRetry)
	return longest/2 + rand.N(longest/2)
}

// recordResult records the result of an attempt. After a failure all other returns wait too, since
// the master is probably away. Changes are logged, and the first success makes every return due.
func (c *courier) recordResult(err error) {
	c.mu.Lock()
	before := c.fails
	c.fails, c.until = 0, time.Time{}
	if err != nil {
		c.fails = before + 1
		c.until = time.Now().Add(retryPause(c.fails))
	}
	c.mu.Unlock()
	switch {
	case err != nil && before == 0:
		c.log.WithError(err).Warn("send return; returns are kept until the master accepts them")
	case err == nil && before > 0:
		c.log.Info("the master accepts returns again")
		c.retryNow()
	}
}

// send sends one return to the master.
func (c *courier) send(ctx context.Context, body []byte) error {
	fields, err := payload.ParseFields(body, payload.WireLimits())
	if err != nil {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	load := data.NewMap("cmd", "_return", "id", c.id)
	for _, f := range fields {
		load.Set(f.Key, f.Value)
	}
	if err := c.addSignature(load); err != nil {
		return err
	}
	reply, err := c.call(ctx, load)
	if err != nil {
		return err
	}
	switch reply {
	case nil, true:
		return nil
	case false:
		jid, _ := fields.Text("jid")
		c.log.Errorf("the master has dropped the return of job %s", jid)
		return nil
	}
	return fmt.Errorf("%w: its reply is %s", errNotTaken, data.Repr(reply))
}

// addSignature signs a load if the option minion_sign_messages is on. It signs the bytes that Salt
// gets when it encodes the load again (salt/minion.py, _send_req_sync; salt/master.py,
// AESFuncs._return).
func (c *courier) addSignature(load *data.Map) error {
	if c.sign == nil {
		return nil
	}
	body, err := payload.Marshal(load)
	if err != nil {
		return fmt.Errorf("sign the return: %w", err)
	}
	if body, err = payload.Rewrite(body, true); err != nil {
		return fmt.Errorf("sign the return: %w", err)
	}
	sig, err := c.sign(body)
	if err != nil {
		return fmt.Errorf("sign the return: %w", err)
	}
	load.Set("sig", sig)
	return nil
}

// serve runs the courier until ctx ends, and then calls finish.
func (c *courier) serve(ctx context.Context) {
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.run(run)
	}()
	<-ctx.Done()
	c.finish(stop, done)
}

// finish gives the returns in the spool drainTime to be delivered, stops the courier and flushes
// the rest to disk.
func (c *courier) finish(stop context.CancelFunc, done <-chan struct{}) {
	end := time.NewTimer(drainTime)
	defer end.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for c.spool.len() > 0 && c.gate.isOpen() && !c.isFailing() {
		select {
		case <-tick.C:
			continue
		case <-end.C:
		}
		break
	}
	stop()
	<-done
	c.sync("")
}

func (c *courier) isFailing() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fails > 0
}

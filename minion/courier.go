package minion

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	"golang.org/x/sync/semaphore"

	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/transport"
)

// Pauses between attempts to deliver what the master did not take.
const (
	firstRetry = time.Second
	lastRetry  = 30 * time.Second
)

const (
	atOnce    = 16                      // how many returns are under way to a master
	syncAfter = time.Second             // a return that takes longer is made to outlast a loss of power
	maxReturn = 100 << 20               // bytes; no master takes more
	giveUpAt  = 8                       // how often the connection may break over a large return
	large     = 1 << 20                 // bytes
	lastDrain = 1500 * time.Millisecond // for what is in the spool when the minion ends
)

// courier delivers returns to one master: each is in the spool from before it is sent until the master has
// acknowledged it, the oldest first.
type courier struct {
	call  func(ctx context.Context, load *data.Map) (any, error) // an encrypted request
	sign  func(load []byte) (sig []byte, err error)              // nil where returns are not signed
	gate  *gate
	spool *spool
	id    string
	log   logrus.FieldLogger
	turn  *semaphore.Weighted
	wake  chan struct{}

	mu    sync.Mutex
	fails int       // attempts that failed in a row
	until time.Time // nothing is tried before
}

func newCourier(m *Minion, l *link) *courier {
	c := &courier{call: l.client.Call, gate: l.gate, id: m.cfg.ID, log: l.log, turn: semaphore.NewWeighted(atOnce), wake: make(chan struct{}, 1)}
	if m.cfg.MinionSignMessages {
		c.sign = func(load []byte) ([]byte, error) { return m.key.Sign(load, crypto.SHA1Sign) }
	}
	lost := func(jid string, why error) {
		l.log.WithError(why).Errorf("the return of job %s was never acknowledged by the master and is given up", jid)
		event := data.NewMap("jid", jid, "master", l.address.text, "reason", why.Error())
		if err := m.bus.Fire("salt/minion/"+m.cfg.ID+"/return_lost", event); err != nil {
			l.log.WithError(err).Error("event of a return that is given up")
		}
	}
	var err error
	c.spool, err = openSpool(filepath.Join(m.cfg.CacheDir, "spool", hex.EncodeToString([]byte(l.address.text))), defaultBounds(), lost)
	if err != nil {
		l.log.WithError(err).Error("returns are kept in memory only")
	}
	return c
}

// deliver takes a return over. When it comes back the return is in the spool.
func (c *courier) deliver(r *job.Return) { c.keep(r)() }

// keep puts a return into the spool, and returns what has it sent.
func (c *courier) keep(r *job.Return) (send func()) {
	body, err := payload.Marshal(r.Map())
	if err == nil && len(body) > maxReturn {
		err = fmt.Errorf("%d bytes are more than a master takes", len(body))
	}
	if err != nil {
		c.log.WithError(err).Errorf("the return of job %s cannot be sent", r.JID)
		body = c.instead(r, fmt.Sprintf("ERROR: the return cannot be sent: %v", err))
	}
	name, err := c.spool.put(string(r.JID), body)
	if err != nil {
		c.log.WithError(err).Errorf("the return of job %s cannot be kept on disk", r.JID)
	}
	if name == "" {
		c.spool.giveUp(string(r.JID), err)
	}
	return func() {
		c.spool.release(name)
		c.look()
	}
}

// instead returns the body of a return that says why there is no better one.
func (c *courier) instead(r *job.Return, text string) []byte {
	failed := *r
	failed.Value, failed.Retcode, failed.Success, failed.Out, failed.Metadata, failed.Extra = text, int64(1), false, "nested", nil, nil
	if body, err := payload.Marshal(failed.Map()); err == nil && len(body) <= maxReturn {
		return body
	}
	failed.Fun, failed.FunArgs = nil, nil
	body, _ := payload.Marshal(failed.Map()) // texts and numbers only
	return body
}

// look makes the courier look into the spool.
func (c *courier) look() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// hurry makes it try everything again now.
func (c *courier) hurry() {
	c.mu.Lock()
	c.until = time.Time{}
	c.mu.Unlock()
	c.spool.hurry()
	c.look()
}

// run delivers what is in the spool until ctx ends: what an earlier run left, and what comes.
func (c *courier) run(ctx context.Context) {
	var under sync.WaitGroup
	defer under.Wait()
	for c.gate.wait(ctx) == nil {
		if c.turn.Acquire(ctx, 1) != nil {
			return
		}
		name, next := c.claim()
		if name == "" {
			c.turn.Release(1)
			if !c.rest(ctx, next) {
				return
			}
			continue
		}
		under.Go(func() {
			defer c.turn.Release(1)
			c.try(ctx, name)
		})
	}
}

// claim returns the next return to send, or when there will be one; zero is never.
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

// rest waits until there is something to do, or returns false when ctx ends.
func (c *courier) rest(ctx context.Context, next time.Time) bool {
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

// errNotTaken is returned for a return that the master has read but could not keep, as when its disk is full.
var errNotTaken = errors.New("the master could not take the return")

// try sends one return, and settles what becomes of it.
func (c *courier) try(ctx context.Context, name string) {
	body, err := c.spool.get(name)
	if err != nil {
		c.drop(name, err)
		return
	}
	late := time.AfterFunc(syncAfter, func() { c.sync(name) })
	err = c.send(ctx, body)
	late.Stop()
	switch {
	case err == nil:
		jid := c.spool.jid(name)
		c.log.Debugf("the master has acknowledged the return of job %s", jid)
		c.settle(nil)
		if err := c.spool.done(name); err != nil {
			c.log.WithError(err).Errorf("the return of job %s, which the master has, cannot be removed from disk", jid)
		}
	case errors.Is(err, errDamaged):
		c.drop(name, err)
	case errors.Is(err, errNotTaken): // this one alone: others may well be taken
		c.log.WithError(err).Warn("a return is kept and sent again")
		c.again(name, body, err)
	default:
		if ctx.Err() == nil {
			c.settle(err)
		}
		c.again(name, body, err)
	}
}

func (c *courier) sync(name string) {
	if err := c.spool.sync(name); err != nil {
		c.log.WithError(err).Errorf("the return of job %s cannot be flushed to disk", c.spool.jid(name))
	}
}

// drop gives a return up.
func (c *courier) drop(name string, why error) {
	jid := c.spool.jid(name)
	c.spool.giveUp(jid, why)
	if err := c.spool.done(name); err != nil {
		c.log.WithError(err).Errorf("the return of job %s, which is given up, cannot be removed from disk", jid)
	}
}

// again keeps a return for later. A large one over which the connection breaks each time is more than the master
// takes; a short one that says so goes in its place.
func (c *courier) again(name string, body []byte, why error) {
	defer c.look() // for when it is due
	fails := c.spool.fail(name, retryPause)
	if fails < giveUpAt || len(body) < large || !errors.Is(why, transport.ErrDisconnected) {
		return
	}
	load, err := payload.Unmarshal(body, payload.WireLimits())
	m, _ := load.(*data.Map)
	ret, parseErr := job.ParseReturn(m)
	if err != nil || parseErr != nil {
		c.drop(name, why)
		return
	}
	short := c.instead(ret, fmt.Sprintf("ERROR: the master does not take the return, which has %d bytes: %v", len(body), why))
	instead, err := c.spool.put(string(ret.JID), short)
	if err != nil {
		c.log.WithError(err).Errorf("the return of job %s cannot be kept on disk", ret.JID)
	}
	c.spool.release(instead)
	c.drop(name, why)
}

// retryPause draws the pause after so many failures in a row.
func retryPause(fails int) time.Duration {
	longest := min(firstRetry<<min(fails-1, 10), lastRetry)
	return longest/2 + rand.N(longest/2)
}

// settle notes how an attempt went. After a failure all else waits too, since it is the master that is away; a change is
// logged, and success makes everything due.
func (c *courier) settle(err error) {
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
		c.log.WithError(err).Warn("returns are kept until the master takes them")
	case err == nil && before > 0:
		c.log.Info("the master takes returns again")
		c.hurry()
	}
}

// send gives one return to the master.
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
	return fmt.Errorf("%w: it answers %s", errNotTaken, data.Repr(reply))
}

// addSignature signs a load where the option minion_sign_messages is on: the bytes that Salt gets when it encodes the load anew
// (salt/minion.py, _send_req_sync; salt/master.py, AESFuncs._return).
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

// finish gives what is in the spool a little time to be delivered, and makes the rest durable.
func (c *courier) finish(stop context.CancelFunc, done <-chan struct{}) {
	end := time.NewTimer(lastDrain)
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

package minion

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/internal/clock"
	"github.com/brineproject/brine/pki"
)

// A welcome asks the master to let the minion in, and again when the master says no or the connection was lost.
type welcome struct {
	l      *link
	signIn func(context.Context) (*channel.Credentials, error)
	again  chan struct{} // there is a reason to ask anew
	busy   chan struct{} // holds an element while the master is being asked
	told   string        // why the minion waits, as it was logged
}

// newWelcome returns a welcome of l that asks with signIn.
func newWelcome(l *link, signIn func(context.Context) (*channel.Credentials, error)) *welcome {
	return &welcome{l: l, signIn: signIn, again: make(chan struct{}, 1), busy: make(chan struct{}, 1)}
}

// ask makes the welcome sign in anew, at once or after others have.
func (w *welcome) ask() {
	select {
	case w.again <- struct{}{}:
	default:
	}
}

// once asks the master once, and opens the gate when it says yes.
func (w *welcome) once(ctx context.Context) (*channel.Credentials, error) {
	select {
	case w.busy <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-w.busy }()
	creds, err := w.signIn(ctx)
	if err == nil {
		w.l.gate.set(true)
	}
	return creds, err
}

// answered waits for the answer when the master is being asked.
func (w *welcome) answered(ctx context.Context) {
	select {
	case w.busy <- struct{}{}:
		<-w.busy
	case <-ctx.Done():
	}
}

// satisfied forgets what was asked for before the master's yes.
func (w *welcome) satisfied() {
	select {
	case <-w.again:
	default:
	}
}

// enter asks until the master lets the minion in, as Salt's minion waits (salt/crypt.py, AsyncAuth.authenticate, and
// salt/minion.py, _connect_minion). An error is a reason for the minion to end.
func (w *welcome) enter(ctx context.Context) (*channel.Credentials, error) {
	wait := w.l.m.settings.now().AcceptanceWaitTime
	for tries := 1; ; tries++ {
		creds, err := w.once(ctx)
		if err == nil {
			w.told = ""
			w.satisfied()
			w.l.log.Info("Authentication with master successful")
			return creds, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		w.l.meet()
		if err := w.fatal(ctx, err); err != nil {
			return nil, err
		}
		w.tell(err, wait)
		if tries == w.l.m.settings.now().MasterTries {
			w.l.log.Errorf("Error while bringing up minion for multi-master. Is master at %s responding?", w.l.address.text)
		}
		whole, err := w.l.m.settings.pause(ctx, func(*config.Minion) time.Duration { return wait })
		if err != nil {
			return nil, err
		}
		cfg := w.l.m.settings.now()
		if wait = grow(wait, cfg.AcceptanceWaitTimeMax); !whole {
			wait = cfg.AcceptanceWaitTime
		}
	}
}

// fatal returns err when the minion must end for it.
func (w *welcome) fatal(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, channel.ErrFingerprint):
		return err
	case errors.Is(err, channel.ErrUnproved): // anybody can send such a refusal: the minion waits
	case errors.Is(err, channel.ErrRejected) && !w.l.m.settings.now().RejectedRetry:
		if errors.Is(err, channel.ErrDenied) {
			w.l.log.Error(w.deniedText())
		}
		w.l.log.Error("The Salt Master has rejected this minion's public key! To repair this issue, delete the public key for this " +
			"minion on the Salt Master and restart this minion. Or restart the Salt Master in open mode to clean out the keys. " +
			"The Salt Minion will now exit.")
		if clock.Sleep(ctx, 10*time.Second+rand.N(10*time.Second)) != nil {
			return ctx.Err()
		}
		return err
	}
	return nil
}

// deniedText says what an operator has to do when the master knows another key for the id, as of a host that was installed anew.
func (w *welcome) deniedText() string {
	id := w.l.m.cfg.ID
	return fmt.Sprintf("The Salt Master knows another key for the id %s. The one of this minion is %s. If this host was installed anew, compare them on the "+
		"Salt Master with: salt-key -f %s; and take this one with: salt-key -a %s --include-denied", id, pki.KeyName(w.l.m.key.Public()), id, id)
}

// tell says in one line why the minion waits, once for each reason in a row.
func (w *welcome) tell(err error, wait time.Duration) {
	kind, text := err.Error(), err.Error()
	switch {
	case errors.Is(err, channel.ErrPending):
		kind = "pending"
		text = "The Salt Master has cached the public key for this node, this salt minion will wait for " +
			strconv.Itoa(int(wait.Seconds())) + " seconds before attempting to re-authenticate; accept it there with: salt-key -a " + w.l.m.cfg.ID
	case errors.Is(err, channel.ErrDenied):
		kind, text = "denied", w.deniedText()
	case errors.Is(err, channel.ErrBusy):
		kind = "busy"
		text = "The Salt Master has no time for this minion, as many others sign in"
	case errors.Is(err, channel.ErrRejected):
		kind = "rejected"
		text = "The Salt Master has rejected this minion's public key"
		if errors.Is(err, channel.ErrUnproved) {
			kind = "rejected without proof"
			text = "A refusal of this minion's public key came, but no master that the minion knows has signed it"
		}
	case errors.Is(err, channel.ErrFull):
		kind = "full"
		text = "The Salt Master is full: max_minions are connected"
	case errors.Is(err, channel.ErrMasterKey):
		text = w.l.m.withStoredKey(err).Error()
	case errors.Is(err, context.DeadlineExceeded):
		kind = "timeout"
		text = fmt.Sprintf("Attempt to authenticate with the salt master failed with timeout error: %v", err)
	}
	if kind == w.told {
		w.l.log.Debug(text)
		return
	}
	w.told = kind
	w.l.log.Errorf("%s (tried again every %s)", text, wait)
}

func grow(wait, most time.Duration) time.Duration {
	if wait >= most {
		return wait
	}
	return min(2*wait, most)
}

// signedIn is told of each sign-in, whoever made it. When the master says no the gate is closed, so that neither
// publications nor returns ask again, and the welcome does so at its pace.
func (l *link) signedIn(err error) {
	switch {
	case err == nil:
		l.gate.set(true)
	case refused(err):
		l.gate.set(false)
		l.welcome.ask()
	}
}

// refused reports whether the master has said no.
func refused(err error) bool {
	return errors.Is(err, channel.ErrPending) || errors.Is(err, channel.ErrRejected) || errors.Is(err, channel.ErrFull)
}

// stay signs in again when the connection was lost, since a master that was started anew has a new key, and when the
// master has refused the minion. After a loss the pause is drawn at random, so that a fleet does not come all at once.
func (w *welcome) stay(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-w.again:
		}
		before := w.l.client.Credentials()
		most := w.l.m.settings.now().RandomReauthDelay
		if !w.l.gate.isOpen() {
			most = w.l.m.settings.now().AcceptanceWaitTime
		}
		if err := clock.Sleep(ctx, rand.N(max(most, time.Millisecond))); err != nil {
			return err
		}
		if now := w.l.client.Credentials(); now != nil && now != before { // a publication or a request has done it
			w.l.moved(now)
			_ = w.l.introduce(ctx) // it is logged, and a refusal has this ask again
			continue
		}
		creds, err := w.enter(ctx)
		if err != nil {
			return err
		}
		w.l.moved(creds)
		w.l.courier.hurry()
	}
}

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

// An authenticator signs the minion in to a master, and again after a refusal or a lost connection.
type authenticator struct {
	l          *link
	id         string // of the minion
	settings   *settings
	signIn     func(context.Context) (*channel.Credentials, error)
	requested  chan struct{} // a new sign-in was requested
	busy       chan struct{} // semaphore held during a sign-in
	lastLogged string        // last logged reason for waiting
}

// newAuthenticator returns an authenticator for l that signs in with signIn.
func newAuthenticator(
	l *link, signIn func(context.Context) (*channel.Credentials, error),
) *authenticator {
	return &authenticator{l: l, id: l.m.cfg.ID, settings: l.m.settings, signIn: signIn,
		requested: make(chan struct{}, 1), busy: make(chan struct{}, 1)}
}

// request requests a new sign-in. Requests that come before it starts are merged.
func (w *authenticator) request() {
	select {
	case w.requested <- struct{}{}:
	default:
	}
}

// signInOnce signs in once and opens the gate on success.
func (w *authenticator) signInOnce(ctx context.Context) (*channel.Credentials, error) {
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

// awaitSignIn waits for the end of a sign-in in progress.
func (w *authenticator) awaitSignIn(ctx context.Context) {
	select {
	case w.busy <- struct{}{}:
		<-w.busy
	case <-ctx.Done():
	}
}

// clearRequest discards a pending request for a sign-in after a successful one.
func (w *authenticator) clearRequest() {
	select {
	case <-w.requested:
	default:
	}
}

// authenticate signs in repeatedly until the master accepts the minion, with the pauses of Salt's
// minion (salt/crypt.py, AsyncAuth.authenticate; salt/minion.py, _connect_minion). An error means
// that the minion must end.
func (w *authenticator) authenticate(ctx context.Context) (*channel.Credentials, error) {
	wait := w.settings.config().AcceptanceWaitTime
	for tries := 1; ; tries++ {
		creds, err := w.signInOnce(ctx)
		if err == nil {
			w.lastLogged = ""
			w.clearRequest()
			w.l.log.Info("Authentication with master successful")
			return creds, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		w.l.contacted.reach()
		if err := w.fatal(ctx, err); err != nil {
			return nil, err
		}
		w.logWaiting(err, wait)
		if tries == w.settings.config().MasterTries {
			w.l.log.Errorf("Error while bringing up minion for multi-master. Is master at %s responding?", w.l.address.text)
		}
		whole, err := w.settings.pause(ctx, func(*config.Minion) time.Duration { return wait })
		if err != nil {
			return nil, err
		}
		cfg := w.settings.config()
		if wait = grow(wait, cfg.AcceptanceWaitTimeMax); !whole {
			wait = cfg.AcceptanceWaitTime
		}
	}
}

// fatal returns err if it requires the minion to end.
func (w *authenticator) fatal(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, channel.ErrFingerprint):
		return err
	case errors.Is(err, channel.ErrUnproved): // such a refusal can be forged: the minion waits
	case errors.Is(err, channel.ErrRejected) && !w.settings.config().RejectedRetry:
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

// deniedText returns instructions for the operator if the master has another key for the id, for
// example after the host was reinstalled.
func (w *authenticator) deniedText() string {
	return fmt.Sprintf("The Salt Master knows another key for the id %s. The one of this minion is %s. If this host was installed anew, compare them on the "+
		"Salt Master with: salt-key -f %s; and take this one with: salt-key -a %s --include-denied",
		w.id, pki.KeyName(w.l.m.key.Public()), w.id, w.id)
}

// logWaiting logs why the minion waits, once per reason in a row. Repetitions are logged at level
// debug.
func (w *authenticator) logWaiting(err error, wait time.Duration) {
	kind, text := w.reason(err, wait)
	w.logOnce(kind, fmt.Sprintf("%s (tried again every %s)", text, wait))
}

// logFailure logs why a sign-in has failed, once per reason in a row, at a master that is one of
// several.
func (w *authenticator) logFailure(err error) {
	kind, text := w.reason(err, w.settings.config().AcceptanceWaitTime)
	w.logOnce(kind, text)
}

func (w *authenticator) logOnce(kind, text string) {
	if kind == w.lastLogged {
		w.l.log.Debug(text)
		return
	}
	w.lastLogged = kind
	w.l.log.Error(text)
}

// reason returns the kind of a failed sign-in and the text for it. The next one follows after wait.
func (w *authenticator) reason(err error, wait time.Duration) (kind, text string) {
	kind, text = err.Error(), err.Error()
	switch {
	case errors.Is(err, channel.ErrPending):
		kind = "pending"
		text = "The Salt Master has cached the public key for this node, this salt minion will wait for " +
			strconv.Itoa(int(wait.Seconds())) +
			" seconds before attempting to re-authenticate; accept it there with: salt-key -a " +
			w.id
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
	case isAboutMasterKey(err):
		text = w.l.m.withStoredKey(err).Error()
	case errors.Is(err, context.DeadlineExceeded):
		kind = "timeout"
		text = fmt.Sprintf("Attempt to authenticate with the salt master failed with timeout error: %v", err)
	}
	return kind, text
}

func grow(wait, most time.Duration) time.Duration {
	if wait >= most {
		return wait
	}
	return min(2*wait, most)
}

// keepSignedIn signs in again after a refusal or a lost connection, since a restarted master has a
// new session key. The pause before it is random, so that a fleet does not reconnect all at once.
func (w *authenticator) keepSignedIn(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-w.requested:
		}
		before := w.l.client.Credentials()
		most := w.settings.config().RandomReauthDelay
		if !w.l.gate.isOpen() {
			most = w.settings.config().AcceptanceWaitTime
		}
		if err := clock.Sleep(ctx, rand.N(max(most, time.Millisecond))); err != nil {
			return err
		}
		// a publication or a request has signed in already
		if now := w.l.client.Credentials(); now != nil && now != before {
			w.l.setPublishPort(now)
			if err := w.l.sendFirstRequest(ctx); err != nil { // a refusal triggers a new sign-in
				w.l.log.WithError(err).Debug("the sign-in is not confirmed")
			}
			continue
		}
		creds, err := w.authenticate(ctx)
		if err != nil {
			return err
		}
		w.l.setPublishPort(creds)
		w.l.courier.retryNow()
	}
}

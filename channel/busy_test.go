package channel

import (
	"bytes"
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/payload"
)

// Sign-ins that end because the master stops are no sign of too many minions.
func TestSignInsOfAMasterThatStopsAreNotTooMany(t *testing.T) {
	r := newRig(t, rigOptions{})
	turn, err := r.signIn.line.join(addr(1), 1)
	must(t, err)
	<-turn.ready
	body, err := payload.Marshal(data.NewMap("enc", "clear", "version", int64(Version), "load",
		data.NewMap("cmd", "_auth", "id", "web1", "nonce", "0123", "pub", r.ring.pub("minion"),
			brineField, true)))
	must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	req := &fakeRequest{body: body}
	r.server.Handle(ctx, req)
	if log := r.logged(); req.replies != 0 || log != "" {
		t.Errorf("%d replies, and the log says %s", req.replies, log)
	}
}

// waitingSignIn returns a sign-in that has a place in the line, since another one has the only
// turn.
func waitingSignIn(
	t *testing.T, ctx context.Context, r *rig, ours bool,
) (req *fakeRequest, done chan struct{}) {
	t.Helper()
	load := data.NewMap("cmd", "_auth", "id", "web1", "nonce", "0123", "pub", r.ring.pub("minion"))
	if ours {
		load.Set(brineField, true)
	}
	body, err := payload.Marshal(data.NewMap("enc", "clear", "version", int64(2), "load", load))
	must(t, err)
	req, done = &fakeRequest{body: body}, make(chan struct{})
	go func() {
		defer close(done)
		r.server.Handle(ctx, req)
	}()
	synctest.Wait()
	return req, done
}

// Salt 3006.0 minions never retry after a disconnect, so they keep their place until their last
// try. Brine's get a busy reply after 4 s.
func TestSignInsOfSaltKeepTheirPlace(t *testing.T) {
	for _, tt := range []struct {
		ours    bool
		after   time.Duration // the turn comes
		replies int
		busy    bool
	}{
		{false, 34 * time.Second, 1, false}, {false, 36 * time.Second, 0, false},
		{true, 3 * time.Second, 1, false}, {true, 5 * time.Second, 1, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, rigOptions{})
			turn, err := r.signIn.line.join(addr(1), 1)
			must(t, err)
			<-turn.ready
			req, done := waitingSignIn(t, t.Context(), r, tt.ours)
			time.Sleep(tt.after)
			r.signIn.line.leave()
			<-done
			if busy := bytes.Contains(req.reply, []byte(retBusy)); req.replies != tt.replies ||
				busy != tt.busy {
				t.Errorf("one of ours %v, after %s: %d replies, busy %v; want %d, %v", tt.ours,
					tt.after, req.replies, busy, tt.replies, tt.busy)
			}
		})
	}
}

// A sign-in whose connection has ended, as that of a minion of Salt 3006.18 after 5 s, takes no
// place and no turn.
func TestSignInsThatWentAwayLeaveTheLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{})
		turn, err := r.signIn.line.join(addr(1), 1)
		must(t, err)
		<-turn.ready
		ctx, end := context.WithCancel(t.Context())
		req, done := waitingSignIn(t, ctx, r, false)
		if r.signIn.line.length != 1 {
			t.Errorf("%d wait", r.signIn.line.length)
		}
		end()
		<-done
		if l := r.signIn.line; l.length != 0 || l.bytes != 0 || req.replies != 0 {
			t.Errorf("%d wait with %d bytes, %d replies", l.length, l.bytes, req.replies)
		}
	})
}

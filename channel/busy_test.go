package channel

import (
	"context"
	"testing"

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
		data.NewMap("cmd", "_auth", "id", "web1", "nonce", "0123", "pub", r.ring.pub("minion"), oursField, true)))
	must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	req := &fakeRequest{body: body}
	r.server.Handle(ctx, req)
	if log := r.logged(); req.replies != 0 || log != "" {
		t.Errorf("%d replies, and the log says %s", req.replies, log)
	}
}

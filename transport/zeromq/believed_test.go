package zeromq

import (
	"errors"
	"strings"
	"testing"

	"github.com/brineproject/brine/transport"
)

// TestTrustHoldsForWholeMessages proves a peer in the middle of a large message: the rest may not
// take more than was lent to a stranger, which the budget of trusted peers does not count.
func TestTrustHoldsForWholeMessages(t *testing.T) {
	limits := transport.Limits{Assembly: 1 << 20}.ServerLimits()
	stream := hello(1) + readyAs("REQ") + longFrame(1, 100_000) + strings.Repeat("x",
		100_000) + longFrame(0, 90<<20)
	pr := profile{kind: routerSocket, server: true, buffers: &buffers{size: 1 << 10}, limits: limits,
		budget:    transport.NewBudget(limits.Assembly),
		strangers: transport.NewStrangers(limits.Strange), counters: &transport.Counters{}}
	p, err := pr.open(&script{in: strings.NewReader(stream)})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := p.guard.frame(); err != nil {
		t.Fatal(err)
	}
	p.guard.trusted.Store(true) // another request of the peer has proved it
	if _, _, err := p.guard.frame(); !errors.Is(err, transport.ErrTooLarge) {
		t.Errorf("the frame of 90 MiB gives error %v, want %v", err, transport.ErrTooLarge)
	}
}

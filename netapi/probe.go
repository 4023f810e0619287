package netapi

import (
	"context"
	"time"
)

const (
	probeEvery    = time.Second     // how long an answer counts
	probePatience = 5 * time.Second // how long a question may take
)

// A probe asks whether something is there, once for all who want to know at about the same time.
type probe struct {
	test func(ctx context.Context) error
	turn chan struct{} // holds a value while nobody asks

	// guarded by turn
	err  error
	next time.Time // asked again from then on
}

func newProbe(test func(ctx context.Context) error) *probe {
	p := &probe{test: test, turn: make(chan struct{}, 1)}
	p.turn <- struct{}{}
	return p
}

// ask returns the error of the test, or that of ctx.
func (p *probe) ask(ctx context.Context) error {
	select {
	case <-p.turn:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { p.turn <- struct{}{} }()
	if time.Now().Before(p.next) {
		return p.err
	}
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), probePatience) // others wait for the answer too
	defer cancel()
	p.err = p.test(within)
	p.next = time.Now().Add(probeEvery)
	return p.err
}

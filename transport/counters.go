package transport

import "sync/atomic"

// Counters are the live values of [Stats].
type Counters struct {
	Accepted, Refused, HandshakeFailures, ProtocolErrors, TooLarge atomic.Uint64
	Received, Sent, Dropped, Evicted, Unanswered, Panics           atomic.Uint64

	writing writers
}

// Stats returns the current values.
func (c *Counters) Stats(open int) Stats {
	return Stats{
		Connections:       open,
		Accepted:          c.Accepted.Load(),
		Refused:           c.Refused.Load(),
		HandshakeFailures: c.HandshakeFailures.Load(),
		ProtocolErrors:    c.ProtocolErrors.Load(),
		TooLarge:          c.TooLarge.Load(),
		Received:          c.Received.Load(),
		Sent:              c.Sent.Load(),
		Dropped:           c.Dropped.Load(),
		Evicted:           c.Evicted.Load(),
		Unanswered:        c.Unanswered.Load(),
		Panics:            c.Panics.Load(),
	}
}

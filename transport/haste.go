package transport

import "time"

// A Haste ends pauses between connection attempts. A signal is valid for a few seconds: a
// connection that exists when it is sent may be lost soon after, but not days later.
type Haste chan time.Time

// hasteLife is how long a signal is valid. Connections to a server that has gone are lost at nearly
// the same time.
const hasteLife = 5 * time.Second

// NewHaste returns a Haste without a pending signal.
func NewHaste() Haste { return make(Haste, 1) }

// Say ends the current pause, or one that begins within a few seconds. It never blocks.
func (h Haste) Say() {
	for {
		select {
		case h <- time.Now():
			return
		default:
		}
		select {
		case <-h: // an older signal
		default:
		}
	}
}

package transport

import "time"

// A Haste ends pauses between attempts to connect. What is said counts for a few seconds: who is told while there is a
// connection may be about to lose it, but not in days.
type Haste chan time.Time

// hasteLife is for how long a word counts: connections to one server that is gone are lost at nearly the same time.
const hasteLife = 5 * time.Second

// NewHaste returns a Haste that ends no pause yet.
func NewHaste() Haste { return make(Haste, 1) }

// Say ends the pause of now, or one that begins within a few seconds. It never waits.
func (h Haste) Say() {
	for {
		select {
		case h <- time.Now():
			return
		default:
		}
		select {
		case <-h: // an older word
		default:
		}
	}
}

package schedule

import "time"

const (
	late      = 3 * time.Hour // a missed wall-clock moment is made up if it is at most this old
	lookAgain = time.Minute   // interval of checks whether the wall clock was set, if needed
	mostSpans = 8             // number of wall-clock spans remembered
)

// A reading is the value of both clocks at one time.
type reading struct {
	mono time.Time // with a monotonic part; only differences are meaningful
	wall time.Time // without a monotonic part
}

// A pace determines when a job is due.
type pace interface {
	restart(r reading) // begins to count
	// the moment by the wall clock, before splay; left is false when none is left
	due(r reading) (moment time.Time, left bool)
	delay() time.Duration                 // splay of that moment
	wait(r reading) (time.Duration, bool) // how long to sleep at most
	// whether the job is due, and for which moment
	pass(r reading) (moment time.Time, splay time.Duration, came bool)
	advance(r reading) // goes on to the next moment; after pass has said true
	// lets moments up to now go by
	idle(r reading)
}

var (
	_ pace = (*interval)(nil)
	_ pace = (*course)(nil)
)

// An interval is a pace by the monotonic clock.
type interval struct {
	every time.Duration
	splay func() time.Duration
	at    time.Time // monotonic clock, before splay
	shift time.Duration
}

func (i *interval) restart(r reading) { i.set(r.mono.Add(i.every)) }

func (i *interval) set(at time.Time) { i.at, i.shift = at, i.splay() }

func (i *interval) due(r reading) (time.Time, bool) { return r.wall.Add(i.at.Sub(r.mono)), true }

func (i *interval) delay() time.Duration { return i.shift }

func (i *interval) wait(r reading) (time.Duration, bool) {
	return max(i.at.Add(i.shift).Sub(r.mono), 0), true
}

func (i *interval) pass(r reading) (moment time.Time, splay time.Duration, came bool) {
	at, _ := i.due(r)
	return at, i.shift, r.mono.Sub(i.at.Add(i.shift)) >= 0
}

// advance counts from the moment that was due, so that delays do not add up.
func (i *interval) advance(r reading) {
	from := i.at.Add(i.shift)
	i.set(from.Add((max(r.mono.Sub(from), 0)/i.every + 1) * i.every))
}

func (i *interval) idle(r reading) {
	if _, _, came := i.pass(r); came {
		i.advance(r)
	}
}

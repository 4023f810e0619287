// Package faults makes schedules of faults from seeds, and plays them on processes.
package faults

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A Kind is what happens to a process.
type Kind string

// The kinds of faults.
const (
	Kill    Kind = "kill"    // it is killed, and started after a while
	Stop    Kind = "stop"    // it stands still for a while
	Restart Kind = "restart" // it is ended in good order, and started after a while
	Clock   Kind = "clock"   // its clock is off for a while; the process is a Clocked
)

// A Fault is one fault of a schedule.
type Fault struct {
	Kind   Kind
	Target string        // name of the process
	At     time.Duration // since the beginning
	For    time.Duration // until it is undone
	Off    time.Duration // of the clock
}

// end returns when the fault is undone.
func (f Fault) end() time.Duration { return f.At + f.For }

// A Group is a set of processes of which only some are away at the same time.
type Group struct {
	Names []string
	Kinds []Kind        // that are drawn; nil means Kill, Stop and Restart
	Most  int           // how many are away at once; 0 means 1
	Pause time.Duration // mean time between faults; 0 means 10 s
	// Rest is the time after a fault in which a process still counts as away; 0 means 5 s.
	Rest time.Duration
}

// Options bound a schedule.
type Options struct {
	Groups  []Group       // each has its own faults
	Length  time.Duration // all faults are undone by then
	Longest time.Duration // of stops and wrong clocks; 0 means a minute. Stops take a second or more
	// Away is the longest time for which killed and ended processes are away; 0 means 15 s.
	Away time.Duration
}

// A Schedule is a list of faults in the order of their beginnings.
type Schedule struct {
	Seed   uint64
	Faults []Fault
}

// New returns the schedule that belongs to a seed: the same for the same seed and options.
func New(seed uint64, o Options) Schedule {
	o.Longest, o.Away = cmp.Or(o.Longest, time.Minute), cmp.Or(o.Away, 15*time.Second)
	s := Schedule{Seed: seed}
	for i, g := range o.Groups {
		g.Most, g.Pause, g.Rest = cmp.Or(g.Most, 1), cmp.Or(g.Pause, 10*time.Second), cmp.Or(g.Rest, 5*time.Second)
		s.Faults = append(s.Faults, g.faults(rand.New(rand.NewPCG(seed, uint64(i))), o)...)
	}
	slices.SortStableFunc(s.Faults, func(a, b Fault) int { return cmp.Compare(a.At, b.At) })
	return s
}

// faults returns the faults of a group.
func (g Group) faults(rng *rand.Rand, o Options) (all []Fault) {
	back := map[string]time.Duration{} // when a process is back from its last fault
	for at := time.Duration(0); ; {
		at += time.Duration(rng.ExpFloat64() * float64(g.Pause))
		var here []string
		next := o.Length
		for _, name := range g.Names {
			if back[name] <= at {
				here = append(here, name)
			} else {
				next = min(next, back[name])
			}
		}
		if len(g.Names)-len(here) >= g.Most {
			at = next
			here = nil
		}
		f := g.fault(rng, o)
		if f.At = at; f.end() > o.Length {
			return all
		}
		if len(here) > 0 {
			f.Target = here[rng.IntN(len(here))]
			back[f.Target] = f.end() + g.Rest
			all = append(all, f)
		}
	}
}

// wrong is how far a wrong clock is off at most.
const wrong = 2 * time.Minute

// fault returns a fault without a time and a target.
func (g Group) fault(rng *rand.Rand, o Options) Fault {
	kinds := g.Kinds
	if kinds == nil {
		kinds = []Kind{Kill, Stop, Restart}
	}
	switch kind := kinds[rng.IntN(len(kinds))]; kind {
	case Stop:
		return Fault{Kind: kind, For: time.Second + upTo(rng, o.Longest-time.Second)}
	case Clock:
		off := (upTo(rng, 2*wrong) - wrong).Truncate(time.Second)
		return Fault{Kind: kind, For: upTo(rng, o.Longest), Off: off}
	default:
		return Fault{Kind: kind, For: upTo(rng, o.Away)}
	}
}

// upTo returns a random time from 0 to most.
func upTo(rng *rand.Rand, most time.Duration) time.Duration {
	return time.Duration(rng.Int64N(int64(max(most, 0)) + 1))
}

// String returns the seed and one line for each fault.
func (s Schedule) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s=%d", seedVar, s.Seed)
	for _, f := range s.Faults {
		fmt.Fprintf(&b, "\n%8.3f s: %s %s for %.3f s", f.At.Seconds(), f.Kind, f.Target, f.For.Seconds())
		if f.Kind == Clock {
			fmt.Fprintf(&b, ", off by %s", f.Off)
		}
	}
	return b.String()
}

// seedVar is the environment variable that names a seed.
const seedVar = "BRINE_SEED"

// Seed returns the seed in the environment variable BRINE_SEED, or a new one, and writes it to the log
// of the test.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv(seedVar); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("%s: %v", seedVar, err)
		}
	}
	t.Logf("%s=%d", seedVar, seed)
	return seed
}

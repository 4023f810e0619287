package faults

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func options() Options {
	return Options{Length: 10 * time.Minute, Groups: []Group{
		{Names: []string{"m1", "m2", "m3"}, Kinds: []Kind{Kill, Stop, Restart, Clock}, Most: 2,
			Pause: 8 * time.Second},
		{Names: []string{"n1", "n2", "n3"}},
	}}
}

// TestSchedulesKeepTheirBounds checks schedules of many seeds.
func TestSchedulesKeepTheirBounds(t *testing.T) {
	kinds := map[Kind]int{}
	for seed := range uint64(200) {
		s := New(seed, options())
		if again := New(seed, options()); s.String() != again.String() {
			t.Fatalf("seed %d makes two schedules:\n%s\n%s", seed, s, again)
		}
		if len(s.Faults) < 20 {
			t.Errorf("seed %d makes only %d faults in ten minutes", seed, len(s.Faults))
		}
		for i, f := range s.Faults {
			kinds[f.Kind]++
			if i > 0 && f.At < s.Faults[i-1].At {
				t.Errorf("seed %d: %v comes before %v", seed, s.Faults[i-1], f)
			}
			if f.Kind == Stop && f.For < time.Second || f.For > time.Minute || f.end() > 10*time.Minute {
				t.Errorf("seed %d: %v is too long", seed, f)
			}
			if f.Off.Abs() > 2*time.Minute || f.Off%time.Second != 0 || f.Off != 0 && f.Kind != Clock ||
				f.Kind == Clock && f.Target[0] == 'n' {
				t.Errorf("seed %d: %v sets a clock", seed, f)
			}
			away := map[string]bool{}
			for _, g := range s.Faults {
				if g.Target[0] == f.Target[0] && g.At <= f.At && f.At < g.end() {
					if g != f && g.Target == f.Target {
						t.Errorf("seed %d: %v falls into %v", seed, f, g)
					}
					away[g.Target] = true
				}
			}
			if most := map[byte]int{'m': 2, 'n': 1}[f.Target[0]]; len(away) > most {
				t.Errorf("seed %d: %v are away at once", seed, away)
			}
		}
	}
	for _, k := range []Kind{Kill, Stop, Restart, Clock} {
		if kinds[k] < 1000 {
			t.Errorf("%d faults are of kind %s", kinds[k], k)
		}
	}
	if a, b := New(1, options()), New(2, options()); slices.Equal(a.Faults, b.Faults) {
		t.Error("two seeds make the same schedule")
	}
	if text := New(7, options()).String(); !strings.HasPrefix(text, "BRINE_SEED=7\n") {
		t.Errorf("a schedule does not tell its seed: %.40q", text)
	}
}

// A process is a target that notes what happens to it.
type process struct {
	name  string
	begin time.Time
	mu    *sync.Mutex
	notes *[]string
	fails string // action that fails
}

var errFails = errors.New("it fails")

func (p *process) note(action string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	*p.notes = append(*p.notes, fmt.Sprintf("%s %s %s", time.Since(p.begin), action, p.name))
	if action == p.fails {
		return errFails
	}
	return nil
}

func (p *process) Start() error    { return p.note("start") }
func (p *process) Kill() error     { return p.note("kill") }
func (p *process) End() error      { return p.note("end") }
func (p *process) Stop() error     { return p.note("stop") }
func (p *process) Continue() error { return p.note("continue") }

func (p *process) SetClock(off time.Duration) error {
	return p.note("set the clock to be off by " + off.String() + " of")
}

func play(t *testing.T, fails string) (notes []string, err error) {
	t.Helper()
	var mu sync.Mutex
	p := func(name string) Target {
		return &process{name: name, begin: time.Now(), mu: &mu, notes: &notes, fails: fails}
	}
	s := Schedule{Faults: []Fault{
		{Kind: Kill, Target: "a", At: time.Second, For: 3 * time.Second},
		{Kind: Stop, Target: "b", At: 2 * time.Second, For: 5 * time.Second},
		{Kind: Restart, Target: "a", At: 5 * time.Second, For: time.Second},
		{Kind: Clock, Target: "b", At: 8 * time.Second, For: time.Second, Off: -time.Minute},
	}}
	err = s.Play(t.Context(), map[string]Target{"a": p("a"), "b": p("b")}, nil)
	return notes, err
}

func TestPlay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		notes, err := play(t, "")
		want := []string{"1s kill a", "2s stop b", "4s start a", "5s end a", "6s start a", "7s continue b",
			"8s set the clock to be off by -1m0s of b", "9s set the clock to be off by 0s of b"}
		if err != nil || !slices.Equal(notes, want) {
			t.Errorf("%q, %v; want %q", notes, err, want)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		notes, err := play(t, "stop")
		if want := []string{"1s kill a", "2s stop b"}; !errors.Is(err, errFails) || !slices.Equal(notes, want) {
			t.Errorf("%q, %v; want %q and an error", notes, err, want)
		}
	})
	s := Schedule{Faults: []Fault{{Kind: Kill, Target: "a"}}}
	if err := s.Play(t.Context(), nil, nil); err == nil {
		t.Error("faults of a process that is not there are played")
	}
	s = Schedule{Faults: []Fault{{Kind: Clock, Target: "a"}}}
	if err := s.Play(t.Context(), map[string]Target{"a": struct{ Target }{}}, nil); err == nil {
		t.Error("the clock of a process is set that cannot be")
	}
}

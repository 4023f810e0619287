package history

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

const jid = "20260101000000000001"

// good returns a history of two members and two minions that breaks no rule.
func good() *History {
	var r Recorder
	r.Order(Order{JID: jid, Member: "m1", Begin: epoch, End: epoch.Add(time.Second), Published: true,
		Minions: []string{"a", "b"}, Returned: []string{"a", "b"}})
	r.Order(Order{JID: "2", Member: "m2", Published: true, Minions: []string{"a", "b"},
		Returned: []string{"a"}, Missing: []string{"b"}})
	r.Order(Order{Member: "m2", Refused: "no"})
	r.Order(Order{Member: "m2", Lost: "connection lost", Minions: []string{"a"}})
	for _, id := range []string{"a", "b"} {
		for _, job := range []string{jid, "2"} {
			r.Ran(id, job)
			r.Acknowledged(id, job, "127.0.0.1:4506")
		}
	}
	for _, member := range []string{"m1", "m2"} {
		r.Cached(member, map[string][]string{jid: {"a", "b"}, "2": {"a", "b"}})
		r.Saw(member, epoch, []string{"a", "b"}, map[string]string{"a": "accepted"})
		r.Saw(member, epoch.Add(5*time.Second), []string{"a", "b"}, map[string]string{"a": "accepted"})
	}
	h := r.History()
	for i := range h.Sights {
		h.Sights[i].Answered = h.Sights[i].Asked
	}
	return h
}

func TestCheck(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spoil func(h *History)
		alone bool
		want  []string // rule and words of its text
	}{
		{name: "nothing is wrong"},
		{name: "a job runs twice", spoil: func(h *History) { h.Runs[0].Count = 2 },
			want: []string{"run once: a ran job 2 2 times, which was acknowledged on m2"}},
		{name: "two entries say that a job ran", spoil: func(h *History) {
			h.Runs = append(h.Runs, Run{"b", "3", 1}, Run{"b", "3", 1})
		}, want: []string{"run once: b ran job 3 2 times, which was not acknowledged to an orderer"}},
		{name: "an acknowledged return is nowhere", spoil: func(h *History) {
			h.Acks = append(h.Acks, Ack{"a", "3", "m1"})
		}, want: []string{"keep returns: the return of a to job 3, which m1 acknowledged, is in no job cache"}},
		{name: "an acknowledged return is nowhere, and masters are alone", alone: true, spoil: func(h *History) {
			h.Acks = append(h.Acks, Ack{"a", "3", "m1"})
		}, want: []string{"is in no job cache"}},
		{name: "a member lacks a return", spoil: func(h *History) {
			h.Caches["m2"]["2"] = []string{"a"}
		}, want: []string{"keep returns: the return of b to job 2"}},
		{name: "a member lacks a return that was shown", spoil: func(h *History) {
			h.Caches["m2"][jid] = []string{"a"}
		}, want: []string{"keep returns: the return of b to job " + jid,
			"keep shown returns: the return of b to job " + jid}},
		{name: "a master alone lacks a return", alone: true, spoil: func(h *History) {
			h.Caches["m2"][jid] = []string{"a"}
		}},
		{name: "a member has no job cache", spoil: func(h *History) { h.Caches["m3"] = nil },
			want: slices.Concat(slices.Repeat([]string{"keep returns"}, 4), slices.Repeat([]string{"keep shown"}, 3))},
		{name: "nobody has a job cache", spoil: func(h *History) { h.Caches, h.Orders = nil, nil },
			want: slices.Repeat([]string{"is in no job cache"}, 4)},
		{name: "a missing minion is not told", spoil: func(h *History) { h.Orders[1].Missing = nil },
			want: []string{"tell missing minions: order 2 on m2 ended without a missing minion, " +
				"and without returns of b"}},
		{name: "a minion returns twice to the orderer", spoil: func(h *History) {
			h.Orders[0].Returned = []string{"a", "b", "a"}
		}, want: []string{"show once: order " + jid + " on m1 got 2 returns of a"}},
		{name: "members see a key differently", spoil: func(h *History) {
			for i := range h.Sights {
				if s := &h.Sights[i]; s.Member == "m2" && s.Minion == "a" {
					s.State = "rejected"
				}
			}
		}, want: []string{"agree on keys: m1 and m2 saw the key of a differently for 5s from 00:00:00.000 on"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := good()
			if tt.spoil != nil {
				tt.spoil(h)
			}
			got := Check(h, Promises{Shared: !tt.alone})
			if len(got) != len(tt.want) {
				t.Fatalf("%d violations, want %d: %v", len(got), len(tt.want), got)
			}
			for i, v := range got {
				if !strings.Contains(v.String(), tt.want[i]) {
					t.Errorf("violation %q lacks %q", v, tt.want[i])
				}
			}
		})
	}
}

// sights returns what a member saw of a key: pairs of milliseconds and a state.
func sights(member string, pairs ...any) (all []Sight) {
	for i := 0; i < len(pairs); i += 2 {
		at := epoch.Add(time.Duration(pairs[i].(int)) * time.Millisecond)
		all = append(all, Sight{member, "a", pairs[i+1].(string), at, at})
	}
	return all
}

// slow returns sights whose answers take some milliseconds.
func slow(ms int, sights []Sight) []Sight {
	for i := range sights {
		sights[i].Answered = sights[i].Asked.Add(time.Duration(ms) * time.Millisecond)
	}
	return sights
}

func TestDisagreements(t *testing.T) {
	for _, tt := range []struct {
		name string
		a, b []Sight
		want time.Duration // how long they surely differ; 0 means at most a second
	}{
		{"the same", sights("m1", 0, "x", 5000, "x"), sights("m2", 0, "x", 5000, "x"), 0},
		{"a second", sights("m1", 0, "x", 1000, "x"), sights("m2", 0, "y", 1000, "y"), 0},
		{"more than a second", sights("m1", 0, "x", 1001, "x"), sights("m2", 0, "y", 1001, "y"),
			1001 * time.Millisecond},
		{"a change that may come at any time", sights("m1", 0, "x", 3000, "x"), sights("m2", 0, "x", 3000, "y"), 0},
		{"a change that comes late", sights("m1", 0, "x", 100, "y", 3000, "y"),
			sights("m2", 0, "x", 100, "x", 2100, "x", 2200, "y", 3000, "y"), 2 * time.Second},
		{"two other states in turn", sights("m1", 0, "x", 3000, "x"),
			sights("m2", 0, "y", 900, "y", 1000, "z", 1900, "z", 2000, "y", 2900, "y"), 2900 * time.Millisecond},
		{"agreement for a moment", sights("m1", 0, "x", 2000, "x"),
			sights("m2", 0, "y", 900, "y", 1000, "x", 1100, "y", 2000, "y"), 0},
		{"a member that is away", sights("m1", 0, "x", 5000, "x"),
			sights("m2", 0, "y", 500, "y", 1000, "", 4000, "", 4500, "y", 5000, "y"), 0},
		{"one answer each", sights("m1", 0, "x"), sights("m2", 0, "y"), 0},
		{"answers at other times", sights("m1", 0, "x", 2500, "x", 5000, "x"),
			sights("m2", 1000, "y", 1400, "y", 3000, "y"), 2 * time.Second},
		{"two answers at once", sights("m1", 0, "x", 1500, "x", 1500, "y", 3000, "y"),
			sights("m2", 0, "y", 3000, "y"), 1500 * time.Millisecond},
		{"slow answers", sights("m1", 0, "x", 5000, "x"),
			slow(500, sights("m2", 0, "y", 1000, "y", 2000, "y", 3000, "y")), 2500 * time.Millisecond},
		{"an answer that may be old", sights("m1", 0, "x", 100, "y", 3000, "y"),
			slow(1900, sights("m2", 0, "x", 2000, "x", 4000, "y")), 0},
		{"an answer of a member that stood still", sights("m1", 0, "x", 400, "x", 500, "y", 9000, "y"),
			slow(8000, sights("m2", 100, "x", 8200, "y")), 0},
		{"no answer", sights("m1", 0, "x", 3000, "x"), nil, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, both := range [][]Sight{slices.Concat(tt.a, tt.b), slices.Concat(tt.b, tt.a)} {
				got := disagreements(both, time.Second)
				want := ""
				if tt.want > 0 {
					want = fmt.Sprintf("differently for %s from", tt.want)
				}
				if (len(got) == 1) != (want != "") || len(got) == 1 && !strings.Contains(got[0].Text, want) {
					t.Errorf("%v, want %q", got, want)
				}
			}
		})
	}
}

func TestRecorderKnowsAllJobs(t *testing.T) {
	var r Recorder
	r.Order(Order{JID: "3"})
	r.Order(Order{Lost: "connection lost"})
	r.Ran("a", "2")
	r.Ran("a", "2")
	r.Acknowledged("a", "1", "m1")
	if got := r.JIDs(); !slices.Equal(got, []string{"1", "2", "3"}) {
		t.Errorf("JIDs() = %v", got)
	}
	if got := r.History().Runs; !slices.Equal(got, []Run{{"a", "2", 2}}) {
		t.Errorf("runs %v", got)
	}
}

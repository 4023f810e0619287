package batch

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/brineproject/brine/data"
)

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func at(s int) time.Time { return noon.Add(time.Duration(s) * time.Second) }

func expect(t *testing.T, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func TestPlacesAreFilledAsTheyBecomeFree(t *testing.T) {
	r := NewRun(Plan{Size: Size{Number: 2}}, []string{"b", "a", "c", "b", "d"})
	expect(t, "first", r.Start(at(0)), []string{"b", "a"})
	expect(t, "none free", r.Start(at(0)), []string{})
	r.End("b", Answered, at(1))
	expect(t, "one free", r.Start(at(1)), []string{"c"})
	if r.End("b", Failed, at(1)) || r.End("d", Answered, at(1)) {
		t.Error("a minion that is not at work ended")
	}
	r.End("a", Failed, at(2))
	r.End("c", Silent, at(2))
	expect(t, "last", r.Start(at(2)), []string{"d"})
	if r.Over() {
		t.Error("over while one is at work")
	}
	r.End("d", Answered, at(3))
	if !r.Over() {
		t.Error("not over")
	}
	expect(t, "answered", r.Ended(Answered), []string{"b", "d"})
	expect(t, "failed", r.Ended(Failed), []string{"a"})
	expect(t, "silent", r.Ended(Silent), []string{"c"})
}

func TestWaitKeepsAPlaceEmpty(t *testing.T) {
	r := NewRun(Plan{Size: Size{Number: 1}, Wait: 10 * time.Second}, []string{"a", "b"})
	r.Start(at(0))
	if _, ok := r.Wake(); ok {
		t.Error("time alone frees a place that is taken")
	}
	r.End("a", Answered, at(1))
	expect(t, "during the pause", r.Start(at(10)), []string{})
	wake, ok := r.Wake()
	if !ok || !wake.Equal(at(11)) {
		t.Errorf("wakes at %v (%v), want %v", wake, ok, at(11))
	}
	expect(t, "after it", r.Start(at(11)), []string{"b"})
}

func TestFailhardEndsTheBatch(t *testing.T) {
	for _, how := range []Ending{Failed, Silent} {
		r := NewRun(Plan{Size: Size{Number: 2}, Failhard: true}, []string{"a", "b", "c"})
		r.Start(at(0))
		r.End("a", how, at(1))
		if !r.Stopped() || r.Over() {
			t.Errorf("%s: stopped %v, over %v; want stopped and one at work", how, r.Stopped(), r.Over())
		}
		expect(t, "nobody starts", r.Start(at(1)), []string(nil))
		r.End("b", Answered, at(2))
		if !r.Over() {
			t.Error("not over")
		}
		expect(t, "left", r.Waiting(), []string{"c"})
	}
}

func TestLateMinionsAreTaken(t *testing.T) {
	r := NewRun(Plan{Size: Size{Percent: 50}}, []string{"a", "b"})
	expect(t, "half of two", r.Start(at(0)), []string{"a"})
	r.Add("d", "c", "a")
	expect(t, "half of four", r.Start(at(0)), []string{"b"})
	expect(t, "waiting", r.Waiting(), []string{"d", "c"})
}

func TestRecordHoldsTheRun(t *testing.T) {
	r := NewRun(Plan{Size: Size{Percent: 50}, Wait: time.Second, Failhard: true,
		Timeout: 5 * time.Second, Gather: 10 * time.Second},
		[]string{"a", "b", "c", "d", "e", "f"})
	r.Start(at(0))
	r.End("a", Answered, at(0))
	r.End("b", Silent, at(0))
	b, err := r.Marshal(data.NewMap("fun", "test.ping"))
	if err != nil {
		t.Fatal(err)
	}
	got, order, err := Unmarshal(b)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "plan", got.plan, r.plan)
	expect(t, "active", got.Active(), []string{"c"})
	expect(t, "waiting", got.Waiting(), []string{"d", "e", "f"})
	expect(t, "silent", got.Ended(Silent), []string{"b"})
	expect(t, "order", order.Text("fun"), "test.ping")
	if !got.Stopped() {
		t.Error("a stopped run goes on")
	}
}

// Whatever happens in whatever order, no minion starts twice, and no more than the size are at
// work.
func TestNoMinionStartsTwice(t *testing.T) {
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		var ids []string
		for i := range rnd.IntN(40) {
			ids = append(ids, fmt.Sprint("m", i))
		}
		size := 1 + rnd.IntN(5)
		r := NewRun(Plan{Size: Size{Number: size}, Wait: time.Duration(rnd.IntN(3)) * time.Second}, ids)
		started := map[string]bool{}
		for now := noon; !r.Over(); now = now.Add(time.Second) {
			for _, id := range r.Start(now) {
				if started[id] {
					t.Fatalf("seed %d: %s starts twice", seed, id)
				}
				started[id] = true
			}
			if n := len(r.Active()); n > size {
				t.Fatalf("seed %d: %d at work, size %d", seed, n, size)
			}
			if a := r.Active(); len(a) > 0 && rnd.IntN(2) == 0 {
				r.End(a[rnd.IntN(len(a))], []Ending{Answered, Failed, Silent}[rnd.IntN(3)], now)
			}
			if rnd.IntN(10) == 0 { // a restart
				b, err := r.Marshal(data.NewMap())
				if err != nil {
					t.Fatal(err)
				}
				if r, _, err = Unmarshal(b); err != nil {
					t.Fatal(err)
				}
			}
		}
		if len(started) != len(ids) {
			t.Fatalf("seed %d: %d of %d started", seed, len(started), len(ids))
		}
	}
}

func FuzzUnmarshal(f *testing.F) {
	b, err := NewRun(Plan{Size: Size{Number: 2}}, []string{"a", "b"}).Marshal(data.NewMap("fun", "test.ping"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte{0x80})
	f.Fuzz(func(t *testing.T, b []byte) {
		r, order, err := Unmarshal(b)
		if err != nil {
			if !errors.Is(err, ErrRecord) {
				t.Fatalf("error %v does not wrap ErrRecord", err)
			}
			return
		}
		again, err := r.Marshal(order)
		if err != nil {
			t.Skip("an order that cannot be written again")
		}
		r2, _, err := Unmarshal(again)
		if err != nil {
			t.Fatalf("what was read and written again cannot be read: %v", err)
		}
		if !slices.Equal(r.waiting, r2.waiting) || !slices.Equal(r.active, r2.active) ||
			r.total() != r2.total() {
			t.Fatal("a record changes when it is read and written")
		}
	})
}

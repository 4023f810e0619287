package change

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// lamp is a device that is on or off, and may be broken.
type lamp struct {
	on, stuck, hidden bool
	fails             error
	applied           int
}

func (l *lamp) thing(on bool) Thing[bool] {
	return Thing[bool]{
		Name: "lamp",
		Look: func(context.Context) (bool, error) {
			if l.hidden {
				return false, errors.New("cannot see the lamp")
			}
			return l.on, nil
		},
		Wants: func(now bool) *data.Map {
			if now == on {
				return nil
			}
			return data.NewMap("on", OldNew(now, on))
		},
		Apply: func(context.Context, bool) error {
			l.applied++
			if !l.stuck {
				l.on = on
			}
			return l.fails
		},
		Texts: Texts{Same: "is so", Would: "would be", Done: "is now"},
	}
}

func check(t *testing.T, ctx context.Context, l *lamp, want *data.Map) {
	t.Helper()
	ret, err := l.thing(true).Ensure(ctx)
	if got := ret.Map(); err != nil || !data.Equal(got, want) {
		t.Errorf("got %s, %v, want %s", data.Repr(got), err, data.Repr(want))
	}
}

func TestEnsure(t *testing.T) {
	turned := data.NewMap("on", OldNew(false, true))
	testMode := WithCall(t.Context(), &Call{Test: true})

	l := &lamp{}
	check(t, testMode, l, New("lamp", nil, turned, "would be"))
	if l.on || l.applied != 0 {
		t.Fatal("test mode turned the lamp on")
	}
	check(t, t.Context(), l, New("lamp", true, turned, "is now"))
	check(t, t.Context(), l, New("lamp", true, nil, "is so"))
	check(t, testMode, l, New("lamp", true, nil, "is so"))
	if l.applied != 1 {
		t.Errorf("applied %d times, want once", l.applied)
	}
}

func TestEnsureFails(t *testing.T) {
	stuck := "Still different from the desired state after the change: {'on': {'old': False, 'new': True}}"
	check(t, t.Context(), &lamp{stuck: true}, New("lamp", false, nil, stuck))
	check(t, t.Context(), &lamp{hidden: true}, New("lamp", false, nil, "cannot see the lamp"))
	check(t, t.Context(), &lamp{fails: errors.New("sparks")},
		New("lamp", false, data.NewMap("on", OldNew(false, true)), "sparks"))
	check(t, t.Context(), &lamp{fails: errors.New("sparks"), stuck: true}, New("lamp", false, nil, "sparks"))
}

func TestChangesAreRead(t *testing.T) {
	l := &lamp{}
	thing := l.thing(true)
	thing.Changed = func(before, after bool) *data.Map { return data.NewMap("was", before, "is", after) }
	got, _ := thing.Ensure(t.Context())
	if want := data.NewMap("was", false, "is", true); !data.Equal(got.Changes, want) {
		t.Errorf("changes are %s, want %s", data.Repr(got.Changes), data.Repr(want))
	}
}

func TestSilentInTestMode(t *testing.T) {
	l := &lamp{}
	thing := l.thing(true)
	thing.Silent, thing.More = true, data.NewMap("watts", int64(4))
	got, err := thing.Ensure(WithCall(t.Context(), &Call{Test: true}))
	want := New("lamp", nil, nil, "would be")
	want.Set("watts", int64(4))
	if err != nil || !data.Equal(got.Map(), want) || l.applied != 0 {
		t.Errorf("got %s, %v, want %s", data.Repr(got.Map()), err, data.Repr(want))
	}
}

func TestSay(t *testing.T) {
	commentOf := func(ctx context.Context, l *lamp) any {
		thing := l.thing(true)
		thing.Say = func(o Outcome[bool]) any {
			if o.Stage == StageFailed {
				return nil
			}
			return fmt.Sprintf("%s, test %v: from %v to %v by %s",
				o.Stage, o.Test, o.Before, o.After, data.Repr(o.Changes))
		}
		got, err := thing.Ensure(ctx)
		if err != nil {
			t.Error(err)
		}
		return got.Comment
	}
	testMode := WithCall(t.Context(), &Call{Test: true})
	turned := "{'on': {'old': False, 'new': True}}"
	for _, c := range []struct {
		got  any
		want string
	}{
		{commentOf(testMode, &lamp{}), "would, test true: from false to false by " + turned},
		{commentOf(t.Context(), &lamp{}), "done, test false: from false to true by " + turned},
		{commentOf(t.Context(), &lamp{on: true}), "same, test false: from true to true by {}"},
		{commentOf(testMode, &lamp{on: true}), "same, test true: from true to true by {}"},
		{commentOf(t.Context(), &lamp{fails: errors.New("sparks")}), "sparks"},
	} {
		if c.got != c.want {
			t.Errorf("got %v, want %s", c.got, c.want)
		}
	}
}

func TestRaise(t *testing.T) {
	sparks := errors.New("sparks")
	for _, l := range []*lamp{{fails: Raise(sparks)}, {fails: Raise(sparks), stuck: true}} {
		if _, err := l.thing(true).Ensure(t.Context()); err != sparks {
			t.Errorf("got %v, want %v", err, sparks)
		}
	}
	if Raise(nil) != nil {
		t.Error("no error is raised as one")
	}
}

// An error of a kind that the state catches fails it. Any other is raised.
func TestExcept(t *testing.T) {
	caught := &lamp{fails: Except(loader.Execution("sparks"), loader.KindNotFound, loader.KindExecution)}
	check(t, t.Context(), caught, New("lamp", false, data.NewMap("on", OldNew(false, true)), "sparks"))
	sparks := loader.TypeError("sparks")
	raising := &lamp{fails: Except(sparks, loader.KindExecution)}
	if _, err := raising.thing(true).Ensure(t.Context()); err != sparks {
		t.Errorf("got %v, want %v", err, sparks)
	}
	if Except(nil) != nil || Except(nil, loader.KindExecution) != nil {
		t.Error("no error has become one")
	}
}

func TestReason(t *testing.T) {
	check(t, t.Context(), &lamp{stuck: true, fails: Reason("No power.")},
		New("lamp", false, nil, "No power."))
}

// With Trust, nothing is read again: a stuck lamp counts as turned on, one that fails does not.
func TestTrust(t *testing.T) {
	ensure := func(l *lamp) *data.Map {
		thing := l.thing(true)
		thing.Trust = true
		got, err := thing.Ensure(t.Context())
		if err != nil {
			t.Error(err)
		}
		return got.Map()
	}
	want := New("lamp", true, data.NewMap("on", OldNew(false, true)), "is now")
	if got := ensure(&lamp{stuck: true}); !data.Equal(got, want) {
		t.Errorf("got %s, want %s", data.Repr(got), data.Repr(want))
	}
	want = New("lamp", false, nil, "sparks")
	if got := ensure(&lamp{fails: errors.New("sparks")}); !data.Equal(got, want) {
		t.Errorf("got %s, want %s", data.Repr(got), data.Repr(want))
	}
}

// With Trust, what Apply records in the thing appears in the changes, even if it fails.
func TestTrustWithNotes(t *testing.T) {
	for _, fails := range []error{nil, errors.New("sparks")} {
		notes := &data.Map{}
		got, err := Thing[*data.Map]{
			Look:  func(context.Context) (*data.Map, error) { return notes, nil },
			Wants: func(*data.Map) *data.Map { return data.NewMap("lamps", 2) },
			Apply: func(_ context.Context, notes *data.Map) error {
				notes.Set("left", "on")
				return fails
			},
			Changed: func(_, notes *data.Map) *data.Map { return notes },
			Trust:   true,
		}.Ensure(t.Context())
		want := data.NewMap("left", "on")
		if err != nil || !data.Equal(got.Changes, want) || got.Failed() != (fails != nil) {
			t.Errorf("got %s, %v, want changes %s", data.Repr(got.Map()), err, data.Repr(want))
		}
	}
}

func TestJoin(t *testing.T) {
	first := func() *data.Map { return data.NewMap("hosts", data.NewMap("a", 1), "gone", []any{"x"}) }
	second := data.NewMap("hosts", data.NewMap("b", 2), "gone", []any{"y"}, "more", 3)
	good := Result{Verdict: Success, Comment: "a is so", Changes: first()}
	quiet := Result{Verdict: Success, Comment: ""}
	would := Result{Verdict: Pending, Comment: "b would be", Changes: second}
	fails := Result{Verdict: Failure, Comment: "c is broken"}
	both := data.NewMap("hosts", data.NewMap("a", 1, "b", 2), "gone", []any{"x", "y"}, "more", 3)
	backwards := data.NewMap("hosts", both.Value("hosts"), "gone", []any{"y", "x"}, "more", 3)
	for _, c := range []struct {
		parts []Result
		want  *data.Map
	}{
		{nil, New("x", true, nil, "")},
		{[]Result{good, quiet}, New("x", true, good.Changes, "a is so")},
		{[]Result{good, would, quiet}, New("x", nil, both, "a is so\nb would be")},
		{[]Result{fails, would, good}, New("x", false, backwards, "c is broken\nb would be\na is so")},
	} {
		if got := Join("x", c.parts...).Map(); !data.Equal(got, c.want) {
			t.Errorf("got %s, want %s", data.Repr(got), data.Repr(c.want))
		}
	}
	if !data.Equal(good.Changes, first()) {
		t.Errorf("the first part has become %s", data.Repr(good.Changes))
	}
}

func TestWhenLeaveAndRefuse(t *testing.T) {
	changes := data.NewMap("on", true)
	if When(false, changes) != nil || When(true, changes) != changes {
		t.Error("When does not follow what is needed")
	}
	if got, err := Leave("lamp", "on"); err != nil || !data.Equal(got.Map(), Unchanged("lamp", "on")) {
		t.Errorf("got %s, %v", data.Repr(got.Map()), err)
	}
	if got, err := Refuse("lamp", "no"); err != nil || !data.Equal(got.Map(), Failed("lamp", "no")) {
		t.Errorf("got %s, %v", data.Repr(got.Map()), err)
	}
}

// An error of a function called by a Thing is raised.
func TestAskRaises(t *testing.T) {
	dark := errors.New("dark")
	call := func(context.Context, string, []any, *data.Map) (any, error) { return "on", dark }
	env := &loader.Env{Call: call}
	thing := (&lamp{}).thing(true)
	thing.Apply = func(ctx context.Context, _ bool) error { return Do(ctx, env, "lamp.on", nil, nil) }
	if _, err := thing.Ensure(t.Context()); err != dark {
		t.Errorf("Do: got %v, want %v", err, dark)
	}
	thing.Look = func(ctx context.Context) (bool, error) {
		return Ask[bool](ctx, env, "lamp.is", nil, nil)
	}
	if _, err := thing.Ensure(t.Context()); err != dark {
		t.Errorf("Ask: got %v, want %v", err, dark)
	}
	dark = nil
	if s, err := Ask[string](t.Context(), env, "lamp.is", nil, nil); s != "on" || err != nil {
		t.Errorf("got %q, %v", s, err)
	}
}

func TestCallOutsideOfARun(t *testing.T) {
	c := CallOf(t.Context())
	if c.Test || c.SaltEnv != "base" || c.Ran("x") != nil || c.Chunks() != nil || c.Low.Len() != 0 {
		t.Errorf("got %+v", c)
	}
}

package change

import (
	"context"
	"errors"
	"testing"

	"github.com/brineproject/brine/data"
)

// lamp is a thing that is on or off, and may be broken.
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
	got, err := l.thing(true).Ensure(ctx)
	if err != nil || !data.Equal(got, want) {
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
	stuck := "After the change this is still not as wanted: {'on': {'old': False, 'new': True}}"
	check(t, t.Context(), &lamp{stuck: true}, New("lamp", false, nil, stuck))
	check(t, t.Context(), &lamp{hidden: true}, New("lamp", false, nil, "cannot see the lamp"))
	check(t, t.Context(), &lamp{fails: errors.New("sparks")}, New("lamp", false, data.NewMap("on", OldNew(false, true)), "sparks"))
	check(t, t.Context(), &lamp{fails: errors.New("sparks"), stuck: true}, New("lamp", false, nil, "sparks"))
}

func TestChangesAreWhatWasRead(t *testing.T) {
	l := &lamp{}
	thing := l.thing(true)
	thing.Changed = func(before, after bool) *data.Map { return data.NewMap("was", before, "is", after) }
	got, _ := thing.Ensure(t.Context())
	if want := data.NewMap("was", false, "is", true); !data.Equal(got.Value("changes"), want) {
		t.Errorf("changes are %s, want %s", data.Repr(got.Value("changes")), data.Repr(want))
	}
}

func TestCallOutsideOfARun(t *testing.T) {
	c := CallOf(t.Context())
	if c.Test || c.SaltEnv != "base" || c.Ran("x") != nil || c.Chunks() != nil || c.Low.Len() != 0 {
		t.Errorf("got %+v", c)
	}
}

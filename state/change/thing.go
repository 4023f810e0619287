package change

import (
	"context"

	"github.com/brineproject/brine/data"
)

// A Thing is one thing of a system that a state keeps as it is wanted. S is how it is: what Look reads, all that Wants and Apply
// need to know.
type Thing[S any] struct {
	Name any // of the state

	// Look reads how the thing is. It writes nothing. Only what is known to be missing is missing; that it cannot be seen is an
	// error.
	Look func(ctx context.Context) (S, error)
	// Wants returns what is to change in a thing that is so, in the form of changes; nothing where it is as wanted. It is asked
	// before Apply, and again after it.
	Wants func(now S) *data.Map
	// Apply makes the thing as wanted.
	Apply func(ctx context.Context, now S) error
	// Changed returns the changes from what was read before and after Apply. Without it they are what Wants said before and does
	// not say any more.
	Changed func(before, after S) *data.Map

	Texts Texts
}

// Texts are the comments of a state.
type Texts struct {
	Same   string // the thing is as wanted
	Would  string // test mode: it is not
	Done   string // it is now
	Failed string // it is still not; "" says so in general words
}

// Ensure brings the thing to how it is wanted, or, in test mode, says what it would change. What Look and Apply report as an error
// fails the state with the error's text; what Apply had changed by then is among the changes.
func (t Thing[S]) Ensure(ctx context.Context) (*data.Map, error) {
	before, err := t.Look(ctx)
	if err != nil {
		return Failed(t.Name, err.Error()), nil
	}
	wanted := t.Wants(before)
	switch {
	case wanted.Len() == 0:
		return Done(t.Name, t.Texts.Same), nil
	case Test(ctx):
		return Would(t.Name, wanted, t.Texts.Would), nil
	}
	return t.apply(ctx, before, wanted), nil
}

// apply changes the thing and reads it again.
func (t Thing[S]) apply(ctx context.Context, before S, wanted *data.Map) *data.Map {
	failure := t.Apply(ctx, before)
	after, err := t.Look(ctx)
	if failure == nil {
		failure = err
	}
	if err != nil {
		return Failed(t.Name, failure.Error())
	}
	left := t.Wants(after)
	changes := t.changed(before, after, wanted, left)
	switch {
	case failure != nil:
		return New(t.Name, false, changes, failure.Error())
	case left.Len() > 0:
		return New(t.Name, false, changes, t.failed(left))
	}
	return New(t.Name, true, changes, t.Texts.Done)
}

func (t Thing[S]) changed(before, after S, wanted, left *data.Map) *data.Map {
	if t.Changed != nil {
		return t.Changed(before, after)
	}
	changes := &data.Map{}
	for key, v := range wanted.All() {
		if still, ok := left.Get(key); !ok || !data.Equal(still, v) {
			changes.Set(key, v)
		}
	}
	return changes
}

func (t Thing[S]) failed(left *data.Map) string {
	if t.Texts.Failed != "" {
		return t.Texts.Failed
	}
	return "After the change this is still not as wanted: " + data.Repr(left)
}

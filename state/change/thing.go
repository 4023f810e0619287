package change

import (
	"context"
	"errors"
	"slices"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// A Thing is one thing of a system that a state keeps as it is wanted. S is how it is: what Look
// reads, all that Wants, Apply and Say need to know.
type Thing[S any] struct {
	Name any // of the state

	// Look reads how the thing is. It writes nothing. Only what is known to be missing is missing;
	// that it cannot be seen is an error, and so is one that can never become as wanted.
	Look func(ctx context.Context) (S, error)
	// Wants returns what is to change in a thing that is so, in the form of changes; nothing where it
	// is as wanted. It is asked before Apply, and again after it.
	Wants func(now S) *data.Map
	// Apply makes the thing as wanted.
	Apply func(ctx context.Context, now S) error
	// Changed returns the changes from what was read before and after Apply. Without it they are what
	// Wants said before and does not say any more. A Thing with Trust gets what was read before twice,
	// also after an error: Apply may have noted there what it did.
	Changed func(before, after S) *data.Map

	// Texts are the comments; Say returns one that depends on what was found, or nil to leave it to
	// Texts. A failure with an error that Say does not explain has the error's text.
	Texts Texts
	Say   func(o Outcome[S]) any

	Silent bool      // test mode shows no changes, as in many of Salt's states
	Trust  bool      // that Apply reports no error is all that can be known: nothing is read again
	More   *data.Map // what the result has beside Salt's four keys
}

// Texts are the comments of a state.
type Texts struct {
	Same   string // the thing is as wanted
	Would  string // test mode: it is not
	Done   string // it is now
	Failed string // it is still not; "" says so in general words
}

// A Stage is how far a state came with a thing.
type Stage string

// The stages in which a state ends.
const (
	StageSame   Stage = "same"   // the thing was as wanted
	StageWould  Stage = "would"  // test mode: it would be changed
	StageDone   Stage = "done"   // it was changed and is as wanted
	StageFailed Stage = "failed" // it could not be read or changed, or is still not as wanted
)

// An Outcome is what became of a Thing, for the comment about it.
type Outcome[S any] struct {
	Stage         Stage
	Test          bool      // test mode, in which Salt may word even StageSame otherwise
	Before, After S         // as read; After is Before where nothing was read again
	Changes       *data.Map // what would change in test mode, even if it is Silent; else what has changed
	Left          *data.Map // failed: what is still not as wanted
	Err           error     // failed: why, nil if all went well and something is left nevertheless
}

// When returns changes where something is needed, and none elsewhere: the Wants of things that are
// as wanted or not.
func When(needed bool, changes *data.Map) *data.Map {
	if !needed {
		return nil
	}
	return changes
}

// Raise marks an error of Look or Apply that is no result of the state: it is raised as an exception,
// as an error that a state of Salt does not catch. A nil error stays nil. Where there is no Thing,
// a marked error is one like any other.
func Raise(err error) error {
	if err == nil {
		return nil
	}
	return &raised{err}
}

// Reason returns an error of Look or Apply that says why the state fails: its text is the comment.
func Reason(text string) error { return errors.New(text) }

// Except is Raise for an error that is of none of these kinds. One of them stays as it is and fails the
// state, as an error that a state of Salt catches.
func Except(err error, kinds ...loader.Kind) error {
	if slices.Contains(kinds, loader.KindOf(err)) {
		return err
	}
	return Raise(err)
}

type raised struct{ error }

func (r *raised) Unwrap() error { return r.error }

// Ensure brings the thing to how it is wanted, or, in test mode, says what it would change. An error
// of Look or Apply fails the state; what Apply had changed by then is among the changes. The error
// of Ensure is one that was marked by Raise.
func (t Thing[S]) Ensure(ctx context.Context) (Result, error) {
	before, err := t.Look(ctx)
	if err != nil {
		return t.end(ctx, Outcome[S]{Stage: StageFailed, Before: before, After: before, Err: err})
	}
	wanted := t.Wants(before)
	o := Outcome[S]{Stage: StageWould, Before: before, After: before, Changes: wanted}
	switch {
	case wanted.Len() == 0:
		o.Stage = StageSame
		return t.end(ctx, o)
	case Test(ctx):
		return t.end(ctx, o)
	}
	return t.end(ctx, t.apply(ctx, before, wanted))
}

// apply changes the thing and reads it again.
func (t Thing[S]) apply(ctx context.Context, before S, wanted *data.Map) Outcome[S] {
	o := Outcome[S]{Stage: StageFailed, Before: before, After: before}
	if o.Err = t.Apply(ctx, before); t.Trust {
		if o.Err == nil {
			o.Stage = StageDone
		}
		if o.Err == nil || t.Changed != nil {
			o.Changes = t.changed(before, before, wanted, nil)
		}
		return o
	}
	after, err := t.Look(ctx)
	if err != nil {
		if o.Err == nil {
			o.Err = err
		}
		return o
	}
	o.After, o.Left = after, t.Wants(after)
	o.Changes = t.changed(before, after, wanted, o.Left)
	if o.Err == nil && o.Left.Len() == 0 {
		o.Stage = StageDone
	}
	return o
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

// end makes the result of an outcome.
func (t Thing[S]) end(ctx context.Context, o Outcome[S]) (Result, error) {
	o.Test = Test(ctx)
	if r, ok := errors.AsType[*raised](o.Err); ok {
		return Result{}, r.error
	}
	r := Result{Name: t.Name, Verdict: verdicts[o.Stage], Changes: o.Changes, More: t.More}
	if o.Stage == StageWould && t.Silent {
		r.Changes = nil
	}
	if t.Say != nil {
		r.Comment = t.Say(o)
	}
	if r.Comment == nil {
		r.Comment = t.text(o.Stage, o.Left, o.Err)
	}
	return r, nil
}

// text returns the comment of a stage that needs nothing but Texts.
func (t Thing[S]) text(stage Stage, left *data.Map, err error) string {
	switch stage {
	case StageSame:
		return t.Texts.Same
	case StageWould:
		return t.Texts.Would
	case StageDone:
		return t.Texts.Done
	}
	switch {
	case err != nil:
		return err.Error()
	case t.Texts.Failed != "":
		return t.Texts.Failed
	}
	return "After the change this is still not as wanted: " + data.Repr(left)
}

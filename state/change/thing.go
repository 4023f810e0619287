package change

import (
	"context"
	"errors"
	"slices"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// A Thing is one part of a system that a state keeps in its desired state. S is the current state
// as Look reads it. It holds everything that Wants, Apply and Say need.
type Thing[S any] struct {
	Name any // name of the state

	// Look reads the current state and writes nothing. It reports a thing as missing only if that
	// is certain. If the thing cannot be read, or can never reach the desired state, it returns an
	// error.
	Look func(ctx context.Context) (S, error)
	// Wants returns the differences between now and the desired state, in the form of changes. It
	// returns nil or an empty dictionary if there are none. It is called before Apply and again
	// after it.
	Wants func(now S) *data.Map
	// Apply brings the thing to the desired state.
	Apply func(ctx context.Context, now S) error
	// Changed returns the changes from the states read before and after Apply. Without it the
	// changes are the differences that Wants reported before Apply and no longer reports. With
	// Trust both arguments are the state read before, and Changed is called even after an error:
	// Apply may have recorded there what it did.
	Changed func(before, after S) *data.Map

	// Texts are the fixed comments.
	Texts Texts
	// Say returns a comment that depends on the outcome, or nil to use Texts. If it returns nil for
	// a failure with an error, the comment is the error's text.
	Say func(o Outcome[S]) any

	Silent bool      // report no changes in test mode, as many of Salt's states do
	Trust  bool      // success of Apply is the only evidence available: do not read again
	More   *data.Map // keys of the result in addition to Salt's four
}

// Texts are the comments of a state, one for each stage.
type Texts struct {
	Same   string // the thing is already as desired
	Would  string // test mode: the thing would be changed
	Done   string // the thing was changed
	Failed string // the thing still differs after the change; "" for a generic text
}

// A Stage tells how far a state got with a thing.
type Stage string

// The stages in which a state can end.
const (
	StageSame   Stage = "same"   // the thing was already as desired
	StageWould  Stage = "would"  // test mode: it would be changed
	StageDone   Stage = "done"   // it was changed and is now as desired
	StageFailed Stage = "failed" // it could not be read or changed, or still differs
)

// An Outcome is the outcome of a Thing, passed to Say to build the comment.
type Outcome[S any] struct {
	Stage         Stage
	Test          bool // test mode; Salt may use another text then, even for StageSame
	Before, After S    // as read; After equals Before if nothing was read again
	// the changes that test mode predicts, even if Silent; otherwise those that were made
	Changes *data.Map
	Left    *data.Map // on failure: the remaining differences
	Err     error     // on failure: the error, nil if there was none but differences remain
}

// When returns changes if needed is true, otherwise nil. It suits the Wants of things that are
// either right or wrong.
func When(needed bool, changes *data.Map) *data.Map {
	if !needed {
		return nil
	}
	return changes
}

// Raise marks an error of Look or Apply that Ensure returns instead of turning it into a failed
// result. It corresponds to an exception that a state of Salt does not catch. Raise(nil) is nil.
// Outside of a Thing, a marked error behaves like any other.
func Raise(err error) error {
	if err == nil {
		return nil
	}
	return &raised{err}
}

// Reason returns an error for Look or Apply whose text becomes the comment of the failed state.
func Reason(text string) error { return errors.New(text) }

// Except marks an error with Raise unless it is of one of these kinds. An error of these kinds
// stays as it is and fails the state, like an error that a state of Salt catches.
func Except(err error, kinds ...loader.Kind) error {
	if slices.Contains(kinds, loader.KindOf(err)) {
		return err
	}
	return Raise(err)
}

type raised struct{ error }

func (r *raised) Unwrap() error { return r.error }

// Ensure brings the thing to the desired state. In test mode it only reports the changes it would
// make. An error of Look or Apply fails the state; the changes made before it are still reported.
// The returned error is always one that was marked with Raise.
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

// end turns an outcome into the result.
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

// text returns the comment for a stage from Texts and the error.
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
	return "Still different from the desired state after the change: " + data.Repr(left)
}

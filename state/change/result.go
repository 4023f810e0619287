package change

import "github.com/brineproject/brine/data"

// New returns the result of a state: name, changes, result and comment. The result is true, false, or nil for what would change;
// without changes there is an empty dictionary.
func New(name any, result any, changes *data.Map, comment any) *data.Map {
	if changes == nil {
		changes = &data.Map{}
	}
	return data.NewMap("name", name, "changes", changes, "result", result, "comment", comment)
}

// Done returns the result of a state that has nothing to do.
func Done(name any, comment string) *data.Map { return New(name, true, nil, comment) }

// Failed returns the result of a state that failed and changed nothing.
func Failed(name any, comment string) *data.Map { return New(name, false, nil, comment) }

// Would returns the result of a state that would make these changes.
func Would(name any, changes *data.Map, comment string) *data.Map {
	return New(name, nil, changes, comment)
}

// OldNew returns the dictionary that says what something was and what it is.
func OldNew(before, after any) *data.Map { return data.NewMap("old", before, "new", after) }

package jinja

import "github.com/brineproject/brine/data"

// An Undefined is the value of a missing name, attribute or item (jinja2.runtime.Undefined).
// Functions of the program may get one as an argument; it is only useful for its Message.
type Undefined struct {
	hint     string
	obj      any // the object without such an attribute or item; missing if a name is undefined
	name     any
	kind     Kind // of the error it causes; "" is UndefinedError
	lenience Lenience
}

// Message describes what is undefined.
func (u *Undefined) Message() string {
	switch {
	case u.hint != "":
		return u.hint
	case isMissing(u.obj):
		return data.Repr(u.name) + " is undefined"
	}
	if s, ok := u.name.(string); ok {
		return data.Repr(objectType(u.obj)) + " has no attribute " + data.Repr(s)
	}
	return objectType(u.obj) + " has no element " + reprOf(u.name)
}

// Err returns the error that Python raises if an undefined value is used.
func (u *Undefined) Err() error { return u.fail() }

func (u *Undefined) fail() error {
	kind := u.kind
	if kind == "" {
		kind = UndefinedError
	}
	return &Error{Kind: kind, Message: u.Message()}
}

// strict returns the error for operations that only a strict undefined value rejects.
func (u *Undefined) strict() error {
	if u.lenience == Strict {
		return u.fail()
	}
	return nil
}

func (u *Undefined) text() (string, error) {
	if u.lenience != Debug {
		return "", u.strict()
	}
	switch {
	case u.hint != "":
		return "{{ undefined value printed: " + u.hint + " }}", nil
	case isMissing(u.obj):
		return "{{ " + data.Str(u.name) + " }}", nil
	}
	return "{{ no such element: " + objectType(u.obj) + "[" + reprOf(u.name) + "] }}", nil
}

func (r *run) undefined(u Undefined) *Undefined {
	u.lenience = r.env.undefined
	return &u
}

func (r *run) hint(text string) *Undefined {
	return r.undefined(Undefined{hint: text,
		obj: missing{}})
}

// noMember returns the value of a missing attribute or item of obj.
func (r *run) noMember(obj, name any) any {
	return r.undefined(Undefined{obj: obj, name: name, hint: r.missingHint(obj, name)})
}

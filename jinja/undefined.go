package jinja

import "github.com/brineproject/brine/data"

// An Undefined is what a name, attribute or item that is not there gives (jinja2.runtime.Undefined). Functions of the
// program may get one as an argument; it is of no use but to be asked for its Message.
type Undefined struct {
	hint     string
	obj      any // that has no such attribute or item; missing where a name is not known
	name     any
	kind     Kind // of the error it leads to; "" is UndefinedError
	lenience Lenience
}

// Message tells what is not defined.
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

// Err returns the error that Python raises where an undefined value is used.
func (u *Undefined) Err() error { return u.fail() }

func (u *Undefined) fail() error {
	kind := u.kind
	if kind == "" {
		kind = UndefinedError
	}
	return &Error{Kind: kind, Message: u.Message()}
}

// strict is the error of what only a strict undefined value refuses.
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

func (r *run) hint(text string) *Undefined { return r.undefined(Undefined{hint: text, obj: missing{}}) }

// noMember is what an attribute or item that obj does not have gives.
func (r *run) noMember(obj, name any) any {
	return r.undefined(Undefined{obj: obj, name: name, hint: r.missingHint(obj, name)})
}

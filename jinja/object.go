package jinja

// A Func is a function, filter or test: it gets its arguments in c.
type Func func(c *Call) (any, error)

// A Keyword is an argument that was passed by name.
type Keyword struct {
	Name  string
	Value any
}

// Templates can use values of other types than those of package data and this package. These
// optional interfaces define what they support. If ok is false, there is no such value; that is not
// an error.
type (
	// An Attributer has attributes: value.name.
	Attributer interface {
		Attr(name string) (v any, ok bool, err error)
	}
	// An Itemer has items: value[key].
	Itemer interface {
		Item(key any) (v any, ok bool, err error)
	}
	// A Callable can be called.
	Callable interface {
		Call(c *Call) (any, error)
	}
	// A Container implements "key in value".
	Container interface {
		Contains(key any) (bool, error)
	}
	// An Iterable can be looped over.
	Iterable interface {
		Iterate() Iterator
	}
	// A Sized value has a length, which also decides whether it counts as true.
	Sized interface {
		Len() int
	}
	// A Mapper is a mapping: its keys come from Iterate, its values from Item.
	Mapper interface {
		Iterable
		Itemer
		Sized
		Mapping() // only marks the value as a mapping
	}
	// A Namer has a Python type for messages, such as "FunctionWrapper".
	Namer interface {
		TypeName() string
	}
	// A Texter prints as its Text, by str and repr.
	Texter interface {
		Text() string
	}
)

// An Iterator yields values one by one; ok is false at the end.
type Iterator interface {
	Next() (v any, ok bool, err error)
}

// A List is a Python list: all holders of the pointer see its changes.
type List struct {
	Items []any
}

// NewList returns a list of the items.
func NewList(items ...any) *List { return &List{Items: items} }

// Markup is text that is already escaped for HTML.
type Markup string

// missing marks the absence of a value, which is not None.
type missing struct{}

func isMissing(v any) bool { _, ok := v.(missing); return ok }

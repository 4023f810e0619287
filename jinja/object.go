package jinja

// A Func is a function, filter or test: it gets its arguments in c.
type Func func(c *Call) (any, error)

// A Keyword is an argument that was given by name.
type Keyword struct {
	Name  string
	Value any
}

// Values of other types than those of package data and this one may be used in templates. What they can do is
// told by these interfaces, each of them optional. A value that is found nowhere is reported by ok alone.
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
	// A Container answers "key in value".
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
		Mapping() // does nothing, and tells that the value is a mapping
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

// A List is a Python list: all who hold the pointer see a change.
type List struct {
	Items []any
}

// NewList returns a list of the items.
func NewList(items ...any) *List { return &List{Items: items} }

// Markup is text that need not be escaped for HTML.
type Markup string

// missing stands where there is no value at all, which is not None.
type missing struct{}

func isMissing(v any) bool { _, ok := v.(missing); return ok }

// Package data holds the value types that all of Brine uses: the dynamic values in Salt's messages
// and files, and operations on them that do not depend on their meaning.
//
// A dynamic value is an any that holds one of
//
//	nil, bool            None, True, False
//	int64                an integer; *big.Int where it does not fit 64 signed bits
//	float64              a float
//	string               text
//	[]byte               bytes that are not text
//	[]any                a list
//	Tuple                a Python tuple; it travels as a list
//	Set                  a Python set; it travels as a list
//	*Map                 a dictionary, in order
//	time.Time            a date and time (msgpack extension 78)
//	Const                a named constant of Salt's (msgpack extension 79)
//	Timestamp            MessagePack's own timestamp (extension -1), which Salt passes on untouched
//	Ext                  another extension value; only written, a reader gets its bytes
//	Object               an object of another class, by its repr(); it travels as an empty dictionary
//	Raw                  one encoded MessagePack value that is only forwarded
//
// Code that makes values uses only these types. Code that reads values also accepts int.
package data

// A Tuple is a Python tuple: a list that prints with round brackets and can be a key.
type Tuple []any

// A Set is a Python set or frozenset, in the order in which Python gave its elements. It comes only
// from users' Python code.
type Set []any

// An Object is a value of a Python class that has no form outside of Python. It comes only from
// users' Python code.
type Object struct {
	Repr string // what Python's repr() prints
	Sent any    // what goes to a master in its place; nil is an empty dictionary, as under Salt
}

// A Const is a constant that Salt gives a name, such as its marker for "no default"
// (salt/utils/msgpack.py).
type Const struct {
	Name  string
	Value any
}

// A Timestamp is MessagePack's own time value (extension -1): seconds since 1970 and nanoseconds
// below 1e9.
type Timestamp struct {
	Seconds     int64
	Nanoseconds uint32
}

// An Ext is a MessagePack extension value with a code that has no meaning in Salt.
type Ext struct {
	Code int8
	Data []byte
}

// Raw is one encoded MessagePack value. Package payload writes it unchanged.
type Raw []byte

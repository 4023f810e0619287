// Package data holds the words that all of Brine speaks: the dynamic values that travel in Salt's messages and
// lie in its files, and what can be done to them without knowing what they mean.
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
//	*Map                 a dictionary, in order
//	time.Time            a date and time (msgpack extension 78)
//	Const                a named constant of Salt's (msgpack extension 79)
//	Timestamp            MessagePack's own timestamp (extension -1), which Salt passes on untouched
//	Ext                  another extension value; only written, a reader gets its bytes
//	Raw                  one encoded MessagePack value that is only forwarded
//
// Code that makes values uses these types alone; int is accepted where a value is read.
package data

// A Tuple is a Python tuple: a list that prints with round brackets and can be a key.
type Tuple []any

// A Const is a constant that Salt gives a name, such as its marker for "no default" (salt/utils/msgpack.py).
type Const struct {
	Name  string
	Value any
}

// A Timestamp is MessagePack's own time value (extension -1): seconds since 1970 and nanoseconds below 1e9.
type Timestamp struct {
	Seconds     int64
	Nanoseconds uint32
}

// An Ext is a MessagePack extension value of a code that Salt gives no meaning.
type Ext struct {
	Code int8
	Data []byte
}

// Raw is one MessagePack value, still encoded. Package payload writes it as it is.
type Raw []byte

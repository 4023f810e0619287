// Package serializers writes values as texts of common formats, and reads them: Salt's serializers,
// by their names.
//
//	text, err := serializers.Write("yaml", v, data.NewMap("default_flow_style", false))
//
// Options are those of the Python library that Salt passes them to, as far as they affect the text:
// for yaml those of yaml.dump, for json those of json.dumps, for configparser those of
// ConfigParser, for python those of pprint.pformat, and keyvalue has its own. An option that a
// format does not support is an error.
//
// The sources are salt/serializers/*.py of Salt 3006, Python's json, configparser and pprint,
// PyYAML and the library toml. It differs from Salt in several points. When YAML is read, dates are
// text, 0644 is the number 644 and a repeated key is an error, as in SLS files. Error texts of the
// library toml and for XML are not Python's. yamlex is not supported. Package plist writes and
// reads plist.
//
// [Serialize] and [Deserialize] find users' own serializers as well. [Plugins] are those of this
// package for such code.
package serializers

import (
	"errors"
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// format is how one format is written and read; nil means not supported.
type format struct {
	callee string // the Python function that gets the options
	write  func(v any, o *options) (any, error)
	read   func(text any, o *options) (any, error)
}

func formats(name string) (format, bool) {
	switch name {
	case "json":
		return format{"JSONEncoder.__init__", writeJSON, readJSON}, true
	case "yaml":
		return format{"dump_all", writeYAML, readYAML}, true
	case "toml":
		return format{"dumps", writeTOML, readTOML}, true
	case "msgpack":
		return format{"Packer.__init__", writeMsgpack, readMsgpack}, true
	case "configparser":
		return format{"RawConfigParser.__init__", writeINI, readINI}, true
	case "keyvalue":
		return format{"serialize", writePairs, readPairs}, true
	case "plist":
		return format{"dumps", writePlist, readPlist}, true
	case "python":
		return format{callee: "pformat", write: writePython}, true
	}
	return format{}, false
}

// Write returns v in a format: text, or bytes for binary formats. Its errors have Salt's classes
// and texts.
func Write(name string, v any, opts *data.Map) (any, error) {
	f, err := find(name, "serialize", func(f format) bool { return f.write != nil })
	if err != nil {
		return nil, err
	}
	o := &options{given: opts, callee: f.callee}
	out, err := f.write(v, o)
	if err = errors.Join(err, o.unknown()); err != nil {
		if name == "python" {
			return nil, loader.TypeError("%w", first(err)) // Salt does not catch the error here
		}
		return nil, loader.Exception("salt.serializers.SerializationError", "%w", first(err))
	}
	return out, nil
}

// Read returns the value of text, a string or bytes, in a format. Its errors have Salt's classes
// and texts.
func Read(name string, text any, opts *data.Map) (any, error) {
	f, err := find(name, "deserialize", func(f format) bool { return f.read != nil })
	if err != nil {
		return nil, err
	}
	out, err := f.read(text, &options{given: opts})
	if err != nil {
		return nil, loader.Exception("salt.serializers.DeserializationError", "%w", err)
	}
	return out, nil
}

func find(name, way string, goes func(format) bool) (format, error) {
	f, ok := formats(name)
	switch {
	case !ok:
		return f, missing("Serializer '%s' not found.", name)
	case !goes(f):
		return f, missing("Serializer '%s' does not implement %s.", name, way)
	}
	return f, nil
}

// ErrMissing is wrapped by the errors for a serializer that does not exist, or does not go that way.
var ErrMissing = errors.New("there is no such serializer")

func missing(format string, args ...any) error {
	return &loader.Error{Kind: loader.KindExecution, Class: "salt.exceptions.CommandExecutionError",
		Text: fmt.Sprintf(format, args...), Err: ErrMissing}
}

// first returns the first of joined errors, which is the one to report.
func first(err error) error {
	if list, ok := err.(interface{ Unwrap() []error }); ok {
		return list.Unwrap()[0]
	}
	return err
}

// options are those of one call; it records which of them a format reads.
type options struct {
	given  *data.Map
	callee string // of Python, in the text of an error
	seen   []string
}

func (o *options) get(name string, otherwise any) any {
	o.seen = append(o.seen, name)
	if v, ok := o.given.Get(name); ok {
		return v
	}
	return otherwise
}

func (o *options) truth(name string,
	otherwise bool) bool {
	return data.Truth(o.get(name, otherwise))
}

// ignored makes all unread options have no effect.
func (o *options) ignored() { o.given = nil }

// unknown returns an error for an option that the format did not read.
func (o *options) unknown() error {
	for k := range o.given.All() {
		known := false
		for _, name := range o.seen {
			known = known || k == name
		}
		if !known {
			return fmt.Errorf("%s() got an unexpected keyword argument %s", o.callee, data.Repr(k))
		}
	}
	return nil
}

// textOf returns the input as text.
func textOf(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case []byte:
		return string(v), nil
	}
	return "", fmt.Errorf("'%s' object has no attribute 'read'", loader.TypeName(v))
}

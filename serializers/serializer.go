// Package serializers writes values as texts of common formats, and reads them: Salt's serializers, by their names.
//
//	text, err := serializers.Write("yaml", v, data.NewMap("default_flow_style", false))
//
// Options are those of the Python library that Salt hands them to, as far as they shape the text: for yaml those of
// yaml.dump, for json those of json.dumps, for configparser those of ConfigParser, for python those of pprint.pformat, for
// keyvalue those of its own. An option that a format does not know is an error.
//
// The sources are salt/serializers/*.py of Salt 3006, Python's json, configparser and pprint, PyYAML and the library toml.
// What differs: in YAML that is read, dates are text, 0644 is the number 644 and a repeated key is an error, as in SLS files;
// texts of errors of the library toml and of XML are not Python's; yamlex is not known. Package plist writes and reads plist.
package serializers

import (
	"errors"
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// format is how one format is written and read; nil is a way that it does not go.
type format struct {
	callee string // the function of Python that gets the options
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

// Write returns v in a format: text, or bytes where the format is no text. Its errors have Salt's classes and texts.
func Write(name string, v any, opts *data.Map) (any, error) {
	f, err := find(name, "serialize", func(f format) bool { return f.write != nil })
	if err != nil {
		return nil, err
	}
	o := &options{given: opts, callee: f.callee}
	out, err := f.write(v, o)
	if err = errors.Join(err, o.unknown()); err != nil {
		if name == "python" {
			return nil, loader.TypeError("%w", first(err)) // this one of Salt's does not catch it
		}
		return nil, loader.Exception("salt.serializers.SerializationError", "%w", first(err))
	}
	return out, nil
}

// Read returns the value that text, a string or bytes, holds in a format. Its errors have Salt's classes and texts.
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
		return f, loader.Execution("Serializer '%s' not found.", name)
	case !goes(f):
		return f, loader.Execution("Serializer '%s' does not implement %s.", name, way)
	}
	return f, nil
}

// first returns the first of joined errors, which is the one to tell.
func first(err error) error {
	if list, ok := err.(interface{ Unwrap() []error }); ok {
		return list.Unwrap()[0]
	}
	return err
}

// options are those of one call; it notes which a format looks at.
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

func (o *options) truth(name string, otherwise bool) bool { return data.Truth(o.get(name, otherwise)) }

// ignored says that options that are not known have no effect.
func (o *options) ignored() { o.given = nil }

// unknown finds fault with an option that the format did not look at.
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

// textOf returns what is to be read as text.
func textOf(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case []byte:
		return string(v), nil
	}
	return "", fmt.Errorf("'%s' object has no attribute 'read'", loader.TypeName(v))
}

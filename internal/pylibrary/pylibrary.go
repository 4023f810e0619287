// Package pylibrary calls libraries for the classification of hosts that exist only in Python:
// reclass and varstack.
//
// Each call starts the system's python3, isolated from the environment (-I). It gets its arguments
// on standard input and prints the result, so that neither shows in a list of processes.
package pylibrary

import (
	"bytes"
	"context"
	_ "embed" // the program for Python
	"encoding/base64"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pyjson"
	"github.com/brineproject/brine/process"
)

// maxOutput is the limit of a result, and maxErrors that of the text on standard error, in bytes.
const (
	maxOutput = 64 << 20
	maxErrors = 64 << 10
)

//go:embed library.py
var program string

// A Call is a call of a library's function.
type Call struct {
	Library  string // reclass or varstack
	Function string // of reclass: ext_pillar or top
	ID       string
	Path     string    // directory that has the library; "" means where Python has its libraries
	Options  *data.Map // keyword arguments
	Pillar   *data.Map // may be nil
	Grains   *data.Map // may be nil
}

// An Error is an exception that a call raised.
type Error struct {
	Text  string
	Kinds []string // the names of its classes, the most special one first
}

// Error returns the text of the exception.
func (e *Error) Error() string { return e.Text }

// Of reports whether the exception is of a class.
func (e *Error) Of(kind string) bool { return slices.Contains(e.Kinds, kind) }

// Do makes the call. An exception is an *Error; it may quote files.
func (c *Call) Do(ctx context.Context) (any, error) {
	order, err := c.order()
	if err != nil {
		return nil, err
	}
	python := process.Find("python3")
	if python == "" {
		return nil, errors.New("no python3 was found, which " + c.Library + " needs")
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	out := &limited{room: maxOutput, full: func() { cancel(errTooMuch) }}
	said := &limited{room: maxErrors}
	cmd := exec.Command(python, "-I", "-B", "-c", program)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(order), out, said
	if err := process.Run(ctx, cmd); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return nil, fmt.Errorf("run python3 for %s: %w: %s", c.Library, err, lastLine(said.String()))
	}
	return result(out.Bytes())
}

func (c *Call) order() ([]byte, error) {
	b, err := pyjson.Append(nil, data.NewMap("library", c.Library, "function", c.Function, "id", c.ID,
		"path", c.Path, "options", encoded(c.Options), "pillar", encoded(c.Pillar),
		"grains", encoded(c.Grains)), pyjson.Options{Comma: ",", Colon: ":", ASCII: true,
		Other: func(v any) (any, error) { return data.Str(v), nil }})
	if err != nil {
		return nil, fmt.Errorf("write the arguments of %s: %w", c.Library, err)
	}
	return append(b, '\n'), nil
}

// encoded returns a value in the form that library.py reads: a map is {"map": [[key, value], …]},
// and bytes are {"bytes": BASE64}.
func encoded(v any) any {
	switch v := v.(type) {
	case *data.Map:
		pairs := make([]any, 0, v.Len())
		for k, e := range v.All() {
			pairs = append(pairs, []any{encoded(k), encoded(e)})
		}
		return data.NewMap("map", pairs)
	case []any:
		return encodedList(v)
	case data.Tuple:
		return encodedList(v)
	case data.Set:
		return encodedList(v)
	case []byte:
		return data.NewMap("bytes", base64.StdEncoding.EncodeToString(v))
	}
	return v
}

func encodedList(list []any) any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = encoded(v)
	}
	return out
}

var errForm = errors.New("the result of the library cannot be read")

// result returns the value in the output, or the exception.
func result(out []byte) (any, error) {
	v, err := pyjson.Load(string(out))
	m, ok := v.(*data.Map)
	if err != nil || !ok {
		return nil, errForm
	}
	if text, failed := m.Get("error"); failed {
		return nil, &Error{Text: strings.TrimSpace(data.Str(text)), Kinds: data.TextsOf(m.Value("kinds"))}
	}
	return decoded(m.Value("value"))
}

// decoded is the reverse of encoded.
func decoded(v any) (any, error) {
	switch v := v.(type) {
	case []any:
		for i, e := range v {
			var err error
			if v[i], err = decoded(e); err != nil {
				return nil, err
			}
		}
	case *data.Map:
		if text, ok := v.Value("bytes").(string); ok {
			return base64.StdEncoding.DecodeString(text)
		}
		pairs, ok := v.Value("map").([]any)
		if !ok {
			return nil, errForm
		}
		return decodedMap(pairs)
	}
	return v, nil
}

func decodedMap(pairs []any) (any, error) {
	m := data.NewMap()
	for _, p := range pairs {
		pair, ok := p.([]any)
		if !ok || len(pair) != 2 {
			return nil, errForm
		}
		key, err := decoded(pair[0])
		if err != nil {
			return nil, err
		}
		if list, isList := key.([]any); isList {
			key = data.Tuple(list)
		}
		if !data.Hashable(key) {
			return nil, errForm
		}
		value, err := decoded(pair[1])
		if err != nil {
			return nil, err
		}
		m.Set(key, value)
	}
	return m, nil
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}

var errTooMuch = fmt.Errorf("it prints more than %d bytes", maxOutput)

// limited is a buffer that calls full, or drops what follows if full is nil, when it is full.
type limited struct {
	bytes.Buffer
	room int
	full func()
}

// Write implements io.Writer.
func (l *limited) Write(b []byte) (int, error) {
	if l.Len()+len(b) <= l.room {
		return l.Buffer.Write(b)
	}
	if l.full == nil {
		return len(b), nil
	}
	l.full()
	return 0, errTooMuch
}

// Reclass returns a call of reclass for a node, with the arguments of an entry of ext_pillar or
// master_tops. Without inventory_base_uri it is the first directory of the option file_roots for the
// environment base (salt/utils/reclass.py).
func Reclass(function, id string, arguments, opts *data.Map) *Call {
	c := &Call{Library: "reclass", Function: function, ID: id, Options: arguments.Clone()}
	if v := arguments.Value("reclass_source_path"); data.Truth(v) {
		c.Path = data.Str(v)
	}
	c.Options.Delete("reclass_source_path")
	roots, _ := opts.Value("file_roots").(*data.Map)
	if base := data.TextsOf(roots.Value("base")); !c.Options.Has("inventory_base_uri") && len(base) > 0 {
		c.Options.Set("inventory_base_uri", base[0])
	}
	return c
}

// Varstack returns a call of varstack with a file of its configuration and the grains of a minion.
func Varstack(file string, grains *data.Map) *Call {
	return &Call{Library: "varstack", Options: data.NewMap("conf", file), Grains: grains}
}

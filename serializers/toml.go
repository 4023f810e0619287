//go:build !small || formats

package serializers

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/render"
)

func readTOML(v any, _ *options) (any, error) {
	text, err := textOf(v)
	if err != nil {
		return nil, err
	}
	return render.TOML{}.Render(context.Background(), &render.Step{Data: text})
}

// maxTOMLDepth limits the nesting of tables when writing.
const maxTOMLDepth = 200

// writeTOML writes as toml.dumps of Python's library toml does: the values of a table before its
// tables, a comma after each element of a list, no line for None.
func writeTOML(v any, _ *options) (any, error) {
	top, ok := v.(*data.Map)
	if !ok {
		return nil, errors.New(typeOf(v) + " indices must be integers or slices, not str")
	}
	w := tomlWriter{}
	own, tables := w.table(top, "", 0)
	var text strings.Builder
	text.WriteString(own)
	for depth := 0; tables.Len() > 0; depth++ {
		if depth > maxTOMLDepth {
			return nil, errTOMLDepth
		}
		below := data.NewMap()
		for name, t := range tables.All() {
			own, more := w.table(t.(*data.Map), name.(string), 0)
			if own != "" || more.Len() == 0 {
				if s := text.String(); s != "" && !strings.HasSuffix(s, "\n\n") {
					text.WriteByte('\n')
				}
				text.WriteString("[" + name.(string) + "]\n" + own)
			}
			for k, t := range more.All() {
				below.Set(name.(string)+"."+k.(string), t)
			}
		}
		tables = below
	}
	return text.String(), w.err
}

var errTOMLDepth = errors.New("tables nest too deep")

type tomlWriter struct{ err error }

// table returns the lines of a table, including its arrays of tables, and the tables in it.
func (w *tomlWriter) table(m *data.Map, in string, depth int) (string, *data.Map) {
	if in != "" && !strings.HasSuffix(in, ".") {
		in += "."
	}
	var lines, arrays strings.Builder
	tables := data.NewMap()
	if depth > maxTOMLDepth {
		w.err = errTOMLDepth
		return "", tables
	}
	for k, v := range m.All() {
		key := tomlKey(data.Str(k))
		switch v := v.(type) {
		case nil:
		case *data.Map:
			tables.Set(key, v)
		case []any:
			if hasTable(v) {
				w.array(&arrays, v, in, key, depth)
				continue
			}
			lines.WriteString(key + " = " + w.value(v, depth) + "\n")
		default:
			lines.WriteString(key + " = " + w.value(v, depth) + "\n")
		}
	}
	return lines.String() + arrays.String(), tables
}

// array writes an array of tables.
func (w *tomlWriter) array(b *strings.Builder, list []any, in, key string, depth int) {
	for _, item := range list {
		t, ok := item.(*data.Map)
		if !ok {
			w.err = errors.New("a list of tables contains a value that is not a table")
			return
		}
		var tail strings.Builder
		tail.WriteByte('\n')
		b.WriteString("[[" + in + key + "]]\n")
		own, tables := w.table(t, in+key, depth+1)
		if strings.HasPrefix(own, "[") {
			tail.WriteString(own)
		} else {
			b.WriteString(own)
		}
		for level := depth; tables.Len() > 0; level++ {
			if level > maxTOMLDepth {
				w.err = errTOMLDepth
				return
			}
			below := data.NewMap()
			for name, t := range tables.All() {
				path := in + key + "." + name.(string)
				own, more := w.table(t.(*data.Map), path, level+1)
				if own != "" {
					tail.WriteString("[" + path + "]\n" + own)
				}
				for k, t := range more.All() {
					below.Set(name.(string)+"."+k.(string), t)
				}
			}
			tables = below
		}
		b.WriteString(tail.String())
	}
}

func hasTable(list []any) bool {
	for _, v := range list {
		if _, ok := v.(*data.Map); ok {
			return true
		}
	}
	return false
}

func tomlKey(k string) string {
	if tomlBare.MatchString(k) {
		return k
	}
	return tomlText(k)
}

var tomlBare = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

func (w *tomlWriter) value(v any, depth int) string {
	if depth > maxTOMLDepth {
		w.err = errTOMLDepth
		return ""
	}
	switch v := v.(type) {
	case bool:
		return fmt.Sprint(v)
	case float64:
		return strings.NewReplacer("e+0", "e+", "e-0", "e-").Replace(data.Str(v))
	case []any:
		return w.list(v, depth)
	case data.Tuple:
		return w.list(v, depth)
	case string:
		return tomlText(v)
	case time.Time:
		return v.Format("2006-01-02T15:04:05.999999Z07:00")
	case int64, int:
		return fmt.Sprint(v)
	}
	return tomlText(data.Str(v))
}

func (w *tomlWriter) list(list []any, depth int) string {
	var b strings.Builder
	b.WriteByte('[')
	for _, v := range list {
		b.WriteString(" " + w.value(v, depth+1) + ",")
	}
	b.WriteByte(']')
	return b.String()
}

// tomlText quotes a text. Characters without a TOML escape are written as in Python's repr, with
// \u00 for \x.
func tomlText(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"':
			b.WriteString(`\"`)
		case r == '\'':
			b.WriteByte('\'')
		default:
			quoted := data.Repr(string(r))
			quoted = quoted[1 : len(quoted)-1]
			if strings.HasPrefix(quoted, `\x`) {
				quoted = `\u00` + quoted[2:]
			}
			b.WriteString(quoted)
		}
	}
	b.WriteByte('"')
	return b.String()
}

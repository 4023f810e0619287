package media

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// maxFields limits the fields of a form, because each argument is a YAML document of its own.
const maxFields = 2000

// decodeForm parses a form as urlencoded_processor of Salt's rest_cherrypy does.
func decodeForm(raw []byte, nodes int) (any, error) {
	if !utf8.Valid(raw) {
		return nil, invalid("Invalid form", errNotText)
	}
	m, err := fields(string(raw))
	if err == nil {
		err = parseArguments(m, nodes)
	}
	return m, invalid("Invalid form", err)
}

// fields returns the fields of a form: text, or a list of texts for a repeated key. It follows
// Python's parse_qsl: a field without a value does not count, and only & separates.
func fields(form string) (*data.Map, error) {
	m := data.NewMap()
	n := 0
	for pair := range strings.SplitSeq(form, "&") {
		name, value, _ := strings.Cut(pair, "=")
		if value == "" {
			continue
		}
		if n++; n > maxFields {
			return nil, fmt.Errorf("more than %d fields", maxFields)
		}
		add(m, unquote(name), unquote(value))
	}
	return m, nil
}

func add(m *data.Map, name, value string) {
	switch old := m.Value(name).(type) {
	case nil:
		m.Set(name, value)
	case []any:
		m.Set(name, append(old, value))
	default:
		m.Set(name, []any{old, value})
	}
}

// parseArguments parses arg and kwarg; arg becomes a list. Like Salt, it leaves a repeated kwarg
// as it is.
func parseArguments(m *data.Map, nodes int) error {
	p := &arguments{left: nodes}
	if text, ok := m.Value("kwarg").(string); ok {
		m.Set("kwarg", p.parse(text))
	}
	switch arg := m.Value("arg").(type) {
	case string:
		m.Set("arg", []any{p.parse(arg)})
	case []any:
		for i := range arg {
			arg[i] = p.parse(arg[i].(string))
		}
	}
	return p.err
}

// arguments parses arguments that together hold at most left more values.
type arguments struct {
	left int
	err  error
}

func (a *arguments) parse(text string) any {
	if strings.ContainsAny(text, "[{") && strings.Count(text, "[")+strings.Count(text, "{")+
		strings.Count(text, ",") > a.left {
		a.err = errTooMany
	}
	if a.err != nil {
		return nil
	}
	v := loader.YAMLArg(text)
	if a.count(v, 0); a.err != nil {
		return nil
	}
	return v
}

var errTooMany = errors.New("too many values in arg or kwarg")

// count subtracts the values in v from those that are left. It follows aliases, because the
// message to a master repeats them.
func (a *arguments) count(v any, depth int) {
	a.left--
	switch {
	case a.left < 0:
		a.err = errTooMany
	case depth > maxDepth:
		a.err = fmt.Errorf("more than %d levels of nesting in arg or kwarg", maxDepth)
	}
	if a.err != nil {
		return
	}
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			a.count(e, depth+1)
		}
	case *data.Map:
		for _, e := range v.All() {
			a.count(e, depth+1)
		}
	}
}

// unquote decodes + and %XX; invalid escapes stay, and bytes that are not UTF-8 become U+FFFD as in
// Python.
func unquote(s string) string {
	if !strings.ContainsAny(s, "+%") {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch c {
		case '+':
			c = ' '
		case '%':
			if n, err := strconv.ParseUint(s[i+1:min(i+3, len(s))], 16, 8); err == nil && i+2 < len(s) {
				c = byte(n)
				i += 2
			}
		}
		b = append(b, c)
	}
	return replaceInvalid(b)
}

// replaceInvalid replaces each invalid sequence by U+FFFD; the beginning of a character that is
// cut off counts as one sequence.
func replaceInvalid(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	var out strings.Builder
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		if r == utf8.RuneError && size == 1 {
			size = begun(b)
		}
		out.WriteRune(r)
		b = b[size:]
	}
	return out.String()
}

// begun returns how many bytes of the invalid sequence at the start of b begin a valid one, and at
// least 1.
func begun(b []byte) int {
	n := 1
	for n < len(b) && !utf8.FullRune(b[:n]) && !utf8.FullRune(b[:n+1]) {
		n++
	}
	return n
}

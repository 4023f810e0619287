package console

import (
	"html/template"
	"strings"

	"github.com/brineproject/brine/data"
)

// changesOf returns the changes of a state: diffs with their lines marked, values as before and after,
// and all else as a tree. It is "" if there are none.
func changesOf(v any) template.HTML {
	if !data.Truth(v) {
		return ""
	}
	w := &changeWriter{}
	w.value(v, 0)
	return template.HTML(w.b.String()) //nolint:gosec // every text is escaped in changeWriter.text
}

// A changeWriter writes the changes of one state.
type changeWriter struct{ b strings.Builder }

func (w *changeWriter) value(v any, depth int) {
	m, ok := v.(*data.Map)
	switch {
	case !ok || m.Len() == 0 || depth > 3 || !w.hasChange(m, depth):
		w.b.WriteString(string(tree(v, nil)))
	case isPair(m):
		w.pair(m)
	default:
		for k, v := range m.All() {
			w.key(data.Str(k), v, depth)
		}
	}
}

// hasChange reports whether a map has a diff, or a value before and after, at any depth that is shown.
func (w *changeWriter) hasChange(m *data.Map, depth int) bool {
	if isPair(m) {
		return true
	}
	for k, v := range m.All() {
		if isDiff(data.Str(k), v) {
			return true
		}
		if below, ok := v.(*data.Map); ok && depth < 3 && w.hasChange(below, depth+1) {
			return true
		}
	}
	return false
}

func (w *changeWriter) key(key string, v any, depth int) {
	switch {
	case isDiff(key, v):
		w.diff(strings.Split(strings.TrimSuffix(v.(string), "\n"), "\n"))
	default:
		w.b.WriteString(`<div class="made"><div class="tree"><span class="key">`)
		w.text(key + ":")
		w.b.WriteString("</span></div>")
		w.value(v, depth+1)
		w.b.WriteString("</div>")
	}
}

// isDiff reports whether a change is the text of a diff.
func isDiff(key string, v any) bool {
	text, ok := v.(string)
	return ok && (key == "diff" && strings.Contains(text, "\n") || strings.HasPrefix(text, "--- ") && strings.Contains(text, "\n+++ "))
}

// isPair reports whether a map has a value before and after.
func isPair(m *data.Map) bool {
	return m.Len() == 2 && m.Has("old") && m.Has("new") || m.Len() == 1 && (m.Has("old") || m.Has("new"))
}

// pair writes a value before and after.
func (w *changeWriter) pair(m *data.Map) {
	var lines []string
	for _, side := range []struct{ key, sign string }{{"old", "-"}, {"new", "+"}} {
		v, ok := m.Get(side.key)
		if !ok || v == nil || v == "" {
			continue
		}
		text, isText := v.(string)
		if !isText {
			text = argumentText(v)
		}
		for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
			lines = append(lines, side.sign+line)
		}
	}
	w.diff(lines)
}

// diff writes the lines of a diff. Their first character says what they are.
func (w *changeWriter) diff(lines []string) {
	w.b.WriteString(`<div class="diff">`)
	size := 0
	for _, line := range lines {
		if size += len(line); size > longText {
			w.b.WriteString(`<span class="at">… the rest is in the raw result</span>`)
			break
		}
		w.b.WriteString(`<span` + classOf(line) + `>`)
		if line == "" {
			line = " "
		}
		w.text(line)
		w.b.WriteString("</span>")
	}
	w.b.WriteString("</div>")
}

func classOf(line string) string {
	switch {
	case strings.HasPrefix(line, "@@"), strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "+++ "):
		return ` class="at"`
	case strings.HasPrefix(line, "+"):
		return ` class="add"`
	case strings.HasPrefix(line, "-"):
		return ` class="del"`
	}
	return ""
}

func (w *changeWriter) text(s string) { template.HTMLEscape(&w.b, []byte(s)) }

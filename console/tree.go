package console

import (
	"html/template"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
)

// functions are those that templates may call.
func functions(a *assets) template.FuncMap {
	return template.FuncMap{
		"asset": func(name string) string { return a.href[name] },
		"tree":  func(v any) template.HTML { return tree(v, nil) },
		"str":   data.Str,
		// the paths of pages, below the root of the console
		"minionPath": minionPath,
		"jobPath":    jobPath,
		"pageNumber": pageNumber,
		"root":       func() string { return a.root },
		// words in the names of secrets, as a regular expression
		"secretWords": func() string { return strings.Join(secretWords(), "|") },
	}
}

// mask reports whether the value below a path of keys must not be shown.
type mask func(path []string) bool

// tree returns a value as nested lists. Values that hidden selects are dots.
func tree(v any, hidden mask) template.HTML {
	t := treeWriter{hidden: hidden}
	t.b.WriteString(`<div class="tree">`)
	t.value(v, nil)
	t.b.WriteString(`</div>`)
	return template.HTML(t.b.String()) //nolint:gosec // every text is escaped in treeWriter.text
}

// maskedTree is tree with a link beside each masked value, to the address that reveal returns for its
// path. Elements of lists have their number in the path.
func maskedTree(v any, hidden mask, reveal func(path []string) string) template.HTML {
	t := treeWriter{hidden: hidden, reveal: reveal}
	t.b.WriteString(`<div class="tree">`)
	t.value(v, nil)
	t.b.WriteString(`</div>`)
	return template.HTML(t.b.String()) //nolint:gosec // every text is escaped in treeWriter.text and treeWriter.mask
}

// deepest limits the depth of a tree.
const deepest = 50

// A treeWriter writes the tree of one value.
type treeWriter struct {
	b      strings.Builder
	hidden mask
	reveal func(path []string) string // nil has no links
}

func (t *treeWriter) value(v any, path []string) {
	if t.hidden != nil && t.hidden(path) && !isBranch(v) {
		t.mask(path)
		return
	}
	if len(path) > deepest {
		t.text("masked", "…")
		return
	}
	switch v := v.(type) {
	case *data.Map:
		t.dictionary(v, path)
	case []any:
		t.list(v, path)
	case data.Tuple:
		t.list(v, path)
	case data.Set:
		t.list(v, path)
	case string:
		t.text("text", v)
	default:
		t.text("const", data.Str(v))
	}
}

func isBranch(v any) bool {
	switch v := v.(type) {
	case *data.Map:
		return v.Len() > 0
	case []any:
		return len(v) > 0
	}
	return false
}

func (t *treeWriter) dictionary(m *data.Map, path []string) {
	if m.Len() == 0 {
		t.text("const", "{}")
		return
	}
	t.b.WriteString("<ul>")
	for k, v := range m.All() {
		t.b.WriteString("<li>")
		t.text("key", data.Str(k)+":")
		t.b.WriteString(" ")
		t.value(v, append(path[:len(path):len(path)], data.Str(k)))
		t.b.WriteString("</li>")
	}
	t.b.WriteString("</ul>")
}

func (t *treeWriter) list(list []any, path []string) {
	if len(list) == 0 {
		t.text("const", "[]")
		return
	}
	t.b.WriteString("<ul>")
	for i, v := range list {
		t.b.WriteString("<li>– ")
		t.value(v, append(path[:len(path):len(path)], strconv.Itoa(i)))
		t.b.WriteString("</li>")
	}
	t.b.WriteString("</ul>")
}

// text writes an escaped text with a class.
func (t *treeWriter) text(class, text string) {
	t.b.WriteString(`<span class="` + class + `">`)
	template.HTMLEscape(&t.b, []byte(text))
	t.b.WriteString("</span>")
}

// mask writes dots in place of a value, and the link that shows it.
func (t *treeWriter) mask(path []string) {
	t.text("masked", "••••••")
	if t.reveal == nil {
		return
	}
	t.b.WriteString(` <a class="small" href="`)
	template.HTMLEscape(&t.b, []byte(t.reveal(path)))
	t.b.WriteString(`" aria-label="`)
	template.HTMLEscape(&t.b, []byte("Show the value of "+strings.Join(path, " ")))
	t.b.WriteString(`">show</a>`)
}

package highstate

import (
	"fmt"
	"strings"

	"github.com/brineproject/brine/data"
)

// styles returns the style of a class; most mail readers know no style sheets.
func styles() map[string]string {
	return map[string]string{
		"_table":         "border-collapse:collapse;width:100%;",
		"_td":            "vertical-align:top;font-family:Helvetica,Arial,sans-serif;font-size:9pt;",
		"unchanged":      "color:blue;",
		"changed":        "color:green",
		"failed":         "color:red;",
		"first":          "border-top:0;border-left:1px solid #9e9e9e;",
		"first_first":    "border-top:0;border-left:0;",
		"notfirst_first": "border-left:0;border-top:1px solid #9e9e9e;",
		"other":          "border-top:1px solid #9e9e9e;border-left:1px solid #9e9e9e;",
		"name":           "width:70pt;",
		"container":      "padding:0;",
	}
}

// htmlOf returns a report as HTML.
func htmlOf(list []any) string {
	p := &page{styles: styles()}
	p.line("<html>")
	p.line("<body>")
	p.table(list, "")
	p.line("</body>")
	p.line("</html>")
	return p.text.String()
}

// A page is HTML that is being written.
type page struct {
	text   strings.Builder
	styles map[string]string
}

func (p *page) line(format string, args ...any) { fmt.Fprintf(&p.text, format+"\n", args...) }

// style returns the style of an element with classes.
func (p *page) style(element string, classes ...string) string {
	text := p.styles["_"+element]
	for _, c := range classes {
		text += p.styles[c]
	}
	return text
}

// escape escapes a text as html.escape of Python does.
func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#x27;").Replace(s)
}

// table writes a table with a row for each element of a list.
func (p *page) table(list []any, extra string) {
	p.line(`<table style="%s">`, p.style("table"))
	first, second := "first_first", "first"
	for _, v := range list {
		p.row(v, first, second, extra)
		first, second = "notfirst_first", "other"
	}
	p.line("</table>")
}

func (p *page) row(v any, first, second, extra string) {
	m, isMap := v.(*data.Map)
	if isMap {
		if style, ok := m.Get("__style__"); ok {
			extra = data.Str(style)
			m = m.Clone()
			m.Delete("__style__")
		}
		if m.Len() != 1 {
			return
		}
	}
	p.line(`<tr style="%s">`, p.style("tr"))
	if isMap {
		name, value := m.At(0)
		p.line(`<td style="%s">%s</td>`, p.style("td", first, "name", extra), escape(data.Str(name)))
		p.cell(value, second, extra)
	} else {
		p.cell(v, first, extra)
	}
	p.line("</tr>")
}

func (p *page) cell(v any, place, extra string) {
	if list, ok := v.([]any); ok {
		p.line(`<td style="%s">`, p.style("td", place, "container", extra))
		p.table(list, extra)
		p.line("</td>")
		return
	}
	p.line(`<td style="%s">%s</td>`, p.style("td", place, "value", extra), escape(data.Str(v)))
}

package output

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/brineproject/brine/data"
)

// A TableStyle is the style of the outputter table; each field is the option out.table.NAME, and
// nil is Salt's default.
type TableStyle struct {
	HasHeader, RowDelimiter, Delim, Justify, SeparateRows, Prefix, Suffix, Width any
	NestedIndent, RowsKey, LabelsKey, Title                                      any
}

// tables is Salt's outputter for lists of rows (salt/output/table_out.py). It shows only lists
// whose values all have the same type. As in Salt, a wrapped cell shows no more lines than the
// shortest cell of its row.
type tables struct {
	lightGray, darkGray, white, normal  string
	rowDelimiter, delim, prefix, suffix string
	justify                             string
	header, separate                    bool
	width, base                         int
	rowsKey, labelsKey, title           any
}

func newTable(o Options) Outputter {
	s := o.Table
	t := &tables{
		rowDelimiter: data.Str(or(s.RowDelimiter, "-")), delim: data.Str(or(s.Delim, " | ")),
		prefix: data.Str(or(s.Prefix, "| ")), suffix: data.Str(or(s.Suffix, " |")),
		justify: strings.ToLower(data.Str(or(s.Justify, "center"))),
		header:  data.Truth(or(s.HasHeader, true)), separate: data.Truth(or(s.SeparateRows, true)),
		width: whole(or(s.Width, int64(50))), base: o.NestedIndent, rowsKey: s.RowsKey,
		labelsKey: s.LabelsKey, title: s.Title,
	}
	if t.base == 0 {
		t.base = whole(s.NestedIndent)
	}
	t.lightGray, t.darkGray, t.white, t.normal = grays(o)
	return t
}

// or returns v, or other if v is nil.
func or(v, other any) any {
	if v == nil {
		return other
	}
	return v
}

func whole(v any) int {
	n, _ := v.(int64)
	return int(n)
}

// Format fails for rows whose cells are not text and for keys that cannot be ordered, as Salt's
// does.
func (t *tables) Format(v any) (string, error) {
	var out []string
	if data.Truth(t.title) && data.Truth(t.rowsKey) {
		out = append(out, strings.Repeat(" ", t.base)+data.Str(t.title)+t.white+t.normal+"\n")
	}
	out, err := t.display(out, v, t.base)
	return strings.Join(out, "\n"), err
}

func (t *tables) line(indent int, colour, text string) string {
	return strings.Repeat(" ", indent) + colour + text + t.normal
}

func (t *tables) display(out []string, v any, indent int) ([]string, error) {
	switch v := v.(type) {
	case *data.Map:
		return t.dict(out, v, indent)
	case []any, data.Tuple:
		if !data.Truth(t.rowsKey) {
			return t.rows(out, items(v), nil, indent)
		}
	}
	return out, nil
}

// dict shows the values below their names or, if a key is requested, the values of that key here or
// deeper.
func (t *tables) dict(out []string, m *data.Map, indent int) ([]string, error) {
	keys, ok := sortedKeys(m)
	if !ok {
		return nil, fmt.Errorf("table: the keys of a dictionary have no order: %w", ErrValue)
	}
	asked := data.Truth(t.rowsKey)
	deeper := asked && !m.Has(t.rowsKey)
	var err error
	for _, key := range keys {
		switch {
		case err != nil:
			return nil, err
		case deeper:
			out, err = t.display(out, m.Value(key), indent)
		case !asked:
			out = append(out, t.line(indent, t.darkGray, data.Str(key))+
				":", t.line(indent, t.darkGray, "----------"))
			out, err = t.value(out, m, key, indent)
		case data.Equal(key, t.rowsKey):
			out, err = t.value(out, m, key, indent)
		}
	}
	return out, err
}

func (t *tables) value(out []string, m *data.Map, key any, indent int) ([]string, error) {
	v := m.Value(key)
	if rows := items(v); rows != nil {
		var labels any
		if data.Truth(t.labelsKey) {
			labels = m.Value(t.labelsKey)
		}
		return t.rows(out, rows, labels, indent)
	}
	return t.display(out, v, indent+4)
}

// items returns the elements of a list or a tuple, or nil for other values.
func items(v any) []any {
	switch v := v.(type) {
	case []any:
		return v
	case data.Tuple:
		return v
	}
	return nil
}

// rows shows a table. Rows are dictionaries, texts or lists of texts.
func (t *tables) rows(out []string, rows []any, labels any, indent int) ([]string, error) {
	if len(rows) == 0 || !sameType(rows) {
		return out, nil
	}
	cells, labels, err := split(rows, labels)
	if err != nil {
		return nil, err
	}
	head := data.Truth(labels)
	if head {
		names, err := labelCells(labels)
		if err != nil {
			return nil, err
		}
		cells = append([][]string{names}, cells...)
	}
	return t.draw(out, cells, indent+4, t.header && head)
}

func sameType(rows []any) bool {
	for _, row := range rows[1:] {
		if typeName(row) != typeName(rows[0]) {
			return false
		}
	}
	return true
}

// split returns the cells of rows. Without labels, the labels of dictionaries are the keys of the
// first one.
func split(rows []any, labels any) (cells [][]string, _ any, err error) {
	if first, ok := rows[0].(*data.Map); ok && !data.Truth(labels) {
		keys, _ := sortedKeys(first)
		var names []any
		for _, key := range keys {
			names = append(names, title(strings.ReplaceAll(data.Str(key), "_", " ")))
		}
		labels = names
	}
	for _, row := range rows {
		line, err := rowCells(row)
		if err != nil {
			return nil, nil, err
		}
		cells = append(cells, line)
	}
	return cells, labels, nil
}

func rowCells(row any) ([]string, error) {
	switch row := row.(type) {
	case *data.Map:
		keys, ok := sortedKeys(row)
		if !ok {
			return nil, fmt.Errorf("table: the keys of a row have no order: %w", ErrValue)
		}
		var cells []string
		for _, key := range keys {
			cells = append(cells, data.Str(row.Value(key)))
		}
		return cells, nil
	case string:
		return []string{row}, nil
	}
	return textCells(row)
}

// labelCells returns the head of a table: the values of a dictionary by their keys, or a list.
func labelCells(labels any) ([]string, error) {
	m, ok := labels.(*data.Map)
	if !ok {
		return textCells(labels)
	}
	keys, _ := sortedKeys(m)
	var values []any
	for _, key := range keys {
		values = append(values, m.Value(key))
	}
	return textCells(values)
}

func textCells(row any) ([]string, error) {
	var cells []string
	for _, item := range items(row) {
		text, ok := item.(string)
		if !ok {
			return nil, fmt.Errorf("table: a cell is %s, not text: %w", typeName(item), ErrValue)
		}
		cells = append(cells, text)
	}
	if cells == nil {
		return nil, fmt.Errorf("table: a row is %s without cells: %w", typeName(row), ErrValue)
	}
	return cells, nil
}

// title capitalizes words as Python's str.title does.
func title(text string) string {
	within := false
	return strings.Map(func(r rune) rune {
		begins := !within
		within = unicode.IsLetter(r)
		if begins {
			return unicode.ToTitle(r)
		}
		return unicode.ToLower(r)
	}, text)
}

// draw draws rows of cells.
func (t *tables) draw(out []string, rows [][]string, indent int, head bool) ([]string, error) {
	align, ok := map[string]func(string, int) string{"center": centre, "left": left, "right": right}[t.justify]
	if !ok {
		return nil, fmt.Errorf("table: out.table.justify is %q, not center, left or right: %w",
			t.justify, ErrValue)
	}
	var wrapped [][][]string
	for _, row := range rows {
		if len(row) == 0 {
			return nil, fmt.Errorf("table: a row has no cells: %w", ErrValue)
		}
		wrapped = append(wrapped, t.wrapped(row))
	}
	widths := widest(wrapped)
	rule := t.line(indent, t.lightGray, strings.Repeat(t.rowDelimiter, t.length(widths)))
	if t.separate {
		out = append(out, rule)
	}
	for _, row := range wrapped {
		for _, cells := range row {
			out = append(out, t.line(indent, t.white, t.row(cells, widths, align)))
		}
		if t.separate || head {
			out = append(out, rule)
		}
		head = false
	}
	return out, nil
}

func (t *tables) row(cells []string, widths []int, align func(string, int) string) string {
	var aligned []string
	for i, width := range widths {
		aligned = append(aligned, align(cells[i], width))
	}
	return t.prefix + strings.Join(aligned, t.delim) + t.suffix
}

func (t *tables) length(widths []int) int {
	n := utf8.RuneCountInString(t.prefix+t.suffix) + utf8.RuneCountInString(t.delim)*(len(widths)-1)
	for _, width := range widths {
		n += width
	}
	return n
}

// wrapped splits the cells of a row into lines, as many as the shortest cell has.
func (t *tables) wrapped(row []string) [][]string {
	var cells [][]string
	least := -1
	for _, text := range row {
		broken := strings.Split(t.wrap(text), "\n")
		cells = append(cells, broken)
		if least < 0 || len(broken) < least {
			least = len(broken)
		}
	}
	lines := make([][]string, least)
	for i := range lines {
		for _, broken := range cells {
			lines[i] = append(lines[i], broken[i])
		}
	}
	return lines
}

// wrap breaks a line before a word that would make it reach the column's maximum width.
func (t *tables) wrap(text string) string {
	words := strings.Split(text, " ")
	var b strings.Builder
	b.WriteString(words[0])
	at := utf8.RuneCountInString(words[0][strings.LastIndex(words[0], "\n")+1:])
	for _, word := range words[1:] {
		first, _, _ := strings.Cut(word, "\n")
		if at+utf8.RuneCountInString(first) >= t.width {
			b.WriteByte('\n')
			at = 0
		} else {
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		if i := strings.LastIndex(word, "\n"); i >= 0 {
			at, word = 0, word[i+1:]
		}
		at += utf8.RuneCountInString(word)
	}
	return b.String()
}

// widest returns the width of each column; there are as many columns as the shortest row has cells.
func widest(rows [][][]string) []int {
	var widths []int
	for n, row := range rows {
		for _, cells := range row {
			if n == 0 && widths == nil {
				widths = make([]int, len(cells))
			}
			widths = widths[:min(len(widths), len(cells))]
			for i := range widths {
				widths[i] = max(widths[i], utf8.RuneCountInString(cells[i]))
			}
		}
	}
	return widths
}

func left(s string, width int) string {
	return s + strings.Repeat(" ", max(width-utf8.RuneCountInString(s), 0))
}

func right(s string, width int) string {
	return strings.Repeat(" ", max(width-utf8.RuneCountInString(s), 0)) + s
}

// centre pads as Python's str.center does.
func centre(s string, width int) string {
	pad := max(width-utf8.RuneCountInString(s), 0)
	before := pad/2 + pad&width&1
	return strings.Repeat(" ", before) + s + strings.Repeat(" ", pad-before)
}

package mysql

import (
	"strings"

	"github.com/brineproject/brine/data"
)

// A result is what the server returned for one statement, or for the statements of a file.
type result struct {
	all  *data.Map
	many bool
}

// name converts the rows to dictionaries by column name.
func (r result) name() {
	rows, ok := r.all.Value("results").([]any)
	if !ok {
		return
	}
	columns, _ := r.all.Value("columns").([]any)
	if !r.many {
		r.all.Set("results", named(rows, columns))
		return
	}
	lists := []any{}
	for i, list := range rows {
		of, _ := list.([]any)
		names, _ := columns[i].([]any)
		lists = append(lists, named(of, names))
	}
	r.all.Set("results", lists)
}

func named(rows, columns []any) []any {
	list := make([]any, len(rows))
	for i, row := range rows {
		cells, line := row.([]any), data.NewMap()
		for j, column := range columns {
			line.Set(column, cells[j])
		}
		list[i] = line
	}
	return list
}

// text returns the result as Python prints it.
func (r result) text() string {
	shown := &data.Map{}
	for key, v := range r.ordered().All() {
		if list, ok := v.([]any); ok && key == "columns" {
			v = r.tuples(list)
		}
		shown.Set(key, v)
	}
	return data.Str(shown)
}

// ordered returns the result in the order that Salt uses.
func (r result) ordered() *data.Map {
	if !r.many {
		return r.all
	}
	sorted := &data.Map{}
	for _, key := range []string{"rows returned", "columns", "results", "rows affected"} {
		if v, ok := r.all.Get(key); ok {
			sorted.Set(key, v)
		}
	}
	time, _ := r.all.Value("query time").(*data.Map)
	sorted.Set("query time", data.NewMap("raw", time.Value("raw"), "human", time.Value("human")))
	return sorted
}

// tuples returns the names of columns as tuples.
func (r result) tuples(columns []any) any {
	if !r.many {
		return data.Tuple(columns)
	}
	all := make([]any, len(columns))
	for i, list := range columns {
		names, _ := list.([]any)
		all[i] = data.Tuple(names)
	}
	return all
}

// lines returns the text to write to a file: each cell of each row after the name of its column, or
// everything if there are no rows.
func (r result) lines() string {
	var b strings.Builder
	rows, ok := r.all.Value("results").([]any)
	if !ok {
		write(&b, r.ordered())
	}
	for _, row := range rows {
		list, many := row.([]any)
		if !many {
			list = []any{row}
		}
		for _, line := range list {
			write(&b, line.(*data.Map))
		}
	}
	return b.String()
}

func write(b *strings.Builder, m *data.Map) {
	for key, v := range m.All() {
		b.WriteString(data.Str(key) + ":" + data.Str(v) + "\n")
	}
}

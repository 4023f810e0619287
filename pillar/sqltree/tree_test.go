package sqltree_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pyjson"
	"github.com/brineproject/brine/pillar"
	"github.com/brineproject/brine/pillar/sqltree"
)

// tables is a database that recognizes queries by their text.
type tables struct{ *data.Map }

func (t tables) Query(_ context.Context, query, _ string, names func([]string), row func([]any) error) error {
	table, ok := t.Value(query).(*data.Map)
	if !ok {
		return fmt.Errorf("%w: no table %s", sqltree.ErrDatabase, query)
	}
	var all []string
	for _, n := range table.Value("names").([]any) {
		all = append(all, n.(string))
	}
	names(all)
	for _, r := range table.Value("rows").([]any) {
		if err := row(r.([]any)); err != nil {
			return err
		}
	}
	return nil
}

func (t tables) Close() error { return nil }

func fetch(t testing.TB, argument any, in *data.Map) (*data.Map, string, error) {
	t.Helper()
	var told bytes.Buffer
	log := logrus.New()
	log.SetOutput(&told)
	q := pillar.Query{ID: "web1", Argument: argument, Log: log}
	got, err := sqltree.NewGate(1).Fetch(t.Context(), q,
		"test", func(context.Context) (sqltree.Database, error) { return tables{in}, nil })
	return got, told.String(), err
}

// TestRowsGrowAsInSalt compares with the results of Salt 3006.0's SqlBaseExtPillar, as Python
// prints them.
func TestRowsGrowAsInSalt(t *testing.T) {
	text, err := os.ReadFile("testdata/rows.json")
	if err != nil {
		t.Fatal(err)
	}
	v, err := pyjson.Load(string(text))
	if err != nil {
		t.Fatal(err)
	}
	cases := v.([]any)
	for i, c := range cases {
		m := c.(*data.Map)
		got, _, err := fetch(t, m.Value("argument"), m.Value("tables").(*data.Map))
		switch wrong := m.Text("error"); {
		case wrong != "" && err == nil:
			t.Errorf("case %d: %s, want the error %s", i+1, data.Repr(got), wrong)
		case wrong == "" && err != nil:
			t.Errorf("case %d: %v, want %s", i+1, err, m.Text("want"))
		case wrong == "" && data.Repr(got) != m.Text("want"):
			t.Errorf("case %d: %s\ngot  %s\nwant %s", i+1, data.Repr(m), data.Repr(got), m.Text("want"))
		}
	}
	if len(cases) < 300 {
		t.Errorf("%d cases, want 300", len(cases))
	}
}

func TestDocuments(t *testing.T) {
	in := data.NewMap("q", data.NewMap("names", []any{"j"}, "rows", []any{
		[]any{`{"a": {"b": [1, 2]}, "c": 3}`},
		[]any{data.NewMap("a", data.NewMap("b", []any{int64(1), int64(3)}), "d", int64(4))}}))
	for lists, want := range map[bool]string{false: "{'a': {'b': [1, 3]}, 'c': 3, 'd': 4}",
		true: "{'a': {'b': [1, 2, 3]}, 'c': 3, 'd': 4}"} {
		got, _, err := fetch(t, []any{data.NewMap("query", "q", "as_json", true, "as_list", lists)}, in)
		if err != nil || data.Repr(got) != want {
			t.Errorf("as_list %v: %s, %v, want %s", lists, data.Repr(got), err, want)
		}
	}
	for row, want := range map[string]string{"[1]": "Cannot update using non-dict types in dictupdate.update()", "{secret": "a row is not JSON"} {
		in := data.NewMap("q", data.NewMap("names", []any{"j"}, "rows", []any{[]any{row}}))
		if _, _, err := fetch(t, data.NewMap("x", data.NewMap("query", "q", "as_json", true)),
			in); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", row, err, want)
		}
	}
}

func TestAFailedQueryLeavesWhatWasThere(t *testing.T) {
	in := data.NewMap("q", data.NewMap("names", []any{"k", "v"}, "rows", []any{[]any{"a", int64(1)}}))
	got, log, err := fetch(t, []any{"q", "nothing", "q"}, in)
	if err != nil || data.Repr(got) != "{'a': 1}" ||
		!strings.Contains(log, "Error in ext_pillar test for web1: error of the database: no table nothing") {
		t.Errorf("%s, %v, log %s", data.Repr(got), err, log)
	}
}

func TestTooMuchIsAnError(t *testing.T) {
	row := []any{"a", strings.Repeat("x", 1<<20)}
	rows := make([]any, 70)
	for i := range rows {
		rows[i] = row
	}
	in := data.NewMap("q", data.NewMap("names", []any{"k", "v"}, "rows", rows))
	if _, _, err := fetch(t, "q", in); err == nil || !strings.Contains(err.Error(), "yields more than") {
		t.Error(err)
	}
}

func TestQueries(t *testing.T) {
	for _, c := range []struct {
		argument any
		want     string
	}{
		{"SELECT", "[{<nil> SELECT 0 false false [] false}]"},
		{[]any{"", []any{}, []any{"a", int64(2)}, data.NewMap("depth", int64(1)), int64(3)},
			"[{<nil> a 2 false false [] false}]"},
		{data.NewMap("b", "x", "a", data.NewMap("query", "y", "with_lists", "1, 3",
			"as_list", true)), "[{a y 0 true false [1 3] false} {b x 0 false false [] false}]"},
		{data.NewMap("a", data.NewMap("query", int64(1))), "query a: expected a query in SQL, not 1"},
		{data.NewMap("a", data.NewMap("query", "x", "depth", "1")),
			"query a: depth: expected a number of columns, not '1'"},
		{data.NewMap("a", data.NewMap("query", "x", "depth", int64(-1))),
			"query a: depth: expected a number of columns, not -1"},
		{[]any{data.NewMap("query", "x", "with_lists", "1,b")},
			"query 1: with_lists: expected the number of a column, not 'b'"},
		{[]any{data.NewMap("query", "x", "with_lists", int64(1))},
			"query 1: with_lists: expected numbers of columns, not 1"},
	} {
		got, err := sqltree.Queries(c.argument)
		text := fmt.Sprint(got)
		if err != nil {
			text = err.Error()
		}
		if text != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", data.Repr(c.argument), text, c.want)
		}
	}
}

func TestPlaced(t *testing.T) {
	for query, want := range map[string]string{
		"a = %s": "a = $1", "a LIKE %s AND b LIKE '%%x'": "a LIKE $1 AND b LIKE '%x'",
		"a = 1":          "the query has 0 places %s for the minion's id, and needs one",
		"%s %s":          "the query has 2 places %s for the minion's id, and needs one",
		"a LIKE '%x' %s": "a sign % that is neither %s nor %% stands in the query",
		"a %":            "a sign % that is neither %s nor %% stands in the query",
	} {
		got, err := sqltree.Placed(query, "$1")
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
}

func FuzzRows(f *testing.F) {
	f.Add(`{"argument": [{"query": "q", "depth": 1, "with_lists": "1,2", "as_list": true}], "tables": {"q": {"names": ["a", "b", "c"], "rows": [["x", 1, null], ["x", 2, "y"]]}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		v, err := pyjson.Load(text)
		m, ok := v.(*data.Map)
		if err != nil || !ok {
			return
		}
		in, _ := m.Value("tables").(*data.Map)
		queries, err := sqltree.Queries(m.Value("argument"))
		if err != nil {
			return
		}
		tree := sqltree.NewTree()
		for _, q := range queries {
			table, _ := in.Value(q.Text).(*data.Map)
			names, _ := table.Value("names").([]any)
			rows, _ := table.Value("rows").([]any)
			columns := make([]string, len(names))
			tree.Begin(q, columns)
			for _, r := range rows {
				row, _ := r.([]any)
				if err := tree.Row(row); err != nil {
					return
				}
			}
			if tree.End() != nil {
				return
			}
		}
		_ = data.Repr(tree.Result)
	})
}

package output

import (
	"errors"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/vectors"
)

// TestGoldenOutputters compares with the results of Salt's outputters for the same values.
func TestGoldenOutputters(t *testing.T) { checkGolden(t, "testdata/outputters.json") }

// TestGoldenTables compares the outputter table and its options with Salt's.
func TestGoldenTables(t *testing.T) { checkGolden(t, "testdata/tables.json") }

func checkGolden(t *testing.T, file string) {
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	v, err := vectors.Decode(src)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range vectors.Cases(t, v.([]any)) {
		t.Run(c.Name, func(t *testing.T) {
			c := c.On(t)
			c.Only("name", "outputter", "value", "options", "text", "error")
			name := "table"
			if c.Has("outputter") {
				name = c.Text("outputter")
			}
			out, err := New(name, goldenOptions(t, c.Value("options").(*data.Map)))
			if err != nil {
				t.Fatal(err)
			}
			text, err := out.Format(c.Value("value"))
			if c.Has("error") {
				want := map[string]error{"key": ErrKey, "value": ErrValue}[c.Text("error")]
				if !errors.Is(err, want) {
					t.Errorf("error %v and text %q, want %v", err, text, want)
				}
				return
			}
			if d := cmp.Diff(c.Text("text"), text); err != nil || d != "" {
				t.Errorf("error %v, text (-want +got):\n%s", err, d)
			}
		})
	}
}

func goldenOptions(t *testing.T, m *data.Map) Options {
	o := Options{Indent: NoIndent{}}
	for k, v := range m.All() {
		switch k {
		case "color":
			o.Colour = v.(bool)
		case "output_indent":
			o.Indent = v
		case "_retcode":
			o.Retcode = int(v.(int64))
		case "nested_indent":
			o.NestedIndent = int(v.(int64))
		case "__multi_key":
			o.MultiKey = v.(bool)
		case "strip_colors":
			o.KeepEscapes = !v.(bool)
		case "out.table.has_header":
			o.Table.HasHeader = v
		case "out.table.row_delimiter":
			o.Table.RowDelimiter = v
		case "out.table.delim":
			o.Table.Delim = v
		case "out.table.justify":
			o.Table.Justify = v
		case "out.table.separate_rows":
			o.Table.SeparateRows = v
		case "out.table.prefix":
			o.Table.Prefix = v
		case "out.table.suffix":
			o.Table.Suffix = v
		case "out.table.width":
			o.Table.Width = v
		case "out.table.nested_indent":
			o.Table.NestedIndent = v
		case "out.table.rows_key":
			o.Table.RowsKey = v
		case "out.table.labels_key":
			o.Table.LabelsKey = v
		case "out.table.title":
			o.Table.Title = v
		default:
			t.Fatalf("option %v is not understood", k)
		}
	}
	return o
}

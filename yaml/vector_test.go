package yaml

import (
	"encoding/json"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/vectors"
)

// vectorFile is a collection with its own form: the results of Salt's loader and dumper for
// documents.
type vectorFile struct {
	About string
	Load  []loadVector
	Dump  []dumpVector
}

type loadVector struct {
	ID     string
	YAML   string
	Expect struct {
		Value  json.RawMessage
		Error  *string
		Begins *string `json:"error_starts_with"`
		Class  string
	}
}

type dumpVector struct {
	ID    string
	Value json.RawMessage
	Flow  *bool `json:"default_flow_style"`
	Text  string
}

func readVectors(t *testing.T) *vectorFile {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(vectors.Dir(), "yaml.json"))
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(strings.NewReader(string(b)))
	dec.DisallowUnknownFields()
	var f vectorFile
	if err := dec.Decode(&f); err != nil {
		t.Fatalf("a case that this test does not understand: %v", err)
	}
	if len(f.Load) < 209 || len(f.Dump) < 69 {
		t.Fatalf("%d loads and %d dumps; want 209 and 69 or more", len(f.Load), len(f.Dump))
	}
	return &f
}

func TestVectorYAMLLoad(t *testing.T) {
	for _, c := range readVectors(t).Load {
		t.Run(c.ID, func(t *testing.T) {
			got, err := Load([]byte(c.YAML), Options{Cycles: true})
			switch {
			case c.Expect.Error != nil:
				if err == nil || err.Error() != *c.Expect.Error {
					t.Errorf("Load(%q) = %v, %v\nwant error %q", c.YAML, got, err, *c.Expect.Error)
				}
			case c.Expect.Begins != nil:
				if err == nil || !strings.HasPrefix(err.Error(), *c.Expect.Begins) {
					t.Errorf("Load(%q) = %v, %v\nwant error %q…", c.YAML, got, err, *c.Expect.Begins)
				}
			case err != nil:
				t.Errorf("Load(%q): %v", c.YAML, err)
			default:
				compare(t, c.YAML, got, vectorValue(t, c.Expect.Value))
			}
		})
	}
}

func TestVectorYAMLDump(t *testing.T) {
	for _, c := range readVectors(t).Dump {
		t.Run(c.ID, func(t *testing.T) {
			flow := Leaves
			if c.Flow != nil && *c.Flow {
				flow = Always
			} else if c.Flow != nil {
				flow = Block
			}
			v := vectorValue(t, c.Value)
			sorted := !strings.HasPrefix(c.ID, "dump-19") // an OrderedDict in Python
			got, err := Dump(v, DumpOptions{Flow: flow, SortKeys: sorted})
			if err != nil || string(got) != c.Text {
				t.Errorf("Dump(%s) = %v\ngot  %q\nwant %q", c.Value, err, got, c.Text)
			}
		})
	}
}

// cycle marks where a value contains itself.
type cycle struct{}

func compare(t *testing.T, src string, got, want any) {
	t.Helper()
	if !same(got, want, map[any]bool{}) {
		t.Errorf("Load(%q)\ngot  %#v\nwant %#v", src, got, want)
	}
}

func same(got, want any, above map[any]bool) bool {
	switch want := want.(type) {
	case cycle:
		return above[got]
	case *data.Map:
		m, ok := got.(*data.Map)
		if !ok || m.Len() != want.Len() {
			return false
		}
		above[got] = true
		defer delete(above, got)
		keys, wantKeys := m.Keys(), want.Keys()
		for i := range keys {
			if !same(keys[i], wantKeys[i], above) || !same(m.Value(keys[i]), want.Value(wantKeys[i]), above) {
				return false
			}
		}
		return true
	case []any:
		list, ok := got.([]any)
		return ok && sameList(list, want, above)
	case data.Tuple:
		list, ok := got.(data.Tuple)
		return ok && sameList(list, want, above)
	case []byte:
		b, ok := got.([]byte)
		return ok && string(b) == string(want)
	case *big.Int:
		n, ok := got.(*big.Int)
		return ok && n.Cmp(want) == 0
	case float64:
		f, ok := got.(float64)
		return ok && (f == want || math.IsNaN(f) && math.IsNaN(want))
	}
	return got == want
}

func sameList(got, want []any, above map[any]bool) bool {
	if len(got) != len(want) {
		return false
	}
	for i := range got {
		if !same(got[i], want[i], above) {
			return false
		}
	}
	return true
}

func vectorValue(t *testing.T, raw json.RawMessage) any {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return exact(t, v)
}

func exact(t *testing.T, v any) any {
	t.Helper()
	switch v := v.(type) {
	case json.Number:
		n, err := v.Int64()
		if err != nil {
			t.Fatal(err)
		}
		return n
	case []any:
		return exactList(t, v)
	case map[string]any:
		for form, inner := range v {
			if len(v) == 1 {
				return exactForm(t, form, inner)
			}
		}
		t.Fatalf("value %v has no known form", v)
	}
	return v
}

func exactList(t *testing.T, v any) []any {
	t.Helper()
	list := []any{}
	for _, e := range v.([]any) {
		list = append(list, exact(t, e))
	}
	return list
}

func exactForm(t *testing.T, form string, v any) any {
	t.Helper()
	switch form {
	case "$map":
		m := &data.Map{}
		for _, p := range exactList(t, v) {
			kv := p.([]any)
			m.Set(kv[0], kv[1])
		}
		return m
	case "$float":
		f, err := parseVectorFloat(v.(string))
		if err != nil {
			t.Fatal(err)
		}
		return f
	case "$int":
		n, ok := new(big.Int).SetString(v.(string), 10)
		if !ok {
			t.Fatalf("no integer: %v", v)
		}
		return n
	case "$bytes":
		b := []byte{}
		for _, e := range exactList(t, v) {
			b = append(b, byte(e.(int64)))
		}
		return b
	case "$tuple":
		return data.Tuple(exactList(t, v))
	case "$set": // a list in Brine
		return exactList(t, v)
	case "$cycle":
		return cycle{}
	}
	t.Fatalf("unknown form %s", form)
	return nil
}

func parseVectorFloat(s string) (float64, error) {
	var f float64
	switch s {
	case "inf":
		return math.Inf(1), nil
	case "-inf":
		return math.Inf(-1), nil
	case "nan":
		return math.NaN(), nil
	}
	err := json.Unmarshal([]byte(s), &f)
	return f, err
}

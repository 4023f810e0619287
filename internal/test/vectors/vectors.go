// Package vectors reads golden data captured from the original program, for tests.
//
// A file is one JSON object; its "cases" map section names to lists of cases. (The files of the
// directory states are lists of cases without sections: use Cases on File.List.) Values that JSON
// cannot represent exactly are one-key objects ($int, $float, $bytes, $map, $tuple, $set,
// $datetime, $date, $const, $ext, $timestamp, $surrogate_str, $bytearray, $complex, $object); they
// are decoded to the dynamic values of package data, or to Unencodable if there is none. Objects
// keep the order of the file.
//
// The files are read from the directory in the environment variable BRINE_VECTORS, else from
// testdata/vectors at the root of the repository. A test must fail, not skip, for a case that it
// does not understand.
package vectors

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/brineproject/brine/data"
)

// A File is one file of vectors.
type File struct {
	Name  string
	Cases *data.Map // section → list of cases; nil in files without sections
	Top   *data.Map // the whole file, if it is an object
	List  []any     // the whole file, if it is a list: see Cases
	t     testing.TB
}

// A Case is one entry of a section, with accessors that end the test if a field has an unexpected
// type.
type Case struct {
	Name string // its label: the field name, else a short text about its position
	Map  *data.Map
	t    testing.TB
}

// Unencodable represents an object of the original without a counterpart: a value whose encoding
// must fail.
type Unencodable struct{ Kind, Text string }

// Dir returns the directory of the vectors.
func Dir() string {
	if dir := os.Getenv("BRINE_VECTORS"); dir != "" {
		return dir
	}
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..", "..", "testdata", "vectors")
}

// Load reads the file of that name, for example "01-payload.json" or "states/render.json".
func Load(t testing.TB, name string) *File {
	t.Helper()
	src, err := os.ReadFile(filepath.Join(Dir(), filepath.FromSlash(name)))
	if err != nil {
		t.Fatalf("read vectors: %v", err)
	}
	v, err := Decode(src)
	if err != nil {
		t.Fatalf("read vectors %s: %v", name, err)
	}
	list, _ := v.([]any)
	top, _ := v.(*data.Map)
	if top == nil && list == nil {
		t.Fatalf("vectors %s: neither an object nor a list", name)
	}
	var cases *data.Map
	if top != nil {
		cases, _ = top.Value("cases").(*data.Map)
	}
	return &File{Name: name, Cases: cases, Top: top, List: list, t: t}
}

// Sections returns the names of the sections in order.
func (f *File) Sections() []string {
	var names []string
	for k := range f.Cases.All() {
		names = append(names, fmt.Sprint(k))
	}
	return names
}

// Section returns the cases of a section. The test ends if it is missing or empty.
func (f *File) Section(name string) []*Case {
	f.t.Helper()
	list, ok := f.Cases.Value(name).([]any)
	if !ok || len(list) == 0 {
		f.t.Fatalf("vectors %s: section %q is not a list of cases", f.Name, name)
	}
	return Cases(f.t, list)
}

// Cases converts a list of objects to cases, for files that have them elsewhere than under "cases".
func Cases(t testing.TB, list []any) []*Case {
	t.Helper()
	var cases []*Case
	for i, v := range list {
		m, ok := v.(*data.Map)
		if !ok {
			t.Fatalf("case %d is %T, not an object", i, v)
		}
		cases = append(cases, &Case{Name: label(m, i), Map: m, t: t})
	}
	return cases
}

func label(m *data.Map, i int) string {
	for _, k := range []string{"name", "id", "action", "input"} {
		if s, ok := m.Value(k).(string); ok && s != "" && len(s) < 60 {
			return fmt.Sprintf("%03d %s", i, s)
		}
	}
	return fmt.Sprintf("%03d", i)
}

// Later fails the test for each section of f that is neither in known (the test reads it) nor in
// later (section → the work that will read it), and for each known one that is missing in the file.
func Later(t testing.TB, f *File, known []string, later map[string]string) {
	t.Helper()
	seen := map[string]bool{}
	for _, k := range known {
		seen[k] = true
		if !f.Cases.Has(k) {
			t.Errorf("vectors %s: section %q is gone", f.Name, k)
		}
	}
	for _, s := range f.Sections() {
		if _, ok := later[s]; !ok && !seen[s] {
			t.Errorf("vectors %s: section %q is not understood", f.Name, s)
		}
	}
}

// On returns the case bound to the subtest t, so that its accessors end that test and not its
// parent.
func (c *Case) On(t testing.TB) *Case {
	return &Case{Name: c.Name, Map: c.Map, t: t}
}

// Only fails the test if the case has a field that is not named: a field that the test does not
// understand.
func (c *Case) Only(fields ...string) {
	c.t.Helper()
next:
	for k := range c.Map.All() {
		for _, f := range fields {
			if k == f {
				continue next
			}
		}
		c.t.Errorf("case %s: field %v is not understood", c.Name, k)
	}
}

// Has reports whether the case has the field.
func (c *Case) Has(field string) bool { return c.Map.Has(field) }

// Value returns the field's value; the test ends if the field is missing.
func (c *Case) Value(field string) any {
	c.t.Helper()
	v, ok := c.Map.Get(field)
	if !ok {
		c.t.Fatalf("case %s: no field %q", c.Name, field)
	}
	return v
}

// Text returns a field that is text.
func (c *Case) Text(field string) string {
	c.t.Helper()
	s, ok := c.Value(field).(string)
	if !ok {
		c.t.Fatalf("case %s: field %q is %T, not text", c.Name, field, c.Value(field))
	}
	return s
}

// Int returns a field that is an integer.
func (c *Case) Int(field string) int {
	c.t.Helper()
	n, ok := c.Value(field).(int64)
	if !ok {
		c.t.Fatalf("case %s: field %q is %T, not an integer", c.Name, field, c.Value(field))
	}
	return int(n)
}

// Bool returns a field that is true or false.
func (c *Case) Bool(field string) bool {
	c.t.Helper()
	b, ok := c.Value(field).(bool)
	if !ok {
		c.t.Fatalf("case %s: field %q is %T, not a bool", c.Name, field, c.Value(field))
	}
	return b
}

// List returns a field that is a list.
func (c *Case) List(field string) []any {
	c.t.Helper()
	l, ok := c.Value(field).([]any)
	if !ok {
		c.t.Fatalf("case %s: field %q is %T, not a list", c.Name, field, c.Value(field))
	}
	return l
}

// Object returns a field that is an object.
func (c *Case) Object(field string) *data.Map {
	c.t.Helper()
	m, ok := c.Value(field).(*data.Map)
	if !ok {
		c.t.Fatalf("case %s: field %q is %T, not an object", c.Name, field, c.Value(field))
	}
	return m
}

// Sub returns the objects of a field that is a list of them, as cases.
func (c *Case) Sub(field string) []*Case {
	c.t.Helper()
	return Cases(c.t, c.List(field))
}

// Bytes returns a field that holds bytes: base64 text, or a $bytes value.
func (c *Case) Bytes(field string) []byte {
	c.t.Helper()
	if b, ok := c.Value(field).([]byte); ok {
		return b
	}
	b, err := base64.StdEncoding.DecodeString(c.Text(field))
	if err != nil {
		c.t.Fatalf("case %s: field %q: %v", c.Name, field, err)
	}
	return b
}

// Hex returns a field that holds bytes as hexadecimal text.
func (c *Case) Hex(field string) []byte {
	c.t.Helper()
	b, err := hex.DecodeString(c.Text(field))
	if err != nil {
		c.t.Fatalf("case %s: field %q: %v", c.Name, field, err)
	}
	return b
}

// Decode decodes JSON text to dynamic values, exactly and in order.
func Decode(src []byte) (any, error) {
	d := newDecoder(src)
	return d.document()
}

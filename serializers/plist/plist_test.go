package plist

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"math"
	"math/big"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
)

// TestCases compares with the results of plistlib of Python 3.11 for the same values;
// testdata/cases.py printed them.
func TestCases(t *testing.T) {
	f, err := os.Open("testdata/cases.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if n := check(t, f); n < 200 {
		t.Errorf("there are only %d cases", n)
	}
}

// TestPython compares more values with the plistlib of this machine.
func TestPython(t *testing.T) {
	need.Program(t, "python3")
	for _, seed := range []string{"2", "3"} {
		out, err := exec.Command("python3", "testdata/cases.py", seed, "300").Output()
		if err != nil {
			t.Fatal(err)
		}
		if n := check(t, bytes.NewReader(out)); n < 1000 {
			t.Errorf("there are only %d cases", n)
		}
	}
}

// check checks the values and texts of lines, and returns their number.
func check(t *testing.T, in io.Reader) (n int) {
	t.Helper()
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var c map[string]any
		dec := json.NewDecoder(strings.NewReader(lines.Text()))
		if err := dec.Decode(&c); err != nil {
			t.Fatal(err)
		}
		n++
		if raw, ok := c["read"]; ok {
			checkRead(t, raw.(string), c)
			continue
		}
		v := untagged(c["in"])
		for name, o := range map[string]Options{"xml": {}, "binary": {Binary: true},
			"unsorted": {Unsorted: true}, "unsorted binary": {Unsorted: true, Binary: true},
			"skipped": {SkipKeys: true}} {
			want, ok := c[name].(string)
			if !ok {
				continue
			}
			got, err := Write(v, o)
			text := base64.StdEncoding.EncodeToString(got)
			if err != nil {
				text = "error: " + err.Error()
			}
			if text != want && !(unsortable(text) && unsortable(want)) {
				t.Errorf("%s of %.200s:\n%.200s, want\n%.200s", name, data.Repr(v), shown(text), shown(want))
			}
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return n
}

func shown(text string) string {
	if raw, err := base64.StdEncoding.DecodeString(text); err == nil &&
		bytes.HasPrefix(raw, []byte("<?xml")) {
		return string(raw)
	}
	return text
}

func checkRead(t *testing.T, encoded string, c map[string]any) {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Read(raw)
	want, wrong := c["error"].(string)
	switch {
	case err != nil && wrong:
		if err.Error() != want && !xmlError(want) {
			t.Errorf("%.300q: %v, want %s", raw, err, want)
		}
	case err != nil || wrong:
		t.Errorf("%.300s, %v; want %v %.300s of %.300q", data.Repr(got), err, c["error"],
			data.Repr(untagged(c["value"])), raw)
	case data.Repr(got) != data.Repr(untagged(c["value"])):
		t.Errorf("%s, want %s of %.300q", data.Repr(got), data.Repr(untagged(c["value"])), raw)
	}
}

// xmlError reports whether an error is one of Python's XML parser, whose texts differ from ours.
func xmlError(text string) bool { return strings.Contains(text, ": line ") }

// unsortable reports whether an error is about keys of several types. Which two are compared first
// depends on Python's sort.
func unsortable(text string) bool { return strings.HasPrefix(text, "error: '<' not supported between") }

// untagged converts a value that cases.py wrote.
func untagged(v any) any {
	switch v := v.(type) {
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = untagged(e)
		}
		return list
	case map[string]any:
		for kind, of := range v {
			return untag(kind, of)
		}
	}
	return v
}

func untag(kind string, of any) any {
	text, _ := of.(string)
	switch kind {
	case "i":
		n, _ := new(big.Int).SetString(text, 10)
		return number(n)
	case "f":
		f, _ := strconv.ParseFloat(text, 64)
		return f
	case "b":
		b, _ := base64.StdEncoding.DecodeString(text)
		return b
	case "d":
		d, _ := time.Parse("2006-01-02T15:04:05.999999999Z", text)
		return d
	}
	m := &data.Map{}
	for _, pair := range of.([]any) {
		m.Set(untagged(pair.([]any)[0]), untagged(pair.([]any)[1]))
	}
	return m
}

// TestSharedListsStaySmall reads lists that contain the previous list ten times each, and one that
// contains itself.
func TestSharedListsStaySmall(t *testing.T) {
	out := []byte(magic)
	var offsets []byte
	for i := range 30 {
		offsets = append(offsets, 0, 0) // filled below
		at := len(out)
		offsets[2*i], offsets[2*i+1] = byte(at>>8), byte(at)
		out = append(out, 0xAA)
		out = append(out, bytes.Repeat([]byte{byte(i + 1)}, 10)...)
	}
	leaf := len(out)
	out = append(out, 0x09)
	table := len(out)
	out = append(append(out, offsets...), byte(leaf>>8), byte(leaf))
	out = append(out, 0, 0, 0, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0, 0, 31, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		0, 0, 0, 0, byte(table>>8), byte(table))
	if v, err := Read(out); err == nil {
		t.Errorf("10³⁰ values are read as %T", v)
	}
	self := []byte(magic + "\xa1\x00\x08")
	self = append(self, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		0, 0, 0, 0, 0, 0, 10)
	if v, err := Read(self); err == nil {
		t.Errorf("a list that holds itself is read as %T", v)
	}
	for _, o := range []Options{{}, {Binary: true}} {
		deep := any([]any{})
		for range maxDepth + 2 {
			deep = []any{deep}
		}
		if _, err := Write(deep, o); err == nil {
			t.Errorf("%v: what is too deep is written", o)
		}
	}
	if v, err := Read([]byte("<plist>" + strings.Repeat("<array>", 1e5))); err == nil {
		t.Errorf("what is too deep is read as %T", v)
	}
	if v, err := Read([]byte("<plist><array>" + strings.Repeat("<true/>", maxParts) +
		"</array></plist>")); err == nil {
		t.Errorf("too many values are read as %T", v)
	}
}

func FuzzRead(f *testing.F) {
	v := data.NewMap("a", []any{int64(1), 2.5, "größe", []byte("x"),
		time.Date(2026, 11, 22, 1, 2, 3, 0, time.UTC), true}, "b", &data.Map{}, "c", int64(math.MaxInt64))
	for _, o := range []Options{{}, {Binary: true}} {
		text, err := Write(v, o)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := Read(text)
		if err != nil {
			return
		}
		binary, err := Write(v, Options{Binary: true})
		if err != nil {
			return // keys that are not text, None
		}
		again, err := Read(binary)
		if err != nil || data.Repr(again) == "" {
			t.Errorf("what was read and written is read as %v", err)
		}
	})
}

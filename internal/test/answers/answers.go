// Package answers compares what programs print with recorded answers of Salt: the files of
// testdata/vectors/python.
package answers

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// An Answer is a call and what Salt prints.
type Answer struct {
	ID      string
	Args    []string
	Retcode int
	Stdout  *string
	JSON    json.RawMessage `json:"stdout_json"`
	Stderr  string          // its last line counts
}

// Output is what a program printed.
type Output struct {
	Code           int
	Stdout, Stderr string
}

// A Root is the directory of a group of answers, which stand {ROOT} for it.
type Root string

// Write writes files by their paths below the root.
func (r Root) Write(t *testing.T, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(string(r), name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(r.Placed(text)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Placed returns a recorded text with the root in it.
func (r Root) Placed(text string) string { return strings.ReplaceAll(text, "{ROOT}", string(r)) }

// Compare fails unless a program printed the answer. pick, if it is not nil, chooses a part of what
// was printed.
func (r Root) Compare(t *testing.T, a Answer, o Output, pick func(printed any) any) {
	t.Helper()
	if o.Code != a.Retcode {
		t.Errorf("%s %q: exit code %d, want %d\n%s%s", a.ID, a.Args, o.Code, a.Retcode, o.Stdout, o.Stderr)
	}
	got, want := r.printed(o.Stdout), r.wanted(a)
	if pick != nil {
		got = pick(got)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s %q: prints\n%v\nwant\n%v\n%s", a.ID, a.Args, got, want, o.Stderr)
	}
	if last := lastLine(r.Plain(o.Stderr)); a.Stderr != "" && last != lastLine(a.Stderr) {
		t.Errorf("%s %q: standard error ends with %q, want %q", a.ID, a.Args, last, lastLine(a.Stderr))
	}
}

// wanted returns what Salt prints: a value of JSON, or text.
func (r Root) wanted(a Answer) any {
	switch {
	case a.JSON != nil:
		v, _ := decoded(string(a.JSON))
		return r.masked(v)
	case a.Stdout != nil:
		return *a.Stdout
	}
	return ""
}

// printed returns the value that a text holds as JSON, or the text, without what changes from run
// to run.
func (r Root) printed(text string) any {
	if v, ok := decoded(text); ok {
		return r.masked(v)
	}
	return r.Plain(text)
}

var bareNaN = regexp.MustCompile(`([:\[,] *)NaN\b`)

// QuoteNaN makes a text of NaN, which JSON does not have.
func QuoteNaN(text string) string { return bareNaN.ReplaceAllString(text, `$1"NaN"`) }

// decoded returns the value of a JSON text, and whether it is one.
func decoded(text string) (v any, ok bool) {
	d := json.NewDecoder(strings.NewReader(QuoteNaN(text)))
	d.UseNumber()
	if d.Decode(&v) != nil || d.More() {
		return nil, false
	}
	return v, true
}

func (r Root) masked(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := map[string]any{}
		_, numbered := v["__run_num__"]
		_, result := v["result"]
		_, comment := v["comment"]
		for key, e := range v {
			switch {
			case (numbered || result && comment) && (key == "start_time" || key == "duration"):
			case key == "__pub_pid":
				m[key] = "PID"
			case key == "_stamp":
				m[key] = "STAMP"
			default:
				m[r.Plain(key)] = r.masked(e)
			}
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = r.masked(e)
		}
		return list
	case string:
		return r.Plain(v)
	}
	return v
}

var (
	traceback = regexp.MustCompile(`Traceback \(most recent call last\):\n(?s:.*)`)
	hint      = regexp.MustCompile(`\nIs '.*' meant\?\n?$`)
	address   = regexp.MustCompile(` at 0x[0-9a-f]+`)
	jid       = regexp.MustCompile(`\b20\d{18}\b`)
	pid       = regexp.MustCompile(`'__pub_pid': \d+`)
	stamp     = regexp.MustCompile(`"_stamp": "[^"]*"`)
)

// Plain returns a text without what changes from run to run. A traceback is cut to its first line,
// as in the recording; a hint at a similar name is Brine's.
func (r Root) Plain(s string) string {
	s = strings.ReplaceAll(s, string(r), "{ROOT}")
	s = hint.ReplaceAllString(s, "")
	s = traceback.ReplaceAllString(s, "Traceback (most recent call last) @TRACEBACK@")
	s = address.ReplaceAllString(s, " at 0xADDR")
	s = jid.ReplaceAllString(s, "{JID}")
	s = stamp.ReplaceAllString(s, `"_stamp": "STAMP"`)
	return pid.ReplaceAllString(s, "'__pub_pid': PID")
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}

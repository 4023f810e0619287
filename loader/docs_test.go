package loader

import (
	"bytes"
	"compress/gzip"
	"context"
	"testing"
)

type uptimeModule struct{}

func (*uptimeModule) since(context.Context, NoArgs) (any, error) { return nil, nil }

func until(context.Context, NoArgs) (any, error) { return nil, nil }

func TestSourceOf(t *testing.T) {
	m := &uptimeModule{}
	for _, tt := range []struct {
		name string
		fn   any
		want string
	}{
		{"method", m.since, "loader.since"},
		{"function", until, "loader.until"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := SourceOf(tt.fn); got != tt.want {
				t.Errorf("SourceOf gives %q, want %q", got, tt.want)
			}
		})
	}
}

func TestDocstrings(t *testing.T) {
	m := &uptimeModule{}
	docs := NewDocs("loader.since\n    Returns a time.\n\n    unit\n\n        of it\n\n\nloader.until\n    Waits.\n")
	own := F("own", until).Document("\n    Own.\n    ")
	plugins := docs.Document([]Plugin{{Name: "uptime", New: func(*Env) (*Module, error) {
		since := F("since", m.since)
		return &Module{Funcs: []Func{since, since.Alias("start"), F("until", until), own,
			F("none", func(context.Context, NoArgs) (any, error) { return nil, nil })}}, nil
	}}})
	r, err := NewRegistry(&Env{}, plugins)
	if err != nil {
		t.Fatal(err)
	}
	const since = "\n    Returns a time.\n\n    unit\n\n        of it\n    "
	for fun, want := range map[string]string{
		"uptime.since": since,
		"uptime.start": "\nThis function is an alias of ``since``.\n" + since,
		"uptime.until": "\n    Waits.\n    ",
		"uptime.own":   "\n    Own.\n    ",
		"uptime.none":  "",
	} {
		f, ok := r.Func(fun)
		if !ok {
			t.Fatalf("there is no %s", fun)
		}
		if got := f.Spec().Docstring(); got != want {
			t.Errorf("the docstring of %s is %q, want %q", fun, got, want)
		}
	}
}

// Documentation may be compressed. A damaged text has none.
func TestCompressedDocs(t *testing.T) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte("temp.dir\n    Makes a directory.\n\n\ntemp.file\n    Makes a file.\n")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{b.String(): "\n    Makes a file.\n    ", "temp.file\n    X.\n": "\n    X.\n    ",
		b.String()[:b.Len()/2]: "", "": ""} {
		if got := NewDocs(text).of("temp.file"); got != want {
			t.Errorf("%d bytes: %q, want %q", len(text), got, want)
		}
	}
}

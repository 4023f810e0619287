package loader

import (
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

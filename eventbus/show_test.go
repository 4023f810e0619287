package eventbus

import (
	"context"
	"fmt"
	"regexp"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/logging"
)

func TestShow(t *testing.T) {
	s := MasterSockets(shortDir(t))
	b := New(Options{})
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- b.Serve(ctx, s, ServeOptions{}) }()
	log := logging.Discard()
	stamp := regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:.]+`)
	for _, tt := range []struct {
		show Show
		want string
	}{
		{Show{Match: "my/*", Count: 1}, "my/tag\t{\"a\": [1], \"_stamp\": \"then\"}\n"},
		{Show{Match: `my/t\w+`, Count: 2, Pretty: true},
			"my/tag\t{\n    \"_stamp\": \"then\",\n    \"a\": [\n        1\n    ]\n}\nmy/tag\t{\n    \"_stamp\": \"then\",\n    \"a\": [\n        1\n    ]\n}\n"},
		{Show{Match: "*", Count: 1, Skip: "other"}, "my/tag\t{\"a\": [1], \"_stamp\": \"then\"}\n"},
		{Show{Match: "*", Count: 1, Skip: "other", Quiet: true}, ""},
	} {
		got, w := "", NewWatcher(s, ClientOptions{})
		if err := w.Join(t.Context()); err != nil {
			t.Fatal(err)
		}
		tt.show.Log, tt.show.Print = log,
			func(format string, args ...any) { got += fmt.Sprintf(format, args...) }
		done := make(chan error, 1)
		go func() { done <- tt.show.Run(t.Context(), w) }()
		for _, tag := range []string{"other", "my/tag", "my/tag"} {
			if err := b.Fire(tag, data.NewMap("a", []any{int64(1)})); err != nil {
				t.Fatal(err)
			}
		}
		err := <-done
		if got = stamp.ReplaceAllString(got, "then"); err != nil || got != tt.want {
			t.Errorf("%+v: got %q, %v, want %q", tt.show, got, err, tt.want)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

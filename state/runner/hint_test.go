package runner

import (
	"context"
	"errors"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// A function of a module that does not work on this host is not reported as misspelt, even if
// another module has a similar function.
func TestHintForMisspeltFunctions(t *testing.T) {
	present := loader.F("present",
		func(context.Context, struct{ Name string }) (any, error) { return nil, nil })
	states, err := loader.NewRegistry(&loader.Env{Opts: data.NewMap()}, []loader.Plugin{
		{Name: "cron", New: func(*loader.Env) (*loader.Module, error) { return nil, errors.New("there is no crontab") }},
		{Name: "group", New: func(*loader.Env) (*loader.Module, error) { return &loader.Module{Funcs: []loader.Func{present}}, nil }},
	})
	if err != nil {
		t.Fatal(err)
	}
	r := &Runner{states: states}
	for full, want := range map[string]string{"cron.present": "",
		"gruop.present": "Is 'group.present' meant?", "nothing.like": ""} {
		if got := r.hint(full); got != want {
			t.Errorf("%s: %q, want %q", full, got, want)
		}
	}
}

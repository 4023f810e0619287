package loader

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
)

func TestLeftOutGroupsNameTheirTag(t *testing.T) {
	there := Plugin{Name: "there", New: func(*Env) (*Module, error) { return &Module{}, nil }}
	refuses := Plugin{Name: "pkg", New: func(*Env) (*Module, error) { return nil, errors.New("not here") }}
	r, err := NewRegistry(&Env{Opts: &data.Map{}}, []Plugin{there, refuses})
	if err != nil {
		t.Fatal(err)
	}
	r.LeftOut([]Group{
		{Tag: "docker", Names: "docker swarm"},
		{Tag: "git", Names: "git pkg", Kept: true},
		{Tag: "web", Names: "there http", Plugins: []Plugin{there}},
	})
	for _, r := range []*Registry{r, r.With(&Env{Opts: &data.Map{}})} {
		for fun, want := range map[string]string{
			"docker.ps":   "'docker' __virtual__ returned False: this small build leaves it out: build with -tags small,docker",
			"swarm.init":  "'swarm' __virtual__ returned False: this small build leaves it out: build with -tags small,docker",
			"git.clone":   "'git' __virtual__ returned False: this small build leaves it out: build without the tag nogit",
			"pkg.list":    "'pkg' __virtual__ returned False: not here",
			"http.query":  "'http.query' is not available.",
			"none.such":   "'none.such' is not available.",
			"there.f":     "'there.f' is not available.",
			"dock.er":     "'dock.er' is not available.",
			"docker_x.ps": "'docker_x.ps' is not available.",
		} {
			if got := r.MissingText(fun); got != want {
				t.Errorf("%s: %s, want %s", fun, got, want)
			}
		}
		if names := r.Modules(); len(names) != 1 || names[0] != "there" {
			t.Errorf("modules %v", names)
		}
	}
	var none *Registry
	if got := none.MissingText("docker.ps"); got != "'docker.ps' is not available." {
		t.Errorf("a nil registry: %s", got)
	}
}

func TestFunctionsOfAnotherTypeAreErrors(t *testing.T) {
	var missing func(context.Context, NoArgs) (any, error)
	for name, fn := range map[string]any{
		"no function":          7,
		"nil":                  nil,
		"a nil function":       missing,
		"no context":           func(NoArgs) (any, error) { return nil, nil },
		"another context":      func(string, NoArgs) (any, error) { return nil, nil },
		"no arguments":         func(context.Context) (any, error) { return nil, nil },
		"no error":             func(context.Context, NoArgs) (any, any) { return nil, nil },
		"no result":            func(context.Context, NoArgs) error { return nil },
		"any number of values": func(context.Context, ...NoArgs) (any, error) { return nil, nil },
		"no struct":            func(context.Context, int) (any, error) { return nil, nil },
	} {
		t.Run(name, func(t *testing.T) {
			r, err := NewRegistry(&Env{Opts: &data.Map{}}, []Plugin{{Name: "m", New: func(*Env) (*Module, error) {
				return &Module{Funcs: []Func{F("f", fn)}}, nil
			}}})
			if err != nil {
				t.Fatal(err)
			}
			text := r.MissingText("m.f")
			if r.Has("m.f") || !strings.HasPrefix(text, "'m' __virtual__ returned False: function f: ") {
				t.Errorf("available: %v; %s", r.Has("m.f"), text)
			}
		})
	}
}

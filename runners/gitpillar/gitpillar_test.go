package gitpillar_test

import (
	"context"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/runners/gitpillar"
)

// remotes are those of one ext_pillar: branch, address and name of each.
type remotes [][3]string

func (r remotes) Fetch(
	_ context.Context, _ *data.Map, want func(branch, url, name string) bool, _ logrus.FieldLogger,
) (*data.Map, error) {
	out := data.NewMap()
	for _, one := range r {
		if want(one[0], one[1], one[2]) {
			out.Set(one[0]+" "+one[1], true)
		}
	}
	return out, nil
}

func TestUpdate(t *testing.T) {
	two := remotes{{"main", "https://a/x.git", "x"}, {"dev", "https://a/y.git", ""}}
	for _, c := range []struct {
		have   remotes
		kwargs *data.Map
		want   string
	}{
		{two, data.NewMap(), "{'main https://a/x.git': True, 'dev https://a/y.git': True}"},
		{two, data.NewMap("branch", "dev"), "{'dev https://a/y.git': True}"},
		{two, data.NewMap("repo", "x"), "{'main https://a/x.git': True}"},
		{two, data.NewMap("repo", "https://a/y.git"), "{'dev https://a/y.git': True}"},
		{two, data.NewMap("repo", "https://a/y.git", "branch", "main"),
			"Specified git branch/repo not found in ext_pillar config"},
		{nil, data.NewMap(), "No git_pillar remotes are configured"},
	} {
		r, err := loader.NewRegistry(&loader.Env{Opts: data.NewMap()},
			[]loader.Plugin{gitpillar.Plugin(c.have)})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			got, err := r.Env().Call(t.Context(), "git_pillar.update", nil, c.kwargs)
			if err != nil {
				got = err.Error()
			}
			if text := data.Str(got); !strings.Contains(text, c.want) {
				t.Errorf("update(%v) is %s, want %s", c.kwargs, text, c.want)
			}
		}
	}
}

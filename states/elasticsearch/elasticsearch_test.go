package elasticsearch_test

import (
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/exchange"
	"github.com/brineproject/brine/internal/test/fakeweb"
	"github.com/brineproject/brine/internal/test/runs"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/config"
	module "github.com/brineproject/brine/modules/elasticsearch"
	"github.com/brineproject/brine/states/elasticsearch"
)

var modules = []loader.Plugin{config.Plugin(), module.Plugin()}

// testdata/runs.json has the requests and results of Salt 3006.18.
func TestRuns(t *testing.T) {
	exchange.Check(t, "testdata/runs.json", exchange.Options{
		Opts:    data.NewMap("id", "web1", "elasticsearch", data.NewMap("host", "URL")),
		Modules: modules,
		States:  []loader.Plugin{elasticsearch.Plugin(), elasticsearch.Index(), elasticsearch.IndexTemplate()},
	})
}

// Search templates, which Salt cannot keep with the current library, and an alias without a definition.
func TestOwn(t *testing.T) {
	there := map[string]string{}
	s := fakeweb.New(t, func(r fakeweb.Request) *fakeweb.Answer {
		switch {
		case r.Method == "PUT" && strings.HasPrefix(r.Path, "/_scripts/"):
			there[r.Path] = `{"found": true, "script": {"lang": "mustache", "source": "{\"query\":{\"a\":1}}"}}`
		case r.Method == "PUT":
			there[r.Path] = `{"i": {"aliases": {"al": {}}}}`
		case r.Method == "DELETE":
			delete(there, r.Path)
		case there[r.Path] == "":
			return nil
		default:
			return &fakeweb.Answer{Body: there[r.Path]}
		}
		return &fakeweb.Answer{Body: `{"acknowledged": true}`}
	})
	env := &loader.Env{Opts: data.NewMap("id", "web1", "elasticsearch", data.NewMap("host", s.URL))}
	shelf := runs.New(t, env, modules, elasticsearch.Plugin())
	m := data.NewMap
	for _, c := range []struct {
		fun    string
		name   string
		kwargs *data.Map
		texts  [3]string
	}{
		{"search_template_present", "t", m("definition", m("query", m("a", int64(1)))), [3]string{
			"Search template t does not exist and will be created", "Successfully created search template t",
			"Search template t is already present"}},
		{"search_template_absent", "t", m(), [3]string{"Search template t will be removed",
			"Successfully removed search template t", "Search template t is already absent"}},
		{"alias_present", "al", m("index", "i"),
			[3]string{"Alias al for index i does not exist and will be created",
				"Successfully created alias al for index i", "Alias al for index i is already present"}},
	} {
		for i, want := range []string{c.texts[0], c.texts[1], c.texts[2], c.texts[2]} {
			got := shelf.Run(t, i == 0 || i == 3, "elasticsearch."+c.fun, c.name, c.kwargs)
			if got.Text("comment") != want || data.Truth(got.Value("changes")) != (i < 2) {
				t.Errorf("%s, run %d: %s", c.fun, i, data.Repr(got))
			}
		}
	}
}

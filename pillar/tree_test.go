package pillar_test

import (
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/cmd"
	"github.com/brineproject/brine/pillar"
	"github.com/brineproject/brine/render"
	stdrender "github.com/brineproject/brine/render/standard"
	"github.com/brineproject/brine/yaml"
)

// wantTree is the result of salt-call of Salt 3006.0 for this tree, except for the node groups:
// Salt looks those up among accepted keys, of which a masterless minion has none.
const wantTree = `
d: {leaf: 1, deep: 1}
l: [deep, web, late]
k: {j: {a: hello me}}
b: me
seq: late
r: None base
x: {extra: 1}
cy: {id: web1}
yx: [1, web1]
sheet: {id: web1, role: "w,eb", os: y, rest: [extra1, extra2]}
groups: [grp]
f: !!binary ZmlsZQ==
n: !!binary bg==
sub: {g.txt: !!binary ZGVlcAo=}
_errors:
  - Specified SLS 'nope' in environment 'base' is not available on the salt master
  - "Failed to load ext_pillar cmd_yaml: ext_pillar() got an unexpected keyword argument 'comand'"
`

var treeFiles = data.NewMap("base", data.NewMap(
	"top.sls", `
include:
  - extra
base:
  'web*':
    - order: 5
    - late
  'G@os:Debian':
    - web
    - rel
  'datacenter:ams1':
    - match: grain
    - order: -1
    - 'web.d*'
  'db*':
    - never
`,
	"extra.sls", "base:\n  'E@web\\d':\n    - fromextra\n",
	"fromextra.sls", "x: {extra: 1}\n",
	"late.sls", "l: [late]\nseq: late\n",
	"web/init.sls", `
include:
  - .deep
  - rel.a:
      key: 'k:j'
      defaults:
        who: me
  - rel.b
seq: web
l: [web]
`,
	"web/deep/init.sls", "include:\n  - .leaf\nd: {deep: 1}\nl: [deep]\n",
	"web/deep/leaf.sls", "d: {leaf: 1, deep: 0}\n",
	"rel/a.sls", "a: hello {{ who }}\n",
	"rel/b.sls", "b: \"{{ who | default('nobody') }}\"\n",
	"rel.sls", "include:\n  - .rel.b\n  - web\n  - nope\nr: {{ opts.pillarenv }} {{ saltenv }}\n",
), "files", data.NewMap(
	"hosts/web1/f", "file\n",
	"hosts/web1/sub/g.txt", "deep\n",
	"nodegroups/grp/f", "grp\n",
	"nodegroups/grp/n", "n",
	"hosts.csv", "id,role,os\ndb1,db,x\nweb1,\"w,eb\",y,extra1,extra2\n",
))

// withCommands makes engines with the functions that external pillars call.
func withCommands(s pillar.Scope) (*render.Engine, error) {
	env := &loader.Env{Opts: s.Opts, Grains: func() *data.Map { return s.Grains },
		Pillar: func() *data.Map { return s.Pillar }}
	reg, err := loader.NewRegistry(env, []loader.Plugin{cmd.Plugin(render.Brought{})})
	if err != nil {
		return nil, err
	}
	return render.New(render.Options{Env: reg.Env(), Files: s.Files, Renderers: stdrender.Renderers()})
}

func TestTreeWithExternalPillarsIsSalts(t *testing.T) {
	dir := t.TempDir()
	roots := write(t, dir, treeFiles)
	files := filepath.Join(dir, "files")
	opts := options(roots, data.NewMap("pillar_merge_lists", true,
		"nodegroups", data.NewMap("grp", "web* and G@os:Debian", "other", "db*"),
		"ext_pillar", []any{
			data.NewMap("cmd_yaml", `echo "cy: {id: %s}"`),
			data.NewMap("cmd_json", `echo {"cj":[1,2]}`), // there is no shell that would keep the quotes off
			data.NewMap("cmd_yamlex", "printf 'yx: !aggregate [1]\\nyx: !aggregate [%s]\\n'"),
			data.NewMap("csv", data.NewMap("path", filepath.Join(files, "hosts.csv"), "namespace",
				"sheet", "restkey", "rest")),
			data.NewMap("nodegroups", "groups"),
			data.NewMap("file_tree", data.NewMap("root_dir", files, "keep_newline", []any{"sub/*"})),
			data.NewMap("cmd_yaml", data.NewMap("comand", "x")),
			data.NewMap("nothere", int64(1)),
		}))
	c := compiler(t, pillar.Options{Opts: opts, Engine: withCommands, Sources: pillar.Sources()})
	got := compile(t, c, pillar.Request{ID: "web1", Grains: baseGrains()})
	want, err := yaml.Load([]byte(wantTree), yaml.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if data.Repr(got) != data.Repr(want) {
		t.Errorf("got  %s\nwant %s", data.Repr(got), data.Repr(want))
	}
}

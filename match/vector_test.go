package match

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/vectors"
)

// kinds are the sections that hold targets of that kind.
var kinds = []string{
	"glob", "pcre", "list", "grain", "grain_pcre", "pillar", "pillar_pcre", "pillar_exact", "ipcidr",
	"compound", "nodegroup", "compound_pillar_exact", "range", "nosuchtype", "delimiter",
}

func TestVectorSections(t *testing.T) {
	f := vectors.Load(t, "11-targets.json")
	known := append(slices.Clone(kinds), "nodegroup_comp", "parse_target")
	vectors.Later(t, f, known, map[string]string{"traverse_dict_and_list": "package data"})
}

func TestVectorTargets(t *testing.T) {
	f := vectors.Load(t, "11-targets.json")
	fleet := newFleet(t, f)
	for _, section := range kinds {
		for _, c := range f.Section(section) {
			t.Run(section+"/"+c.Name, func(t *testing.T) { fleet.check(t, c.On(t)) })
		}
	}
}

// A testFleet is the fleet of the vectors.
type testFleet struct {
	ids        []string // ids with their own grains and pillar
	minions    map[string]*Minion
	accepted   []string
	nodegroups *data.Map
}

func newFleet(t *testing.T, f *vectors.File) *testFleet {
	t.Helper()
	top := f.Top.Value("fleet").(*data.Map)
	fleet := &testFleet{minions: map[string]*Minion{}, nodegroups: top.Value("nodegroups").(*data.Map)}
	for k, v := range top.Value("minions").(*data.Map).All() {
		m := v.(*data.Map)
		id := k.(string)
		fleet.ids = append(fleet.ids, id)
		fleet.minions[id] = &Minion{id, m.Value("grains").(*data.Map), m.Value("pillar").(*data.Map)}
	}
	fleet.accepted = append(slices.Clone(fleet.ids), names(t, top.Value("accepted_without_cache"))...)
	slices.Sort(fleet.accepted)
	for _, id := range names(t, top.Value("cached_but_not_accepted")) {
		// The file does not contain their cached data: the grains that all minions start from, and
		// one pillar key.
		fleet.minions[id] = &Minion{id, fleet.minions["not"].Grains, data.NewMap("env", "prod")}
	}
	return fleet
}

func names(t *testing.T, v any) []string {
	t.Helper()
	var all []string
	for _, s := range v.([]any) {
		all = append(all, s.(string))
	}
	return all
}

func (f *testFleet) Minion(id string) (grains, pillar *data.Map, ok bool) {
	m, ok := f.minions[id]
	if !ok {
		return nil, nil, false
	}
	return m.Grains, m.Pillar, true
}

func (f *testFleet) IDs() []string {
	var ids []string
	for id := range f.minions {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

func (f *testFleet) check(t *testing.T, c *vectors.Case) {
	c.Only("name", "tgt_type", "tgt", "delimiter", "note", "minion_match", "minion_error",
		"master_greedy", "master_not_greedy", "master_greedy_no_data_cache")
	delim, _ := c.Map.Value("delimiter").(string)
	f.checkMinions(t, c, delim)
	for field, master := range map[string]*Fleet{
		"master_greedy":               {Greedy: true, DataCache: true},
		"master_not_greedy":           {DataCache: true},
		"master_greedy_no_data_cache": {Greedy: true},
	} {
		if want, ok := c.Map.Value(field).(*data.Map); ok {
			master.Accepted, master.Cache, master.Nodegroups = f.accepted, f, f.nodegroups
			checkMaster(t, master, c, delim, field, want)
		} else if c.Has(field) {
			t.Errorf("%s is %v", field, c.Value(field))
		}
	}
}

func (f *testFleet) checkMinions(t *testing.T, c *vectors.Case, delim string) {
	e, err := Compile(c.Value("tgt"), c.Text("tgt_type"), delim, Options{Nodegroups: f.nodegroups})
	got := []string{}
	for _, id := range f.ids {
		if err == nil && e.Match(f.minions[id]) {
			got = append(got, id)
		}
	}
	slices.Sort(got)
	want := []string{}
	switch v := c.Map.Value("minion_match").(type) {
	case []any:
		want = append(want, names(t, v)...)
	default:
		if err == nil {
			t.Errorf("Compile(%v) = nil error, want one: no matcher or %v", c.Value("tgt"),
				c.Map.Value("minion_error"))
		}
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("minions that match %v:\n got %q (error %v)\nwant %q", c.Value("tgt"), got, err, want)
	}
}

func checkMaster(t *testing.T, m *Fleet, c *vectors.Case, delim, field string, want *data.Map) {
	ids, missing, err := m.Resolve(c.Value("tgt"), c.Text("tgt_type"), delim)
	for k, v := range want.All() {
		got := slices.Clone(ids)
		w := names(t, v)
		switch k {
		case "minions":
			slices.Sort(got)
			slices.Sort(w)
		case "missing":
			got = missing
		case "duplicates_kept_order":
		default:
			t.Errorf("%s: field %v is not understood", field, k)
		}
		if len(got)+len(w) > 0 && !slices.Equal(got, w) {
			t.Errorf("%s: %v of %v:\n got %q (error %v)\nwant %q", field, k, c.Value("tgt"), got, err, w)
		}
	}
}

func TestVectorNodegroup(t *testing.T) {
	f := vectors.Load(t, "11-targets.json")
	groups := newFleet(t, f).nodegroups
	for _, c := range f.Section("nodegroup_comp") {
		t.Run(c.Name, func(t *testing.T) {
			c := c.On(t)
			c.Only("nodegroup", "expanded")
			words, err := ExpandNodegroup(c.Text("nodegroup"), groups)
			want := []string(nil)
			if list, ok := c.Value("expanded").([]any); ok {
				want = names(t, list)
			} else if err == nil {
				t.Errorf("ExpandNodegroup(%q) = %q, want an error", c.Text("nodegroup"), words)
			}
			if len(words)+len(want) > 0 && !slices.Equal(words, want) {
				t.Errorf("ExpandNodegroup(%q):\n got %q, %v\nwant %q", c.Text("nodegroup"), words, err, want)
			}
		})
	}
}

func TestVectorParseTarget(t *testing.T) {
	f := vectors.Load(t, "11-targets.json")
	for _, c := range f.Section("parse_target") {
		t.Run(c.Name, func(t *testing.T) {
			c := c.On(t)
			c.Only("target", "parsed")
			m := c.Value("parsed").(*data.Map)
			want := Word{m.Text("engine"), m.Text("delimiter"), m.Text("pattern")}
			if got := ParseWord(c.Text("target")); got != want {
				t.Errorf("ParseWord(%q): %s", c.Text("target"), cmp.Diff(want, got))
			}
		})
	}
}

package auth

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/match"
)

// answers are what Salt's own functions answered to a table of rules; see the description in the
// file.
type answers struct {
	Fleet        map[string]map[string]any
	Rules        map[string][]any
	Publications []struct {
		Name    string
		Fun     any
		Arg     any
		Minions []string
	}
	FormRules map[string][]any `json:"form_rules"`
	Runs      []struct {
		Form, Fun string
		Args      []any
		Kwargs    map[string]any
	}
	Publish      map[string]string
	Run          map[string]string
	ExternalAuth map[string]any `json:"external_auth"`
	Fill         []struct {
		Permissive bool
		Name       string
		Groups     []string
		Rights     []any
	}
	Expr           map[string]string `json:"expr_match"`
	Users          []string
	Blacklist      map[string]any
	BlacklistUsers map[string]bool `json:"blacklist_users"`
	BlacklistFuns  []struct {
		Fun     any
		Blocked bool
	} `json:"blacklist_funs"`
}

func salt(t *testing.T) *answers {
	t.Helper()
	raw, err := os.ReadFile("testdata/salt.json")
	if err != nil {
		t.Fatal(err)
	}
	var a answers
	if err := json.Unmarshal(raw, &a); err != nil {
		t.Fatal(err)
	}
	return &a
}

// value makes what package json read a dynamic value.
func value(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := data.NewMap()
		for k, item := range v {
			m.Set(k, value(item))
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = value(item)
		}
		return list
	case float64:
		if v == float64(int64(v)) {
			return int64(v)
		}
	}
	return v
}

// fleet is what the master of the tables knows of its minions.
type fleet map[string]map[string]any

func (f fleet) Minion(id string) (grains, pillar *data.Map, ok bool) {
	if f[id] == nil {
		return nil, nil, false
	}
	return value(f[id]).(*data.Map), data.NewMap(), true
}

func (f fleet) IDs() []string {
	var ids []string
	for id, grains := range f {
		if grains != nil {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

func (f fleet) targets(tgt string) ([]string, error) {
	var accepted []string
	for id := range f {
		accepted = append(accepted, id)
	}
	slices.Sort(accepted)
	m := match.Fleet{Accepted: accepted, Cache: f, DataCache: true}
	ids, _, err := m.Resolve(tgt, "compound", "")
	return slices.DeleteFunc(ids, func(id string) bool {
		return f[id] == nil && slices.Contains([]string{"G@role:web", "not G@role:db"}, tgt)
	}), err
}

// identity returns somebody with a list of rights.
func (f fleet) identity(list any) *Identity {
	g := &Gate{}
	g.held.Store(&held{Options: Options{Targets: f.targets}})
	found, _ := parseRules(list)
	return &Identity{Name: "fred", Kind: ByEauth, gate: g, rules: found}
}

// stricter are the differences that are meant: what Salt allows and this does not.
var stricter = []struct {
	why          string
	rules        []string // none: all
	publications []string
}{
	{"a rule is for the whole name", nil, []string{"longer name"}},
	{"a rule is for the whole name", []string{"prefix"},
		[]string{"ping web1", "ping webs", "ping all", "ping db1", "ping new1", "ping nobody",
			"list ping", "prefix of a name"}},
	{"a condition is for the whole argument", nil,
		[]string{"echo ab", "echo x bc", "echo 77", "run as nobody2"}},
	{"each function of a job must be allowed", nil,
		[]string{"list ping run", "list run ping", "list find_job run", "list ping echo",
			"list ping echo db1", "list without args"}},
	{"a target that names nobody is in no target of a rule", nil, []string{"ping nobody"}},
	{"a minion of which nothing is known has no grains", []string{"grain target"},
		[]string{"ping new1", "ping all"}},
	{"what is no name of a function is none", nil,
		[]string{"comma text", "with a line feed", "with a space", "empty name"}},
	{"what is no list of names is none", nil, []string{"nested list", "map"}},
	{"arguments that a minion may read in two ways meet no condition", nil,
		[]string{"two maps", "name in a text"}},
	{"arguments of a single function are a list", nil, []string{"args no list"}},
}

func meant(rule, publication string) bool {
	for _, s := range stricter {
		if (s.rules == nil || slices.Contains(s.rules, rule)) &&
			slices.Contains(s.publications, publication) {
			return true
		}
	}
	return false
}

// TestPublishAsSalt puts every rule to every publication of the table. Nothing is allowed that Salt
// does not allow.
func TestPublishAsSalt(t *testing.T) {
	a := salt(t)
	same, differ := 0, map[string]bool{}
	for name, list := range a.Rules {
		i := fleet(a.Fleet).identity(value(list))
		for n, p := range a.Publications {
			arg, isList := value(p.Arg).([]any)
			got := isList && i.MayPublish(Publication{Fun: value(p.Fun), Arg: arg, Minions: p.Minions})
			want := a.Publish[name][n] == '1'
			switch {
			case got == want:
				same++
			case got:
				t.Errorf("rule %q allows %q, Salt does not", name, p.Name)
			case !meant(name, p.Name):
				t.Errorf("rule %q does not allow %q, Salt does", name, p.Name)
			default:
				differ[p.Name] = true
			}
		}
	}
	for _, s := range stricter {
		for _, p := range s.publications {
			if !differ[p] {
				t.Errorf("%s: nothing differs for %q", s.why, p)
			}
		}
	}
	t.Logf("%d answers are Salt's", same)
}

func TestRunAsSalt(t *testing.T) {
	a := salt(t)
	for name, list := range a.FormRules {
		i := fleet(a.Fleet).identity(value(list))
		for n, r := range a.Runs {
			kwargs, _ := value(r.Kwargs).(*data.Map)
			args, _ := value(r.Args).([]any)
			err := i.MayRun(r.Form, r.Fun, args, kwargs)
			got := "1"
			if refusal, ok := err.(*Refusal); ok {
				got = map[string]string{"SaltInvocationError": "s",
					"EauthAuthenticationError": "0"}[refusal.Name]
			}
			want := a.Run[name][n : n+1]
			if meant := want == "1" && got == "0" &&
				(r.Fun == "jobs.list_jobsx" && (name == "jobs list" || name == "runner function")) ||
				name == "two keys" && want == "s"; got != want && !meant {
				t.Errorf("rule %q, %s %s: %s, want %s", name, r.Form, r.Fun, got, want)
			}
		}
	}
}

func TestListOfAsSalt(t *testing.T) {
	a := salt(t)
	users := value(a.ExternalAuth).(*data.Map)
	for _, c := range a.Fill {
		got, want := RightsOf(users, c.Name, c.Groups, c.Permissive), value(c.Rights).([]any)
		if c.Permissive { // Salt compares * with the name as if that were the pattern
			want = append(want, "s")
		}
		// in which order the user's own rights and those of his groups come makes no difference
		for _, v := range want {
			if !slices.ContainsFunc(got, func(g any) bool { return data.Equal(g, v) }) {
				t.Errorf("%+v: %s misses %s", c, data.Repr(got), data.Repr(v))
			}
		}
		if len(got) != len(want) {
			t.Errorf("%+v: rights %s, want %s", c, data.Repr(got), data.Repr(want))
		}
	}
}

func TestNamesAsSalt(t *testing.T) {
	a := salt(t)
	// Salt's alternatives begin or end anywhere.
	meant := map[string][]string{"fred|bob": {"freddy", "fred\n", "fredxbob"}}
	for expr, row := range a.Expr {
		for n, user := range a.Users {
			got, want := newNameExpr(expr).match(user), row[n] == '1'
			if got != want && (got || !slices.Contains(meant[expr], user)) {
				t.Errorf("%q matches %q: %v, want %v", expr, user, got, want)
			}
		}
	}
}

func TestBlacklistAsSalt(t *testing.T) {
	a := salt(t)
	b := newBlacklist(value(a.Blacklist).(*data.Map))
	for user, want := range a.BlacklistUsers {
		if got := b.blocks(user, "test.echo"); got != want {
			t.Errorf("user %q: blocked = %v, want %v", user, got, want)
		}
	}
	for _, c := range a.BlacklistFuns {
		if got := b.blocks("sudo_fred", value(c.Fun)); got != c.Blocked {
			t.Errorf("function %v: blocked = %v, want %v", c.Fun, got, c.Blocked)
		}
	}
}

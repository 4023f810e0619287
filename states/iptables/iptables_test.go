package iptables_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules"
	"github.com/brineproject/brine/state/change"
	"github.com/brineproject/brine/states/iptables"
)

func shelf(t *testing.T) *loader.Registry {
	t.Helper()
	grains := func() *data.Map { return data.NewMap("os", "Debian", "os_family", "Debian") }
	functions, err := loader.NewRegistry(&loader.Env{Opts: data.NewMap(), Grains: grains},
		modules.Plugins(modules.Brought()))
	if err != nil {
		t.Fatal(err)
	}
	env := &loader.Env{Opts: data.NewMap(), Functions: functions, Call: functions.Invoke}
	states, err := loader.NewRegistry(env, []loader.Plugin{iptables.Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	return states
}

func mode(ctx context.Context, test bool) context.Context {
	call := *change.CallOf(ctx)
	call.Test, call.Run = test, "run"
	return change.WithCall(ctx, &call)
}

func run(t *testing.T, r *loader.Registry, test bool, fun string, kwargs *data.Map) *data.Map {
	t.Helper()
	v, err := r.Invoke(mode(t.Context(), test), fun, nil, data.Clone(kwargs).(*data.Map))
	ret, ok := v.(*data.Map)
	if err != nil || !ok {
		t.Fatalf("%s %s: %v, %v", fun, data.Repr(kwargs), v, err)
	}
	return ret
}

func check(t *testing.T, got *data.Map, result any, changes *data.Map, comment string) {
	t.Helper()
	if got.Value("result") != result || !data.Equal(got.Value("changes"), changes) ||
		got.Text("comment") != comment {
		t.Errorf("got %s, want %v, %s, %q", data.Repr(got), result, data.Repr(changes), comment)
	}
}

// testdata/runs.json has the results of Salt 3006.0 in a new network namespace, one state after the
// other: in test mode, in the real run, in a second one and in test mode again.
func TestRuns(t *testing.T) {
	if !need.Network(t, "iptables-save", "ip6tables-save") {
		return
	}
	path, err := exec.LookPath("iptables")
	if err != nil {
		t.Fatal(err)
	}
	src, err := os.ReadFile("testdata/runs.json")
	if err != nil {
		t.Fatal(err)
	}
	list, err := vectors.Decode([]byte(strings.NewReplacer("@TMP@", t.TempDir(),
		"@BIN@", filepath.Dir(path)).Replace(string(src))))
	if err != nil {
		t.Fatal(err)
	}
	r := shelf(t)
	for _, c := range vectors.Cases(t, list.([]any)) {
		c.Only("fun", "name", "kwargs", "steps")
		kwargs := c.Object("kwargs").Clone()
		kwargs.Set("name", c.Value("name"))
		for i, s := range c.List("steps") {
			step := s.(*data.Map)
			if got := run(t, r, step.Value("test") == true, c.Text("fun"), kwargs); !data.Equal(got,
				step.Value("return")) {
				t.Errorf("%s %s step %d\n got %s\nwant %s", c.Text("fun"), data.Repr(kwargs), i,
					data.Repr(got), data.Repr(step.Value("return")))
			}
		}
	}
}

// Cases in which the results differ from Salt's.
func TestDeviations(t *testing.T) {
	if !need.Network(t, "iptables-save", "ip6tables-save") {
		return
	}
	r := shelf(t)
	none, there := data.NewMap(), data.NewMap("locale", "x")
	rule := data.NewMap("name", "x", "chain", "INPUT", "jump", "ACCEPT", "protocol", "tcp")
	run(t, r, false, "iptables.append", rule)
	file := filepath.Join(t.TempDir(), "rules")
	saved := rule.Clone()
	saved.Set("save", file)
	if got := run(t, r, true, "iptables.append", saved); got.Value("result") != nil ||
		!strings.HasSuffix(got.Text("comment"), "\niptables rules for ipv4 need to be saved") {
		t.Errorf("test mode says %s", data.Repr(got))
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("test mode saved the rules")
	}
	if got := run(t, r, false, "iptables.append", saved); got.Value("result") != true ||
		!strings.Contains(got.Text("comment"), "\nSaved iptables rule x for ipv4\n") {
		t.Errorf("the rules are not saved: %s", data.Repr(got))
	}
	if out, err := exec.Command("iptables", "-A", "INPUT", "-p", "tcp", "-j",
		"ACCEPT").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got := run(t, r, false, "iptables.delete", rule); got.Value("result") != true {
		t.Errorf("delete gives %s", data.Repr(got))
	}
	if out, _ := exec.Command("iptables", "-S", "INPUT").Output(); strings.Contains(string(out), "tcp") {
		t.Errorf("a copy of the rule is left: %s", out)
	}
	flushed := "Flush iptables rules in filter table INPUT chain ipv4 family"
	flush := data.NewMap("name", "x", "chain", "INPUT")
	check(t, run(t, r, true, "iptables.flush", flush), true, none, flushed)
	run(t, r, false, "iptables.append", rule)
	check(t, run(t, r, true, "iptables.flush", flush), nil, none,
		"iptables rules in x table filter chain ipv4 family needs to be flushed")
	check(t, run(t, r, false, "iptables.flush", flush), true, there, flushed)
	check(t, run(t, r, false, "iptables.flush", flush), true, none, flushed)
	check(t, run(t, r, false, "iptables.flush", data.NewMap("name", "x", "chain", "NOPE")), false,
		none, "Failed to flush iptables rules")
}

func TestPositionDeletes(t *testing.T) {
	if !need.Network(t, "iptables-save", "ip6tables-save") {
		return
	}
	r := shelf(t)
	run(t, r, false, "iptables.append", data.NewMap("name", "x", "chain", "INPUT", "jump", "ACCEPT"))
	gone := data.NewMap("name", "x", "chain", "INPUT", "position", int64(1), "jump", "DROP")
	if got := run(t, r, false, "iptables.delete", gone); got.Value("result") != true ||
		!data.Truth(got.Value("changes")) {
		t.Errorf("got %s", data.Repr(got))
	}
	if got := run(t, r, false, "iptables.delete", gone); got.Value("result") != false {
		t.Errorf("a rule that is not there is deleted: %s", data.Repr(got))
	}
}

// The rules of all chunks are joined to those of the first, and a failure is reported.
func TestAggregate(t *testing.T) {
	if !need.Network(t, "iptables-save", "ip6tables-save") {
		return
	}
	r := shelf(t)
	chunk := func(name, chain string) *data.Map {
		return data.NewMap("state", "iptables", "fun", "append", "__id__", name, "name", name,
			"chain", chain, "jump", "ACCEPT", "protocol", name)
	}
	low, other, bad, ran := chunk("tcp", "INPUT"), chunk("udp", "INPUT"), chunk("gre", "NOPE"),
		chunk("esp", "INPUT")
	different := chunk("ah", "INPUT")
	different.Set("fun", "insert")
	low.Set("__agg__", true)
	chunks := []any{low, other, bad, ran, different}
	v, err := r.Invoke(t.Context(), "iptables.mod_aggregate",
		[]any{low, chunks, data.NewMap("iptables_|-esp_|-esp_|-append", data.NewMap())}, nil)
	joined, ok := v.(*data.Map)
	if err != nil || !ok || len(joined.Value("rules").([]any)) != 3 ||
		!data.Truth(other.Value("__agg__")) || different.Has("__agg__") || ran.Has("__agg__") {
		t.Fatalf("got %s, %v", data.Repr(v), err)
	}
	args := data.NewMap("name", "tcp", "rules", joined.Value("rules"))
	got := run(t, r, false, "iptables.append", args)
	if got.Value("result") != false ||
		!data.Equal(got.Value("changes"), data.NewMap("locale", []any{"tcp", "udp"})) {
		t.Errorf("got %s", data.Repr(got))
	}
	again := run(t, r, false, "iptables.append",
		data.NewMap("name", "tcp", "rules", joined.Value("rules").([]any)[:2]))
	if again.Value("result") != true || data.Truth(again.Value("changes")) {
		t.Errorf("the second time %s", data.Repr(again))
	}
}

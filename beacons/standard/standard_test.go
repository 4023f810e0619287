//go:build !small

package standard

import (
	"context"
	"encoding/base64"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brineproject/brine/beacons/network"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/yaml"
)

// A host is what beacons see: results of functions, and files below a root directory.
type host struct {
	t     *testing.T
	root  string
	calls *data.Map // results by function and arguments
	funs  []string  // that exist
}

type callArgs struct {
	Args   []any     `args:"args"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// newHost returns a host on which all beacons work.
func newHost(t *testing.T) *host {
	t.Helper()
	h := &host{t: t, root: t.TempDir(), calls: data.NewMap(), funs: strings.Fields("status.loadavg status.cpustats " +
		"status.meminfo status.vmstats status.time status.w status.uptime ps.virtual_memory ps.swap_memory " +
		"ps.disk_partitions ps.disk_usage ps.get_pid_list ps.proc_info ps.network_io_counters service.status " +
		"pkg.upgrade_available pkg.version pkg.latest_version group.info haproxy.get_sessions cmd.retcode " +
		"test.ping test.echo test.false cmd.shells status.procs")}
	for _, name := range []string{"btmp", "wtmp"} {
		h.append("var/log/"+name, "")
	}
	bin := filepath.Join(h.root, "bin")
	for _, name := range []string{"glxinfo", "journalctl", "strace"} {
		h.append("bin/"+name, "#!/bin/sh\n")
		if err := os.Chmod(filepath.Join(bin, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin)
	return h
}

// append appends text to a file below the root directory.
func (h *host) append(name, text string) {
	h.t.Helper()
	path := filepath.Join(h.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		h.t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		h.t.Fatal(err)
	}
	_, err = f.WriteString(text)
	if e := f.Close(); err != nil || e != nil {
		h.t.Fatal(err, e)
	}
}

// plugins returns the execution modules of the host.
func (h *host) plugins() []loader.Plugin {
	modules := map[string][]string{}
	for _, fun := range h.funs {
		module, name, _ := strings.Cut(fun, ".")
		modules[module] = append(modules[module], name)
	}
	var plugins []loader.Plugin
	for module, names := range modules {
		plugins = append(plugins, loader.Plugin{Name: module, New: func(*loader.Env) (*loader.Module, error) {
			m := &loader.Module{}
			for _, name := range names {
				m.Funcs = append(m.Funcs, loader.F(name, func(_ context.Context, a callArgs) (any, error) {
					return h.call(module+"."+name, a)
				}))
			}
			return m, nil
		}})
	}
	return plugins
}

func (h *host) call(fun string, a callArgs) (any, error) {
	key := fun
	for _, arg := range a.Args {
		key += " " + data.Str(arg)
	}
	v, ok := h.calls.Get(key)
	if m, isMap := v.(*data.Map); isMap && m.Has("fails") {
		return nil, loader.Execution("%s", m.Text("fails"))
	}
	if !ok {
		return nil, loader.Exception("OSError", "%s is not recorded", key)
	}
	return data.Clone(v), nil
}

// registry returns the beacons of the host.
func (h *host) registry() *loader.Registry {
	h.t.Helper()
	grains := func() *data.Map { return data.NewMap("kernel", "AIX") }
	functions, err := loader.NewRegistry(&loader.Env{Grains: grains}, h.plugins())
	if err != nil {
		h.t.Fatal(err)
	}
	env := *functions.Env()
	env.Root = h.root
	r, err := loader.NewRegistry(&env, Plugins())
	if err != nil {
		h.t.Fatal(err)
	}
	return r
}

func recorded(t *testing.T, file string) []*data.Map {
	t.Helper()
	src, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	v, err := yaml.Load(src, yaml.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var all []*data.Map
	for _, item := range data.ListOf(v) {
		m, _ := item.(*data.Map)
		all = append(all, m)
	}
	if len(all) == 0 {
		t.Fatalf("%s is empty", file)
	}
	return all
}

// TestValidate compares the judgement on configurations with that of Salt.
func TestValidate(t *testing.T) {
	r := newHost(t).registry()
	for _, c := range recorded(t, "validate.json") {
		name := c.Text("beacon")
		if !r.Has(name + ".validate") {
			if name != "proxy_example" { // which is for proxy minions
				t.Errorf("there is no beacon %s: %s", name, r.MissingText(name+".validate"))
			}
			continue
		}
		got, err := r.Invoke(t.Context(), name+".validate", []any{c.Value("config")}, nil)
		if want := (data.Tuple{c.Value("valid"), c.Value("comment")}); err != nil || !data.Equal(got, want) {
			t.Errorf("%s %s:\n      %s %v\nSalt: %s", name, data.Repr(c.Value("config")), data.Repr(got), err,
				data.Repr(want))
		}
	}
}

// plain returns v with the keys of dictionaries as JSON has them.
func plain(v any) any {
	switch v := v.(type) {
	case *data.Map:
		m := data.NewMap()
		for key, one := range v.All() {
			m.Set(data.Str(key), plain(one))
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i, one := range v {
			list[i] = plain(one)
		}
		return list
	case string:
		return strings.ReplaceAll(v, "\r", "")
	}
	return v
}

// TestEvents compares the events of turns with those of Salt on the same host.
func TestEvents(t *testing.T) {
	for _, c := range recorded(t, "events.json") {
		name := c.Text("beacon")
		t.Run(name+" "+c.Text("name"), func(t *testing.T) {
			h := newHost(t)
			h.append("pid", "1")
			h.append("messages", "old hello\n")
			r := h.registry()
			synctest.Test(t, func(t *testing.T) {
				ctx, scope := loader.WithScope(t.Context())
				defer scope.Close()
				start := time.Now()
				for i, step := range data.ListOf(c.Value("turns")) {
					turn, _ := step.(*data.Map)
					h.next(turn)
					if at, ok := turn.Value("at").(int64); ok {
						time.Sleep(time.Until(start.Add(time.Duration(at) * time.Second)))
					}
					config := append(slices.Clone(data.ListOf(rooted(c.Value("config")))),
						data.NewMap("_beacon_name", name))
					got, err := r.Invoke(ctx, name+".beacon", []any{config}, nil)
					if err != nil {
						got = err.Error()
					}
					if want := timeless(turn.Value("events")); !data.Equal(timeless(plain(got)), want) {
						t.Errorf("turn %d:\n      %s\nSalt: %s", i, data.Repr(got), data.Repr(want))
					}
				}
			})
		})
	}
}

// next makes the host that of a turn.
func (h *host) next(turn *data.Map) {
	h.t.Helper()
	h.calls, _ = turn.Value("calls").(*data.Map)
	h.append("messages", turn.Text("append"))
	raw, err := base64.StdEncoding.DecodeString(turn.Text("append64"))
	if err != nil {
		h.t.Fatal(err)
	}
	for _, name := range []string{"btmp", "wtmp"} {
		h.append("var/log/"+name, string(raw))
	}
}

// rooted returns a configuration with paths below the root directory, which beacons add themselves.
func rooted(v any) any {
	switch v := v.(type) {
	case *data.Map:
		m := data.NewMap()
		for key, one := range v.All() {
			m.Set(key, rooted(one))
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i, one := range v {
			list[i] = rooted(one)
		}
		return list
	case string:
		return strings.TrimPrefix(v, "ROOT")
	}
	return v
}

// timeless returns events without the time that the beacon status has as its tag.
func timeless(v any) any {
	for _, e := range data.ListOf(v) {
		if m, ok := e.(*data.Map); ok && strings.HasPrefix(m.Text("tag"), "2000-01-01T00:00:00.") {
			m.Set("tag", "now")
		}
	}
	return v
}

// TestOwnNumbersOfLogins checks ut_type, which has no effect in Salt although it is documented.
func TestOwnNumbersOfLogins(t *testing.T) {
	h := newHost(t)
	r := h.registry()
	ctx, scope := loader.WithScope(t.Context())
	defer scope.Close()
	config := []any{data.NewMap("ut_type", data.NewMap("login", int64(9)))}
	entry := make([]byte, 384)
	entry[0] = 9
	for i, want := range []string{"[]", "'action': 'login'"} {
		got, err := r.Invoke(ctx, "wtmp.beacon", []any{config}, nil)
		if err != nil || !strings.Contains(data.Repr(got), want) {
			t.Errorf("turn %d: %s %v", i, data.Repr(got), err)
		}
		h.append("var/log/wtmp", string(entry))
	}
}

// TestNetworkSettings watches interfaces whose settings change (Salt: test_network_settings.py).
func TestNetworkSettings(t *testing.T) {
	now := map[string]*data.Map{}
	set := func(name string, promiscuity int64, addresses ...any) {
		now = map[string]*data.Map{"lo": data.NewMap("mtu", int64(1)),
			name: data.NewMap("promiscuity", promiscuity, "ipaddr", addresses)}
	}
	for _, c := range []struct {
		name   string
		config string
		want   string
	}{
		{"a name", "[{interfaces: {enp1: {promiscuity: null}}}]",
			"[{'tag': 'enp1', 'interface': 'enp1', 'change': {'promiscuity': 1}}]"},
		{"a pattern", "[{interfaces: {'en*': {promiscuity: null, ipaddr: null}}}]",
			"[{'tag': 'enp1', 'interface': 'enp1', 'change': {'promiscuity': 1, 'ipaddr': [['10.0.0.1', 24]]}}]"},
		{"the value", "[{interfaces: {enp1: {promiscuity: {onvalue: 1}}}}]",
			"[{'tag': 'enp1', 'interface': 'enp1', 'change': {'promiscuity': 1}}]"},
		{"another value", "[{interfaces: {enp1: {promiscuity: {onvalue: 2}}}}]", "[]"},
		{"together", "[{coalesce: true}, {interfaces: {enp1: {promiscuity: null}}}]",
			"[{'tag': 'result', 'changes': {'enp1': {'promiscuity': 1}}}]"},
		{"another interface", "[{interfaces: {eth9: {promiscuity: null}}}]", "[]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := loader.NewRegistry(&loader.Env{}, []loader.Plugin{network.SettingsOf(
				func() (map[string]*data.Map, error) { return now, nil })})
			if err != nil {
				t.Fatal(err)
			}
			config, err := yaml.Load([]byte(c.config), yaml.Options{})
			if err != nil {
				t.Fatal(err)
			}
			ctx, scope := loader.WithScope(t.Context())
			defer scope.Close()
			set("enp1", 0)
			for i, want := range []string{"[]", "[]", c.want, "[]"} {
				if i == 2 {
					set("enp1", 1, []any{"10.0.0.1", int64(24)})
				}
				got, err := r.Invoke(ctx, "network_settings.beacon", []any{config}, nil)
				if err != nil || data.Repr(got) != want {
					t.Errorf("turn %d: %s %v, want %s", i, data.Repr(got), err, want)
				}
			}
		})
	}
}

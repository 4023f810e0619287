//go:build !small

package standard

import (
	"context"
	"encoding/base64"
	"errors"
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

// A caller calls a beacon of a host turn by turn.
type caller struct {
	t      *testing.T
	r      *loader.Registry
	ctx    context.Context
	name   string
	config any
}

func (h *host) caller(name, config string) *caller {
	h.t.Helper()
	v, err := yaml.Load([]byte(config), yaml.Options{})
	if err != nil {
		h.t.Fatal(err)
	}
	ctx, scope := loader.WithScope(h.t.Context())
	h.t.Cleanup(func() { _ = scope.Close() })
	return &caller{h.t, h.registry(), ctx, name, v}
}

// expect runs a turn and compares its events, or its error, as text.
func (c *caller) expect(want string) {
	c.t.Helper()
	v, err := c.r.Invoke(c.ctx, c.name+".beacon", []any{c.config}, nil)
	got := data.Repr(v)
	if err != nil {
		got = err.Error()
	}
	if got != want {
		c.t.Errorf("%s: got  %s\nwant %s", c.name, got, want)
	}
}

// matched is what the beacon log reports about lines.
func matched(lines ...string) string {
	var events []any
	for _, line := range lines {
		events = append(events, data.NewMap("tag", "t", "match", "yes", "raw", line, "error", ""))
	}
	return data.Repr(append([]any{}, events...))
}

// TestLineInParts writes a line in two parts, and one that does not end.
func TestLineInParts(t *testing.T) {
	h := newHost(t)
	h.append("f", "old\n")
	c := h.caller("log", "[{file: f}, {tags: {t: {regex: '.'}}}]")
	c.expect("[]")
	h.append("f", "one\ntw")
	c.expect(matched("one"))
	c.expect("[]")
	h.append("f", "o\nthree\n")
	c.expect(matched("two", "three"))
	long := strings.Repeat("x", 70_000)
	h.append("f", long)
	c.expect(matched(long))
	h.append("f", "y\n")
	c.expect(matched("y"))
}

// TestRotatedLog has new files that are longer than the old one, and one that is shorter.
func TestRotatedLog(t *testing.T) {
	h := newHost(t)
	h.append("f", "old\n")
	c := h.caller("log", "[{file: f}, {tags: {t: {regex: '.'}}}]")
	c.expect("[]")
	rename(t, h, "f", "f.1")
	c.expect("[Errno 2] No such file or directory: " + data.Repr(filepath.Join(h.root, "f")))
	h.append("f", "one\ntwo\n")
	c.expect(matched("one", "two"))
	rename(t, h, "f", "f.1")
	h.append("f", "three\nfour\n")
	c.expect(matched("three", "four"))
	if err := os.Truncate(filepath.Join(h.root, "f"), 0); err != nil {
		t.Fatal(err)
	}
	h.append("f", "five\n")
	c.expect(matched("five"))
}

func rename(t *testing.T, h *host, from, to string) {
	t.Helper()
	if err := os.Rename(filepath.Join(h.root, from), filepath.Join(h.root, to)); err != nil {
		t.Fatal(err)
	}
}

// entryOf returns an entry of wtmp of a user.
func entryOf(user string) string {
	b := make([]byte, 384)
	b[0] = 7
	copy(b[44:], user)
	return string(b)
}

// TestRotatedLogins has a new file that is longer than the old one.
func TestRotatedLogins(t *testing.T) {
	h := newHost(t)
	h.append("var/log/wtmp", entryOf("old"))
	c := h.caller("wtmp", "[]")
	c.expect("[]")
	rename(t, h, "var/log/wtmp", "var/log/wtmp.1")
	h.append("var/log/wtmp", entryOf("eve")+entryOf("adam"))
	v, err := c.r.Invoke(c.ctx, "wtmp.beacon", []any{c.config}, nil)
	if text := data.Repr(v); err != nil || strings.Count(text, "login") != 2 || !strings.Contains(text, "eve") {
		t.Errorf("%s %v", text, err)
	}
}

// TestLoginsAfterAnError fails once to read a group.
func TestLoginsAfterAnError(t *testing.T) {
	h := newHost(t)
	c := h.caller("wtmp", "[{groups: {adm: {}}}]")
	c.expect("[]")
	h.append("var/log/wtmp", entryOf("eve"))
	h.calls = data.NewMap("group.info adm", data.NewMap("fails", "no group"))
	c.expect("no group")
	h.calls = data.NewMap("group.info adm", data.NewMap("name", "adm", "gid", int64(4), "passwd", "x",
		"members", []any{"eve"}))
	v, err := c.r.Invoke(c.ctx, "wtmp.beacon", []any{c.config}, nil)
	if text := data.Repr(v); err != nil || strings.Count(text, "'eve'") != 1 {
		t.Errorf("%s %v", text, err)
	}
}

// TestPackagesAfterAnError fails to read one of two packages, which change both.
func TestPackagesAfterAnError(t *testing.T) {
	h := newHost(t)
	c := h.caller("pkg", "[{pkgs: [a, b]}]")
	set := func(a, b any) {
		h.calls = data.NewMap("pkg.version a", a, "pkg.version b", b, "pkg.latest_version a", "",
			"pkg.latest_version b", "")
	}
	set("1", "1")
	c.expect("[]")
	set("", data.NewMap("fails", "locked"))
	c.expect("[{'pkg': 'a', 'version': None, 'status': 'not-installed'}]")
	c.expect("locked")
	set("", "")
	c.expect("[{'pkg': 'b', 'version': None, 'status': 'not-installed'}]")
	set(data.NewMap("fails", "locked"), "2")
	c.expect("[{'pkg': 'b', 'version': '2', 'status': 'installed'}]")
}

// TestServicesAfterAnError fails to read one of two services, which change both.
func TestServicesAfterAnError(t *testing.T) {
	h := newHost(t)
	c := h.caller("service", "[{services: {a: {onchangeonly: true}, b: {onchangeonly: true}}}]")
	set := func(a, b any) { h.calls = data.NewMap("service.status a", a, "service.status b", b) }
	set(true, true)
	c.expect("[{'a': {'running': True}, 'service_name': 'a', 'tag': 'a'}, " +
		"{'b': {'running': True}, 'service_name': 'b', 'tag': 'b'}]")
	set(false, data.NewMap("fails", "no bus"))
	c.expect("[{'a': {'running': False}, 'service_name': 'a', 'tag': 'a'}]")
	c.expect("no bus")
	set(false, false)
	c.expect("[{'b': {'running': False}, 'service_name': 'b', 'tag': 'b'}]")
}

// TestNetworkSettingsAfterAnError fails to collect the grains after a change.
func TestNetworkSettingsAfterAnError(t *testing.T) {
	var fails error
	mtu := int64(1500)
	env := &loader.Env{}
	env.Host.RefreshGrains = func(context.Context) error { return fails }
	r, err := loader.NewRegistry(env, []loader.Plugin{network.SettingsOf(func() (map[string]*data.Map, error) {
		return map[string]*data.Map{"eth0": data.NewMap("mtu", mtu)}, nil
	})})
	if err != nil {
		t.Fatal(err)
	}
	ctx, scope := loader.WithScope(t.Context())
	defer scope.Close()
	c := &caller{t, r, ctx, "network_settings", []any{data.NewMap("coalesce", true),
		data.NewMap("interfaces", data.NewMap("eth0", data.NewMap("mtu", nil)))}}
	c.expect("[]")
	mtu, fails = 9000, errors.New("no grains")
	c.expect("no grains")
	fails = nil
	c.expect("[{'tag': 'result', 'changes': {'eth0': {'mtu': 9000}}}]")
	c.expect("[]")
}

// TestFaults has configurations that Salt accepts and that would report nothing, or fail in each turn.
func TestFaults(t *testing.T) {
	r := newHost(t).registry()
	for _, c := range []struct{ beacon, config, want string }{
		{"log", "[{file: f}, {tags: [a]}]", "Configuration for log beacon tags must be a dictionary."},
		{"log", "[{file: f}, {tags: {a: b}}]", "Configuration for log beacon tag a must be a dictionary."},
		{"log", "[{file: f}, {tags: {a: {regex: '('}}}]", "Configuration for log beacon tag a: *"},
		{"log", "[{file: [f]}]", "Configuration for log beacon file must be a path."},
		{"journald", "[{services: [sshd]}]", "Services configuration for journald beacon must be a dictionary."},
		{"network_info", "[{interfaces: [eth0]}]",
			"Configuration for network_info beacon interfaces must be a dictionary."},
		{"network_info", "[{interfaces: {eth0: {errin: few}}}]",
			"Configuration for network_info beacon has an invalid errin: could not convert string to float: 'few'"},
		{"network_settings", "[{interfaces: {'*': {mtu: null}}}]",
			"Interface * for network_settings beacon is no valid pattern: *"},
		{"cert_info", "[{files: /a}]", "Configuration for cert_info beacon files must be a list."},
		{"cert_info", "[{files: [/a], notify_days: soon}]",
			"Configuration for cert_info beacon has an invalid notify_days: *"},
		{"cert_info", "[{files: [{/a: {notify_days: [1]}}]}]",
			"Configuration for cert_info beacon has an invalid notify_days: *"},
		{"salt_monitor", "[{salt_fun: {test.ping: {}}}]",
			"salt_fun of salt_monitor beacon must be the name of a function or a list."},
		{"memusage", "[{percent: lots}]", "Configuration for memusage beacon has an invalid limit: *"},
		{"swapusage", "[{percent: [1]}]", "Configuration for swapusage beacon has an invalid limit: *"},
		{"diskusage", "[{/: lots}]", "Configuration for diskusage beacon has an invalid limit: *"},
		{"diskusage", "[{'(': 5%}]", "Configuration for diskusage beacon has an invalid mount: *"},
		{"wtmp", "[{defaults: {time_range: {start: 3pm, end: xx-yy}}}]",
			"The time_range parameter for wtmp beacon has an invalid end: *"},
		{"btmp", "[{users: {eve: {time_range: {start: xx-yy, end: 3pm}}}}]",
			"The time_range parameter for btmp beacon has an invalid start: *"},
	} {
		config, err := yaml.Load([]byte(c.config), yaml.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.Invoke(t.Context(), c.beacon+".validate", []any{config}, nil)
		pair, _ := got.(data.Tuple)
		if err != nil || len(pair) != 2 || pair[0] != false || !fits(c.want, data.Str(pair[1])) {
			t.Errorf("%s %s:\n%s %v\nwant %s", c.beacon, c.config, data.Repr(got), err, c.want)
		}
	}
}

// fits reports whether a text is the wanted one, which may end with a star for any further text.
func fits(want, got string) bool {
	begin, open := strings.CutSuffix(want, ": *")
	return got == want || open && strings.HasPrefix(got, begin+": ")
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

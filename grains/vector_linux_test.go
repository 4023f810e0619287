package grains

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/version"
	"github.com/brineproject/brine/yaml"
)

// leftOut maps grains of the vectors that are not collected to the reason: see the package comment.
var leftOut = map[string]string{
	"pythonexecutable": "no Python runs here", "pythonpath": "no Python runs here",
	"saltpath":   "there is no folder of Salt's modules",
	"zmqversion": "libzmq is not used",
	"__suse_reserved_pkg_all_versions_support": "not in Salt's own 3006.0",
	"__suse_reserved_pkg_patches_support":      "not in Salt's own 3006.0",
	"__suse_reserved_saltutil_states_support":  "not in Salt's own 3006.0",
}

// later names grains that Salt has on Debian and its like since 3006.5, later than the vectors.
var later = []string{"lsb_distrib_id", "lsb_distrib_release", "lsb_distrib_codename"}

// live names grains of the process that runs the test: their values are not those of the vectors.
var live = []string{"cwd", "pid", "uid", "gid", "username", "groupname", "pythonversion"}

func TestVectorSections(t *testing.T) {
	vectors.Later(t, vectors.Load(t, "13-grains.json"), []string{"grains", "static", "shapes"}, nil)
}

// plainMinion returns the collector of a host like that of the section grains, made from the values
// there.
func plainMinion(t *testing.T, id, grainsFile string) *Collector {
	t.Helper()
	want := vectors.Load(t, "13-grains.json").Section("grains")[0].Object("grains")
	value := func(name string) any { return want.Value(name).(*data.Map).Value("value") }
	text := func(name string) string { return value(name).(string) }
	join := func(v any) string {
		return strings.Join(strings.Fields(strings.Trim(strings.ReplaceAll(data.Str(v), "', '",
			" "), "[']")), " ")
	}

	var cpu, cmdline strings.Builder
	for i := range value("num_cpus").(int64) {
		fmt.Fprintf(&cpu, "processor\t: %d\nmodel name\t: %s\nflags\t\t: %s\n\n", i,
			text("cpu_model"), join(value("cpu_flags")))
	}
	for _, p := range value("kernelparams").([]any) {
		pair := p.(data.Tuple)
		cmdline.WriteString(pair[0].(string))
		if pair[1] != nil {
			cmdline.WriteString("=" + pair[1].(string))
		}
		cmdline.WriteString(" ")
	}
	systemd := value("systemd").(*data.Map)
	host := data.NewMap("files", data.NewMap(
		"proc/cpuinfo", cpu.String(),
		"proc/meminfo", fmt.Sprintf("MemTotal: %d kB\nSwapTotal: %d kB\n",
			value("mem_total").(int64)*1024, value("swap_total").(int64)*1024),
		"proc/cmdline", cmdline.String(),
		"etc/machine-id", text("machine_id")+"\n",
		"etc/resolv.conf", "nameserver "+join(value("dns").(*data.Map).Value("nameservers"))+"\n",
		"etc/hosts", "127.0.0.1 localhost\n"+join(value("fqdn_ip4"))+" "+text("fqdn")+" "+text("host")+"\n",
		"etc/os-release", fmt.Sprintf("NAME=%q\nID=debian\nVERSION_ID=%q\nVERSION_CODENAME=%s\n",
			text("osfullname"), text("osrelease"), text("oscodename")),
		"sys/block/vda/queue/rotational", "1\n",
		"usr/bin/dpkg", "", "usr/bin/systemctl", "", "usr/bin/localectl", "",
	), "programs", data.NewMap(
		"dpkg --print-architecture", text("osarch")+"\n",
		"systemctl --version", "systemd "+systemd.Text("version")+" (252)\n"+systemd.Text("features")+"\n",
	))
	o := fixture(t, host)
	o.Opts = data.NewMap("id", id, "master", text("master"))
	o.Env = func(name string) string {
		return map[string]string{"PATH": text("path"), "SHELL": text("shell"), "LANG": "en_US.UTF-8"}[name]
	}
	o.ConfFile = filepath.Join(t.TempDir(), "minion")
	if grainsFile != "" {
		writeFile(t, File(o.ConfFile), grainsFile)
	}
	c := New(o)
	c.dns = noDNS{}
	c.uname = func() *data.Map {
		return data.NewMap("kernel", text("kernel"), "nodename", text("nodename"),
			"kernelrelease", text("kernelrelease"), "kernelversion", text("kernelversion"),
			"cpuarch", text("cpuarch"))
	}
	c.gateways = func() (any, any, bool) { return value("ip4_gw"), value("ip6_gw"), true }
	c.links = func() ([]link, error) {
		return linksOf(value("ip_interfaces").(*data.Map), value("hwaddr_interfaces").(*data.Map)), nil
	}
	return c
}

func linksOf(addrs, hw *data.Map) []link {
	var links []link
	for name, list := range addrs.All() {
		l := link{name: name.(string), hwaddr: hw.Text(name)}
		for _, a := range list.([]any) {
			l.addrs = append(l.addrs, linkAddr{addr: netip.MustParseAddr(a.(string))})
		}
		links = append(links, l)
	}
	return links
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func collect(t *testing.T, c *Collector) *data.Map {
	t.Helper()
	g, err := c.Collect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestVectorGrains(t *testing.T) {
	for _, c := range vectors.Load(t, "13-grains.json").Section("grains") {
		t.Run(c.Name, func(t *testing.T) {
			c = c.On(t)
			c.Only("name", "grains")
			want := c.Object("grains")
			got := collect(t, plainMinion(t, want.Value("id").(*data.Map).Text("value"), ""))
			for name, w := range want.All() {
				compareGrain(t, name.(string), got, w.(*data.Map))
			}
			for name := range got.All() {
				if !want.Has(name) && !slices.Contains(later, name.(string)) {
					t.Errorf("grain %s is not Salt's", name)
				}
			}
		})
	}
}

func compareGrain(t *testing.T, name string, got, want *data.Map) {
	t.Helper()
	v, ok := got.Get(name)
	switch reason := leftOut[name]; {
	case reason != "" && ok:
		t.Errorf("grain %s is given, though %s", name, reason)
	case reason != "":
	case !ok:
		t.Errorf("grain %s is missing", name)
	case typeName(v) != want.Text("type"):
		t.Errorf("grain %s is a %s, want %s", name, typeName(v), want.Text("type"))
	case slices.Contains(live, name) && want.Value("host_specific") == true:
	case name == "saltversion" && v == version.Salt(), name == "saltversioninfo" &&
		data.Repr(v) == "[3006, 18]":
	case name == "server_id" && v == int64(1132212280): // 3006.18 takes SHA-256 where 3006.0 took Python's hash
	case name == "locale_info":
		v.(*data.Map).Set("timezone", want.Value("value").(*data.Map).Value("timezone"))
		fallthrough
	default:
		if g, w := data.Repr(v), data.Repr(want.Value("value")); g != w {
			t.Errorf("grain %s = %s, want %s", name, g, w)
		}
	}
}

func typeName(v any) string {
	switch v.(type) {
	case nil:
		return "NoneType"
	case bool:
		return "bool"
	case int64:
		return "int"
	case float64:
		return "float"
	case string:
		return "str"
	case []any:
		return "list"
	case data.Tuple:
		return "tuple"
	case *data.Map:
		return "dict"
	}
	return fmt.Sprintf("%T", v)
}

func TestVectorGrainsStatic(t *testing.T) {
	plain := collect(t, plainMinion(t, "g1", ""))
	for _, c := range vectors.Load(t, "13-grains.json").Section("static") {
		t.Run(c.Name, func(t *testing.T) {
			c = c.On(t)
			c.Only("name", "minion_config", "grains_file", "added_or_changed", "removed")
			file, _ := c.Map.Value("grains_file").(string)
			m := plainMinion(t, "g1", file)
			config, err := yaml.Load([]byte(c.Text("minion_config")), yaml.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if config, ok := config.(*data.Map); ok {
				m.o.Opts.Update(config)
			}
			got := collect(t, m)
			changed, removed := difference(plain, got)
			if d := cmp.Diff(grainLines(c.Object("added_or_changed")), grainLines(changed)); d != "" {
				t.Errorf("added or changed (-Salt +ours):\n%s", d)
			}
			if d := cmp.Diff(data.Repr(c.List("removed")), data.Repr(removed)); d != "" {
				t.Errorf("removed (-Salt +ours):\n%s", d)
			}
		})
	}
}

func difference(old, now *data.Map) (changed *data.Map, removed []any) {
	changed, names := data.NewMap(), []string{}
	for k, v := range now.All() {
		if was, ok := old.Get(k); !ok || data.Repr(was) != data.Repr(v) {
			changed.Set(k, v)
		}
	}
	for k := range old.All() {
		if !now.Has(k) {
			names = append(names, k.(string))
		}
	}
	slices.Sort(names)
	return changed, data.Values(names)
}

func TestVectorGrainsShapes(t *testing.T) {
	const file = "deep: {a: {b: c}}\nroles: [web]\nstate_runs_disabled: [highstate]\n"
	for i, c := range vectors.Load(t, "13-grains.json").Section("shapes") {
		t.Run(c.Name, func(t *testing.T) {
			c = c.On(t)
			c.Only("name", "shapes", "keys_in_output_order")
			wire := c.Has("keys_in_output_order")
			if i > 0 != wire {
				t.Fatal("an unknown kind of case")
			}
			grainsFile := ""
			if wire {
				grainsFile = file
			}
			got := collect(t, plainMinion(t, "g1", grainsFile))
			if wire {
				names := got.Keys()
				names = slices.DeleteFunc(names, func(n any) bool { return slices.Contains(later, n.(string)) })
				if d := cmp.Diff(withoutLeftOut(c.List("keys_in_output_order")), names); d != "" {
					t.Errorf("order (-Salt +ours):\n%s", d)
				}
			}
			for name, want := range c.Object("shapes").All() {
				v, ok := got.Get(name)
				if leftOut[name.(string)] != "" {
					continue
				}
				if g, w := encode(t, shape(t, v, wire)), encode(t, plainJSON(want)); !ok || g != w {
					t.Errorf("shape of %s = %s, want %s", name, g, w)
				}
			}
		})
	}
}

// withoutLeftOut removes the grains in leftOut from a list of names.
func withoutLeftOut(names []any) []any {
	return slices.DeleteFunc(slices.Clone(names), func(n any) bool { return leftOut[n.(string)] != "" })
}

// shape describes a value as the vectors do: the type's name, for maps the shapes by key, for lists
// those of the elements.
func shape(t *testing.T, v any, wire bool) any {
	switch v := v.(type) {
	case *data.Map:
		m := map[string]any{}
		for k, e := range v.All() {
			m[k.(string)] = shape(t, e, wire)
		}
		return m
	case []any:
		return []any{"list", shapes(t, v, wire)}
	case data.Tuple:
		if wire {
			return []any{"list", shapes(t, v, wire)}
		}
		return []any{"tuple", shapes(t, v, wire)}
	}
	return typeName(v)
}

func shapes(t *testing.T, list []any, wire bool) []string {
	found := []string{}
	for _, e := range list {
		found = appendNew(found, strings.ReplaceAll(encode(t, shape(t, e, wire)), ",", ", "))
	}
	slices.Sort(found)
	return found
}

func encode(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func plainJSON(v any) any {
	switch v := v.(type) {
	case *data.Map:
		m := map[string]any{}
		for k, e := range v.All() {
			m[k.(string)] = plainJSON(e)
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = plainJSON(e)
		}
		return list
	}
	return v
}

// noDNS answers no question.
type noDNS struct{}

func (noDNS) LookupCNAME(context.Context, string) (string, error) { return "", os.ErrNotExist }
func (noDNS) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return nil, os.ErrNotExist
}
func (noDNS) LookupAddr(context.Context, string) ([]string, error) { return nil, os.ErrNotExist }

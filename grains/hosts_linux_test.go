package grains

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/vectors"
)

var errNoProgram = errors.New("no such program")

// TestHosts compares with the grains of Salt 3006 on hosts with these files and programs:
// testdata/hosts.
func TestHosts(t *testing.T) {
	files, err := filepath.Glob("testdata/hosts/*.json")
	if err != nil || len(files) < 50 {
		t.Fatalf("%d hosts, %v; want 50", len(files), err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".json"),
			func(t *testing.T) { testHost(t, readHost(t, f)) })
	}
}

// TestManyHosts compares with Salt 3006 on hosts that differ only in their distribution or their
// hardware.
func TestManyHosts(t *testing.T) {
	for _, file := range []string{"distributions", "hardware"} {
		for _, c := range vectors.Cases(t,
			readHost(t, filepath.Join("testdata", file+".json")).Value("cases").([]any)) {
			t.Run(file+" "+c.Name, func(t *testing.T) { testHost(t, c.On(t).Map) })
		}
	}
}

func readHost(t *testing.T, path string) *data.Map {
	t.Helper()
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	v, err := vectors.Decode(src)
	if err != nil {
		t.Fatal(err)
	}
	return v.(*data.Map)
}

func testHost(t *testing.T, h *data.Map) {
	c := New(fixture(t, h))
	c.uname = func() *data.Map { return data.NewMap("kernel", "Linux", "cpuarch", "x86_64") }
	run := &collection{Collector: c, lookups: t.Context(), net: c.network()}
	got := data.NewMap()
	for _, s := range []source{run.osData, run.resolvConf, run.machineID, run.kernelParams,
		run.firmware, run.transactional, run.mdadm, run.nvme, run.iscsi, run.fibreChannel} {
		update(got, s(t.Context()))
	}
	got.Delete("kernel")
	got.Delete("cpuarch")
	want := h.Value("grains").(*data.Map)
	if diff := cmp.Diff(grainLines(want), grainLines(got)); diff != "" {
		t.Errorf("grains (-Salt +ours):\n%s", diff)
	}
}

// fixture writes a host's files and replaces its programs.
func fixture(t *testing.T, h *data.Map) Options {
	t.Helper()
	root := t.TempDir()
	for name, text := range h.Value("files").(*data.Map).All() {
		path := filepath.Join(root, name.(string))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text.(string)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	programs := h.Value("programs").(*data.Map)
	return Options{
		Opts: data.NewMap("nvme_grains", true, "iscsi_grains", true, "fibre_channel_grains", true),
		Root: root,
		Env:  func(name string) string { return map[string]string{"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}[name] },
		Run: func(_ context.Context, name string, args ...string) ([]byte, error) {
			out, ok := programs.Get(strings.Join(append([]string{filepath.Base(name)}, args...), " "))
			if !ok {
				return nil, errNoProgram
			}
			return []byte(out.(string)), nil
		},
	}
}

// grainLines returns one line per grain, sorted by name.
func grainLines(m *data.Map) []string {
	var list []string
	for k, v := range m.All() {
		list = append(list, data.Str(k)+": "+data.Repr(v))
	}
	slices.Sort(list)
	return list
}

// TestSecureBoot compares with Salt 3007.10.
func TestSecureBoot(t *testing.T) {
	for _, tt := range []struct {
		name, file, text string
		want             bool
	}{
		{"efivars, on", "efivars/SecureBoot-8be4", "\x06\x00\x00\x00\x01", true},
		{"efivars, off", "efivars/SecureBoot-8be4", "\x06\x00\x00\x00\x00", false},
		{"vars, on", "vars/SecureBoot-8be4/data", "\x01", true},
		{"no such variable", "efivars/Boot0000", "\x01", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			writeRoot(t, root, "sys/firmware/efi/"+tt.file, tt.text)
			g := (&collection{Collector: New(Options{Root: root})}).firmware(t.Context())
			if g.Value("efi") != true || g.Value("efi-secure-boot") != tt.want {
				t.Errorf("grains = %s, want %v", data.Repr(g), tt.want)
			}
		})
	}
}

package kernelpkg_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/replay"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/kernelpkg"
)

// host is the modules pkg and system of a host, whose calls it records.
type host struct {
	latest string
	calls  []string
}

func (h *host) plugins() []loader.Plugin {
	type anyArgs struct {
		Args   []any     `args:"args"`
		Kwargs *data.Map `kwargs:"kwargs"`
	}
	fun := func(name string, answer func() any) loader.Func {
		return loader.F(name, func(_ context.Context, a anyArgs) (any, error) {
			h.calls = append(h.calls, name+data.Repr(a.Args)+data.Repr(a.Kwargs))
			return answer(), nil
		})
	}
	installed := func() any {
		return data.NewMap("linux-image-6.1.0-9-amd64", []any{"1"}, "linux-image-6.1.0-10-amd64", []any{"1"},
			"linux-image-6.1.0-8-amd64", []any{"1"}, "linux-image-amd64", []any{"1"}, "linux-image-6.1.0-8-rt-amd64", []any{"1"})
	}
	pkg := loader.Plugin{Name: "pkg", New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{
			fun("list_pkgs", installed), fun("latest_version", func() any { return h.latest }),
			fun("version", func() any {
				return []any{"3.10.0-957.el7", "3.10.0-1160.el7",
					"3.10.0-327.el7"}
			}),
			fun("install", func() any { return data.NewMap("linux-image", "new") }),
			fun("upgrade", func() any { return data.NewMap("kernel", "new") }),
			fun("purge", func() any { return &data.Map{} }),
			loader.F("normalize_name", func(_ context.Context, a anyArgs) (any, error) {
				return strings.TrimSuffix(data.Str(a.Args[0]), ".x86_64"), nil
			}),
		}}, nil
	}}
	system := loader.Plugin{Name: "system", New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{fun("reboot", func() any { return true })}}, nil
	}}
	return []loader.Plugin{pkg, system, kernelpkg.Apt(), kernelpkg.Yum()}
}

// The calls.json files have the commands and results of Salt 3006.18 for the packages of host.
func TestCalls(t *testing.T) {
	for file, h := range map[string]*host{"apt": {latest: "6.1.1.12"}, "apt-same": {},
		"yum": {latest: "3.10.0-1200.el7"}, "yum-same": {}} {
		replay.Check(t, "testdata/"+file+".json", replay.Options{Root: t.TempDir(), Plugins: h.plugins()})
	}
}

// TestUpgrade checks what the module asks of pkg and system.
func TestUpgrade(t *testing.T) {
	for _, tt := range []struct {
		family, release string
		host            host
		want            []string
	}{
		{"Debian", "6.1.0-9-amd64", host{latest: "6.1.1.12"},
			[]string{"install[]{'name': 'linux-image-6.1.1-12-amd64'}", "reboot[]{'at_time': 5}"}},
		{"RedHat", "3.10.0-957.el7.x86_64", host{}, []string{"upgrade[]{'name': 'kernel'}",
			"reboot[]{'at_time': 5}"}},
	} {
		env := &loader.Env{Root: t.TempDir(), Grains: func() *data.Map {
			return data.NewMap("os_family", tt.family, "os", tt.family, "kernelrelease", tt.release)
		}}
		r, err := loader.NewRegistry(env, append(tt.host.plugins(), (&replay.Shell{}).Plugin()))
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.Invoke(t.Context(), "kernelpkg.upgrade", nil,
			data.NewMap("reboot", true, "at_time", int64(5)))
		asked := slices.DeleteFunc(tt.host.calls, func(call string) bool {
			return !strings.HasPrefix(call, "install") && !strings.HasPrefix(call, "upgrade") &&
				!strings.HasPrefix(call, "reboot")
		})
		if err != nil || !slices.Equal(asked, tt.want) {
			t.Errorf("%s: %v asks for %q", tt.family, err, asked)
		}
	}
}

// A version that names no release is an error with the reason.
func TestUnknownVersion(t *testing.T) {
	h := &host{latest: "6.1.119-1"}
	env := &loader.Env{Grains: func() *data.Map {
		return data.NewMap("os_family", "Debian", "kernelrelease", "6.1.0-9-amd64")
	}}
	r, err := loader.NewRegistry(env, h.plugins())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := r.Invoke(t.Context(), "kernelpkg.latest_available", nil, nil); err == nil ||
		!strings.Contains(err.Error(), "linux-image-amd64 does not name a release: 6.1.119-1") {
		t.Errorf("it gives %v, %v", got, err)
	}
}

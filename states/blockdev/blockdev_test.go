package blockdev_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/steps"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules"
	"github.com/brineproject/brine/state/change"
	"github.com/brineproject/brine/states/blockdev"
)

type fileArgs struct{ Name string }

// files is a module file for which every path that exists is a block device.
func files() loader.Plugin {
	return loader.Plugin{Name: "file", Over: true, New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{loader.F("is_blkdev",
			func(_ context.Context, a fileArgs) (bool, error) {
				_, err := os.Stat(a.Name)
				return err == nil, nil
			})}}, nil
	}}
}

// host returns the states of a host with the programs in dir/bin.
func host(t *testing.T, dir string) *loader.Registry {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the module disk is that of Linux")
	}
	t.Setenv("PATH", filepath.Join(dir, "bin")+":"+os.Getenv("PATH"))
	plugins := []loader.Plugin{files()}
	for _, p := range modules.Plugins(modules.Brought()) {
		if p.Name == "cmd" || p.Name == "disk" {
			plugins = append(plugins, p)
		}
	}
	return over(t, plugins)
}

// over returns the states over these modules.
func over(t *testing.T, plugins []loader.Plugin) *loader.Registry {
	t.Helper()
	functions, err := loader.NewRegistry(&loader.Env{Opts: data.NewMap()}, plugins)
	if err != nil {
		t.Fatal(err)
	}
	env := &loader.Env{Opts: data.NewMap(), Functions: functions, Call: functions.Invoke}
	states, err := loader.NewRegistry(env, []loader.Plugin{blockdev.Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	return states
}

// testdata/steps.json has the results of Salt 3006.18 with fakes of the programs.
func TestSteps(t *testing.T) {
	steps.Run{States: host}.Check(t, "testdata/steps.json")
}

// testdata/own.json has the cases in which the results differ from Salt's.
func TestDeviations(t *testing.T) {
	steps.Run{States: host}.Check(t, "testdata/own.json")
}

type runArgs struct {
	Cmd    any
	Kwargs *data.Map `kwargs:"kwargs"`
}

type formatArgs struct {
	Device, FsType string
	Kwargs         *data.Map `kwargs:"kwargs"`
}

// A new type that blkid does not show at once is waited for, ten times three seconds at most.
func TestTypeComesLate(t *testing.T) {
	dir := t.TempDir()
	device := filepath.Join(dir, "sdb")
	if err := errors.Join(os.WriteFile(device, nil, 0o600),
		os.WriteFile(filepath.Join(dir, "mkfs.ext4"), []byte("#!/bin/false\n"), 0o700)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	for _, c := range []struct {
		after, took time.Duration
		result      bool
	}{{5 * time.Second, 6 * time.Second, true}, {time.Hour, 30 * time.Second, false}} {
		synctest.Test(t, func(t *testing.T) {
			var made time.Time
			states := over(t, []loader.Plugin{
				{Name: "cmd", New: func(*loader.Env) (*loader.Module, error) {
					return &loader.Module{Funcs: []loader.Func{loader.F("run_all",
						func(context.Context, runArgs) (*data.Map, error) {
							if !made.IsZero() && time.Since(made) >= c.after {
								return data.NewMap("retcode", int64(0), "stdout", "ext4", "stderr", ""), nil
							}
							return data.NewMap("retcode", int64(2), "stdout", "", "stderr", ""), nil
						})}}, nil
				}},
				{Name: "disk", New: func(*loader.Env) (*loader.Module, error) {
					return &loader.Module{Funcs: []loader.Func{
						loader.F("tune", func(context.Context, fileArgs) (any, error) { return nil, nil }),
						loader.F("format", func(context.Context, formatArgs) (bool, error) {
							made = time.Now()
							return true, nil
						})}}, nil
				}}})
			start := time.Now()
			v, err := states.Invoke(change.WithCall(t.Context(), change.CallOf(t.Context())),
				"blockdev.formatted", []any{device}, nil)
			ret, ok := v.(*data.Map)
			if err != nil || !ok || ret.Value("result") != c.result || time.Since(start) != c.took {
				t.Errorf("after %v: %s, %v in %v", c.after, data.Repr(v), err, time.Since(start))
			}
		})
	}
}

// A setting that blockdev does not have raises the exception of disk.tune.
func TestUnknownSetting(t *testing.T) {
	states := host(t, t.TempDir())
	for range 2 {
		v, err := states.Invoke(t.Context(), "blockdev.tuned", []any{"/dev/sdb"}, data.NewMap("other", "x"))
		if err == nil || err.Error() != "Invalid keyword arguments: other=x" {
			t.Errorf("got %s, %v", data.Repr(v), err)
		}
	}
}

// A device of which blkid cannot tell the file system is not formatted.
func TestUnreadable(t *testing.T) {
	dir := t.TempDir()
	bin, device := filepath.Join(dir, "bin"), filepath.Join(dir, "sdb")
	err := errors.Join(os.Mkdir(bin, 0o755), os.WriteFile(device, nil, 0o600))
	for name, text := range map[string]string{"blkid": "echo denied >&2; exit 8", "mkfs.ext4": "exit 0",
		"mkfs": ": > " + device + ".formatted"} {
		err = errors.Join(err, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755))
	}
	if err != nil {
		t.Fatal(err)
	}
	states := host(t, dir)
	for range 2 {
		v, err := states.Invoke(change.WithCall(t.Context(), change.CallOf(t.Context())),
			"blockdev.formatted", []any{device}, nil)
		ret, _ := v.(*data.Map)
		want := "look up the file system of " + device + ": blkid returned 8: denied"
		if err != nil || ret.Value("result") != false || ret.Text("comment") != want {
			t.Errorf("got %s, %v, want %q", data.Repr(v), err, want)
		}
	}
	// blkid has the same code for a device that it cannot read, such as a directory, and for a blank one
	err = errors.Join(os.WriteFile(filepath.Join(bin, "blkid"), []byte("#!/bin/sh\nexit 2\n"), 0o755),
		os.Remove(device), os.Mkdir(device, 0o755))
	if err != nil {
		t.Fatal(err)
	}
	v, err := states.Invoke(change.WithCall(t.Context(), change.CallOf(t.Context())),
		"blockdev.formatted", []any{device}, nil)
	ret, _ := v.(*data.Map)
	if err != nil || ret.Value("result") != false || !strings.Contains(ret.Text("comment"), "is a directory") {
		t.Errorf("an unreadable device gives %s, %v", data.Repr(v), err)
	}
	if _, err := os.Stat(device + ".formatted"); err == nil {
		t.Error("the device was formatted")
	}
}

package firewalld_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/steps"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules"
	"github.com/brineproject/brine/states/firewalld"
)

// host returns the states of a host with the programs in dir/bin, and dir as its root.
func host(t *testing.T, dir string) *loader.Registry {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the programs are shell scripts")
	}
	t.Setenv("PATH", filepath.Join(dir, "bin")+":"+os.Getenv("PATH"))
	env := &loader.Env{Root: dir, Opts: data.NewMap(),
		Grains: func() *data.Map { return data.NewMap("kernel", "Linux") }}
	functions, err := loader.NewRegistry(env, modules.Plugins(modules.Brought()))
	if err != nil {
		t.Fatal(err)
	}
	own := &loader.Env{Root: dir, Opts: env.Opts, Grains: env.Grains, Functions: functions,
		Call: functions.Invoke}
	states, err := loader.NewRegistry(own, []loader.Plugin{firewalld.Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	return states
}

// testdata/steps.json has the results of Salt 3006.18, and the commands that changed something, with
// a fake of firewall-cmd that keeps zones in files.
func TestSteps(t *testing.T) {
	steps.Run{States: host}.Check(t, "testdata/steps.json")
}

// testdata/own.json has the cases in which the results differ from Salt's.
func TestDeviations(t *testing.T) {
	steps.Run{States: host}.Check(t, "testdata/own.json")
}

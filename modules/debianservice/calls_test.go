package debianservice

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/replay"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/process"
)

// testdata/calls.json has the commands and results of Salt 3006.0 on the system below
// testdata/root.
func TestCalls(t *testing.T) { replay.Service(t, "testdata/calls.json", Plugin(), nil) }

// Containers often have neither runlevel nor insserv. An invalid PATH stands in for that, since
// installed programs cannot be hidden.
func TestContainer(t *testing.T) {
	for _, program := range []string{"runlevel", "insserv"} {
		if process.Find(program) != "" {
			t.Skipf("the host has %s", program)
		}
	}
	root, err := filepath.Abs("testdata/root")
	if err != nil {
		t.Fatal(err)
	}
	replay.Check(t, "testdata/container.json", replay.Options{Root: root, Plugins: []loader.Plugin{Plugin()}})
}

func TestRejects(t *testing.T) {
	root := t.TempDir()
	for _, c := range []struct {
		os     string
		booted bool
		works  bool
	}{{"Debian", false, true}, {"Devuan", false, true}, {"Ubuntu", false, false}, {"Debian", true, false}} {
		if c.booted {
			if err := os.MkdirAll(filepath.Join(root, "run/systemd/system"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		_, err := newModule(&loader.Env{Root: root,
			Grains: func() *data.Map { return data.NewMap("os", c.os) }})
		if (err == nil) != c.works {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

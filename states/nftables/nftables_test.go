package nftables_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/runs"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/cmd"
	module "github.com/brineproject/brine/modules/nftables"
	"github.com/brineproject/brine/render"
	state "github.com/brineproject/brine/states/nftables"
)

// TestRuns replays results of Salt 3006.18 with real rules in a network of its own: test mode, real
// runs, and test mode again. own.json has what differs from Salt: rules whose text nft changes,
// policies, deletions and chains without rules.
func TestRuns(t *testing.T) {
	if !need.Network(t, "nft list ruleset") {
		return
	}
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "etc"), 0o755); err != nil {
		t.Fatal(err)
	}
	env := &loader.Env{Root: root, Opts: data.NewMap("id", "web1"),
		Grains: func() *data.Map { return data.NewMap("os_family", "Debian") }}
	states := runs.New(t, env, []loader.Plugin{cmd.Plugin(render.Brought{}), module.Plugin()}, state.Plugin())
	states.Replay(t, "testdata/runs.json", "", runs.Equal)
	states.Replay(t, "testdata/own.json", "", runs.Equal)
	if _, err := os.Stat(filepath.Join(root, "etc/nftables")); err != nil {
		t.Errorf("the rules are not saved: %v", err)
	}
}

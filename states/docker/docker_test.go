package docker_test

import (
	"testing"

	"github.com/brineproject/brine/internal/test/testdocker"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/config"
	dockermodule "github.com/brineproject/brine/modules/docker"
	"github.com/brineproject/brine/states/docker"
)

func functions() []loader.Plugin {
	return []loader.Plugin{config.Plugin(), dockermodule.Plugin()}
}

func states() []loader.Plugin {
	return []loader.Plugin{docker.Container(), docker.Image(), docker.Network(), docker.Volume()}
}

// TestStates replays results of Salt 3006.18 with docker 7.1 for Python over the same engine: test mode,
// real runs, and test mode again.
func TestStates(t *testing.T) { testdocker.Replay(t, "testdata/states.json", functions(), states()) }

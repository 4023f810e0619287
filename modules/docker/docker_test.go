package docker_test

import (
	"testing"

	"github.com/brineproject/brine/internal/test/testdocker"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/config"
	"github.com/brineproject/brine/modules/docker"
)

func functions() []loader.Plugin { return []loader.Plugin{config.Plugin(), docker.Plugin()} }

// TestCalls replays results of Salt 3006.18 with docker 7.1 for Python over the same engine. Salt prints
// the details of an error of run_container twice; the file has them once.
func TestCalls(t *testing.T) { testdocker.Replay(t, "testdata/calls.json", functions(), nil) }

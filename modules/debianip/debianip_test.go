package debianip_test

import (
	"testing"

	"github.com/brineproject/brine/internal/test/hostfiles"
	"github.com/brineproject/brine/modules/debianip"
)

func options() hostfiles.Options {
	return hostfiles.Options{Plugin: debianip.Plugin(), Answers: hostfiles.Network(),
		Dirs: []string{"etc/network/interfaces.d", "etc/network/if-up.d", "etc/network/if-down.d", "etc/modprobe.d", "etc/default", "etc/ppp/peers"}}
}

// testdata/calls.json has the results of Salt 3006.18, the files it wrote, and the modules it called.
func TestCalls(t *testing.T) { hostfiles.Check(t, "testdata/calls.json", options()) }

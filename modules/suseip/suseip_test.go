package suseip_test

import (
	"testing"

	"github.com/brineproject/brine/internal/test/hostfiles"
	"github.com/brineproject/brine/modules/suseip"
)

func options() hostfiles.Options {
	return hostfiles.Options{Plugin: suseip.Plugin(), Answers: hostfiles.Network(),
		Dirs: []string{"etc/sysconfig/network"}}
}

// testdata/calls.json has the results of Salt 3006.18, the files it wrote, and the modules it called.
func TestCalls(t *testing.T) { hostfiles.Check(t, "testdata/calls.json", options()) }

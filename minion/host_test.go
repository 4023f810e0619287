package minion

import (
	"slices"
	"strings"
	"testing"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
)

// TestCallerRequestsOnlyItsMasters sends no request for an unknown master to the first one, even if
// the options name no valid master any more.
func TestCallerRequestsOnlyItsMasters(t *testing.T) {
	w := newWorkshop(t, &config.Minion{MinionPaths: config.MinionPaths{CacheDir: t.TempDir()}})
	w.cfg.MasterType = "failover"
	first, second := masterAddress{host: "one", port: 4506}, masterAddress{host: "two", port: 4506}
	c := &Caller{m: w.Minion, addresses: []masterAddress{first, second},
		link: &link{address: first}}
	m := &callerMasters{linkedMasters{w.Minion}, c}
	if got := m.URIs(); !slices.Equal(got, []string{"tcp://one:4506", "tcp://two:4506"}) {
		t.Errorf("URIs = %v", got)
	}
	_, err := m.RequestTo(t.Context(), "tcp://three:4506", data.NewMap("cmd", "ping"))
	if err == nil || !strings.Contains(err.Error(), "is not one of this minion's masters") {
		t.Errorf("RequestTo = %v", err)
	}
}

package minion_test

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/internal/test/freeport"
	"github.com/brineproject/brine/internal/test/testsalt"
	"github.com/brineproject/brine/minion"
)

// joined returns the option master of a caller that has signed in.
func joined(t *testing.T, cfg *config.Minion) (string, error) {
	t.Helper()
	c, err := minion.NewCaller(t.Context(), cfg, cfg.Map(), testsalt.MinionOptions(t, cfg))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Join(t.Context()); err != nil {
		return "", err
	}
	got, err := c.Functions().Invoke(t.Context(), "config.get", []any{"master"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(got), nil
}

// TestCallerPassesMastersThatAreAway goes on at once when no connection can be made, with each kind
// of list.
func TestCallerPassesMastersThatAreAway(t *testing.T) {
	p := newPair(t)
	away := net.JoinHostPort("127.0.0.1", fmt.Sprint(freeport.New(t, 1)[0]))
	p.cfg.Master = []string{away, p.masters[1].Address}
	p.cfg.AuthTimeout = time.Hour
	for _, kind := range []string{"str", "failover", "distributed"} {
		p.cfg.MasterType = kind
		got, err := joined(t, p.cfg)
		if err != nil || got != p.masters[1].Address {
			t.Errorf("%s: option master = %s, %v", kind, got, err)
		}
	}
	p.cfg.Master, p.cfg.AuthTimeout, p.cfg.AuthTries = []string{away, away[:len(away)-1]}, time.Second, 1
	if got, err := joined(t, p.cfg); err == nil || errors.Is(err, channel.ErrPending) {
		t.Errorf("without any master: %s, %v", got, err)
	}
}

// TestCallerTakesMastersInOrder checks which master is taken when all are there.
func TestCallerTakesMastersInOrder(t *testing.T) {
	p := newPair(t)
	for id, want := range map[string]int{"web1": 1, "m5": 0} { // see TestDistributed
		p.cfg.MasterType, p.cfg.ID = "distributed", id
		if got, err := joined(t, p.cfg); err != nil || got != p.cfg.Master[want] {
			t.Errorf("%s is distributed to %s, %v, want %s", id, got, err, p.cfg.Master[want])
		}
	}
	for _, kind := range []string{"str", "failover"} {
		p.cfg.MasterType, p.cfg.RandomMaster, p.cfg.MasterFailback = kind, false, false
		if got, err := joined(t, p.cfg); err != nil || got != p.cfg.Master[0] {
			t.Errorf("%s: %s, %v, want the first", kind, got, err)
		}
		p.cfg.RandomMaster = true
		var seen []string
		for range 64 { // once in 2^63 all are the same
			got, err := joined(t, p.cfg)
			if err != nil {
				t.Fatal(err)
			}
			if seen = append(seen, got); got != seen[0] {
				break
			}
		}
		if !slices.Contains(seen, p.cfg.Master[0]) || !slices.Contains(seen, p.cfg.Master[1]) {
			t.Errorf("%s: random_master takes only %s", kind, seen[0])
		}
	}
	p.cfg.MasterFailback = true
	for range 8 {
		if got, err := joined(t, p.cfg); err != nil || got != p.cfg.Master[0] {
			t.Errorf("with master_failback: %s, %v, want the first", got, err)
		}
	}
}

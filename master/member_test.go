package master

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/cluster"
	"github.com/brineproject/brine/config"
)

// TestIsAlone has a member join while others are there, or were.
func TestIsAlone(t *testing.T) {
	then := time.Now().Add(-2 * time.Minute) // by a clock of NATS that is behind
	seen := func(id string, ago time.Duration) cluster.Member {
		return cluster.Member{ID: id, Seen: then.Add(-ago)}
	}
	for name, c := range map[string]struct {
		members []cluster.Member
		want    bool
	}{
		"nobody else":             {[]cluster.Member{seen("a", 0)}, true},
		"one that lives":          {[]cluster.Member{seen("a", time.Second), seen("b", 0)}, false},
		"one that crashed":        {[]cluster.Member{seen("a", 0), seen("b", 20*time.Second)}, true},
		"one of each":             {[]cluster.Member{seen("a", 0), seen("b", 20*time.Second), seen("c", 2*time.Second)}, false},
		"no sign of this one yet": {[]cluster.Member{seen("b", 0)}, false},
	} {
		if got := isAlone(c.members, "a"); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}

// TestWhyAMemberDoesNotLead has the lead end before it begins, and after. The log does not say of a
// member that never led that it no longer leads.
func TestWhyAMemberDoesNotLead(t *testing.T) {
	for want, fault := range map[string]error{
		"This master cannot begin to lead the cluster": errors.New("too slow"),
		"This master no longer leads the cluster":      nil,
	} {
		synctest.Test(t, func(t *testing.T) {
			turns, _, _ := turnsRig(t)
			log := silent(t)
			said := test.NewLocal(log)
			c := &member{base: newBase(config.DefaultMaster(), Options{Log: log}, nil),
				lead: turns.lead, turns: turns}
			begin := func(context.Context, cluster.Token) error { return fault }
			type work = func(context.Context, cluster.Token) error
			lease := func(ctx context.Context, _ string, do work) error {
				ctx, cancel := context.WithTimeout(ctx, time.Second)
				defer cancel()
				return errors.Join(do(ctx, cluster.Token{Number: 1}), cluster.ErrLeaseLost)
			}
			must(t, c.leadOnce(t.Context(), lease, begin))
			if last := said.LastEntry(); last == nil || last.Message != want || last.Data["error"] == nil {
				t.Errorf("the log ends with %+v, want %q", last, want)
			}
		})
	}
}

// TestEntriesThatAreNoJobsHaveANameInErrors begins to lead while the cluster does not answer.
func TestEntriesThatAreNoJobsHaveANameInErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newStreamLog().idle(t, "a", "", "web1")
		m.orders.log = silentLog{m.orders.log}
		err := m.orders.lead(t.Context(), 7)
		if err == nil || !strings.Contains(err.Error(), "whether the start of lead 7 was published") {
			t.Errorf("the error is %v", err)
		}
		m.orders.log = newStreamLog() // which this member does not follow
		must(t, m.orders.lead(t.Context(), 8))
		if !m.says("An entry about the start of lead 8 is in the cluster") {
			t.Errorf("the log is %+v", m.said.AllEntries())
		}
	})
}

package replica

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/brineproject/brine/cluster"
	"github.com/brineproject/brine/internal/test/need"
)

// An actor changes the bank of a member at random, and records which of its own changes may be the
// last of each name.
type actor struct {
	*member
	id   int
	r    *rand.Rand
	n    int
	last map[string][]string // values; "" is a deletion
}

const gone = ""

var minionBanks = []string{"minions/m1", "minions/m2", "minions/m3", "minions/m4"}

// act makes one change. Durable banks may fail while servers are gone.
func (a *actor) act(t *testing.T, durables bool) {
	bank, key := minionBanks[a.r.IntN(len(minionBanks))], []string{"data", "mine"}[a.r.IntN(2)]
	if durables && a.r.IntN(8) == 0 {
		bank, key = "batches", fmt.Sprint(a.r.IntN(4))
	}
	name := bank + "/" + key
	a.n++
	value := fmt.Sprintf("member %d, change %d", a.id, a.n)
	var err error
	switch a.r.IntN(10) {
	case 0:
		value = gone
		err = a.Flush(bank, key)
	case 1:
		if bank == "batches" {
			bank = "minions/m1"
		}
		err = a.Flush(bank, "")
		for _, k := range []string{"data", "mine"} { // of those that the member had
			a.last[bank+"/"+k] = append(a.last[bank+"/"+k], gone)
		}
		if err != nil {
			t.Errorf("Flush(%s): %v", bank, err)
		}
		return
	default:
		err = a.Store(bank, key, []byte(value))
	}
	switch {
	case err == nil:
		a.last[name] = []string{value}
	case errors.Is(err, cluster.ErrUnavailable) && bank == "batches":
		a.last[name] = append(a.last[name], value) // it may have been stored
	default:
		t.Errorf("change of %s: %v", name, err)
	}
}

// TestMembersEndWithTheSame lets three members change few names at random, while a server is killed,
// another stands still, and a member is away. Then all have the same, and each value is the last
// change of a member.
func TestMembersEndWithTheSame(t *testing.T) {
	need.Time(t, "servers hold elections")
	for seed := range uint64(2) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { randomly(t, seed) })
	}
}

func randomly(t *testing.T, seed uint64) {
	s := newSite(t, 3)
	var actors []*actor
	var members []*member
	for i, id := range []string{"a", "b", "c"} {
		// the last one has so little room that it has to compare
		o := Options{MaxWaiting: []int{0, 0, 2}[i]}
		m := newMember(t, s.join(t, id).Values(cluster.Data), o).start()
		members = append(members, m)
		actors = append(actors, &actor{member: m, id: i, r: rand.New(rand.NewPCG(seed, uint64(i))),
			last: map[string][]string{}})
	}
	agree(t, members...)
	phase := func(name string, changes int, durables bool, do func()) {
		t.Helper()
		var work sync.WaitGroup
		for _, a := range actors {
			work.Go(func() {
				for range changes {
					a.act(t, durables)
				}
			})
		}
		do()
		work.Wait()
		t.Logf("%s: done", name)
	}
	phase("all is well", 200, true, func() {})
	phase("a server is killed", 200, true, func() { s.servers.Leader(t, "KV_test_data").Kill(t) })
	for _, n := range s.servers.Nodes {
		if n.Pid() == 0 {
			n.Restart(t)
		}
	}
	s.servers.Wait(t)
	stopped := s.servers.Leader(t, "KV_test_data")
	phase("a server stands still", 200, true, func() { stopped.Stop(t) })
	stopped.Continue(t)
	s.servers.Wait(t)
	actors[1].end()
	phase("a member is away and restarts", 200, false, func() {})
	actors[1].reopen()
	actors[1].start()
	phase("it is back", 50, true, func() {})
	all := agree(t, members...)
	names := map[string]bool{}
	for _, a := range actors {
		for name := range a.last {
			names[name] = true
		}
	}
	for name := range names {
		var may []string
		for _, a := range actors {
			may = append(may, a.last[name]...)
		}
		if got := all[name]; !slices.Contains(may, got) {
			t.Errorf("%s is %q at the end, the last changes are %q", name, got, may)
		}
	}
	t.Logf("%d names, %d of them with a value: %q", len(names), len(all), slices.Sorted(maps.Keys(all)))
}

package keyfiles

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/testnats"
	"github.com/brineproject/brine/pki"
)

// modelSeed is the flag -keyfiles.seed of the test program.
var modelSeed = flag.Uint64("keyfiles.seed", 0, "seed of TestModel; 0 means the time")

// A model changes the files of members at random, and tells what all must have afterwards.
type model struct {
	t       *testing.T
	r       *rand.Rand
	s       *site
	members []*member
	ids     []string
	keys    []string
	history []string
}

func TestModel(t *testing.T) {
	need.Time(t, "it stops the server")
	seed := *modelSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", seed)
	s := newSite(t, 1)
	m := &model{t: t, r: rand.New(rand.NewPCG(seed, 0)), s: s, keys: newKeys(t, 3)}
	for _, name := range []string{"a", "b", "c"} {
		m.members = append(m.members, s.member(t, name))
	}
	for i := range 8 {
		m.ids = append(m.ids, fmt.Sprint("web", i))
	}
	for range 10 {
		m.history = nil
		before := m.settle()
		frozen := m.r.IntN(2) == 0
		if frozen {
			s.servers.Nodes[0].Stop(t)
		}
		away := m.leaveSome(frozen)
		for range 1 + m.r.IntN(40) {
			m.step()
		}
		finals := m.finals()
		if frozen {
			m.awaitTimeout(before, finals)
			s.servers.Nodes[0].Continue(t)
		}
		for _, back := range away {
			back.start()
		}
		m.judge(before, finals, m.settle(), frozen, len(away) > 0)
	}
}

func (m *model) note(format string, values ...any) {
	m.history = append(m.history, fmt.Sprintf(format, values...))
}

// leaveSome lets members leave, in order or not. Without a server nobody can leave.
func (m *model) leaveSome(frozen bool) (away []*member) {
	if frozen || m.r.IntN(2) == 0 {
		return nil
	}
	one := m.members[m.r.IntN(len(m.members))]
	switch m.r.IntN(3) {
	case 0:
		m.note("%s leaves", one.id)
		one.leave()
	case 1:
		m.note("%s crashes", one.id)
		one.crash(nil)
	case 2:
		m.note("%s crashes with an old state file", one.id)
		text := one.state()
		one.crash(text[:len(text)-m.r.IntN(len(text))])
	}
	return []*member{one}
}

// step changes the files of one id on one member.
func (m *model) step() {
	one := m.members[m.r.IntN(len(m.members))]
	id := m.ids[m.r.IntN(len(m.ids))]
	state := states[m.r.IntN(len(states))]
	key := m.keys[m.r.IntN(len(m.keys))]
	now := one.has(id)
	from, stored := now.Find()
	switch {
	case stored != "" && m.r.IntN(4) == 0:
		m.note("%s deletes %s %s", one.id, from, id)
		_ = os.Remove(one.path(from, id)) // another member may have been faster
	case stored != "" && state != from && state != pki.Denied:
		m.note("%s moves %s from %s to %s", one.id, id, from, state)
		_ = os.Rename(one.path(from, id), one.path(state, id))
	default:
		m.note("%s writes %s as %s", one.id, id, state)
		must(m.t, one.dir.Import(state, id, key))
	}
	if one.cancel != nil && m.r.IntN(4) == 0 && !testnats.Stopped(m.s.servers.Nodes[0].Pid()) {
		m.note("%s syncs %s", one.id, id)
		_ = one.files.Sync(patiently(m.t), id) // Run tries again
	}
}

// awaitTimeout waits in one of six cases until the first change has waited in vain for the server.
func (m *model) awaitTimeout(before map[string]set, finals []map[string]set) {
	if m.r.IntN(6) != 0 {
		return
	}
	for i, one := range m.members {
		if !maps.Equal(before, finals[i]) {
			eventually(m.t, func() bool { _, n := one.files.Status(); return n > 0 },
				func() string { return fmt.Sprintf("no change of %s waits: %q", one.id, m.history) })
		}
	}
}

func (m *model) finals() (all []map[string]set) {
	for _, one := range m.members {
		has := map[string]set{}
		for _, id := range m.ids {
			has[id] = one.has(id)
		}
		all = append(all, has)
	}
	return all
}

// settle waits until all members and the cluster agree on all ids, and returns what they have.
func (m *model) settle() map[string]set {
	m.t.Helper()
	all := map[string]set{}
	for _, id := range m.ids {
		var why string
		eventually(m.t, func() bool {
			r, err := m.members[0].keys.Record(id)
			why = fmt.Sprintf("%s of the cluster, %v", describe(r.Keys), err)
			equal := err == nil
			for _, one := range m.members {
				has := one.has(id)
				mine, err := one.keys.Record(id)
				_, waiting := one.files.Status()
				equal = equal && err == nil && has == r.Keys && mine.Keys == r.Keys && waiting == 0
				why += fmt.Sprintf("; %s has %+v, %d wait", one.id, short(has), waiting)
			}
			all[id] = r.Keys
			return equal
		}, func() string {
			for _, one := range m.members {
				m.t.Logf("%s: %s", one.id, one.logged())
			}
			return fmt.Sprintf("%s does not settle: %s\n%q", id, why, m.history)
		})
	}
	return all
}

func short(s set) (text string) {
	for _, state := range states {
		if key := s.Get(state); key != "" {
			text += fmt.Sprintf("%s %s ", state, describe(set{Accepted: key})[len("accepted key "):])
		}
	}
	return text
}

// judge compares the outcome of a round with what the members had at its end, before they could tell
// each other if the server stood still.
func (m *model) judge(
	before map[string]set, finals []map[string]set, after map[string]set, frozen, crashed bool,
) {
	m.t.Helper()
	for _, id := range m.ids {
		old, _ := before[id].Find()
		changed, accepts, rejects, deletes := 0, 0, 0, 0
		for _, has := range finals {
			if has[id] == before[id] {
				continue
			}
			changed++
			switch state, _ := has[id].Find(); state {
			case pki.Accepted:
				accepts++
			case pki.Rejected:
				rejects++
			case pki.Unknown:
				deletes++
			}
		}
		got, _ := after[id].Find()
		wrong := ""
		switch {
		case changed == 0 && !crashed && frozen && after[id] != before[id]:
			wrong = "nobody has changed it"
		case frozen && rejects > 0 && got != pki.Rejected:
			wrong = "a member has rejected it"
		case frozen && rejects == 0 && deletes > 0 && got != pki.Unknown:
			wrong = "a member has deleted it"
		case frozen && changed > 0 && changed == accepts && got != pki.Accepted:
			wrong = "all who changed it have accepted it"
		case frozen && accepts == 0 && got == pki.Accepted && old != pki.Accepted:
			wrong = "nobody has accepted it"
		}
		if wrong != "" {
			m.t.Errorf("%s was %s and is %s, but %s; members had %s, %s, %s\n%q", id, short(before[id]),
				short(after[id]), wrong, short(finals[0][id]), short(finals[1][id]), short(finals[2][id]), m.history)
		}
	}
}

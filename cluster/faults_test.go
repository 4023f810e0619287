package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/pki/pkitest"
)

// load writes to a cluster from all its members and records what was acknowledged.
type load struct {
	members []*Cluster
	stop    chan struct{}
	work    sync.WaitGroup
	// numbers of acknowledged publications and returns
	published, returned atomic.Int64

	mu           sync.Mutex
	publications map[uint64]string // by serial
	returns      map[string]uint64 // sequence by job
	unclear      map[string]bool   // publications without an acknowledgement
}

// returnersOfMember is how many goroutines add returns to a member at the same time.
const returnersOfMember = 8

func startLoad(t *testing.T, members []*Cluster) *load {
	t.Helper()
	l := &load{members: members, stop: make(chan struct{}), publications: map[uint64]string{},
		returns: map[string]uint64{}, unclear: map[string]bool{}}
	for i, m := range members {
		l.work.Go(func() { l.publish(t, m.Publications(), i) })
		r := m.Returns()
		for n := range returnersOfMember {
			l.work.Go(func() { l.giveBack(t, r, fmt.Sprint(i, "-", n)) })
		}
	}
	return l
}

func (l *load) over() bool {
	select {
	case <-l.stop:
		return true
	default:
		return false
	}
}

func (l *load) publish(t *testing.T, p *Publications, member int) {
	for n := 0; !l.over(); n++ {
		text := fmt.Sprintf("%d.%d", member, n)
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		serial, _, err := p.Publish(ctx, "", []byte(text))
		cancel()
		l.mu.Lock()
		switch {
		case errors.Is(err, ErrUnavailable):
			l.unclear[text] = true
		case err != nil:
			t.Error(err)
		case l.publications[serial] != "":
			t.Errorf("serial %d is of %s and of %s", serial, l.publications[serial], text)
		default:
			l.publications[serial] = text
			l.published.Add(1)
		}
		l.mu.Unlock()
	}
}

// giveBack adds each return until it is acknowledged, as a master does that has it on its disk.
func (l *load) giveBack(t *testing.T, r *Returns, name string) {
	for n := 0; !l.over(); n++ {
		jid := fmt.Sprintf("%s.%d", name, n)
		for {
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
			sequence, err := r.Add(ctx, []byte(jid))
			cancel()
			if err == nil {
				l.mu.Lock()
				l.returns[jid] = sequence
				l.mu.Unlock()
				l.returned.Add(1)
				break
			}
			if !errors.Is(err, ErrUnavailable) {
				t.Error(err)
				return
			}
		}
	}
}

// goesOn waits until more writes of both kinds are acknowledged.
func (l *load) goesOn(t *testing.T, after string) {
	t.Helper()
	start := time.Now()
	for what, count := range map[string]*atomic.Int64{"publications": &l.published, "returns": &l.returned} {
		target := count.Load() + 50
		eventually(t, what+" after "+after, func() bool { return count.Load() >= target })
	}
	t.Logf("%s: writes go on after %s", after, time.Since(start).Round(10*time.Millisecond))
}

// A record is what a member has read.
type record struct {
	mu           sync.Mutex
	publications []Publication
	returns      []ReturnEntry
}

func startReader(t *testing.T, c *Cluster) *record {
	t.Helper()
	r := &record{}
	following(t, func(ctx context.Context) error {
		err := c.Publications().Subscribe(ctx, 0, func(p Publication) error {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.publications = append(r.publications, p)
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		return err
	})
	following(t, func(ctx context.Context) error {
		err := c.Returns().Subscribe(ctx, 0, func(e ReturnEntry) error {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.returns = append(r.returns, e)
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		return err
	})
	return r
}

// underLoad writes from three members and reads at each, while do disturbs the servers. Nothing that
// was acknowledged may be lost, doubled, or in another order at another member. Servers older than
// least cannot promise that.
func underLoad(t *testing.T, least string, do func(*site, []*Cluster, *load)) {
	t.Helper()
	need.Time(t, "servers hold elections")
	t.Parallel()
	s := three(t)
	members := []*Cluster{s.join(t, "a"), s.join(t, "b"), s.join(t, "c")}
	need.Have(t, "nats-server "+least+" or later, since older ones lose messages",
		atLeast(members[0].nc.ConnectedServerVersion(), least))
	var readers []*record
	for _, m := range members {
		readers = append(readers, startReader(t, m))
	}
	l := startLoad(t, members)
	l.goesOn(t, "the start")
	do(s, members, l)
	for _, m := range members {
		eventually(t, "the quorum", func() bool { return m.Quorum() == nil })
	}
	close(l.stop)
	l.work.Wait()
	l.check(t, members[0], readers)
}

func TestAKilledServerLosesNothing(t *testing.T) {
	underLoad(t, leastVersion, func(s *site, _ []*Cluster, l *load) {
		killed := s.servers.Leader(t, "test_returns")
		killed.Kill(t)
		l.goesOn(t, "the leader of the returns was killed")
		killed.Restart(t)
		s.servers.Wait(t)
		l.goesOn(t, "it was started again")
	})
}

func TestAStoppedServerLosesNothing(t *testing.T) {
	underLoad(t, leastReplicated, func(s *site, _ []*Cluster, l *load) {
		stopped := s.servers.Leader(t, "test_publications")
		stopped.Stop(t)
		l.goesOn(t, "the leader of the publications was stopped")
		stopped.Continue(t)
		s.servers.Wait(t)
		l.goesOn(t, "it continued")
	})
}

func TestALostQuorumLosesNothing(t *testing.T) {
	texts := pkitest.NewKeys(t)
	underLoad(t, leastReplicated, func(s *site, members []*Cluster, l *load) {
		keys := openKeys(t, members[0])
		must(t, keys.Create(pki.Pending, "web1", texts.A))
		var changed []<-chan struct{}
		for _, m := range members {
			eventually(t, "the quorum", func() bool { return m.Quorum() == nil })
			changed = append(changed, m.Changed())
		}
		start := time.Now()
		s.servers.Nodes[0].Stop(t)
		s.servers.Nodes[1].Stop(t)
		for i, m := range members {
			receiveClosed(t, changed[i])
			if err := m.Quorum(); !errors.Is(err, ErrUnavailable) {
				t.Errorf("Quorum of member %d = %v, want %v", i, err, ErrUnavailable)
			}
		}
		t.Logf("the loss of the quorum is noticed after %s", time.Since(start).Round(10*time.Millisecond))
		if state, _, err := keys.Find("web1"); state != pki.Pending || err != nil {
			t.Errorf("without a quorum the key is %s, %v", state, err)
		}
		if err := keys.Move("web1", pki.Pending, pki.Accepted); !errors.Is(err, ErrUnavailable) {
			t.Errorf("without a quorum a key moves: %v, want %v", err, ErrUnavailable)
		}
		s.servers.Nodes[0].Continue(t)
		s.servers.Nodes[1].Continue(t)
		s.servers.Wait(t)
		l.goesOn(t, "the quorum came back")
	})
}

func receiveClosed(t *testing.T, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(patience):
		t.Fatal("no change of the quorum")
	}
}

// check compares what was acknowledged with what the members have read.
func (l *load) check(t *testing.T, c *Cluster, readers []*record) {
	t.Helper()
	lastPublication, err := c.Publications().Last(patiently(t))
	must(t, err)
	lastReturn, err := c.Returns().Last(patiently(t))
	must(t, err)
	for i, r := range readers {
		eventually(t, "all entries", func() bool {
			r.mu.Lock()
			defer r.mu.Unlock()
			return uint64(len(r.publications)) >= lastPublication && uint64(len(r.returns)) >= lastReturn
		})
		r.mu.Lock()
		defer r.mu.Unlock()
		faults := append(l.judgePublications(r.publications), l.judgeReturns(r.returns)...)
		if len(faults) > 0 {
			t.Errorf("member %d has read %d wrong entries, such as\n%s", i, len(faults),
				strings.Join(faults[:min(len(faults), 10)], "\n"))
		}
	}
	t.Logf("%d publications, %d of them without an acknowledgement at first; %d returns", lastPublication,
		len(l.unclear), lastReturn)
}

// judgePublications returns what is wrong with the publications that a member has read.
func (l *load) judgePublications(read []Publication) (faults []string) {
	once := map[string]bool{}
	for n, p := range read {
		text := string(p.Body)
		if p.Serial != uint64(n+1) || once[text] {
			faults = append(faults, fmt.Sprintf("entry %d is publication %d, %s; it came before: %t", n+1, p.Serial, text,
				once[text]))
		}
		once[text] = true
		if want := l.publications[p.Serial]; want != text && !(want == "" && l.unclear[text]) {
			faults = append(faults, fmt.Sprintf("publication %d is %s, acknowledged was %q", p.Serial, text, want))
		}
	}
	for serial, text := range l.publications {
		if !once[text] {
			faults = append(faults, fmt.Sprintf("publication %d, %s, is lost", serial, text))
		}
	}
	return faults
}

// judgeReturns returns what is wrong with the entries that a member has read. A return whose acknowledgement was
// lost is there twice.
func (l *load) judgeReturns(read []ReturnEntry) (faults []string) {
	at := map[string][]uint64{}
	for n, e := range read {
		if e.Sequence != uint64(n+1) || e.Problem != nil {
			faults = append(faults, fmt.Sprintf("entry %d is entry %d, %v", n+1, e.Sequence, e.Problem))
		}
		for _, body := range e.Returns {
			at[string(body)] = append(at[string(body)], e.Sequence)
		}
	}
	for jid, sequence := range l.returns {
		if !slices.Contains(at[jid], sequence) {
			faults = append(faults, fmt.Sprintf("return of %s was acknowledged as %d and is at %d", jid, sequence, at[jid]))
		}
	}
	return faults
}

// TestMembersNoticeTheLossOfTheQuorum needs no promise of the servers.
func TestMembersNoticeTheLossOfTheQuorum(t *testing.T) {
	need.Time(t, "servers hold elections")
	t.Parallel()
	s := three(t)
	c := s.join(t, "a")
	changed := c.Changed()
	s.servers.Nodes[0].Stop(t)
	s.servers.Nodes[2].Stop(t)
	receiveClosed(t, changed)
	if err := c.Quorum(); !errors.Is(err, ErrUnavailable) {
		t.Errorf("Quorum = %v, want %v", err, ErrUnavailable)
	}
	s.servers.Nodes[0].Continue(t)
	eventually(t, "the quorum of two", func() bool { return c.Quorum() == nil })
	s.servers.Nodes[2].Continue(t)
	_, _, err := c.Publications().Publish(patiently(t), "", nil)
	must(t, err)
}

package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/brineproject/brine/internal/test/testnats"
)

// following calls subscribe in the background until the end of the test, and returns its error.
func following(t testing.TB, subscribe func(context.Context) error) <-chan error {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	var wg sync.WaitGroup
	wg.Go(func() { ended <- subscribe(ctx) })
	t.Cleanup(func() { cancel(); wg.Wait() })
	return ended
}

func TestPublicationsComeInOrderAfterAPosition(t *testing.T) {
	s := one(t)
	a, b := s.join(t, "a").Publications(), s.join(t, "b").Publications()
	ctx := patiently(t)
	const n = 100
	for i := range uint64(n) {
		from := a
		if i%2 == 1 {
			from = b
		}
		serial, _, err := from.Publish(ctx, "", fmt.Append(nil, "job ", i+1))
		if serial != i+1 || err != nil {
			t.Fatalf("Publish = %d, %v, want %d", serial, err, i+1)
		}
	}
	for _, after := range []uint64{0, 1, 50, n - 1} {
		got := make(chan Publication, 2*n)
		following(t, func(ctx context.Context) error {
			return b.Subscribe(ctx, after, func(p Publication) error { got <- p; return nil })
		})
		for i, p := range receive(t, got, int(n-after)) {
			want := after + uint64(i) + 1
			if p.Serial != want || string(p.Body) != fmt.Sprint("job ", want) {
				t.Fatalf("after %d, entry %d is %d, %q", after, i, p.Serial, p.Body)
			}
		}
		serial, _, err := a.Publish(ctx, "", []byte("later"))
		must(t, err)
		for {
			if p := receive(t, got, 1)[0]; p.Serial == serial {
				break
			}
		}
	}
	if last, err := b.Last(ctx); last != n+4 || err != nil {
		t.Errorf("Last = %d, %v", last, err)
	}
}

func TestSubscribersLearnWhatIsMissing(t *testing.T) {
	s := one(t)
	s.o.PublicationsBytes = 1 << 20
	c := s.join(t, "a")
	p := c.Publications()
	ctx := patiently(t)
	for range 20 { // twice the limit of the stream
		_, _, err := p.Publish(ctx, "", make([]byte, 100<<10))
		must(t, err)
	}
	ignore := func(Publication) error { return nil }
	var gap *Gap
	if err := p.Subscribe(ctx, 1, ignore); !errors.As(err, &gap) || gap.First != 2 || gap.Last < 10 {
		t.Errorf("from a position that is gone: %v, want a gap from 2 on", err)
	}
	first := make(chan Publication, 100)
	following(t, func(ctx context.Context) error {
		return p.Subscribe(ctx, 0, func(p Publication) error { first <- p; return nil })
	})
	if got := receive(t, first, 1)[0]; got.Serial < 2 {
		t.Errorf("the first is %d", got.Serial)
	}
	f := &follower{c: c, stream: c.name(forPublications), after: 1000, strict: true}
	must(t, errorIs(f.checkEnd(20), errAgain)) // a deposed leader may say so
	f.early = f.early.Add(-2 * DeposedTime)
	must(t, errorIs(f.checkEnd(20).(*stopped).err, ErrRestarted))
	own := errors.New("own")
	if err := p.Subscribe(ctx, 0, func(Publication) error { return own }); !errors.Is(err, own) {
		t.Errorf("Subscribe = %v, want the error of the handler", err)
	}
}

// TestStreamsTellTheirFirstMessage looks at a stream that never had a message, at one that has some,
// and at one whose messages are gone.
func TestStreamsTellTheirFirstMessage(t *testing.T) {
	c := one(t).join(t, "a")
	p, ctx := c.Publications(), patiently(t)
	first := func(want uint64) {
		t.Helper()
		if n, err := p.First(ctx); n != want || err != nil {
			t.Errorf("First = %d, %v, want %d", n, err, want)
		}
	}
	first(1)
	for range 3 {
		_, _, err := p.Publish(ctx, "", nil)
		must(t, err)
	}
	first(1)
	s, err := c.handle(ctx, c.name(forPublications))
	must(t, err)
	must(t, s.Purge(ctx, jetstream.WithPurgeSequence(3)))
	first(3)
	must(t, s.Purge(ctx))
	first(4)
	if n, err := c.Returns().First(ctx); n != 1 || err != nil {
		t.Errorf("First of returns = %d, %v", n, err)
	}
}

func errorIs(err, want error) error {
	if !errors.Is(err, want) {
		return fmt.Errorf("%w, want %w", err, want)
	}
	return nil
}

func TestSubscribersNeedTheClusterKey(t *testing.T) {
	s := one(t)
	rewrite(t, s.key, keyA)
	a := s.join(t, "a")
	ctx := patiently(t)
	_, _, err := a.Publications().Publish(ctx, "", nil)
	must(t, err)
	_, err = a.Returns().Add(ctx, nil)
	must(t, err)
	b := s.join(t, "b")
	rewrite(t, s.key, keyB)
	for _, member := range []string{"a", "c"} {
		if _, err := s.open(t, member); !errors.Is(err, ErrUnknownKey) {
			t.Errorf("Open of %s = %v, want %v", member, err, ErrUnknownKey)
		}
	}
	must(t, a.Close())
	rewrite(t, s.key, keyA)
	if all, err := s.join(t, "c").Members(ctx); err != nil || len(all) != 2 {
		t.Errorf("after a start with another key: members %v, %v", all, err)
	}
	rewrite(t, s.key, keyB)
	b.secret, err = LoadSecret(s.key)
	must(t, err)
	jobs, returns := make(chan Publication, 1), make(chan ReturnEntry, 1)
	following(t, func(ctx context.Context) error {
		return b.Publications().Subscribe(ctx, 0, func(p Publication) error { jobs <- p; return nil })
	})
	following(t, func(ctx context.Context) error {
		return b.Returns().Subscribe(ctx, 0, func(r ReturnEntry) error { returns <- r; return nil })
	})
	if p := receive(t, jobs, 1)[0]; !errors.Is(p.Problem, ErrUnknownKey) || p.Serial != 1 || p.Body != nil {
		t.Errorf("publications: %+v", p)
	}
	if r := receive(t, returns, 1)[0]; !errors.Is(r.Problem, ErrUnknownKey) || r.Sequence != 1 || r.Returns != nil {
		t.Errorf("returns: %+v", r)
	}
	if all := b.UnknownKeys(); len(all) != 1 || all[0].Entries != 2 || all[0].Sequence != 1 {
		t.Errorf("unknown keys: %+v", all)
	}
}

// TestReturnsThatComeTogether adds returns from two members at once. Each is in the entry that Add has named.
func TestReturnsThatComeTogether(t *testing.T) {
	s := one(t)
	members := []*Returns{s.join(t, "a").Returns(), s.join(t, "b").Returns()}
	ctx := patiently(t)
	const each = 300
	var work sync.WaitGroup
	var mu sync.Mutex
	want := map[string]uint64{}
	for m, r := range members {
		for i := range each {
			work.Go(func() {
				body := fmt.Sprintf("%d.%d", m, i)
				sequence, err := r.Add(ctx, []byte(body))
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				want[body] = sequence
			})
		}
	}
	work.Wait()
	last, err := members[1].Last(ctx)
	must(t, err)
	if last > each {
		t.Errorf("%d returns have %d entries", 2*each, last)
	}
	entries := make(chan ReturnEntry, last)
	following(t, func(ctx context.Context) error {
		return members[1].Subscribe(ctx, 0, func(e ReturnEntry) error { entries <- e; return nil })
	})
	got := map[string]uint64{}
	for n, e := range receive(t, entries, int(last)) {
		if e.Sequence != uint64(n+1) || e.Problem != nil || len(e.Returns) > mostTogether {
			t.Errorf("entry %d: sequence %d, %d returns, %v", n+1, e.Sequence, len(e.Returns), e.Problem)
		}
		for _, body := range e.Returns {
			if got[string(body)] != 0 {
				t.Errorf("return %s is there twice", body)
			}
			got[string(body)] = e.Sequence
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("read %v\nadded %v", got, want)
	}
}

// A message may be larger than what a consumer has under way otherwise.
func TestLargeMessagesStopNobody(t *testing.T) {
	s := newSite(t, testnats.Options{MaxPayload: 8 << 20})
	c := s.join(t, "a")
	ctx := patiently(t)
	sizes := []int{1, c.payload() - sealOverhead - 1<<10, 2}
	for _, size := range sizes {
		_, _, err := c.Publications().Publish(ctx, "", make([]byte, size))
		must(t, err)
	}
	got := make(chan Publication, 10)
	following(t, func(ctx context.Context) error {
		return c.Publications().Subscribe(ctx, 0, func(p Publication) error { got <- p; return nil })
	})
	for i, p := range receive(t, got, len(sizes)) {
		if len(p.Body) != sizes[i] {
			t.Errorf("publication %d has %d bytes, want %d", i, len(p.Body), sizes[i])
		}
	}
}

func TestLargeReturns(t *testing.T) {
	s := newSite(t, testnats.Options{MaxPayload: 64 << 10})
	s.o.MaxReturn = 1 << 20
	c := s.join(t, "a")
	r := c.Returns()
	ctx := patiently(t)
	var bodies [][]byte
	for i, size := range []int{r.chunk(), r.chunk() + 1, 1 << 20} {
		bodies = append(bodies, bytes.Repeat([]byte{byte(i + 1)}, size))
		_, err := r.Add(ctx, bodies[i])
		must(t, err)
	}
	_, err := r.Add(ctx, make([]byte, 1<<20+1))
	if !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "return_max_bytes") {
		t.Errorf("Add beyond the limit: %v, want %v", err, ErrTooLarge)
	}
	if _, _, err := c.Publications().Publish(ctx, "", make([]byte, 64<<10)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("Publish beyond the limit: %v, want %v", err, ErrTooLarge)
	}
	// the parts of the last go missing
	stream, err := c.js.Stream(ctx, c.name(forChunks))
	must(t, err)
	last, err := c.lastSequence(ctx, c.name(forChunks))
	must(t, err)
	must(t, stream.DeleteMsg(ctx, last-3))
	got := make(chan ReturnEntry, 10)
	following(t, func(ctx context.Context) error {
		return r.Subscribe(ctx, 0, func(r ReturnEntry) error { got <- r; return nil })
	})
	for i, e := range receive(t, got, 3) {
		switch {
		case i == 2 && (!errors.Is(e.Problem, ErrIncomplete) || e.Returns != nil):
			t.Errorf("without a part: %v, want %v", e.Problem, ErrIncomplete)
		case i < 2 && (e.Problem != nil || len(e.Returns) != 1 || !bytes.Equal(e.Returns[0], bodies[i])):
			t.Errorf("entry %d has %d returns, %v, want one of %d bytes", i, len(e.Returns), e.Problem, len(bodies[i]))
		}
	}
}

// TestReturnsOfTheFirstForm reads entries as members wrote them that had one for each return, and one without any.
func TestReturnsOfTheFirstForm(t *testing.T) {
	r, err := readReturns([]byte("\x83\xa3jid\xa11\xa6minion\xa1m\xa4body\xa2ok"))
	if err != nil || len(r.Bodies) != 1 || string(r.Bodies[0]) != "ok" {
		t.Errorf("got %q, %v", r.Bodies, err)
	}
	if r, err := readReturns([]byte("\x81\xa3jid\xa11")); err == nil {
		t.Errorf("an entry without a return is %+v", r)
	}
}

func TestForgedPublicationsDoNotHoldUpOthers(t *testing.T) {
	c := one(t).join(t, "a")
	p := c.Publications()
	ctx := patiently(t)
	_, err := c.js.Publish(ctx, c.subject(forPublications), p.sealer.Seal([]byte("x"), "elsewhere"))
	must(t, err)
	_, _, err = p.Publish(ctx, "", []byte("y"))
	must(t, err)
	got := make(chan Publication, 10)
	following(t, func(ctx context.Context) error {
		return p.Subscribe(ctx, 0, func(p Publication) error { got <- p; return nil })
	})
	all := receive(t, got, 2)
	if !errors.Is(all[0].Problem, ErrSealed) || all[0].Body != nil || all[1].Problem != nil || string(all[1].Body) != "y" {
		t.Errorf("got %+v", all)
	}
}

func TestForgedReturnsDoNotHoldUpOthers(t *testing.T) {
	s := one(t)
	c := s.join(t, "a")
	r := c.Returns()
	ctx := patiently(t)
	_, err := r.Add(ctx, []byte("1"))
	must(t, err)
	raw, err := c.js.Stream(ctx, c.name(forReturns))
	must(t, err)
	m, err := raw.GetMsg(ctx, 1)
	must(t, err)
	m.Data[len(m.Data)-1] ^= 1
	_, err = c.js.Publish(ctx, c.subject(forReturns), m.Data)
	must(t, err)
	_, err = r.Add(ctx, []byte("2"))
	must(t, err)
	got := make(chan ReturnEntry, 10)
	following(t, func(ctx context.Context) error {
		return r.Subscribe(ctx, 0, func(r ReturnEntry) error { got <- r; return nil })
	})
	all := receive(t, got, 3)
	if string(all[0].Returns[0]) != "1" || !errors.Is(all[1].Problem, ErrSealed) || all[1].Sequence != 2 ||
		string(all[2].Returns[0]) != "2" {
		t.Errorf("got %+v", all)
	}
}

// TestAFullStreamDropsTheOldest checks that a member that was away for too long learns of its loss.
func TestAFullStreamDropsTheOldest(t *testing.T) {
	s := one(t)
	s.o.ReturnsBytes = 1 << 20
	c := s.join(t, "a")
	ctx := patiently(t)
	for i := range 20 {
		_, err := c.Returns().Add(ctx, bytes.Repeat([]byte{byte(i)}, 100<<10))
		must(t, err)
	}
	err := c.Returns().Subscribe(ctx, 1, func(ReturnEntry) error { return nil })
	if !errors.Is(err, ErrGap) {
		t.Errorf("Subscribe = %v, want %v", err, ErrGap)
	}
	last := errors.New("the last one")
	err = c.Returns().Subscribe(ctx, 0, func(r ReturnEntry) error {
		if r.Returns[0][0] == 19 {
			return last
		}
		return nil
	})
	if !errors.Is(err, last) {
		t.Errorf("Subscribe from the beginning = %v", err)
	}
}

func TestTooManyWritesAreRefused(t *testing.T) {
	s := one(t)
	c := s.join(t, "a")
	must(t, c.room.Acquire(t.Context(), maxInFlight-perWrite+1)) // as writes that hang do
	ctx, cancel := context.WithTimeout(t.Context(), 1)
	defer cancel()
	if _, _, err := c.Publications().Publish(ctx, "", nil); !errors.Is(err, ErrBusy) {
		t.Errorf("Publish = %v, want %v", err, ErrBusy)
	}
	c.room.Release(maxInFlight - perWrite + 1)
	_, _, err := c.Publications().Publish(patiently(t), "", nil)
	must(t, err)
}

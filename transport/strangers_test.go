package transport

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestStrangers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, other := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
		s := NewStrangers(400)
		take := func(from netip.Addr, n, want int) {
			t.Helper()
			began := time.Now()
			taken, ok := s.Take(from, n, time.Minute)
			if taken != want || ok != (want > 0) {
				t.Errorf("Take(%s, %d) = %d, %v, want %d", from, n, taken, ok, want)
			}
			if waited := time.Since(began); want > 0 && waited > 0 || want == 0 && waited != time.Minute {
				t.Errorf("Take(%s, %d) waited for %v", from, n, waited)
			}
		}
		take(one, 60, 60)
		take(one, 60, 0)       // above the quarter of one address
		take(other, 1000, 100) // a message above the quarter has all of that
		take(netip.MustParseAddr("2001:db8:0:1::1"), 100, 100)
		take(netip.MustParseAddr("2001:db8:0:1::2"), 1, 0) // of the same network
		take(netip.MustParseAddr("2001:db8:0:2::2"), 100, 100)
		take(netip.MustParseAddr("192.0.2.3"), 41, 0) // 360 are in use

		served := make(chan bool)
		wait := func(from netip.Addr) {
			_, ok := s.Take(from, 100, time.Minute)
			served <- ok
		}
		go wait(other)
		synctest.Wait()
		s.Give(other, 100)
		if !<-served {
			t.Error("who waits does not get what is given back")
		}
		go wait(other)
		synctest.Wait()
		if s.Close(); <-served {
			t.Error("who waits gets room at the end")
		}
		if _, ok := NewStrangers(-1).Take(one, 1<<40, time.Minute); !ok {
			t.Error("room without a limit is short")
		}
		if s.Give(one, 60); len(s.by) != 3 {
			t.Errorf("%d addresses are kept, want 3", len(s.by))
		}
	})
}

// TestStrangersTakeTurns: no message overtakes an earlier one of its network, nor one of another
// network whose turn it is.
func TestStrangersTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		addr := func(i int) netip.Addr { return netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}) }
		s := NewStrangers(400)
		var mu sync.Mutex
		var served []string
		wait := func(name string, from, n int) {
			go func() {
				if _, ok := s.Take(addr(from), n, 0); ok {
					mu.Lock()
					defer mu.Unlock()
					served = append(served, name)
				}
			}()
			synctest.Wait()
		}
		gives := func(from, n int, want ...string) {
			t.Helper()
			served = nil
			s.Give(addr(from), n)
			synctest.Wait()
			if slices.Sort(served); !slices.Equal(served, want) {
				t.Errorf("%d bytes of %d that were given back serve %q, want %q", n, from, served, want)
			}
		}
		for i := range 4 {
			if _, ok := s.Take(addr(i), 90, 0); !ok {
				t.Fatal("no room at the start")
			}
		}
		wait("large of 0", 0, 100)
		wait("small of 0", 0, 5) // fits both the quarter and the total, but is the later one
		wait("large of 4", 4, 100)
		wait("small of 5", 5, 10) // fits the total
		if len(served) > 0 {
			t.Fatalf("%q do not wait", served)
		}
		gives(1, 30)               // 330 are in use: too little for the oldest whose quarter has room
		gives(2, 30, "large of 4") // 300
		gives(0, 90, "small of 5") // 310: the large one of 0 comes after those that waited for their turn
		gives(3, 20, "large of 0") // 300
		gives(0, 100, "small of 0")
	})
}

// TestStrangersWithMuchDoNotStarveOthers: four networks that fill the room and have hundreds of
// messages waiting each let a fifth in at its turn.
func TestStrangersWithMuchDoNotStarveOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		addr := func(i int) netip.Addr { return netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}) }
		s := NewStrangers(32 << 20)
		var all sync.WaitGroup
		for i := range 4 * 200 {
			all.Go(func() {
				if n, ok := s.Take(addr(i%4), 1<<20, 0); ok {
					time.Sleep(30 * time.Second)
					s.Give(addr(i%4), n)
				}
			})
		}
		synctest.Wait()
		began := time.Now()
		if n, ok := s.Take(addr(4), 100<<10, time.Minute); !ok || time.Since(began) > 30*time.Second {
			t.Errorf("after %v: %d bytes, %v", time.Since(began), n, ok)
		}
		s.Close()
		all.Wait()
	})
}

// TestStrangersWithHardlyAnyRoom: a limit below four bytes is still a limit.
func TestStrangersWithHardlyAnyRoom(t *testing.T) {
	s := NewStrangers(1)
	if n, ok := s.Take(netip.MustParseAddr("192.0.2.1"), 100, 0); n != 1 || !ok {
		t.Errorf("the first got %d, %v", n, ok)
	}
	if n, ok := s.Take(netip.MustParseAddr("192.0.2.2"), 100, time.Millisecond); ok {
		t.Errorf("the second got %d", n)
	}
}

// TestStrangersPatience: who leaves makes way for those behind them, and at the end nobody gets
// room.
func TestStrangersPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, other := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
		s := NewStrangers(400)
		s.Take(one, 50, 0)
		results := make(chan string, 3)
		wait := func(name string, from netip.Addr, n int, patience time.Duration) {
			go func() {
				began := time.Now()
				_, ok := s.Take(from, n, patience)
				results <- fmt.Sprintf("%s %v %v", name, ok, time.Since(began))
			}()
			synctest.Wait()
		}
		wait("first", one, 100, time.Minute)
		wait("second", one, 50, time.Hour)
		for _, want := range []string{"first false 1m0s", "second true 1m0s"} {
			if got := <-results; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
		s.Take(other, 100, 0)
		wait("third", other, 1, 0)
		if time.Sleep(24 * time.Hour); len(results) > 0 {
			t.Errorf("without a limit of patience: %q", <-results)
		}
		s.Close()
		if got, want := <-results, "third false 24h0m0s"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if _, ok := s.Take(netip.MustParseAddr("192.0.2.3"), 1, 0); ok {
			t.Error("there is room after the end")
		}
		s.Give(one, 100)
		s.Give(other, 100)
		checkEmpty(t, s)
	})
}

// TestStrangersLoseNothing has many take, wait, give up and give back at random.
func TestStrangersLoseNothing(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			s := NewStrangers(1000)
			var all sync.WaitGroup
			for i := range 200 {
				rnd := rand.New(rand.NewPCG(seed, uint64(i)))
				from := netip.AddrFrom4([4]byte{192, 0, 2, byte(rnd.IntN(12))})
				all.Go(func() {
					for range 20 {
						// whole seconds: room and the end of patience often meet
						time.Sleep(time.Duration(rnd.IntN(20)) * time.Second)
						patience := time.Duration(rnd.IntN(10)) * time.Second
						if n, ok := s.Take(from, 1+rnd.IntN(400), patience); ok {
							s.check(t)
							time.Sleep(time.Duration(rnd.IntN(5)) * time.Second)
							s.Give(from, n)
						}
						s.check(t)
					}
				})
			}
			if seed%4 == 0 {
				time.Sleep(100 * time.Second)
				s.Close()
			}
			all.Wait()
			checkEmpty(t, s)
		})
	}
}

// check says what is wrong with the books.
func (s *Strangers) check(t *testing.T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	used, fit := 0, 0
	for source, c := range s.by {
		w := c.first()
		used += c.used
		fits := w != nil && c.used+w.n <= s.quarter()
		if fits {
			fit++
		}
		if c.used < 0 || c.used > s.quarter() || c.used == 0 && w == nil ||
			fits != (c.at != outside) || fits && s.next[c.at] != c {
			t.Errorf("%s has %d bytes, is at %d, and waits with %v", source, c.used, c.at, w)
		}
		if fits && c.turn <= s.next[0].turn && s.used+w.n <= s.limit {
			t.Errorf("%s waits though it is its turn and there is room", source)
		}
	}
	if used != s.used || used > s.limit || fit != len(s.next) {
		t.Errorf("%d bytes are in use, %d by all senders; %d may be served, %d are in line", s.used,
			used, fit, len(s.next))
	}
}

func checkEmpty(t *testing.T, s *Strangers) {
	t.Helper()
	if s.used != 0 || len(s.by) != 0 || len(s.next) != 0 {
		t.Errorf("at the end %d bytes are in use, by %v, and %d are in line", s.used, s.by, len(s.next))
	}
}

// BenchmarkStrangersGive gives back what one message had while so many wait, of one network or each
// of its own, and queues one more.
func BenchmarkStrangersGive(b *testing.B) {
	const size = 100
	for _, networks := range []int{1, 10_000} {
		for _, waiting := range []int{10, 10_000} {
			b.Run(fmt.Sprintf("networks=%d/waiting=%d", min(networks, waiting), waiting), func(b *testing.B) {
				s := NewStrangers(4 * size)
				from := func(i int) netip.Addr {
					i %= networks
					return netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)})
				}
				ring := make([]*waiter, waiting+min(networks, 4)) // the oldest have room
				for i := range ring {
					ring[i] = s.join(NetworkOf(from(i)), size)
				}
				at := 0
				b.ReportAllocs()
				for b.Loop() {
					i := at % len(ring)
					if ring[i].waits() {
						b.Fatal("the oldest has no room")
					}
					s.Give(from(i), size)
					ring[i] = s.join(NetworkOf(from(i)), size)
					at++
				}
			})
		}
	}
}

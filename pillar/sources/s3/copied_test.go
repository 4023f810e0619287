package s3

import (
	"context"
	"crypto/md5"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/fakeweb"
	"github.com/brineproject/brine/pillar"
)

// A shop is a store of one bucket whose objects change, cannot be read, or are slow.
type shop struct {
	*fakeweb.Server
	mu      sync.Mutex
	objects map[string]string
	broken  string        // the key of an object that cannot be read
	slow    string        // the key of an object whose request waits for release
	asked   chan struct{} // gets a value when the slow object is asked for
	release chan struct{}
}

func openShop(t *testing.T, objects map[string]string) *shop {
	t.Helper()
	s := &shop{objects: objects, asked: make(chan struct{}, 100), release: make(chan struct{})}
	s.Server = fakeweb.New(t, s.answer)
	return s
}

func (s *shop) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

func (s *shop) answer(r fakeweb.Request) *fakeweb.Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if key := strings.TrimPrefix(r.Path, "/pillar/"); key != "" {
		if key == s.slow {
			s.mu.Unlock()
			s.asked <- struct{}{}
			<-s.release
			s.mu.Lock()
		}
		if key == s.broken {
			return &fakeweb.Answer{Status: 403}
		}
		return &fakeweb.Answer{Body: s.objects[key]}
	}
	body, query := "", func() url.Values { v, _ := url.ParseQuery(r.Query); return v }()
	for _, key := range slices.Sorted(maps.Keys(s.objects)) {
		if strings.HasPrefix(key, query.Get("prefix")) {
			body += fmt.Sprintf("<Contents><Key>%s</Key><ETag>&quot;%x&quot;</ETag></Contents>", key,
				md5.Sum([]byte(s.objects[key])))
		}
	}
	return &fakeweb.Answer{Body: "<ListBucketResult>" + body + "</ListBucketResult>"}
}

// got returns the pillar, or the error.
func got(ctx context.Context, s *Source, q pillar.Query) string {
	m, err := s.Pillar(ctx, q)
	if err != nil {
		return err.Error()
	}
	return data.Repr(m)
}

const none = "the bucket could not be read yet; please see the master's log"

// Entries of one bucket with different prefixes leave each other's copies alone.
func TestPrefixesOfOneBucket(t *testing.T) {
	shop := openShop(t, map[string]string{"p/top.sls": "one", "q/top.sls": "two", "p2/top.sls": "three"})
	dir, source, now := t.TempDir(), New(), time.Unix(1e9, 0)
	source.now = func() time.Time { return now }
	for turn, requests := range []int{4, 2, 2} { // two lists, and at first the file of each
		for prefix, want := range map[string]string{"p": "one", "q": "two"} {
			got := got(t.Context(), source, asked(t, dir, shop.URL, "prefix", prefix))
			if got != "{'env': 'base', 'top.sls': '"+want+"'}" {
				t.Errorf("turn %d: %s has %s", turn, prefix, got)
			}
		}
		if n := len(shop.Take()); n != requests {
			t.Errorf("turn %d: %d requests, want %d", turn, n, requests)
		}
		now = now.Add(time.Minute)
	}
}

// A first copy that fails half-way is not used, also not by the next master. The next attempt fetches
// only what is missing.
func TestHalfACopyIsNone(t *testing.T) {
	shop := openShop(t, map[string]string{"a.sls/x": "one", "b.sls": "two", "c.sls": "three"})
	shop.broken = "c.sls"
	dir, source := t.TempDir(), New()
	for _, requests := range []int{4, 2} {
		if got := got(t.Context(), source, asked(t, dir, shop.URL)); got != none {
			t.Errorf("with half a copy: %s", got)
		}
		if n := len(shop.Take()); n != requests {
			t.Errorf("%d requests, want %d", n, requests)
		}
	}
	if got := got(t.Context(), New(), asked(t, dir, shop.URL)); got != none {
		t.Errorf("after a restart with half a copy: %s", got)
	}
	shop.set(func() { // what was fetched is not there any more, and a directory has become a file
		shop.broken = ""
		delete(shop.objects, "a.sls/x")
		shop.objects["a.sls"] = "one"
	})
	const want = "{'env': 'base', 'a.sls': 'one', 'b.sls': 'two', 'c.sls': 'three'}"
	if got := got(t.Context(), source, asked(t, dir, shop.URL)); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	shop.set(func() { shop.objects["d.sls"], shop.broken = "four", "d.sls" })
	if got := got(t.Context(), New(), asked(t, dir, shop.URL)); got != want {
		t.Errorf("after a restart with a whole copy, and half of a new one: %s, want %s", got, want)
	}
}

// While one request makes a new copy, others get the last whole one; without one they get an error.
func TestOthersDoNotWaitForTheTransfer(t *testing.T) {
	shop := openShop(t, map[string]string{"a.sls": "one"})
	shop.slow = "a.sls"
	dir, source := t.TempDir(), New()
	source.firstWait, source.otherWait = time.Millisecond, time.Millisecond
	var clock sync.Mutex
	now := time.Unix(1e9, 0)
	source.now = func() time.Time { clock.Lock(); defer clock.Unlock(); return now }
	for turn, c := range []struct{ others, first string }{
		{none, "{'env': 'base', 'a.sls': 'one'}"},
		{"{'env': 'base', 'a.sls': 'one'}", "{'env': 'base', 'a.sls': 'two'}"},
	} {
		first := make(chan string)
		go func() { first <- got(t.Context(), source, asked(t, dir, shop.URL)) }()
		<-shop.asked
		for range 2 {
			if got := got(t.Context(), source, asked(t, dir, shop.URL)); got != c.others {
				t.Errorf("turn %d: meanwhile another gets %s, want %s", turn, got, c.others)
			}
		}
		shop.release <- struct{}{}
		if got := <-first; got != c.first {
			t.Errorf("turn %d: the one that copies gets %s, want %s", turn, got, c.first)
		}
		shop.set(func() { shop.objects["a.sls"] = "two" })
		clock.Lock()
		now = now.Add(time.Minute)
		clock.Unlock()
	}
}

// Those that wait get the new copy, also if the request that made it was given up.
func TestThoseThatWaitGetTheNewCopy(t *testing.T) {
	shop := openShop(t, map[string]string{"a.sls": "one"})
	shop.slow = "a.sls"
	dir, source := t.TempDir(), New()
	ctx, give := context.WithCancel(t.Context())
	first, second := make(chan string), make(chan string)
	go func() { first <- got(ctx, source, asked(t, dir, shop.URL)) }()
	<-shop.asked
	go func() { second <- got(t.Context(), source, asked(t, dir, shop.URL)) }()
	give()
	if got := <-first; got != none {
		t.Errorf("the one that was given up gets %s", got)
	}
	<-shop.asked // the second has taken over
	close(shop.release)
	if got := <-second; got != "{'env': 'base', 'a.sls': 'one'}" {
		t.Errorf("the one that waited gets %s", got)
	}
}

// A replaced copy stays for those that still read it, and goes later. A damaged one is made anew.
func TestOldCopiesGo(t *testing.T) {
	shop := openShop(t, map[string]string{"a.sls": "0", "b.sls": "same"})
	dir, source, now := t.TempDir(), New(), time.Unix(1e9, 0)
	source.now = func() time.Time { return now }
	copies := func() []string {
		found, err := filepath.Glob(filepath.Join(dir, "pillar_s3fs", "base", "pillar", "*", "copy-*"))
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	for i, number := range []int{1, 2, 3, 2} {
		shop.set(func() { shop.objects["a.sls"] = fmt.Sprint(i) })
		want := fmt.Sprintf("{'env': 'base', 'a.sls': '%d', 'b.sls': 'same'}", i)
		if got := got(t.Context(), source, asked(t, dir, shop.URL)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if n := len(shop.Take()); n != 2+max(0, 1-i) {
			t.Errorf("copy %d took %d requests", i, n)
		}
		if found := copies(); len(found) != number {
			t.Errorf("after %d changes there are %q", i, found)
		}
		if now = now.Add(time.Minute); i == 2 {
			now = now.Add(keepOld - time.Minute)
		}
	}
	for _, at := range copies() {
		if err := os.RemoveAll(at); err != nil {
			t.Fatal(err)
		}
	}
	const last = "{'env': 'base', 'a.sls': '3', 'b.sls': 'same'}"
	if got := got(t.Context(), source, asked(t, dir, shop.URL)); got != last {
		t.Errorf("after the copies were removed: %s", got)
	}
}

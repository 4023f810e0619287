package fileserver

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/data"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		raw, path, env string
		query          string
		ok             bool
	}{
		{"a/b", "a/b", "base", "map[]", true},
		{"./a//b/.", "a/b", "base", "map[]", true},
		{"a?saltenv=dev", "a", "dev", "map[]", true},
		{"a?saltenv=dev&index=1&env=x&junk", "a", "dev", "map[index:1]", true},
		{"a?x=1?saltenv=dev", "a", "base", "map[x:1]", true},
		{"|a?saltenv=dev", "a?saltenv=dev", "base", "map[]", true},
		{"||a", "a", "base", "map[]", true},
		{"a|b", "a|b", "base", "map[]", true},
		{"..a", "..a", "base", "map[]", true},
		{"a/..b", "a/..b", "base", "map[]", true},
		{"", "", "base", "map[]", false},
		{".", "", "base", "map[]", false},
		{"..", "", "base", "map[]", false},
		{"a/..", "", "base", "map[]", false},
		{"../a", "", "base", "map[]", false},
		{"a/../b", "", "base", "map[]", false},
		{"|../a", "", "base", "map[]", false},
		{"/a", "", "base", "map[]", false},
		{"|/a", "", "base", "map[]", false},
		{"a\x00", "", "base", "map[]", false},
		{"a\xff", "", "base", "map[]", false},
		{"a?saltenv=\xff", "", "base", "map[]", false},
		{strings.Repeat("a", 5000), "", "base", "map[]", false},
	} {
		got, ok := parse(tt.raw, "base")
		if ok != tt.ok || ok && (got.path != tt.path || got.env != tt.env ||
			fmt.Sprint(got.query) != tt.query) {
			t.Errorf("parse(%q) = %+v, %v, want %q in %q, %s, %v", tt.raw, got, ok, tt.path, tt.env,
				tt.query, tt.ok)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("a?saltenv=b", "base")
	f.Add("|a/../b", "..")
	f.Fuzz(func(t *testing.T, raw, env string) {
		got, ok := parse(raw, env)
		if !ok {
			return
		}
		if p := "/" + got.path + "/"; strings.Contains(p, "/../") || strings.Contains(p, "//") ||
			strings.Contains(p, "/./") || strings.Contains(p+got.env, "\x00") {
			t.Errorf("parse(%q, %q) = %+v", raw, env, got)
		}
	})
}

func TestBackendsAreAskedInOrder(t *testing.T) {
	one := newFakeBackend("one", map[string]string{"base/a": "1", "base/only": "1"})
	two := newFakeBackend("two", map[string]string{"base/a": "2", "base/b": "2", "base/broken": "2"})
	s := New(Options{Backends: []Backend{one, two}})
	defer s.Close()
	for _, tt := range []struct {
		path     string
		backends []string
		want     string
	}{
		{"a", nil, "one"},
		{"b", nil, "two"},
		{"a", []string{"two"}, "two"},
		{"a", []string{"two", "one"}, "two"},
		{"a", []string{"-one"}, "two"},
		{"only", []string{"two"}, ""},
		{"a", []string{"nosuch"}, ""},
		{"c", nil, ""},
	} {
		f, err := s.Find(t.Context(), tt.path, "base", tt.backends...)
		if tt.want == "" {
			if !errors.Is(err, ErrNotFound) {
				t.Errorf("Find(%q, %v) = %v, %v, want ErrNotFound", tt.path, tt.backends, f, err)
			}
		} else if err != nil || f.Backend != tt.want {
			t.Errorf("Find(%q, %v) = %v, %v, want it from %s", tt.path, tt.backends, f, err, tt.want)
		}
	}
	if _, err := s.Find(t.Context(), "broken", "base"); err == nil || errors.Is(err, ErrNotFound) {
		t.Errorf("a failing backend: %v", err)
	}
}

func TestListsAreThoseOfAllBackends(t *testing.T) {
	s := New(Options{Backends: []Backend{newFakeBackend("one", nil), newFakeBackend("two", nil)}})
	defer s.Close()
	for _, tt := range []struct {
		l    ListOf
		want string
	}{
		{ListOf{Env: "base"}, "[a b/c b/d one two]"},
		{ListOf{Env: "base", Prefix: "/b/"}, "[b/c b/d]"},
		{ListOf{Env: "base", Backends: []string{"two"}}, "[a b/c b/d two]"},
		{ListOf{Env: "base", Kind: Dirs}, "[]"},
	} {
		if got, err := s.List(t.Context(), tt.l); err != nil || fmt.Sprint(got) != tt.want {
			t.Errorf("List(%+v) = %v, %v, want %s", tt.l, got, err, tt.want)
		}
	}
	links, err := s.Symlinks(t.Context(), ListOf{Env: "base"})
	if want := "{'l/one': 'x', 'l/two': 'x', 'link': 'one'}"; err != nil || data.Repr(links) != want {
		t.Errorf("links %s, %v, want %s", data.Repr(links), err, want)
	}
	if links, _ := s.Symlinks(t.Context(), ListOf{Env: "base", Prefix: "/l/t"}); links.Len() != 1 {
		t.Errorf("links that begin with l/t: %s", data.Repr(links))
	}
}

// whole gets a file in pieces, as minions do.
func whole(t *testing.T, s *Server, r Request) (string, error) {
	t.Helper()
	var all []byte
	for {
		r.Loc = int64(len(all))
		c, err := s.Serve(t.Context(), r)
		if err != nil {
			return string(all), err
		}
		if len(c.Data) == 0 {
			return string(all), nil
		}
		if c.Gzip > 0 {
			z, err := gzip.NewReader(bytes.NewReader(c.Data))
			if err != nil {
				t.Fatal(err)
			}
			if c.Data, err = io.ReadAll(z); err != nil {
				t.Fatal(err)
			}
		}
		all = append(all, c.Data...)
	}
}

func TestServe(t *testing.T) {
	content := strings.Repeat("0123456789", 10)
	s := New(Options{Backends: []Backend{newFakeBackend("one",
		map[string]string{"base/a": content, "base/empty": ""})}, BufferSize: 7})
	defer s.Close()
	for level := range 10 {
		if got, err := whole(t, s, Request{Path: "a", Env: "base", Gzip: level}); err != nil ||
			got != content {
			t.Errorf("level %d: got %q, %v", level, got, err)
		}
	}
	for _, tt := range []struct {
		r    Request
		want string
		err  error
	}{
		{Request{Path: "a", Env: "base", Loc: 95}, "56789", nil},
		{Request{Path: "a", Env: "base", Loc: 100}, "", nil},
		{Request{Path: "a", Env: "base", Loc: 1 << 60}, "", nil},
		{Request{Path: "empty", Env: "base"}, "", nil},
		{Request{Path: "a", Env: "dev"}, "", ErrNotFound},
		{Request{Path: "a", Env: "base", Loc: -1}, "", ErrRequest},
		{Request{Path: "a", Env: "base", Gzip: 10}, "", ErrRequest},
		{Request{Path: "a", Env: "base", Gzip: -1}, "", ErrRequest},
	} {
		c, err := s.Serve(t.Context(), tt.r)
		if !errors.Is(err, tt.err) || string(c.Data) != tt.want || err == nil && c.Dest != tt.r.Path {
			t.Errorf("Serve(%+v) = %+v, %v, want %q, %v", tt.r, c, err, tt.want, tt.err)
		}
	}
}

// TestClientsGetOneVersion replaces a file while clients get it: each gets the version that it
// began with.
func TestClientsGetOneVersion(t *testing.T) {
	b := newFakeBackend("one", map[string]string{"base/a": "aaaaaa"})
	s := New(Options{Backends: []Backend{b}, BufferSize: 2})
	defer s.Close()
	got := map[string]string{}
	piece := func(client string) {
		c, err := s.Serve(t.Context(),
			Request{Path: "a", Env: "base", Loc: int64(len(got[client])), Client: client})
		if err != nil {
			t.Fatal(err)
		}
		got[client] += string(c.Data)
	}
	piece("early")
	piece("both")
	b.put("base/a", "bbbbbbbb")
	piece("late")
	for range 4 {
		for _, client := range []string{"early", "both", "late"} {
			piece(client)
		}
	}
	if fmt.Sprint(got) != "map[both:aaaaaa early:aaaaaa late:bbbbbbbb]" {
		t.Errorf("got %v", got)
	}
	if n := b.open(t); n != 2 {
		t.Errorf("%d files are open for two versions", n)
	}
	got["early"] = ""
	for range 5 {
		piece("early")
	}
	if got["early"] != "bbbbbbbb" {
		t.Errorf("who begins anew gets %q", got["early"])
	}
}

// TestClientOfManyFiles begins with more files than one client may have open: the last one is still
// of one version.
func TestClientOfManyFiles(t *testing.T) {
	files := map[string]string{"base/a": "aaaa"}
	for i := range 2 * pinsOfAClient {
		files[fmt.Sprint("base/", i)] = fmt.Sprint("x", i)
	}
	b := newFakeBackend("one", files)
	s := New(Options{Backends: []Backend{b}, BufferSize: 2})
	defer s.Close()
	serve := func(path string, loc int) string {
		c, err := s.Serve(t.Context(), Request{Path: path, Env: "base", Loc: int64(loc), Client: "web1"})
		if err != nil {
			t.Fatal(err)
		}
		return string(c.Data)
	}
	for i := range 2 * pinsOfAClient {
		serve(fmt.Sprint(i), 0)
	}
	begin := serve("a", 0)
	b.put("base/a", "bbbb")
	if got := begin + serve("a", 2); got != "aaaa" {
		t.Errorf("got %q", got)
	}
}

// TestTwoNamesOfOneFile asks for a file by two names: each reply has the name that was asked for.
func TestTwoNamesOfOneFile(t *testing.T) {
	b := newFakeBackend("one", map[string]string{"base/a": "xyz", "base/b": "xyz"})
	s := New(Options{Backends: []Backend{b}})
	defer s.Close()
	for _, name := range []string{"a", "b", "a"} {
		for loc := range int64(4) {
			if c, err := s.Serve(t.Context(),
				Request{Path: name, Env: "base", Loc: loc, Client: "web1"}); err != nil || c.Dest != name {
				t.Errorf("%s at %d: %+v, %v", name, loc, c, err)
			}
		}
	}
	if n := b.open(t); n != 1 {
		t.Errorf("%d files are open", n)
	}
}

func TestOpenFilesAreReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := map[string]string{}
		for i := range 300 {
			files[fmt.Sprint("base/", i)] = fmt.Sprint("x", i)
		}
		b := newFakeBackend("one", files)
		s := New(Options{Backends: []Backend{b}, BufferSize: 1})
		for i := range 300 {
			for client := range 5 {
				if _, err := s.Serve(t.Context(),
					Request{Path: fmt.Sprint(i), Env: "base", Client: fmt.Sprint(client, i%20)}); err != nil {
					t.Fatal(err)
				}
			}
			if n := b.open(t); n > maxOpen {
				t.Fatalf("%d files are open", n)
			}
		}
		time.Sleep(pinLife / 2)
		s.Sweep(pinLife)
		if b.open(t) == 0 {
			t.Error("files that are in use are closed")
		}
		time.Sleep(pinLife)
		s.Sweep(pinLife)
		if n := b.open(t); n != 0 || s.files.pins.len() != 0 || len(s.files.clients) != 0 ||
			len(s.files.shared) != 0 || s.files.open != 0 {
			t.Errorf("%d files are open, %d pins of %d clients", n, s.files.pins.len(), len(s.files.clients))
		}
		for i := range 2 * pinsOfAClient {
			if _, err := s.Serve(t.Context(),
				Request{Path: fmt.Sprint(i), Env: "base", Client: "greedy"}); err != nil {
				t.Fatal(err)
			}
		}
		if n := b.open(t); n != pinsOfAClient {
			t.Errorf("%d files are open for one client", n)
		}
		if err := s.Close(); err != nil || b.open(t) != 0 || !b.closed {
			t.Errorf("after Close %d files are open, %v", b.open(t), err)
		}
	})
}

func TestManyClientsAtOnce(t *testing.T) {
	b := newFakeBackend("one", map[string]string{})
	version := func(i int) string { return strings.Repeat(fmt.Sprintf("%04d", i), 50) }
	b.put("base/a", version(0))
	s := New(Options{Backends: []Backend{b}, BufferSize: 16})
	defer s.Close()
	stop := make(chan struct{})
	var writer, readers sync.WaitGroup
	writer.Go(func() {
		for i := 1; ; i++ {
			select {
			case <-stop:
				return
			default:
				b.put("base/a", version(i%10000))
			}
		}
	})
	for client := range 20 {
		readers.Go(func() {
			for range 20 {
				got, err := whole(t, s, Request{Path: "a", Env: "base", Client: fmt.Sprint(client)})
				if err != nil && !errors.Is(err, ErrChanged) {
					t.Error(err)
				}
				if err == nil && (len(got) != 200 || got != strings.Repeat(got[:4], 50)) {
					t.Errorf("a mixture: %q", got)
				}
			}
		})
	}
	readers.Wait()
	close(stop)
	writer.Wait()
}

func TestHash(t *testing.T) {
	b := newFakeBackend("one", map[string]string{"base/a": "abc"})
	s := New(Options{Backends: []Backend{b}})
	defer s.Close()
	for kind, want := range map[string]string{
		"":       "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
		"md5":    "900150983cd24fb0d6963f7d28e17f72",
		"sha1":   "a9993e364706816aba3e25717850c26c9cd0d89d",
		"sha512": "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
	} {
		if err := s.SetOptions(Options{Backends: []Backend{b}, HashType: kind}); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if got, err := s.Hash(t.Context(), "a", "base"); err != nil || got.Sum != want ||
				kind != "" && got.Type != kind {
				t.Errorf("%s: got %v, %v, want %s", kind, got, err, want)
			}
		}
	}
	if b.closed {
		t.Error("a backend that stays is closed")
	}
	if err := s.SetOptions(Options{Backends: []Backend{b}, HashType: "rot13"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Hash(t.Context(), "a", "base"); err == nil {
		t.Error("an unknown hash is no error")
	}
}

// TestHashesAreComputedOnce counts how often a file is read.
func TestHashesAreComputedOnce(t *testing.T) {
	for _, blind := range []bool{false, true} {
		b := newFakeBackend("one", map[string]string{"base/a": "abc"})
		reads := 0
		b.blind, b.onOpen = blind, func() { reads++ }
		s := New(Options{Backends: []Backend{b}})
		defer s.Close()
		for range 3 {
			if _, err := s.Hash(t.Context(), "a", "base"); err != nil {
				t.Fatal(err)
			}
		}
		b.put("base/a", "def")
		got, err := s.Hash(t.Context(), "a", "base")
		if err != nil || !strings.HasPrefix(got.Sum, "cb8379ac") {
			t.Errorf("after a change: %v, %v", got, err)
		}
		if want := map[bool]int{false: 2, true: 4}[blind]; reads != want {
			t.Errorf("blind %v: read %d times, want %d", blind, reads, want)
		}
	}
}

// TestFileThatIsReplacedAllTheTime replaces the file each time that it is opened.
func TestFileThatIsReplacedAllTheTime(t *testing.T) {
	b := newFakeBackend("one", map[string]string{"base/a": "abc"})
	tries := 0
	b.onOpen = func() { b.serial++; tries++ }
	s := New(Options{Backends: []Backend{b}})
	defer s.Close()
	if _, err := s.Hash(t.Context(), "a", "base"); !errors.Is(err, ErrChanged) || tries != attempts {
		t.Errorf("hash: %v after %d tries", err, tries)
	}
	if _, err := s.Serve(t.Context(), Request{Path: "a", Env: "base"}); !errors.Is(err, ErrChanged) {
		t.Errorf("serve: %v", err)
	}
	tries = 0
	b.onOpen = func() {
		if tries++; tries < attempts {
			b.serial++
		}
	}
	if _, err := s.Hash(t.Context(), "a", "base"); err != nil {
		t.Errorf("hash at the last try: %v", err)
	}
}

func TestUpdate(t *testing.T) {
	s := New(Options{Backends: []Backend{newFakeBackend("one", nil), newFakeBackend("two", nil)}})
	defer s.Close()
	var got []string
	if err := s.Update(t.Context(),
		func(name string, c Change) { got = append(got, data.Repr(c.Event(name))) }); err != nil {
		t.Fatal(err)
	}
	if err := s.Update(t.Context(), nil, "two"); err != nil {
		t.Fatal(err)
	}
	if want := []string{"{'changed': True, 'backend': 'one'}",
		"{'changed': True, 'backend': 'two'}"}; !slices.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
	c := Change{Files: &FileChanges{Added: []string{"/a"}}}
	if got := data.Repr(c.Event("roots")); got != "{'changed': False, 'files': {'changed': [], 'removed': [], 'added': ['/a']}, 'backend': 'roots'}" {
		t.Errorf("event %s", got)
	}
}

func TestIgnore(t *testing.T) {
	for _, tt := range []struct {
		regexes, globs []string
		names          []string
		want           bool
	}{
		{nil, []string{"*.pyc"}, []string{"a/b.pyc"}, true},
		{nil, []string{"*.pyc"}, []string{"a/b.py"}, false},
		{nil, []string{"a/*"}, []string{"a/b/c", "/srv/a/b/c"}, true},
		{nil, []string{"*/cache/*.bak"}, []string{"x", "/srv/cache/y.bak"}, true},
		{[]string{`/\.svn($|/)`}, nil, []string{".svn/x", "/srv/.svn/x"}, true},
		{[]string{`/\.svn($|/)`}, nil, []string{"a/.svnx", "/srv/a/.svnx"}, false},
		{[]string{`^a`}, nil, []string{"ba"}, false},
		{[]string{`(?i)SECRET`}, nil, []string{"x/secret"}, true},
		{[]string{`(?x) b c # comment`}, nil, []string{"abcd"}, true},
		{[]string{`a|b$`}, nil, []string{"xxb"}, true},
		{[]string{`(`, `b`}, nil, []string{"b"}, true},
		{[]string{`a)|(b`}, nil, []string{"b"}, false},
	} {
		ig, err := NewIgnore(tt.regexes, tt.globs)
		if bad := len(tt.regexes) > 0 && strings.ContainsAny(tt.regexes[0], ")(") &&
			!strings.Contains(tt.regexes[0], "?") && tt.regexes[0][0] != '/'; (err != nil) != bad {
			t.Errorf("NewIgnore(%q): %v", tt.regexes, err)
		}
		if got := ig.Match(tt.names...); got != tt.want {
			t.Errorf("%q %q: Match(%q) = %v", tt.regexes, tt.globs, tt.names, got)
		}
	}
	if (*Ignore)(nil).Match("a") {
		t.Error("nothing ignores a")
	}
}

func FuzzIgnore(f *testing.F) {
	f.Add(`/\.git($|/)`, "*.pyc", "a/.git/b")
	f.Fuzz(func(t *testing.T, regex, glob, name string) {
		ig, _ := NewIgnore([]string{regex}, []string{glob})
		ig.Match(name)
	})
}

func TestBuild(t *testing.T) {
	log, hook := logtest.NewNullLogger()
	make := func(name string) Maker {
		return func(*data.Map, logrus.FieldLogger) (Backend, error) { return newFakeBackend(name, nil), nil }
	}
	makers := Makers{"roots": make("roots"), "gitfs": make("gitfs"),
		"minionfs": func(*data.Map, logrus.FieldLogger) (Backend, error) { return nil, nil },
		"badfs":    func(*data.Map, logrus.FieldLogger) (Backend, error) { return nil, errors.New("bad remote") }}
	for _, tt := range []struct {
		value    any
		want     string
		err      string
		warnings int
	}{
		{[]any{"roots", "git"}, "roots gitfs", "", 0},
		{[]any{"gitfs", "roots", "git", "roots"}, "gitfs roots", "", 0},
		{[]any{"roots", "nosuch", "minion"}, "roots", "", 2},
		{[]any{"roots", "badfs"}, "", "file server backend badfs: bad remote", 0},
		{[]any{"s3fs"}, "", "Failed to load fileserver backends, the configured backends are: s3fs", 1},
		{nil, "", "No fileserver backends are configured", 0},
	} {
		hook.Reset()
		built, err := Build(data.NewMap("fileserver_backend", tt.value), makers, log)
		var names []string
		for _, b := range built {
			names = append(names, b.Name())
		}
		if strings.Join(names, " ") != tt.want || len(hook.AllEntries()) != tt.warnings ||
			err == nil != (tt.err == "") || err != nil && err.Error() != tt.err {
			t.Errorf("Build(%v) = %v, %v with %d warnings, want %s, %s", tt.value, names, err,
				len(hook.AllEntries()), tt.want, tt.err)
		}
	}
}

func TestLatest(t *testing.T) {
	var l Latest[int]
	computed := 0
	begun, goOn := make(chan struct{}), make(chan struct{})
	compute := func(int) (int, error) {
		computed++
		if computed == 1 {
			close(begun)
			<-goOn
		}
		return computed, nil
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		if v, err := l.Get(compute); v != 1 || err != nil {
			t.Errorf("the first one gets %d, %v", v, err)
		}
	})
	<-begun
	for range 5 {
		wg.Go(func() { // asked during the first computation, or later
			if v, err := l.Get(compute); v < 2 || err != nil {
				t.Errorf("a later one gets %d, %v", v, err)
			}
		})
	}
	close(goOn)
	wg.Wait()
	if _, err := l.Get(func(int) (int, error) { return 0, context.Canceled }); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if v, err := l.Get(func(last int) (int, error) { return last, nil }); v < 2 || err != nil {
		t.Errorf("after a failure: %d, %v", v, err)
	}
}

package minion

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/job"
)

func TestSeenOutlastsARestart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "seen")
	s := reopen(t, nil, file, 10)
	for n := range 50 {
		if err := s.add(fmt.Sprint(n)); err != nil {
			t.Fatal(err)
		}
	}
	s = reopen(t, s, file, 10)
	for n := range 50 {
		if got, want := s.has(fmt.Sprint(n)), n >= 40; got != want {
			t.Errorf("has(%d) = %v", n, got)
		}
	}
	if body, err := os.ReadFile(file); err != nil || len(body) > 10*4 {
		t.Errorf("the file has %d bytes (%v)", len(body), err)
	}
}

func reopen(t *testing.T, s *seen, file string, most int) *seen {
	t.Helper()
	if s != nil {
		if err := s.close(); err != nil {
			t.Fatal(err)
		}
	}
	s, err := openSeen(file, most)
	if err != nil {
		t.Logf("open: %v", err)
	}
	t.Cleanup(func() { s.close() })
	return s
}

func TestDamagedSeenDoesNotStopTheStart(t *testing.T) {
	for name, damage := range map[string]func(file string) error{
		"cut in a line": func(file string) error { return os.WriteFile(file, []byte("1\n2\n3"), 0o600) },
		"rubbish": func(file string) error {
			return os.WriteFile(file, []byte("1\n\x00\xff/..\n2\n"+strings.Repeat("x", 1<<17)+"\n"), 0o600)
		},
		"one long line": func(file string) error {
			return os.WriteFile(file, []byte(strings.Repeat("x", 5<<20)+"\n1\n2\n"), 0o600)
		},
		"a directory": func(file string) error { return os.Mkdir(file, 0o700) },
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "seen")
			if err := damage(file); err != nil {
				t.Fatal(err)
			}
			s := reopen(t, nil, file, 100)
			if name != "a directory" && !(s.has("1") && s.has("2")) || s.has("3") {
				t.Errorf("remembers %v", s.order)
			}
			if err := s.add("4"); err != nil {
				t.Error(err)
			}
			if s = reopen(t, s, file, 100); !s.has("4") {
				t.Error("the file is not written any more")
			}
		})
	}
}

func TestSeenWithoutADiskRemembersAllTheSame(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "missing")
	s := reopen(t, nil, filepath.Join(dir, "seen"), 10)
	if err := s.add("1"); err == nil {
		t.Error("nothing is said of a file that cannot be written")
	}
	if !s.has("1") {
		t.Error("job 1 is forgotten")
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := s.add("2"); err != nil {
		t.Error(err)
	}
	if s = reopen(t, s, filepath.Join(dir, "seen"), 10); !s.has("1") || !s.has("2") {
		t.Errorf("remembers %v", s.order)
	}
}

func FuzzSeen(f *testing.F) {
	f.Add([]byte("20260101000000000001\n20260101000000000002\n"))
	f.Add([]byte("\x00\n../x\n1"))
	f.Fuzz(func(t *testing.T, body []byte) {
		file := filepath.Join(t.TempDir(), "seen")
		if err := os.WriteFile(file, body, 0o600); err != nil {
			t.Fatal(err)
		}
		s, _ := openSeen(file, 100)
		defer s.close()
		if len(s.ids) != len(s.order) || len(s.ids) > 100 {
			t.Fatalf("%d ids, %d in order", len(s.ids), len(s.order))
		}
		for id := range s.ids {
			if !job.ValidID(job.ID(id)) {
				t.Errorf("remembers %q", id)
			}
		}
		if err := s.add("x"); err != nil || !s.has("x") {
			t.Errorf("add: %v", err)
		}
	})
}

func FuzzSpoolName(f *testing.F) {
	f.Add(spoolName(17, "20260101000000000001"))
	f.Add("00000000000000000001-../x.ret")
	f.Fuzz(func(t *testing.T, name string) {
		stamp, jid, ok := splitSpoolName(name)
		if ok && spoolName(stamp, jid) != name {
			t.Errorf("%q is read as %d, %q", name, stamp, jid)
		}
		if ok && strings.ContainsAny(name, "/\\\x00") {
			t.Errorf("%q leads out of the directory", name)
		}
	})
}

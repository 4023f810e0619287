package tokenfiles

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/auth"
)

func TestRecordsOfNoTokenAreRefused(t *testing.T) {
	name := strings.Repeat("0f", 32)
	whole := record{name, time.Unix(1, 2), []byte("x")}
	if got, err := readRecord(idOf(name), whole.encode()); err != nil || got.name != name ||
		!got.modified.Equal(whole.modified) || string(got.content) != "x" {
		t.Fatalf("read %+v, %v; want %+v", got, err, whole)
	}
	for _, bad := range []string{"../x", "/etc/passwd", ".cluster", "", strings.Repeat("0", 31),
		strings.Repeat("0f", 32) + ".tmp", strings.Repeat("0", 63) + "/", strings.Repeat("../", 20)} {
		r := record{bad, time.Unix(1, 0), []byte("x")}
		if got, err := readRecord(idOf(bad), r.encode()); !errors.Is(err, errRecord) {
			t.Errorf("a record of %q: %+v, %v", bad, got, err)
		}
	}
	if _, err := readRecord(idOf(strings.Repeat("0e", 32)), whole.encode()); !errors.Is(err, errRecord) {
		t.Errorf("the record of another file: %v", err)
	}
}

func FuzzReadRecord(f *testing.F) {
	name := strings.Repeat("0f", 32)
	f.Add(record{name, time.Unix(1, 2), []byte("x")}.encode())
	f.Add([]byte{recordVersion, 255})
	f.Add(record{"../x", time.Unix(1, 2), []byte("x")}.encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		of := idOf(name)
		if len(b) > 2 {
			of = idOf(string(b[2:min(len(b), 2+int(b[1]))])) // so that the name is that of the id
		}
		r, err := readRecord(of, b)
		if err != nil {
			return
		}
		if !auth.IsTokenName(r.name) || strings.ContainsAny(r.name, "/.\\") {
			t.Errorf("name %q", r.name)
		}
		if !bytes.Equal(r.encode(), b) {
			t.Errorf("%x is read and written as %x", b, r.encode())
		}
	})
}

func FuzzJournal(f *testing.F) {
	f.Add("s X\nm Y\n- " + idOf("a").key() + "\n= " + idOf("a").key() + " " + idOf("b").key() + "\n")
	f.Add("= \n-\n s")
	f.Add("- " + idOf("a").key() + " 7\nx " + idOf("a").key() + "\n- " + idOf("a").key() + " -7\n")
	f.Fuzz(func(t *testing.T, text string) {
		j := &journal{bases: map[id]place{}, until: map[id]int64{}}
		for line := range strings.Lines(text) {
			j.read(line)
		}
		for i, b := range j.bases {
			if b.side != has && b.side != deleted {
				t.Errorf("base of %s: %v", i, b)
			}
		}
		for i, until := range j.until {
			if until <= 0 || j.bases[i].side != deleted {
				t.Errorf("mark of %s: until %d, base %v", i, until, j.bases[i])
			}
		}
	})
}

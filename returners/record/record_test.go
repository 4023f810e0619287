package record

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/brineproject/brine/returners"
)

var began = time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC)

func TestRecordsRoundTrip(t *testing.T) {
	j := &returners.Job{ID: "20260301120000123456", Load: []byte{0xc1, 0},
		Minions: []string{"b", "größe"}, Missing: []string{"c"}, NoCache: true, Started: began}
	b, err := MarshalJob(j)
	if err != nil {
		t.Fatal(err)
	}
	got, err := UnmarshalJob(j.ID, b)
	if d := cmp.Diff(j, got); err != nil || d != "" {
		t.Errorf("%v: -want +got\n%s", err, d)
	}
	r := &returners.Return{Minion: "web1", Load: bytes.Repeat([]byte("x"), 1<<20), Received: began}
	if b, err = MarshalReturn(j.ID, r); err != nil {
		t.Fatal(err)
	}
	back, err := UnmarshalReturn(j.ID, b)
	if d := cmp.Diff(r, back); err != nil || d != "" {
		t.Errorf("%v: -want +got\n%s", err, d)
	}
	if _, err := UnmarshalReturn("20260301120000123457", b); !errors.Is(err, ErrDamaged) {
		t.Errorf("a return under another job: %v", err)
	}
}

func TestDamageIsFound(t *testing.T) {
	j := &returners.Job{ID: "20260301120000123456", Load: []byte{0x80}, Minions: []string{"a"},
		Started: began}
	whole, err := MarshalJob(j)
	if err != nil {
		t.Fatal(err)
	}
	for n := range whole {
		if _, err := UnmarshalJob(j.ID, whole[:n]); !errors.Is(err, ErrDamaged) {
			t.Fatalf("cut to %d bytes: %v", n, err)
		}
		for bit := range 8 {
			b := bytes.Clone(whole)
			b[n] ^= 1 << bit
			if _, err := UnmarshalJob(j.ID, b); !errors.Is(err, ErrDamaged) {
				t.Fatalf("bit %d of byte %d: %v", bit, n, err)
			}
		}
	}
}

func FuzzUnmarshal(f *testing.F) {
	b, err := MarshalReturn("20260301120000123456",
		&returners.Return{Minion: "a", Load: []byte{0x80}, Received: began})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, err := UnmarshalReturn("20260301120000123456", b); err == nil {
			again, err := MarshalReturn("20260301120000123456", r)
			if err != nil {
				t.Fatal(err)
			}
			if same, err := UnmarshalReturn("20260301120000123456", again); err != nil ||
				!cmp.Equal(r, same) {
				t.Errorf("a record comes back as another: %v, %v", same, err)
			}
		}
		_, _ = UnmarshalJob("20260301120000123456", b)
	})
}

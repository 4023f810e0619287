package swarm

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/brineproject/brine/payload"
)

func TestParseSources(t *testing.T) {
	for _, tt := range []struct {
		text, want, err string
	}{
		{"", "", ""},
		{"127.0.1.1", "127.0.1.1", ""},
		{"127.0.1.254-127.0.2.1", "127.0.1.254 127.0.1.255 127.0.2.0 127.0.2.1", ""},
		{"127.0.1.1, ::1-::2", "127.0.1.1 ::1 ::2", ""},
		{"255.255.255.255-255.255.255.255", "255.255.255.255", ""},
		{"127.0.1.2-127.0.1.1", "", "does not come after"},
		{"127.0.0.1-::1", "", "does not come after"},
		{"127.0.0.0-127.1.0.0", "", "more than 65536"},
		{"localhost", "", "localhost"},
		{"127.0.0.1-", "", "unable to parse"},
		{"127.0.0.1,", "", "unable to parse"},
	} {
		got, err := ParseSources(tt.text)
		var words []string
		for _, a := range got {
			words = append(words, a.String())
		}
		switch {
		case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)):
			t.Errorf("ParseSources(%q): error %v lacks %q", tt.text, err, tt.err)
		case tt.err == "" && (err != nil || strings.Join(words, " ") != tt.want):
			t.Errorf("ParseSources(%q) = %q, %v; want %q", tt.text, words, err, tt.want)
		}
	}
}

func FuzzParseSources(f *testing.F) {
	f.Add("127.0.1.1-127.0.1.4,::1")
	f.Fuzz(func(t *testing.T, text string) {
		all, err := ParseSources(text)
		if err == nil && len(all) > maxSources {
			t.Errorf("%d addresses", len(all))
		}
		for _, a := range all {
			if !a.IsValid() {
				t.Errorf("an address of %q is not valid", text)
			}
		}
	})
}

// TestMinionsConnectFromTheirSources checks that source addresses and the old protocol are spread
// evenly, whatever part of a swarm one looks at.
func TestMinionsConnectFromTheirSources(t *testing.T) {
	from, err := ParseSources("127.0.1.1-127.0.1.4")
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Options{Count: 200, Master: "127.0.0.1:1", Keys: Keys{Distinct: 1}, Sources: from, Old: 30})
	if err != nil {
		t.Fatal(err)
	}
	used, old := map[string]int{}, 0
	for i, m := range s.simulated {
		used[m.links[0].dialer("127.0.0.1:1", 0).Local.IP.String()]++
		if m.links[0].options().Newest == 2 {
			old++
		}
		if want := (i + 1) * 30 / 100; old != want {
			t.Fatalf("%d of the first %d minions speak version 2, want %d", old, i+1, want)
		}
	}
	want := map[string]int{"127.0.1.1": 50, "127.0.1.2": 50, "127.0.1.3": 50, "127.0.1.4": 50}
	if !maps.Equal(used, want) {
		t.Errorf("addresses are used %v times, want %v", used, want)
	}
}

func TestJobsAreKnownForGood(t *testing.T) {
	var r register
	var k known
	for round := range 2 {
		for i := range 200 {
			if isNew := k.add(r.number(fmt.Sprint("jid", i))); isNew != (round == 0) {
				t.Errorf("round %d: job %d is new: %t", round, i, isNew)
			}
		}
	}
}

func TestStateRunsHaveAboutTheSize(t *testing.T) {
	for _, size := range []int{1, 1000, 20_000, 1_000_000} {
		raw := stateRun(size)
		if len(raw) < size || len(raw) > size+size/4+500 {
			t.Errorf("stateRun(%d) has %d bytes", size, len(raw))
		}
		if _, err := payload.Unmarshal(raw, payload.WireLimits()); err != nil {
			t.Errorf("stateRun(%d): %v", size, err)
		}
	}
	if !slices.Equal(stateRun(100), stateRun(100)) {
		t.Error("two runs differ")
	}
}

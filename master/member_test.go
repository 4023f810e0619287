package master

import (
	"testing"
	"time"

	"github.com/brineproject/brine/cluster"
)

// TestIsAlone has a member join while others are there, or were.
func TestIsAlone(t *testing.T) {
	then := time.Now().Add(-2 * time.Minute) // by a clock of NATS that is behind
	seen := func(id string, ago time.Duration) cluster.Member {
		return cluster.Member{ID: id, Seen: then.Add(-ago)}
	}
	for name, c := range map[string]struct {
		members []cluster.Member
		want    bool
	}{
		"nobody else":             {[]cluster.Member{seen("a", 0)}, true},
		"one that lives":          {[]cluster.Member{seen("a", time.Second), seen("b", 0)}, false},
		"one that crashed":        {[]cluster.Member{seen("a", 0), seen("b", 20*time.Second)}, true},
		"one of each":             {[]cluster.Member{seen("a", 0), seen("b", 20*time.Second), seen("c", 2*time.Second)}, false},
		"no sign of this one yet": {[]cluster.Member{seen("b", 0)}, false},
	} {
		if got := isAlone(c.members, "a"); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}

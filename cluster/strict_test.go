package cluster

import (
	"testing"

	"github.com/brineproject/brine/pki"
)

func TestStricter(t *testing.T) {
	for _, tt := range []struct {
		name                string
		stored, other, want KeySet
	}{
		{"rejected here, accepted there", KeySet{Rejected: "a"}, KeySet{Accepted: "a"}, KeySet{Rejected: "a"}},
		{"accepted here, rejected there", KeySet{Accepted: "a"}, KeySet{Rejected: "a"}, KeySet{Rejected: "a"}},
		{"deleted here, accepted there", KeySet{}, KeySet{Accepted: "a"}, KeySet{}},
		{"accepted here, deleted there", KeySet{Accepted: "a"}, KeySet{}, KeySet{}},
		{"deleted here, rejected there", KeySet{}, KeySet{Rejected: "a"}, KeySet{Rejected: "a"}},
		{"deleted here, pending there", KeySet{}, KeySet{Pending: "a"}, KeySet{}},
		{"pending here, accepted there", KeySet{Pending: "a"}, KeySet{Accepted: "a"}, KeySet{Pending: "a"}},
		{"two keys accepted: the stored one stays", KeySet{Accepted: "a"}, KeySet{Accepted: "b"},
			KeySet{Accepted: "a", Denied: "b"}},
		{"two keys pending", KeySet{Pending: "a"}, KeySet{Pending: "b"}, KeySet{Pending: "a", Denied: "b"}},
		{"a denied key stays", KeySet{Accepted: "a", Denied: "c"}, KeySet{Rejected: "a"},
			KeySet{Rejected: "a", Denied: "c"}},
		{"a denied key comes", KeySet{Accepted: "a"}, KeySet{Accepted: "a", Denied: "c"},
			KeySet{Accepted: "a", Denied: "c"}},
		{"all states here, accepted there", KeySet{Accepted: "a", Pending: "b", Rejected: "c"}, KeySet{Accepted: "a"},
			KeySet{Rejected: "c"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Stricter(tt.stored, tt.other); got != tt.want {
				t.Errorf("Stricter = %+v, want %+v", got, tt.want)
			}
		})
	}
}

// TestStricterAdmitsNobodyElse goes through all pairs: the outcome accepts a key only if both sides
// do, and rejects one if either does.
func TestStricterAdmitsNobodyElse(t *testing.T) {
	var all []KeySet
	for _, accepted := range []string{"", "a", "b"} {
		for _, pending := range []string{"", "a", "b"} {
			for _, rejected := range []string{"", "a", "b"} {
				for _, denied := range []string{"", "a", "b"} {
					all = append(all, KeySet{accepted, pending, rejected, denied})
				}
			}
		}
	}
	for _, x := range all {
		for _, y := range all {
			got := Stricter(x, y)
			xs, _ := x.Find()
			ys, _ := y.Find()
			state, _ := got.Find()
			if state == pki.Accepted && (xs != pki.Accepted || ys != pki.Accepted) {
				t.Errorf("Stricter(%+v, %+v) accepts: %+v", x, y, got)
			}
			if (xs == pki.Rejected || ys == pki.Rejected) && state != pki.Rejected {
				t.Errorf("Stricter(%+v, %+v) does not reject: %+v", x, y, got)
			}
			if mirrored, _ := Stricter(y, x).Find(); mirrored != state {
				t.Errorf("Stricter(%+v, %+v) depends on the side: %s and %s", x, y, state, mirrored)
			}
		}
	}
}

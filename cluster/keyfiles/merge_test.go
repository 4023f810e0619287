package keyfiles

import (
	"slices"
	"testing"

	"github.com/brineproject/brine/cluster"
	"github.com/brineproject/brine/pki"
)

type set = cluster.KeySet

func baseOf(generation uint64, s set) *base { return &base{generation: generation, keys: sumsOf(s)} }

func doubted(b *base) *base { b.doubt = true; return b }

func TestMerge(t *testing.T) {
	accepted, rejected, pending, none := set{Accepted: "a"}, set{Rejected: "a"}, set{Pending: "a"}, set{}
	for _, tt := range []struct {
		name    string
		v       view
		local   set
		cluster record
		want    set
		why     outcome
	}{
		{"nothing has changed", view{base: baseOf(1, accepted)}, accepted, record{accepted, 1, "b"},
			accepted, agreed},
		{"accepted here", view{base: baseOf(1, pending)}, accepted, record{pending, 1, "b"}, accepted, ours},
		{"deleted here", view{base: baseOf(1, accepted)}, none, record{accepted, 1, "b"}, none, ours},
		{"taken from the rejected here", view{base: baseOf(1, rejected)}, accepted, record{rejected, 1, "b"},
			accepted, ours},
		{"accepted there", view{base: baseOf(1, pending)}, pending, record{accepted, 2, "b"}, accepted, theirs},
		{"deleted there", view{base: baseOf(1, accepted)}, accepted, record{none, 2, "b"}, none, theirs},
		{"taken from the rejected there", view{base: baseOf(1, rejected)}, rejected, record{accepted, 2, "b"},
			accepted, theirs},
		{"rejected there, accepted here", view{base: baseOf(1, pending)}, accepted, record{rejected, 2, "b"},
			rejected, conflict},
		{"accepted there, rejected here", view{base: baseOf(1, pending)}, rejected, record{accepted, 2, "b"},
			rejected, conflict},
		{"there and back, accepted here", view{base: baseOf(1, pending)}, accepted, record{pending, 3, "b"},
			pending, conflict},
		{"deleted, come again and deleted there, and a file as before the last",
			view{base: baseOf(2, none)}, accepted, record{none, 4, "b"}, none, conflict},
		{"a new store", view{base: baseOf(7, accepted)}, accepted, record{}, accepted, ours},
		{"an older record was put back", view{base: baseOf(7, rejected)}, rejected, record{accepted, 5, "b"},
			rejected, conflict},
		{"the same after a deletion", view{base: baseOf(7, none)}, none, record{accepted, 5, "b"},
			none, conflict},

		{"joins with a key", view{}, accepted, record{}, accepted, ours},
		{"joins without the key", view{}, none, record{accepted, 1, "b"}, accepted, theirs},
		{"joins with a deleted key", view{}, accepted, record{none, 2, "b"}, none, conflict},
		{"joins with a rejected key", view{}, accepted, record{rejected, 2, "b"}, rejected, conflict},
		{"rejects what is accepted", view{}, rejected, record{accepted, 2, "b"}, rejected, conflict},
		{"joins with another key", view{}, set{Accepted: "x"}, record{accepted, 2, "b"},
			set{Accepted: "a", Denied: "x"}, conflict},
		{"a new key of an id that was deleted before this member joined", view{settled: true}, pending,
			record{none, 2, "b"}, pending, ours},

		{"a sign-in while another member accepts", view{base: baseOf(1, none)}, pending, record{accepted, 2, "b"},
			accepted, theirs},
		{"a sign-in on a new member", view{}, pending, record{accepted, 2, "b"}, accepted, theirs},
		{"a sign-in with another key", view{}, set{Pending: "x"}, record{accepted, 2, "b"},
			set{Accepted: "a", Denied: "x"}, theirs},
		{"a sign-in of a rejected one", view{}, pending, record{rejected, 2, "b"}, rejected, conflict},
		{"accepted while another member has a sign-in", view{base: baseOf(1, none)}, accepted,
			record{pending, 2, "b"}, accepted, ours},
		{"accepted while another member has a sign-in with another key", view{}, accepted,
			record{set{Pending: "x"}, 1, "b"}, set{Accepted: "a", Denied: "x"}, ours},
		{"accepted while another member has decided to wait", view{base: baseOf(1, none)}, accepted,
			record{pending, 3, "b"}, pending, conflict},
		{"accepted what was deleted and came again", view{}, accepted, record{pending, 3, "b"}, pending, conflict},
		{"an accepted key that is to be decided on again", view{base: baseOf(1, rejected)}, pending,
			record{accepted, 2, "b"}, pending, conflict},
		{"a denied key here", view{base: baseOf(1, accepted)}, set{Accepted: "a", Denied: "d"},
			record{set{Accepted: "a", Denied: "e"}, 2, "b"}, set{Accepted: "a", Denied: "e"}, theirs},

		{"after a crash: rejected again here", view{base: doubted(baseOf(1, rejected))}, rejected,
			record{accepted, 2, "b"}, rejected, conflict},
		{"after a crash: taken back here", view{base: doubted(baseOf(1, pending)), member: "a"}, pending,
			record{accepted, 2, "a"}, pending, conflict},
		{"after a crash: deleted again here", view{base: doubted(baseOf(1, none)), member: "a"}, none,
			record{accepted, 2, "a"}, none, conflict},
		{"after a crash: added there", view{base: doubted(baseOf(1, none)), member: "a"}, none,
			record{accepted, 2, "b"}, accepted, theirs},
		{"after a crash: the proposal was lost", view{base: doubted(baseOf(1, pending)), member: "a"}, accepted,
			record{pending, 1, "a"}, accepted, ours},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, why := tt.v.merge(tt.local, tt.cluster); got != tt.want || why != tt.why {
				t.Errorf("merge = %+v, %d, want %+v, %d", got, why, tt.want, tt.why)
			}
		})
	}
}

// someSets returns sets with up to two keys in each state.
func someSets() (all []set) {
	for _, accepted := range []string{"", "a", "b"} {
		for _, pending := range []string{"", "a"} {
			for _, rejected := range []string{"", "a"} {
				for _, denied := range []string{"", "b"} {
					all = append(all, set{Accepted: accepted, Pending: pending, Rejected: rejected, Denied: denied})
				}
			}
		}
	}
	return all
}

// TestMergeOfALostTail goes through all states of files, cluster and an older base. What the cluster
// has rejected or deleted since, no file brings back; and what is rejected in the files stays so.
func TestMergeOfALostTail(t *testing.T) {
	for _, local := range someSets() {
		for _, now := range someSets() {
			for _, old := range someSets() {
				v := view{base: doubted(baseOf(3, old)), member: "a", settled: true}
				got, _ := v.merge(local, record{now, 5, "b"})
				here, _ := local.Find()
				there, _ := now.Find()
				state, key := got.Find()
				_, hereKey := local.Find()
				_, thereKey := now.Find()
				switch {
				case (here == pki.Rejected || there == pki.Rejected) && state != pki.Rejected:
					t.Fatalf("base %+v, files %+v, cluster %+v: rejected becomes %+v", old, local, now, got)
				case there == pki.Unknown && state != pki.Unknown && state != pki.Rejected:
					t.Fatalf("base %+v, files %+v, cluster %+v: deleted becomes %+v", old, local, now, got)
				case state == pki.Accepted && !slices.Contains([]string{hereKey, thereKey}, key):
					t.Fatalf("base %+v, files %+v, cluster %+v: accepts a third key %+v", old, local, now, got)
				}
				if got == now {
					continue // nothing is written
				}
				if again, why := v.merge(local, record{got, 6, "a"}); again != got {
					t.Fatalf("base %+v, files %+v, cluster %+v: %+v, and merged again %+v, %d", old, local, now,
						got, again, why)
				}
			}
		}
	}
}

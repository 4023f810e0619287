package keyfiles

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/brineproject/brine/cluster"
	"github.com/brineproject/brine/pki"
)

// states are the states of a key, in the order of sums.
var states = [...]pki.State{pki.Accepted, pki.Pending, pki.Rejected, pki.Denied}

// A sum is the SHA-256 of a key's text, zero without a key.
type sum [sha256.Size]byte

// sums identify a cluster.KeySet.
type sums [len(states)]sum

func sumsOf(s cluster.KeySet) (all sums) {
	for i, state := range states {
		if key := s.Get(state); key != "" {
			all[i] = sha256.Sum256([]byte(key))
		}
	}
	return all
}

// A base is what files and cluster had when they were last equal.
type base struct {
	generation uint64 // of the cluster's record
	keys       sums
	// doubt is whether they may have been equal again later: the process ended without writing it
	// down, or the state file is an old one
	doubt bool
}

// A record is what merge needs of a cluster.KeyRecord.
type record struct {
	keys       cluster.KeySet
	generation uint64 // 0 if there was never a key
	member     string // who changed it last
}

func recordOf(r cluster.KeyRecord) record { return record{r.Keys, r.Generation(), r.Member} }

// An outcome is the reason for the result of a merge.
type outcome int

const (
	agreed   outcome = iota // both are equal
	ours                    // only the files have changed
	theirs                  // only the cluster has changed
	conflict                // both have changed
)

// A view is what one member knows when it merges the files of an id with the cluster's record.
type view struct {
	base    *base  // nil if there is none
	settled bool   // files and cluster have been equal for all ids, so that what has no base is new
	member  string // the id of this member
}

// merge returns the keys that files and cluster shall have.
func (v view) merge(local cluster.KeySet, r record) (cluster.KeySet, outcome) {
	switch {
	case local == r.keys:
		return local, agreed
	case r.generation == 0: // a new id, or a new store
		return local, ours
	case v.base == nil:
		return v.join(local, r)
	}
	here := sumsOf(local) != v.base.keys
	there := r.generation != v.base.generation || sumsOf(r.keys) != v.base.keys
	switch {
	case r.generation < v.base.generation: // an older record was put back
		return strictly(local, r)
	case !here && v.mayBeReverted(local, r):
		return strictly(local, r)
	case !here:
		return r.keys, theirs
	case !there:
		return local, ours
	case v.base.keys == sums{} && isSignIn(local):
		return judged(local, r)
	case v.base.keys == sums{} && isSignIn(r.keys) && r.generation == v.base.generation+1:
		return decided(local, r)
	}
	return strictly(local, r)
}

// mayBeReverted reports whether files that equal the base may be newer than the record. Then the
// base is in doubt: the files had the keys of the record, and somebody has taken that back while
// the master did not run. This is certain if the record is of this member, which only says what its
// files have. In a record of another member it matters only for rejected keys.
func (v view) mayBeReverted(local cluster.KeySet, r record) bool {
	state, _ := local.Find()
	return v.base.doubt && (state == pki.Rejected || v.member != "" && r.member == v.member)
}

// join is merge for an id without a base.
func (v view) join(local cluster.KeySet, r record) (cluster.KeySet, outcome) {
	state, _ := r.keys.Find()
	switch {
	case local == cluster.KeySet{}:
		return r.keys, theirs
	case v.settled && r.keys == cluster.KeySet{}:
		return local, ours
	case isSignIn(local) && state != pki.Unknown:
		return judged(local, r)
	case isSignIn(r.keys) && r.generation == 1:
		return decided(local, r)
	}
	return strictly(local, r)
}

// isSignIn reports whether a set may come from sign-ins alone. Nobody has decided on it.
func isSignIn(s cluster.KeySet) bool {
	return s.Pending != "" && s.Accepted == "" && s.Rejected == ""
}

// judged returns what the record becomes if the pending key of local signs in after it. That is not
// Stricter, by which a sign-in could take a key from the accepted ones.
func judged(local cluster.KeySet, r record) (cluster.KeySet, outcome) {
	state, key := r.keys.Find()
	out := r.keys
	switch {
	case state == pki.Unknown || state == pki.Rejected:
		return strictly(local, r)
	case key != local.Pending:
		out.Denied = local.Pending
	case out.Denied == "":
		out.Denied = local.Denied
	}
	return out, theirs
}

// decided is judged for a record that has only seen a sign-in, and files that accept a key.
func decided(local cluster.KeySet, r record) (cluster.KeySet, outcome) {
	if state, _ := local.Find(); state != pki.Accepted {
		return strictly(local, r)
	}
	out, _ := judged(r.keys, record{keys: local})
	return out, ours
}

// strictly returns the stricter of both.
func strictly(local cluster.KeySet, r record) (cluster.KeySet, outcome) {
	out := cluster.Stricter(r.keys, local)
	state, key := local.Find()
	other, otherKey := r.keys.Find()
	if state == other && key == otherKey { // only denied keys differ, which nobody decides on
		return out, theirs
	}
	return out, conflict
}

// describe returns the state and the fingerprint of the key that counts, for the log.
func describe(s cluster.KeySet) string {
	state, key := s.Find()
	if state == pki.Unknown {
		return "no key"
	}
	sum := sha256.Sum256([]byte(key))
	return state.String() + " key " + hex.EncodeToString(sum[:4])
}

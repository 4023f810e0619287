package cluster

import "github.com/brineproject/brine/pki"

// A KeySet has the public keys of one id by state, "" where there is none. The zero KeySet is that
// of an id without keys.
type KeySet struct {
	Accepted string `codec:"accepted,omitempty"`
	Pending  string `codec:"pending,omitempty"`
	Rejected string `codec:"rejected,omitempty"`
	Denied   string `codec:"denied,omitempty"`
}

// Place returns where the key in a state stands, or nil for pki.Unknown.
func (s *KeySet) Place(state pki.State) *string {
	switch state {
	case pki.Accepted:
		return &s.Accepted
	case pki.Pending:
		return &s.Pending
	case pki.Rejected:
		return &s.Rejected
	case pki.Denied:
		return &s.Denied
	case pki.Unknown:
	}
	return nil
}

// Get returns the key in a state, or "".
func (s KeySet) Get(state pki.State) string {
	if key := s.Place(state); key != nil {
		return *key
	}
	return ""
}

// Find returns the state and the key that count for a sign-in, as pki.Store does.
func (s KeySet) Find() (pki.State, string) {
	for _, state := range []pki.State{pki.Rejected, pki.Accepted, pki.Pending} {
		if key := s.Get(state); key != "" {
			return state, key
		}
	}
	return pki.Unknown, ""
}

// strictness orders the states that count for a sign-in: a rejected key stays out for good, an id
// without a key must be decided on anew, a pending key only waits for it, an accepted one is in.
func strictness(s pki.State) int {
	switch s {
	case pki.Rejected:
		return 3
	case pki.Unknown:
		return 2
	case pki.Pending:
		return 1
	case pki.Accepted, pki.Denied: // Denied counts for no sign-in
	}
	return 0
}

// Stricter resolves a conflict of two changes to the keys of an id: stored is what the cluster has,
// other is what a member wanted without having seen it.
//
// The state that counts is the stricter one of both: rejected before deleted, deleted before
// pending, pending before accepted. If both have the same state with different keys, the stored key
// stays. A key that loses against a different key of an accepted or pending minion becomes denied,
// as a second key does at a sign-in. Otherwise a denied key of stored stays, else that of other.
func Stricter(stored, other KeySet) KeySet {
	state, key := stored.Find()
	lessState, lessKey := other.Find()
	if strictness(lessState) > strictness(state) {
		state, key, lessState, lessKey = lessState, lessKey, state, key
	}
	out := KeySet{Denied: stored.Denied}
	if out.Denied == "" {
		out.Denied = other.Denied
	}
	if place := out.Place(state); place != nil {
		*place = key
	}
	second := (state == pki.Accepted || state == pki.Pending) && lessState != pki.Unknown && lessKey != key
	if second && out.Denied == "" {
		out.Denied = lessKey
	}
	return out
}

// Package pki keeps keys on disk: a master's or minion's own pairs, and the public keys of the minions that a master
// knows.
//
// The tree is Salt's, and it is the only truth. The state of a minion's key is the directory that its file lies in:
//
//	minions/ID            accepted
//	minions_pre/ID        waits for the operator
//	minions_rejected/ID   refused for good
//	minions_denied/ID     the last key that came for an id that has another one
//	minions_autosign/ID   an empty file: accept this id once
//
// Nothing about states is kept in memory, so a key that an operator moves with mv, or with a salt-key of another
// make, has its new state with the next request. What is kept is the parsed form of accepted keys, for as long as
// the file is the same; see Dir.AcceptedKey.
//
// A sign-in goes through Admit: Judge decides by the table of Salt's master (salt/channel/server.py:
// ReqServerChannel._auth), a pure function, and the verdict is carried out on a Store. Only explicit rules accept a
// key without the operator: Autosign, and open mode. A key that is stored is never overwritten by a sign-in.
//
// Files are reached through os.Root and no id names a file before ValidID has passed it. They are written beside their
// place and renamed or linked into it, so a reader sees a whole key or none, whenever the power fails. Files that begin
// with a dot are not keys.
package pki

import (
	"errors"
	"fmt"
)

var (
	// ErrNotFound is wrapped when there is no key of that id in that state.
	ErrNotFound = errors.New("no such key")
	// ErrExists is wrapped by Create when the id has a key in that state.
	ErrExists = errors.New("key exists")
	// ErrNotFile is wrapped when what lies in the place of a key is a directory, a pipe or the like.
	ErrNotFile = errors.New("not a regular file")
	// ErrPendingFull is wrapped when there are as many keys in a state as sign-ins may bring there, in all or from one
	// address: pending, rejected or denied.
	ErrPendingFull = errors.New("too many keys in this state")
	// ErrInvalidID is wrapped when an id cannot name a key.
	ErrInvalidID = errors.New("invalid id")
	// ErrMismatch is wrapped when the two halves of a key pair do not belong together.
	ErrMismatch = errors.New("public key does not belong to the private key")
	// ErrTooLarge is wrapped when a file is larger than any key.
	ErrTooLarge = errors.New("file too large")
	// ErrPermissions is wrapped when a file of rules could have been written by others, and was not used.
	ErrPermissions = errors.New("wrong permissions, content ignored")
)

// A State says what the master does with a key.
type State int

// The states. The zero State is that of an id without a key.
const (
	Unknown  State = iota
	Accepted       // the minion may speak
	Pending        // the operator has not decided
	Rejected       // the operator, or a rule, has said no
	Denied         // came for an id that has another key; does not count for later sign-ins
)

// States lists the states that a key can have, in the order of `salt-key -L`.
func States() []State { return []State{Accepted, Denied, Pending, Rejected} }

var stateNames = [...]string{"unknown", "accepted", "unaccepted", "rejected", "denied"}

// String returns Salt's word: accepted, unaccepted, rejected, denied; unknown for the zero State.
func (s State) String() string {
	if s < Unknown || s > Denied {
		return fmt.Sprintf("State(%d)", int(s))
	}
	return stateNames[s]
}

// Dir returns the name of the directory of keys in that state, "" for Unknown.
func (s State) Dir() string {
	switch s {
	case Accepted:
		return "minions"
	case Pending:
		return "minions_pre"
	case Rejected:
		return "minions_rejected"
	case Denied:
		return "minions_denied"
	}
	return ""
}

// A Store keeps the public keys of minions by state and id. Several goroutines may use it, and several processes
// may change what lies under it at any time. Package pkitest holds the contract as tests.
//
// Ids that could not name a key are refused with ErrInvalidID, before anything is touched: Create and Put ask
// ValidID, the others only what makes a name unsafe, so that odd ones that somehow came in can be got rid of.
type Store interface {
	// List returns the ids of the keys in a state, sorted without regard to case.
	List(State) ([]string, error)
	// Get returns the text of a key as it is stored. Errors wrap ErrNotFound or ErrNotFile.
	Get(State, string) (pem string, err error)
	// Find returns the state that counts for a sign-in, the first of Rejected, Accepted and Pending that the id
	// has a key in, and its text; without a key, Unknown and no error. When something else than a file lies in
	// the place of the key, the error wraps ErrNotFile and the state is that of the place.
	Find(id string) (State, string, error)
	// Create stores a key unless the id has one in that state, then the error wraps ErrExists. Of two calls at
	// once one gets the error. For states but Accepted it may wrap ErrPendingFull, as that of Put.
	Create(State, string, string) error
	// Put stores a key in place of any that is there. Create and Put store the canonical text of the key, and
	// refuse what is not a key or a weak one with the errors of package crypto.
	Put(State, string, string) error
	// Move gives the key of an id another state, in place of any that is there. Errors wrap ErrNotFound.
	Move(id string, from, to State) error
	// Delete removes a key. Errors wrap ErrNotFound.
	Delete(State, string) error
}

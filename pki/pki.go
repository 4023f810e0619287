// Package pki keeps keys on disk: a master's or minion's own pairs, and the public keys of the
// minions that a master knows.
//
// The directory tree is Salt's and is the only source of truth. The directory of a minion's key
// file is its state:
//
//	minions/ID            accepted
//	minions_pre/ID        waits for the operator
//	minions_rejected/ID   refused for good
//	minions_denied/ID     the last key that came for an id that has another one
//	minions_autosign/ID   an empty file: accept this id once
//
// No state is kept in memory. A key that an operator moves with mv, or with Salt's salt-key, has
// its new state on the next request. Only parsed accepted keys are cached, as long as their files
// do not change; see Dir.AcceptedKey.
//
// Sign-ins go through Admit: the pure function Judge decides by the rules of Salt's master
// (salt/channel/server.py: ReqServerChannel._auth), and Admit executes the verdict on a Store. Only
// explicit rules accept a key without the operator: Autosign and open mode. A sign-in never
// overwrites a stored key.
//
// Files are accessed through os.Root, and ids are checked with ValidID before they are used as file
// names. Files are written under a temporary name and then renamed or linked into place, so readers
// see a complete key or none, even after a power failure. Files that begin with a dot are not keys.
package pki

import (
	"errors"
	"fmt"
)

var (
	// ErrNotFound is wrapped if there is no key with that id in that state.
	ErrNotFound = errors.New("no such key")
	// ErrExists is wrapped by Create if the id already has a key in that state.
	ErrExists = errors.New("key exists")
	// ErrNotFile is wrapped if the path of a key is a directory, a pipe or the like.
	ErrNotFile = errors.New("not a regular file")
	// ErrPendingFull is wrapped if sign-ins have reached the limit of pending, rejected or denied
	// keys, in total or from one address.
	ErrPendingFull = errors.New("too many keys in this state")
	// ErrInvalidID is wrapped if an id cannot name a key.
	ErrInvalidID = errors.New("invalid id")
	// ErrMismatch is wrapped if the public key does not belong to the private key.
	ErrMismatch = errors.New("public key does not belong to the private key")
	// ErrChanged is wrapped if the key that was to be replaced is no longer the stored one.
	ErrChanged = errors.New("another key was stored in the meantime")
	// ErrTooLarge is wrapped if a file is larger than any key.
	ErrTooLarge = errors.New("file too large")
	// ErrPermissions is wrapped if a rules file was ignored because other users could have written
	// it.
	ErrPermissions = errors.New("wrong permissions, content ignored")
)

// A State is the master's decision on a key.
type State int

// The states. The zero State is that of an id without a key.
const (
	Unknown  State = iota
	Accepted       // the minion may communicate
	Pending        // the operator has not decided
	Rejected       // refused by the operator or a rule
	Denied         // another key exists for the id; does not affect later sign-ins
)

// States lists the states that a key can have, in the order of `salt-key -L`.
func States() []State { return []State{Accepted, Denied, Pending, Rejected} }

var stateNames = [...]string{"unknown", "accepted", "unaccepted", "rejected", "denied"}

// String returns Salt's name: accepted, unaccepted, rejected, denied; unknown for the zero State.
func (s State) String() string {
	if s < Unknown || s > Denied {
		return fmt.Sprintf("State(%d)", int(s))
	}
	return stateNames[s]
}

// Dir returns the directory name of a state, "" for Unknown.
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

// A Store keeps the public keys of minions by state and id. It is safe for concurrent use, and
// other processes may change the underlying data at any time. Package pkitest tests the contract.
//
// Invalid ids are rejected with ErrInvalidID before anything is changed. Create and Put use
// ValidID. The other methods reject only unsafe file names, so that invalid ids already stored can
// be removed.
type Store interface {
	// List returns the ids of the keys in a state, sorted without regard to case.
	List(State) ([]string, error)
	// Get returns the text of a key as it is stored. Errors wrap ErrNotFound or ErrNotFile.
	Get(State, string) (pem string, err error)
	// Find returns the state and text of the key that counts for a sign-in: the first of Rejected,
	// Accepted and Pending in which the id has a key. Without a key it returns Unknown and no
	// error. If the path of the key is not a regular file, the error wraps ErrNotFile and the state
	// is that of the path.
	Find(id string) (State, string, error)
	// Create stores a key. If the id already has one in that state, the error wraps ErrExists; of
	// two concurrent calls one fails. For states other than Accepted the error may wrap
	// ErrPendingFull, also in Put.
	Create(State, string, string) error
	// Put stores a key, replacing any other. Create and Put store the canonical text, and reject
	// invalid and weak keys with the errors of package crypto.
	Put(State, string, string) error
	// Move moves the key of an id to another state, replacing any key there. Errors wrap
	// ErrNotFound.
	Move(id string, from, to State) error
	// Delete removes a key. Errors wrap ErrNotFound.
	Delete(State, string) error
}

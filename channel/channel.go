// Package channel holds the conversations between masters and minions: who speaks, under which key, and what may be
// believed of it. Below it lies transport, which moves opaque bytes; above it master and minion, which see commands of
// proved callers and never a key.
//
// On the master a [Server] answers the request port: sign-in (_auth), encrypted and clear commands. [Secrets] keeps the
// session keys that both it and the [Publisher] use; rotating them is one call. On the minion a [Client] signs in,
// sends requests and signs in again by itself when the master has forgotten the key; [Client.OpenPublication] checks
// and opens what the publish port sends.
//
// Four versions of the protocol exist. Versions 0 and 1 sign nothing and are refused unless the operator lowers
// minimum_auth_version; version 2 adds nonces and signed replies but one session key for all minions; version 3 gives
// each minion a key of its own and proves the sender of every request. The formats are those of Salt's
// salt/channel/server.py, salt/channel/client.py, salt/crypt.py and salt/payload.py.
package channel

import (
	"errors"

	"github.com/brineproject/brine/payload"
)

// Version is the newest protocol version that this package speaks.
const Version = 3

// maxKeyText is the longest public key text that a sign-in may carry.
const maxKeyText = 16 << 10

// maxSignIn is the longest sign-in, in bytes: one with keys of 16,384 bits on both sides and a hundred autosign_grains has 16 KiB.
const maxSignIn = 64 << 10

// nonceLen is the length of a nonce: the hexadecimal text of 16 random bytes.
const nonceLen = 32

// Errors that callers decide on.
var (
	// ErrPending is returned by a sign-in when the key waits for acceptance on the master.
	ErrPending = errors.New("the key is waiting for acceptance on the master")
	// ErrRejected is returned by a sign-in when the master refuses the key.
	ErrRejected = errors.New("the master has rejected the key")
	// ErrDenied is wrapped besides ErrRejected when the master says that it knows another key for the id.
	ErrDenied = errors.New("the master knows another key for this id")
	// ErrUnproved is wrapped besides ErrPending, ErrRejected and ErrFull when the refusal is not signed by a master that the
	// minion knows, as on first contact: anybody could have sent it.
	ErrUnproved = errors.New("nothing proves that the answer is the master's")
	// ErrBusy is returned by a sign-in that the master had no time for.
	ErrBusy = errors.New("the master is busy with other minions that sign in")
	// ErrFull is returned by a sign-in when the master has reached max_minions.
	ErrFull = errors.New("the master is full")
	// ErrMasterKey is returned when the master cannot prove to be the one that the minion knows.
	ErrMasterKey = errors.New("the master's key is not the one this minion trusts")
	// ErrFingerprint is returned when the master's key does not have the fingerprint of master_finger.
	ErrFingerprint = errors.New("the master's key does not have the configured fingerprint")
	// ErrBadReply is returned when a reply cannot be read, is not signed or answers another request.
	ErrBadReply = errors.New("bad reply of the master")
	// ErrDowngrade is returned when a master signs nothing and the minion was not told to accept that.
	ErrDowngrade = errors.New("the master speaks an unsigned protocol version")
	// ErrStale is returned for a publication that was seen before, or is older than one that was.
	ErrStale = errors.New("publication was seen before")
	// ErrNotEncrypted is returned for a publication that is not encrypted.
	ErrNotEncrypted = errors.New("publication is not encrypted")
)

// textReply is a reply that is bare text, as Salt answers what it cannot read.
type textReply string

const (
	replyBadLoad   textReply = "bad load"
	replyNotMap    textReply = "payload and load must be a dict"
	replyNullID    textReply = "bad load: id contains a null byte"
	replyException textReply = "Some exception handling minion payload"
)

// marshal encodes a value of our own making, for which encoding cannot fail.
func marshal(v any) []byte {
	b, err := payload.Marshal(v)
	if err != nil {
		return nil
	}
	return b
}

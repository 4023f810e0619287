// Package channel implements the conversations between masters and minions: authentication,
// encryption and replay protection. Package transport below it moves opaque bytes. The master and
// the minion above it see commands of authenticated callers, and never a key.
//
// On the master a [Server] answers the request port: sign-in (_auth), encrypted and unencrypted
// commands. [Secrets] stores the session keys that both it and the [Publisher] use; one call
// rotates them. On the minion a [Client] signs in and sends requests. It signs in again by itself
// when the master no longer knows its key. [Client.OpenPublication] verifies and decrypts messages
// of the publish port.
//
// There are four protocol versions. Versions 0 and 1 sign nothing and are refused unless the
// operator lowers minimum_auth_version. Version 2 adds nonces and signed replies, but has one
// session key for all minions. Version 3 gives each minion a key of its own and proves the sender
// of every request. The formats are those of Salt's salt/channel/server.py, salt/channel/client.py,
// salt/crypt.py and salt/payload.py.
package channel

import (
	"errors"

	"github.com/brineproject/brine/payload"
)

// Version is the newest protocol version that this package supports.
const Version = 3

// maxKeyText is the maximum length, in bytes, of the public key in a sign-in.
const maxKeyText = 16 << 10

// maxSignIn is the maximum size of a sign-in, in bytes. One with keys of 16,384 bits on both sides
// and a hundred autosign_grains has 16 KiB.
const maxSignIn = 64 << 10

// nonceLen is the length of a nonce: the hexadecimal text of 16 random bytes.
const nonceLen = 32

// Errors that callers handle differently.
var (
	// ErrPending is returned by a sign-in if the key waits for acceptance on the master.
	ErrPending = errors.New("the key is waiting for acceptance on the master")
	// ErrRejected is returned by a sign-in if the master refuses the key.
	ErrRejected = errors.New("the master has rejected the key")
	// ErrDenied is wrapped in addition to ErrRejected if the master knows another key for the id.
	ErrDenied = errors.New("the master knows another key for this id")
	// ErrUnproved is wrapped in addition to ErrPending, ErrRejected or ErrFull if the refusal is
	// not signed by a master that the minion knows, as on first contact: anybody could have sent
	// it.
	ErrUnproved = errors.New("nothing proves that the answer is the master's")
	// ErrBusy is returned by a sign-in if the master has too many sign-ins to handle.
	ErrBusy = errors.New("the master is busy with other minions that sign in")
	// ErrFull is returned by a sign-in if the master has reached max_minions.
	ErrFull = errors.New("the master is full")
	// ErrMasterKey is returned if the master cannot prove that it is the one the minion knows.
	ErrMasterKey = errors.New("the master's key is not the one this minion trusts")
	// ErrOtherMaster is wrapped in addition to ErrBadReply if the stored key of the master has not
	// signed a refusal.
	ErrOtherMaster = errors.New("the master's key may not be the one this minion trusts")
	// ErrFingerprint is returned if the master's key does not match master_finger.
	ErrFingerprint = errors.New("the master's key does not have the configured fingerprint")
	// ErrBadReply is returned if a reply cannot be decoded, is not signed, or answers another
	// request.
	ErrBadReply = errors.New("bad reply of the master")
	// ErrDowngrade is returned if a master signs nothing and the minion's options do not allow
	// that.
	ErrDowngrade = errors.New("the master speaks an unsigned protocol version")
	// ErrStale is returned for a publication that was received before, or is older than one that
	// was.
	ErrStale = errors.New("publication was seen before")
	// ErrNotEncrypted is returned for a publication that is not encrypted.
	ErrNotEncrypted = errors.New("publication is not encrypted")
)

// textReply is a reply of plain text, which Salt sends for requests that it cannot read.
type textReply string

const (
	replyBadLoad   textReply = "bad load"
	replyNotMap    textReply = "payload and load must be a dict"
	replyNullID    textReply = "bad load: id contains a null byte"
	replyException textReply = "Some exception handling minion payload"
)

// marshal encodes a value that this package made, for which encoding cannot fail.
func marshal(v any) []byte {
	b, err := payload.Marshal(v)
	if err != nil {
		return nil
	}
	return b
}

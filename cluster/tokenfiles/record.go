package tokenfiles

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/brineproject/brine/auth"
)

// A sum is a SHA-256, zero for none.
type sum [sha256.Size]byte

// An id stands for the name of a file, which it does not reveal: the name is a secret.
type id sum

func idOf(name string) id { return sha256.Sum256([]byte("token file " + name)) }

// key returns the key on the shelf.
func (i id) key() string { return hex.EncodeToString(i[:]) }

// String returns the begin of the key, for the log.
func (i id) String() string { return i.key()[:12] }

// parseSum reads what hex.EncodeToString made of a sum.
func parseSum(s string) (v sum, ok bool) {
	if len(s) != 2*len(v) {
		return v, false
	}
	_, err := hex.Decode(v[:], []byte(s))
	return v, err == nil && hex.EncodeToString(v[:]) == s
}

// A record is the value of a file on the shelf. It begins with the byte 1 and the length of the name in
// a byte. Then come the name, the time of the file in nanoseconds since 1970 as a big-endian integer of
// 8 bytes, and the content.
type record struct {
	name     string
	modified time.Time
	content  []byte
}

const (
	recordVersion = 1
	recordHead    = 2 + 8 // bytes without name and content
)

var errRecord = errors.New("it is no record of a token file")

func (r record) encode() []byte {
	out := append(make([]byte, 0, recordHead+len(r.name)+len(r.content)), recordVersion, byte(len(r.name)))
	out = append(out, r.name...)
	out = binary.BigEndian.AppendUint64(out, uint64(r.modified.UnixNano()))
	return append(out, r.content...)
}

// expiry returns when the token expires, in seconds since 1970, or 0 if that is not known.
func (r record) expiry() int64 {
	at, ok := auth.TokenExpiry(r.content)
	if !ok {
		return 0
	}
	return at.Unix()
}

// writeMark returns the note in the mark of a deleted token: until when it is needed, in seconds since
// 1970, as a big-endian integer of 8 bytes. There is none for a mark that stays for good, whose time is
// 0.
func writeMark(until int64) []byte {
	if until <= 0 {
		return nil
	}
	return binary.BigEndian.AppendUint64(nil, uint64(until))
}

// readMark reads what writeMark wrote. A note that it did not write is that of a mark that stays.
func readMark(note []byte) int64 {
	if len(note) != 8 {
		return 0
	}
	return max(int64(binary.BigEndian.Uint64(note)), 0)
}

// readRecord reads the value of an id. The name is one that a token can have, and that of the id.
func readRecord(of id, b []byte) (r record, err error) {
	if len(b) < recordHead || b[0] != recordVersion {
		return r, errRecord
	}
	size := int(b[1])
	if len(b) < recordHead+size {
		return r, errRecord
	}
	r.name = string(b[2 : 2+size])
	r.modified = time.Unix(0, int64(binary.BigEndian.Uint64(b[2+size:])))
	r.content = b[recordHead+size:]
	switch {
	case !auth.IsTokenName(r.name):
		return r, fmt.Errorf("%w: it has a name that no token has", errRecord)
	case idOf(r.name) != of:
		return r, fmt.Errorf("%w: it is that of another file", errRecord)
	case len(r.content) == 0 || len(r.content) > auth.MaxToken:
		return r, fmt.Errorf("%w: it has %d bytes", errRecord, len(r.content))
	}
	return r, nil
}

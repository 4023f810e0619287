package payload

import (
	"errors"
	"fmt"

	"github.com/brineproject/brine/data"
)

// ErrEnvelope is wrapped by ParseEnvelope for a message that is not a request; Salt replies to it
// with "bad load".
var ErrEnvelope = errors.New("bad envelope")

// maxEnvelope is the maximum number of fields in an envelope, including unknown ones, since each
// takes memory.
const maxEnvelope = 64

// An Envelope is the outer map of a request, a signed reply or a publication. It shows how the load
// is encrypted or signed.
type Envelope struct {
	Enc     string   // "clear", "aes" or "pub"
	Load    data.Raw // a map, or a string: the encrypted or signed bytes
	Version int      // of the sign-in protocol; 0 omits the field
	ID      string   // id of the minion; with version 3
	EncAlgo string
	SigAlgo string
	Sig     []byte // signature of the bytes of Load
}

// ParseEnvelope parses an envelope. Load and Sig share the memory of b. Unknown fields are ignored.
// The error wraps ErrEnvelope or one of the errors of ParseFields.
func ParseEnvelope(b []byte, l Limits) (*Envelope, error) {
	l.Names = maxEnvelope
	fields, err := ParseFields(b, l)
	if err != nil {
		return nil, fmt.Errorf("envelope: %w", err)
	}
	e := &Envelope{}
	for i := range fields {
		if !e.set(fields[i].Key, fields[i].Value) {
			return nil, fmt.Errorf("field %.40q: %w", fields[i].Key, ErrEnvelope)
		}
	}
	if e.Enc == "" || e.Load == nil {
		return nil, fmt.Errorf("without enc or load: %w", ErrEnvelope)
	}
	return e, nil
}

// set sets a field and reports whether its type is correct. A null counts as absent.
func (e *Envelope) set(key string, value data.Raw) (ok bool) {
	h, _ := readHead(value)
	if h.kind == kindNil && key != "load" {
		return true
	}
	switch key {
	case "enc":
		e.Enc, ok = Text(value)
	case "load":
		e.Load, ok = value, h.kind == kindMap || h.kind == kindStr || h.kind == kindBin
	case "version":
		e.Version, ok = int(h.n), h.kind == kindInt && int64(h.n) >= 0 && h.n < 1<<16
	case "id":
		e.ID, ok = Text(value)
	case "enc_algo":
		e.EncAlgo, ok = Text(value)
	case "sig_algo":
		e.SigAlgo, ok = Text(value)
	case "sig":
		e.Sig, ok = Bytes(value)
	default:
		ok = true
	}
	return ok
}

// Blob returns the load if it is a string: the data to decrypt or verify. It shares memory with
// e.Load.
func (e *Envelope) Blob() ([]byte, bool) { return Bytes(e.Load) }

// Fields returns the load if it is a map.
func (e *Envelope) Fields(l Limits) (Fields, error) { return ParseFields(e.Load, l) }

// Marshal returns the envelope in wire form, with fields in Salt's order.
func (e *Envelope) Marshal() []byte {
	dst := make([]byte, 0, 64+len(e.Load)+len(e.Sig)+len(e.ID)+len(e.EncAlgo)+len(e.SigAlgo))
	dst = appendMapHead(dst, e.count())
	dst = appendText(appendText(dst, "enc", false), e.Enc, false)
	dst = append(appendText(dst, "load", false), e.Load...)
	if e.Version != 0 {
		dst = appendInt(appendText(dst, "version", false), int64(e.Version))
	}
	dst = appendNamed(dst, "id", e.ID)
	dst = appendNamed(dst, "enc_algo", e.EncAlgo)
	dst = appendNamed(dst, "sig_algo", e.SigAlgo)
	return appendNamed(dst, "sig", string(e.Sig))
}

func (e *Envelope) count() int {
	n := 2
	for _, set := range []bool{e.Version != 0, e.ID != "", e.EncAlgo != "", e.SigAlgo != "",
		len(e.Sig) > 0} {
		if set {
			n++
		}
	}
	return n
}

func appendNamed(dst []byte, name, s string) []byte {
	if s == "" {
		return dst
	}
	return appendText(appendText(dst, name, false), s, false)
}

// BlobOf encodes bytes as a Load of an Envelope, in wire form.
func BlobOf(b []byte) data.Raw {
	return appendBytes(make([]byte, 0, 5+len(b)), b, false)
}

package pki

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/brineproject/brine/crypto"
)

// ErrHandover is wrapped if no valid chain of statements proves that the master has changed its
// key.
var ErrHandover = errors.New("no hand-over to this key that holds")

const (
	// maxHandovers limits the statements of a chain. A minion that missed more key changes needs
	// manual help.
	maxHandovers = 16
	// handoverTitle begins each statement. Nothing else that masters sign begins with it, since
	// that is MessagePack or encrypted.
	handoverTitle = "brine: hand-over of the key of a master, version 1"
	// handoverSkew is how far a minion's clock may be behind that of its master.
	handoverSkew = 24 * time.Hour
	// handoverAlg is the signature algorithm of statements.
	handoverAlg = crypto.SHA224Sign
)

// A Handover is a statement of a master, signed with its old key, that names its new key. The
// statement is a text:
//
//	brine: hand-over of the key of a master, version 1
//	serial: 1
//	from: FINGERPRINT
//	made: 2026-01-02T15:04:05Z
//	expires: 2026-04-02T15:04:05Z
//	to:
//	-----BEGIN PUBLIC KEY-----
//	...
type Handover struct {
	Statement string `json:"statement"`
	Signature []byte `json:"signature"`
}

// A Chain holds the handover statements of a master, oldest first. A peer that trusts one of its
// keys can follow them to the latest key.
type Chain []Handover

// handoverFields are the fields of a statement.
type handoverFields struct {
	serial        int64
	from          string // fingerprint of the signing key
	made, expires time.Time
	to            *crypto.PublicKey
}

func (f handoverFields) text() string {
	return fmt.Sprintf("%s\nserial: %d\nfrom: %s\nmade: %s\nexpires: %s\nto:\n%s\n", handoverTitle,
		f.serial, f.from, f.made.UTC().Format(time.RFC3339),
		f.expires.UTC().Format(time.RFC3339), f.to.PEM())
}

// NewHandover returns a statement that key is replaced by the key to from now on. It expires after
// life.
func NewHandover(
	key *crypto.PrivateKey, to *crypto.PublicKey, serial int64, now time.Time, life time.Duration,
) (Handover, error) {
	f := handoverFields{serial: serial, from: KeyName(key.Public()), made: now,
		expires: now.Add(life), to: to}
	h := Handover{Statement: f.text()}
	var err error
	h.Signature, err = key.Sign([]byte(h.Statement), handoverAlg)
	return h, err
}

// KeyName returns the SHA-256 fingerprint of a key in canonical form, as shown by `salt-key -F`.
func KeyName(key *crypto.PublicKey) string {
	name, err := crypto.Fingerprint([]byte(key.PEM()), "sha256")
	if err != nil {
		panic("pki: " + err.Error()) // only for an unknown hash
	}
	return name
}

// fields parses a statement. It accepts only the exact text that NewHandover writes.
func (h Handover) fields(p crypto.Policy) (f handoverFields, err error) {
	lines := strings.SplitN(h.Statement, "\n", 7)
	if len(lines) < 7 {
		return f, fmt.Errorf("%w: not a statement", ErrHandover)
	}
	value := func(i int, name string) string { v, _ := strings.CutPrefix(lines[i], name+": "); return v }
	var errs [4]error
	f.serial, errs[0] = strconv.ParseInt(value(1, "serial"), 10, 64)
	f.from = value(2, "from")
	f.made, errs[1] = time.Parse(time.RFC3339, value(3, "made"))
	f.expires, errs[2] = time.Parse(time.RFC3339, value(4, "expires"))
	f.to, errs[3] = p.ParsePublicKey([]byte(lines[6]))
	if err := errors.Join(errs[:]...); err != nil {
		return f, fmt.Errorf("%w: %w", ErrHandover, err)
	}
	if f.text() != h.Statement {
		return f, fmt.Errorf("%w: the statement is not in canonical form", ErrHandover)
	}
	return f, nil
}

// Heard is what a peer already knows when it follows a chain.
type Heard struct {
	Now    time.Time
	Serial int64 // of the last statement followed; older ones are invalid
	// reports whether the master has abandoned a key; nil means none
	Left   func(keyName string) bool
	Policy crypto.Policy
}

// Follow returns the statements that lead from one key to another, and the serial number of the
// last. Each must be signed by the key before it, have a higher serial number, be currently valid,
// and not lead to an abandoned key. Errors wrap ErrHandover.
func (c Chain) Follow(from, to *crypto.PublicKey, h Heard) (path Chain, serial int64, err error) {
	if len(c) > maxHandovers {
		return nil, 0, fmt.Errorf("%w: %d statements", ErrHandover, len(c))
	}
	at, left := from, map[string]bool{KeyName(from): true}
	serial = h.Serial
	for !at.Equal(to) {
		step, f, err := c.next(at, to, serial, left, h)
		if err != nil {
			return nil, 0, err
		}
		at, serial = f.to, f.serial
		left[KeyName(at)] = true
		path = append(path, step)
	}
	if len(path) == 0 {
		return nil, 0, fmt.Errorf("%w: it is the same key", ErrHandover)
	}
	return path, serial, nil
}

// next returns the last valid statement signed by a key, or the one that leads directly to the
// wanted key.
func (c Chain) next(
	at, to *crypto.PublicKey, serial int64, left map[string]bool, h Heard,
) (step Handover, f handoverFields, err error) {
	err = fmt.Errorf("%w: the key %s has signed no statement", ErrHandover, KeyName(at))
	for _, s := range c {
		g, e := s.fields(h.Policy)
		if e != nil || g.from != KeyName(at) {
			continue
		}
		if e = s.holds(g, at, serial, left, h); e != nil {
			err = e
			continue
		}
		if f.to == nil || !f.to.Equal(to) {
			step, f = s, g
		}
	}
	if f.to != nil {
		return step, f, nil
	}
	return step, f, err
}

// holds returns nil if a statement signed by the key is valid.
func (s Handover) holds(
	f handoverFields, by *crypto.PublicKey, serial int64, left map[string]bool, h Heard,
) error {
	name := KeyName(f.to)
	switch {
	case by.Verify([]byte(s.Statement), s.Signature, handoverAlg) != nil:
		return fmt.Errorf("%w: the signature is wrong", ErrHandover)
	case f.serial <= serial:
		return fmt.Errorf("%w: its number %d is not above %d, which was followed before",
			ErrHandover, f.serial, serial)
	case !h.Now.Before(f.expires):
		return fmt.Errorf("%w: it expired at %s", ErrHandover, f.expires.Format(time.RFC3339))
	case f.made.After(h.Now.Add(handoverSkew)):
		return fmt.Errorf("%w: it is dated in the future, %s", ErrHandover,
			f.made.Format(time.RFC3339))
	case left[name] || h.Left != nil && h.Left(name):
		return fmt.Errorf("%w: it leads back to an abandoned key", ErrHandover)
	}
	return nil
}

// Last returns the highest serial number in the chain, or 0.
func (c Chain) Last() int64 {
	var last int64
	for _, h := range c {
		if f, err := h.fields(crypto.Policy{}); err == nil {
			last = max(last, f.serial)
		}
	}
	return last
}

// Live returns the statements that have not expired, at most the last maxHandovers.
func (c Chain) Live(now time.Time) Chain {
	var live Chain
	for _, h := range c {
		if f, err := h.fields(crypto.Policy{}); err == nil && now.Before(f.expires) {
			live = append(live, h)
		}
	}
	return live[max(0, len(live)-maxHandovers):]
}

// Text returns the chain in its file format: one line of JSON per statement.
func (c Chain) Text() string {
	var b strings.Builder
	for _, h := range c {
		line, err := json.Marshal(h)
		if err != nil {
			panic("pki: " + err.Error()) // a text and bytes always encode
		}
		b.Write(line)
		b.WriteByte('\n')
	}
	return b.String()
}

// ParseChain parses the format of Text.
func ParseChain(text string) (Chain, error) {
	var c Chain
	for line := range strings.Lines(text) {
		var h Handover
		if err := json.Unmarshal([]byte(line), &h); err != nil {
			return nil, fmt.Errorf("statement %d of a chain of hand-overs: %w", len(c)+1, err)
		}
		c = append(c, h)
	}
	return c, nil
}

// Wire returns the chain as sent with a sign-in: pairs of statement and base64 signature.
func (c Chain) Wire() []any {
	var list []any
	for _, h := range c {
		list = append(list, []any{h.Statement, base64.StdEncoding.EncodeToString(h.Signature)})
	}
	return list
}

// ChainOf parses the format of Wire and skips malformed pairs.
func ChainOf(v any) Chain {
	list, _ := v.([]any)
	var c Chain
	for _, one := range list {
		pair, _ := one.([]any)
		if len(pair) != 2 {
			continue
		}
		statement, _ := pair[0].(string)
		encoded, _ := pair[1].(string)
		sig, err := base64.StdEncoding.DecodeString(encoded)
		if err == nil {
			c = append(c, Handover{statement, sig})
		}
	}
	return c
}

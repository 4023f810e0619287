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

// ErrHandover is wrapped when nothing that can be believed says that a master has another key now.
var ErrHandover = errors.New("no hand-over to this key that holds")

const (
	// maxHandovers is how many statements a chain may have: a minion that was away for more changes than that needs a hand.
	maxHandovers = 16
	// handoverTitle begins each statement, and nothing else that masters sign: all that is MessagePack or encrypted.
	handoverTitle = "brine: hand-over of the key of a master, version 1"
	// handoverSkew is how far the clock of a minion may be behind that of its master.
	handoverSkew = 24 * time.Hour
	// handoverAlg is how statements are signed.
	handoverAlg = crypto.SHA224Sign
)

// A Handover is the statement of a master, signed with the key that it leaves, which key it has from then on. The
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

// A Chain is the statements of a master, the oldest first. Who trusts one of its keys finds the way to the last.
type Chain []Handover

// handoverFields are what a statement says.
type handoverFields struct {
	serial        int64
	from          string // the fingerprint of the key that signs
	made, expires time.Time
	to            *crypto.PublicKey
}

func (f handoverFields) text() string {
	return fmt.Sprintf("%s\nserial: %d\nfrom: %s\nmade: %s\nexpires: %s\nto:\n%s\n", handoverTitle, f.serial, f.from,
		f.made.UTC().Format(time.RFC3339), f.expires.UTC().Format(time.RFC3339), f.to.PEM())
}

// NewHandover returns the statement that the holder of key has the key to from now on. It holds for as long as life.
func NewHandover(key *crypto.PrivateKey, to *crypto.PublicKey, serial int64, now time.Time, life time.Duration) (Handover, error) {
	f := handoverFields{serial: serial, from: KeyName(key.Public()), made: now, expires: now.Add(life), to: to}
	h := Handover{Statement: f.text()}
	var err error
	h.Signature, err = key.Sign([]byte(h.Statement), handoverAlg)
	return h, err
}

// KeyName returns the fingerprint of a key, as `salt-key -F` shows that of a key in canonical form under SHA-256.
func KeyName(key *crypto.PublicKey) string {
	name, err := crypto.Fingerprint([]byte(key.PEM()), "sha256")
	if err != nil {
		panic("pki: " + err.Error()) // only an unknown hash
	}
	return name
}

// fields reads a statement. Only the very text that NewHandover writes is one.
func (h Handover) fields(p crypto.Policy) (f handoverFields, err error) {
	lines := strings.SplitN(h.Statement, "\n", 7)
	if len(lines) < 7 {
		return f, fmt.Errorf("%w: it is no statement", ErrHandover)
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
		return f, fmt.Errorf("%w: it is not in the one form of statements", ErrHandover)
	}
	return f, nil
}

// Heard is what somebody who follows a chain knows.
type Heard struct {
	Now    time.Time
	Serial int64                     // of the last statement that was followed; older ones hold no longer
	Left   func(keyName string) bool // whether a key is one that the master has left; nil means none
	Policy crypto.Policy
}

// Follow returns the statements that lead from one key to another, and the serial number of the last. Each must be signed
// by the key before it, have a higher serial number, be of this time, and lead to no key that was left before. Errors wrap
// ErrHandover.
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

// next returns the last statement that a key has signed, or the one that leads to the wanted key.
func (c Chain) next(at, to *crypto.PublicKey, serial int64, left map[string]bool, h Heard) (step Handover, f handoverFields, err error) {
	err = fmt.Errorf("%w: the key %s has signed none", ErrHandover, KeyName(at))
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

// holds returns nil when a statement of a key can be believed.
func (s Handover) holds(f handoverFields, by *crypto.PublicKey, serial int64, left map[string]bool, h Heard) error {
	name := KeyName(f.to)
	switch {
	case by.Verify([]byte(s.Statement), s.Signature, handoverAlg) != nil:
		return fmt.Errorf("%w: the signature is wrong", ErrHandover)
	case f.serial <= serial:
		return fmt.Errorf("%w: its number %d is not above %d, which was followed before", ErrHandover, f.serial, serial)
	case !h.Now.Before(f.expires):
		return fmt.Errorf("%w: it expired at %s", ErrHandover, f.expires.Format(time.RFC3339))
	case f.made.After(h.Now.Add(handoverSkew)):
		return fmt.Errorf("%w: it is of the future, %s", ErrHandover, f.made.Format(time.RFC3339))
	case left[name] || h.Left != nil && h.Left(name):
		return fmt.Errorf("%w: it leads back to a key that was left", ErrHandover)
	}
	return nil
}

// Last returns the highest serial number in the chain, 0 for none.
func (c Chain) Last() int64 {
	var last int64
	for _, h := range c {
		if f, err := h.fields(crypto.Policy{}); err == nil {
			last = max(last, f.serial)
		}
	}
	return last
}

// Live returns those statements that have not expired, of too many the last ones.
func (c Chain) Live(now time.Time) Chain {
	var live Chain
	for _, h := range c {
		if f, err := h.fields(crypto.Policy{}); err == nil && now.Before(f.expires) {
			live = append(live, h)
		}
	}
	return live[max(0, len(live)-maxHandovers):]
}

// Text returns the chain as it lies on disk: a line of JSON for each statement.
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

// ParseChain reads what Text writes.
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

// Wire returns the chain as a sign-in carries it: pairs of statement and signature, the signature in base64.
func (c Chain) Wire() []any {
	var list []any
	for _, h := range c {
		list = append(list, []any{h.Statement, base64.StdEncoding.EncodeToString(h.Signature)})
	}
	return list
}

// ChainOf reads what Wire returns. What is no pair is left out: it leads nowhere.
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

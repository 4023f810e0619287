package pki

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/brineproject/brine/crypto"
)

// ErrRotating is wrapped if another program is replacing the key.
var ErrRotating = errors.New("the key is being replaced by another program")

// A Rotation describes the replacement of a daemon's own key.
type Rotation struct {
	Name string        // of the pair: master
	Bits int           // of the new key
	Pass string        // decrypts the old key and encrypts the new one
	Life time.Duration // how long absent peers may still follow; at least LeastHandover
	Now  time.Time
	// Before, if not nil, is called with the new public key before the key becomes active. If it
	// fails, the old pair stays.
	Before func(*crypto.PublicKey) error
}

// Rotated is the result of a Rotation.
type Rotated struct {
	Key      *crypto.PrivateKey
	From, To string // fingerprints
	Kept     string // file of the old private key
	Expires  time.Time
}

// handoverFile returns the name of the file with the Chain of a pair.
func handoverFile(name string) string { return name + "_handover" }

// LeastHandover is the minimum validity of a statement: minions that were away for less must be
// able to follow.
const LeastHandover = time.Hour

// Rotate replaces the pair NAME.pem and NAME.pub by a new one, and appends the old key's handover
// statement to NAME_handover. The old pair is kept as NAME.pem.DATE and NAME.pub.DATE. If it is
// interrupted, either the old or the new pair is in place. Errors wrap ErrRotating, ErrNotFound or
// those of crypto.ParsePrivateKey.
func (k *Keys) Rotate(o Rotation) (*Rotated, error) {
	if o.Life < LeastHandover {
		return nil, fmt.Errorf("replace the key %s: peers could follow for %v only, and should for %v or more", o.Name, o.Life, LeastHandover)
	}
	if _, err := k.Private(o.Name, o.Pass); err != nil {
		return nil, err // before the expensive key generation
	}
	next, err := crypto.GenerateKey(o.Bits)
	if err != nil {
		return nil, err
	}
	unlock, err := k.lockRotation(o.Name)
	if err != nil {
		return nil, err
	}
	defer unlock()
	old, err := k.Private(o.Name, o.Pass)
	if err != nil {
		return nil, err
	}
	if err := k.completePair(o.Name, old); err != nil {
		return nil, err
	}
	kept, err := k.replacePair(o, old, next)
	if err != nil {
		return nil, err
	}
	return &Rotated{next, KeyName(old.Public()), KeyName(next.Public()), kept,
		o.Now.Add(o.Life)}, nil
}

// replacePair installs the next key with its handover statement and backs up the old one.
func (k *Keys) replacePair(o Rotation, old, next *crypto.PrivateKey) (kept string, err error) {
	if err := k.extendChain(o, old, next.Public()); err != nil {
		return "", err
	}
	kept, err = k.keepPair(o, old)
	if err == nil && o.Before != nil {
		err = o.Before(next.Public())
	}
	if err != nil {
		return "", err
	}
	err = k.in(func(r *room) error { return r.replace(o.Name+".pem", next.PEM(o.Pass), privateMode) })
	if err == nil {
		err = k.SetPublic(o.Name, next.Public())
	}
	if err != nil {
		return "", fmt.Errorf("write the new key %s: %w", o.Name, err)
	}
	return kept, nil
}

// lockRotation ensures that only one program replaces a key at a time. The lock ends with the
// process; its file stays.
func (k *Keys) lockRotation(name string) (unlock func(), err error) {
	var f *os.File
	err = k.in(func(r *room) error {
		f, err = r.root.OpenFile("."+name+"_rotating", os.O_RDWR|os.O_CREATE, 0o600)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("replace the key %s: %w", name, err)
	}
	if err := lock(f); err != nil {
		f.Close()
		if errors.Is(err, errLocked) {
			err = ErrRotating
		}
		return nil, fmt.Errorf("%s.pem: %w", name, err)
	}
	return func() { f.Close() }, nil
}

// Chain returns the statements of earlier rotations of a pair, if any.
func (k *Keys) Chain(name string) (Chain, error) {
	text, err := k.ReadText(handoverFile(name))
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return ParseChain(text)
}

func (k *Keys) extendChain(o Rotation, old *crypto.PrivateKey, to *crypto.PublicKey) error {
	chain, err := k.Chain(o.Name)
	if err != nil {
		return err
	}
	// The serial number also grows if the file was lost, since minions remember the last one.
	h, err := NewHandover(old, to, max(chain.Last()+1, o.Now.Unix()), o.Now, o.Life)
	if err != nil {
		return fmt.Errorf("hand over to the new key: %w", err)
	}
	return k.WriteText(handoverFile(o.Name), append(chain, h).Live(o.Now).Text())
}

func (k *Keys) keepPair(o Rotation, old *crypto.PrivateKey) (kept string, err error) {
	date := o.Now.UTC().Format("20060102T150405Z")
	kept = o.Name + ".pem." + date
	err = k.in(func(r *room) error { return r.replace(kept, old.PEM(o.Pass), privateMode) })
	if err == nil {
		err = k.WriteText(o.Name+".pub."+date, old.Public().PEM())
	}
	if err != nil {
		return "", fmt.Errorf("keep the old key %s: %w", o.Name, err)
	}
	return kept, nil
}

// succeeded reports whether a public key is the predecessor of a private key, which means that a
// rotation was interrupted between the two files.
func (k *Keys) succeeded(name, pem string, key *crypto.PrivateKey) bool {
	before, err := crypto.ParsePublicKey([]byte(crypto.CleanPEM(pem)))
	if err != nil {
		return false
	}
	chain, err := k.Chain(name)
	if err != nil {
		return false
	}
	_, _, err = chain.Follow(before, key.Public(), Heard{Now: time.Now()})
	return err == nil
}

package pki

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/brineproject/brine/crypto"
)

// ErrRotating is wrapped while another program gives the master a new key.
var ErrRotating = errors.New("the key is being replaced by another program")

// A Rotation is the replacement of a daemon's own key by a new one.
type Rotation struct {
	Name string        // of the pair: master
	Bits int           // of the new key
	Pass string        // opens the old key and encrypts the new one
	Life time.Duration // how long peers that were away may still follow; LeastHandover or more
	Now  time.Time
	// Before is called with the new public key before it is in force; nil is not. Its error leaves the old pair in place.
	Before func(*crypto.PublicKey) error
}

// Rotated is what came of a Rotation.
type Rotated struct {
	Key      *crypto.PrivateKey
	From, To string // fingerprints
	Kept     string // the file that the old private key lies in now
	Expires  time.Time
}

// handoverFile holds the Chain of a pair.
func handoverFile(name string) string { return name + "_handover" }

// LeastHandover is the shortest that a statement may hold for: a minion that was away for less must be able to follow.
const LeastHandover = time.Hour

// Rotate makes a new pair NAME.pem and NAME.pub in place of the one that is there, and adds the statement of the old key that
// hands over to the new one to NAME_handover. The old pair stays as NAME.pem.DATE and NAME.pub.DATE. Whenever it is broken off,
// there is the old pair or the new one. Errors wrap ErrRotating, ErrNotFound or those of crypto.ParsePrivateKey.
func (k *Keys) Rotate(o Rotation) (*Rotated, error) {
	if o.Life < LeastHandover {
		return nil, fmt.Errorf("replace the key %s: peers could follow for %v only, and should for %v or more", o.Name, o.Life, LeastHandover)
	}
	if _, err := k.Private(o.Name, o.Pass); err != nil {
		return nil, err // before the work of making a key
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
	return &Rotated{next, KeyName(old.Public()), KeyName(next.Public()), kept, o.Now.Add(o.Life)}, nil
}

// replacePair puts a key in the place of another, which it hands over from and keeps.
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

// lockRotation makes sure that one program at a time replaces a key. The lock goes with the program that has it; its file stays.
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

// Chain returns the statements of earlier rotations of a pair, none where there are none.
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
	// The number grows also when the file was lost: minions that followed it know the last one.
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

// succeeded reports whether a public key is the predecessor of a private one: a rotation was broken off between the two files.
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

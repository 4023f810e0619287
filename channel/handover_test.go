package channel

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/pki"
)

// heirKeys are keys of a minion that follow hand-overs.
type heirKeys struct {
	memoryKeys
	serial int64
	left   []*crypto.PublicKey
}

var _ Heir = (*heirKeys)(nil)

func (k *heirKeys) Heard() (pki.Heard, error) {
	return pki.Heard{Now: time.Now(), Serial: k.serial, Left: func(name string) bool {
		for _, l := range k.left {
			if pki.KeyName(l) == name {
				return true
			}
		}
		return false
	}}, nil
}

func (k *heirKeys) Succeed(_, pem string, serial int64) error {
	old, err := crypto.ParsePublicKey([]byte(k.master))
	if err != nil {
		return err
	}
	k.left, k.serial = append(k.left, old), serial
	return k.SetMaster(k.master, pem)
}

func (k *heirKeys) WasTrusted(finger, hash string) bool {
	for _, l := range k.left {
		if got, _ := crypto.Fingerprint([]byte(l.PEM()), hash); strings.EqualFold(got, finger) {
			return true
		}
	}
	return false
}

// exchange gives the master of a rig another key, with the statement of the one before.
func (r *rig) exchange(t *testing.T, from, to *crypto.PrivateKey, serial int64) {
	t.Helper()
	h, err := pki.NewHandover(from, to.Public(), serial, time.Now(), time.Hour)
	must(t, err)
	chain := append(r.signIn.handover[:len(r.signIn.handover):len(r.signIn.handover)], h)
	must(t, r.signIn.Exchange(to, chain, "", r.secrets.Rotate))
	r.server.SetKey(to)
}

func newKey(t *testing.T) *crypto.PrivateKey {
	t.Helper()
	key, err := crypto.GenerateKey(2048)
	must(t, err)
	return key
}

func TestMinionsFollowTheKeyOfTheirMaster(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.accept("web1", "minion")
	first := r.ring["master"]
	finger, err := crypto.Fingerprint([]byte(first.Public().PEM()), "sha256")
	must(t, err)
	here, away := &heirKeys{}, &heirKeys{}
	signIn := func(keys Keys, o ClientOptions) error {
		t.Helper()
		o.AuthTries = 1
		_, err := newTestClient(t, r.ring["minion"], keys, "web1", r.direct(), o).SignIn(t.Context())
		return err
	}
	pinned := ClientOptions{Fingerprint: finger}
	for name, keys := range map[string]*heirKeys{"here": here, "away": away} {
		if err := signIn(keys, pinned); err != nil {
			t.Fatal(name, err)
		}
	}
	salts := &memoryKeys{master: first.Public().PEM()}
	second, third := newKey(t), newKey(t)
	r.exchange(t, first, second, 1)
	for range 2 { // the second time with the new key alone
		if err := signIn(here, pinned); err != nil || here.master != second.Public().PEM() ||
			here.serial != 1 {
			t.Fatalf("after one change: %v, number %d", err, here.serial)
		}
	}
	if err := signIn(salts, ClientOptions{}); !errors.Is(err, ErrMasterKey) {
		t.Errorf("a minion that follows no hand-over: %v, want ErrMasterKey", err)
	}
	r.exchange(t, second, third, 2)
	for name, keys := range map[string]*heirKeys{"here": here, "away": away} {
		if err := signIn(keys, pinned); err != nil || keys.master != third.Public().PEM() ||
			keys.serial != 2 {
			t.Errorf("%s after two changes: %v, number %d", name, err, keys.serial)
		}
	}
	fresh := &heirKeys{left: []*crypto.PublicKey{first.Public()}}
	if err := signIn(fresh, pinned); !errors.Is(err, ErrFingerprint) {
		t.Errorf("a first contact whose master_finger is of a key that was left: %v, want ErrFingerprint", err)
	}
}

// TestMinionsFollowWithASignedKey has minions that know the key which signs that of the master, and
// whose master_finger names the first key of the master.
func TestMinionsFollowWithASignedKey(t *testing.T) {
	signing := newKey(t)
	r := newRig(t, rigOptions{signIn: SignInOptions{Signing: signing}})
	r.accept("web1", "minion")
	first, second, third := r.ring["master"], newKey(t), newKey(t)
	finger, err := crypto.Fingerprint([]byte(first.Public().PEM()), "sha256")
	must(t, err)
	signIn := func(keys Keys, finger string) error {
		o := ClientOptions{AuthTries: 1, VerifySigned: true, Fingerprint: finger}
		_, err := newTestClient(t, r.ring["minion"], keys, "web1", r.direct(), o).SignIn(t.Context())
		return err
	}
	keys := &heirKeys{memoryKeys: memoryKeys{signing: signing.Public().PEM()}}
	must(t, signIn(keys, finger))
	r.exchange(t, first, second, 1)
	for range 2 {
		if err := signIn(keys, finger); err != nil || keys.master != second.Public().PEM() ||
			keys.serial != 1 {
			t.Errorf("after one change: %v, number %d", err, keys.serial)
		}
	}
	must(t, r.signIn.Exchange(third, nil, "", r.secrets.Rotate)) // nobody hands over to it
	r.server.SetKey(third)
	if err := signIn(keys, finger); !errors.Is(err, ErrFingerprint) {
		t.Errorf("a key that is signed and not handed over to, with master_finger of another: %v, want ErrFingerprint", err)
	}
	if err := signIn(keys, ""); err != nil || keys.master != third.Public().PEM() {
		t.Errorf("a key that is signed and not handed over to: %v", err)
	}
}

// TestThreatMasterKeyRollback offers the old key again, with every statement there ever was, and
// one by the thief of the old key.
func TestThreatMasterKeyRollback(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.accept("web1", "minion")
	first, second := r.ring["master"], newKey(t)
	keys := &heirKeys{}
	signIn := func() error {
		_, err := newTestClient(t, r.ring["minion"], keys, "web1", r.direct(),
			ClientOptions{AuthTries: 1}).SignIn(t.Context())
		return err
	}
	must(t, signIn())
	r.exchange(t, first, second, 1)
	must(t, signIn())
	for name, chain := range map[string]pki.Chain{
		"the statements there were":    r.signIn.handover,
		"a statement of the new key":   append(r.signIn.handover, statement(t, second, first, 2)),
		"a statement of the old key":   append(r.signIn.handover, statement(t, first, first, 3)),
		"no statement":                 nil,
		"a thief with the first key":   {statement(t, first, first, 9)},
		"a statement under its number": {statement(t, second, first, 1)},
	} {
		must(t, r.signIn.Exchange(first, chain, "", func() error { return nil }))
		if err := signIn(); !errors.Is(err, ErrMasterKey) {
			t.Errorf("%s: %v, want ErrMasterKey", name, err)
		}
	}
	thief := newKey(t)
	must(t, r.signIn.Exchange(thief, pki.Chain{statement(t, first, thief, 9)},
		"", func() error { return nil }))
	if err := signIn(); !errors.Is(err, ErrMasterKey) {
		t.Errorf("another key by a statement of the old one: %v, want ErrMasterKey", err)
	}
	if keys.master != second.Public().PEM() {
		t.Error("the stored key was replaced")
	}
}

func statement(t *testing.T, from, to *crypto.PrivateKey, serial int64) pki.Handover {
	t.Helper()
	h, err := pki.NewHandover(from, to.Public(), serial, time.Now(), time.Hour)
	must(t, err)
	return h
}

// A session key that somebody got under one key of a minion is not given to who holds another.
func TestReplacedKeyOfAMinionHasAnotherSession(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.accept("web1", "minion")
	before, err := r.client("web1", "minion", r.direct(), ClientOptions{}).SignIn(t.Context())
	must(t, err)
	again, err := r.client("web1", "minion", r.direct(), ClientOptions{}).SignIn(t.Context())
	must(t, err)
	r.accept("web1", "other")
	after, err := r.client("web1", "other", r.direct(), ClientOptions{}).SignIn(t.Context())
	must(t, err)
	if before.Session.Key() != again.Session.Key() || before.Session.Key() == after.Session.Key() {
		t.Errorf("session keys: the same %v for one key, the same %v for another",
			before.Session.Key() == again.Session.Key(), before.Session.Key() == after.Session.Key())
	}
}

func TestDeniedMinionLearnsIt(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.accept("web1", "minion")
	_, err := r.client("web1", "other", r.direct(), ClientOptions{AuthTries: 1}).SignIn(t.Context())
	if !errors.Is(err, ErrRejected) || !errors.Is(err, ErrDenied) {
		t.Errorf("another key for an accepted id: %v, want ErrRejected and ErrDenied", err)
	}
	must(t, r.pki.Put(pki.Rejected, "web2", r.ring.pub("other")))
	_, err = r.client("web2", "other", r.direct(), ClientOptions{AuthTries: 1}).SignIn(t.Context())
	if !errors.Is(err, ErrRejected) || errors.Is(err, ErrDenied) {
		t.Errorf("a rejected key: %v, want ErrRejected alone", err)
	}
}

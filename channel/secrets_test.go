package channel

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/pki"
)

func openSecrets(t testing.TB, dir string, life time.Duration) *Secrets {
	t.Helper()
	root, err := os.OpenRoot(dir)
	must(t, err)
	t.Cleanup(func() { root.Close() })
	s, err := NewSecrets(root, life)
	must(t, err)
	return s
}

func sessionOf(t testing.TB, s *Secrets, id string) string {
	t.Helper()
	c, err := s.Session(id)
	must(t, err)
	return c.Key()
}

// A minion's key outlasts a restart of the master; the shared one does not.
func TestSessionFiles(t *testing.T) {
	dir := t.TempDir()
	a := openSecrets(t, dir, time.Hour)
	if _, err := a.Existing("web1"); err == nil {
		t.Error("a minion that never signed in has a key")
	}
	key := sessionOf(t, a, "web1")
	info, err := os.Stat(filepath.Join(dir, "web1"))
	must(t, err)
	text, err := os.ReadFile(filepath.Join(dir, "web1"))
	must(t, err)
	if info.Mode().Perm() != 0o600 || string(text) != key || len(text) != crypto.KeyStringSize {
		t.Errorf("the file has mode %v and holds %q", info.Mode(), text)
	}
	if again := sessionOf(t, a, "web1"); again != key || sessionOf(t, a, "web2") == key {
		t.Error("the key is not the minion's own, or not the same each time")
	}
	b := openSecrets(t, dir, time.Hour)
	if _, err := b.Existing("web1"); err == nil || sessionOf(t, b, "web1") == key {
		t.Errorf("the minion's key outlasts a restart: %v", err)
	}
	if a.Shared().Key() == b.Shared().Key() {
		t.Error("the shared key outlasts a restart")
	}
	names, err := os.ReadDir(dir)
	must(t, err)
	if len(names) != 1 {
		t.Errorf("%v lie in the folder", names)
	}
}

// A key that is too old, damaged, or no file at all is not used, and replaced at the next sign-in.
func TestBadSessionFiles(t *testing.T) {
	dir := t.TempDir()
	key := sessionOf(t, openSecrets(t, dir, time.Hour), "web1")
	for name, spoil := range map[string]func(path string) error{
		"too old": func(path string) error { return os.Chtimes(path, time.Time{}, time.Now().Add(-time.Hour)) },
		"empty":   func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"garbage": func(path string) error { return os.WriteFile(path, []byte("x"), 0o600) },
		"huge":    func(path string) error { return os.WriteFile(path, []byte(key+strings.Repeat("\n", 2000)), 0o600) },
		"a link": func(path string) error {
			os.WriteFile(path+".target", []byte(key), 0o600)
			os.Remove(path)
			return os.Symlink(filepath.Base(path)+".target", path)
		},
	} {
		s := openSecrets(t, dir, time.Hour)
		must(t, os.WriteFile(filepath.Join(dir, "web1"), []byte(key), 0o600))
		must(t, spoil(filepath.Join(dir, "web1")))
		if _, err := s.Existing("web1"); err == nil {
			t.Errorf("%s: the key is used", name)
		}
		if sessionOf(t, s, "web1") == key {
			t.Errorf("%s: the key is given out", name)
		}
		if c, err := s.Existing("web1"); err != nil || c.Key() != sessionOf(t, s, "web1") {
			t.Errorf("%s: the new key: %v", name, err)
		}
		must(t, s.Forget("web1"))
		must(t, s.Forget("web1"))
	}
}

func TestKeysEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openSecrets(t, t.TempDir(), time.Hour)
		shared := s.Shared()
		_, first := s.next()
		_, second := s.next()
		if first != 1 || second != 2 || s.Due() {
			t.Errorf("numbers %d, %d, due %v", first, second, s.Due())
		}
		s.sessions["web1"] = session{crypticle: shared, made: time.Now()} // made now by the clock of the test
		time.Sleep(time.Hour)
		if !s.Due() {
			t.Error("the shared key is not due after its life")
		}
		if s.cached("web1") != nil {
			t.Error("a minion's key is used after its life")
		}
		must(t, s.Rotate())
		c, n := s.next()
		if c == shared || c.Key() == shared.Key() || n != 1 || s.Due() {
			t.Errorf("after the rotation: number %d, due %v", n, s.Due())
		}
		forever := openSecrets(t, t.TempDir(), 0)
		time.Sleep(1000 * time.Hour)
		if forever.Due() {
			t.Error("a key without end is due")
		}
	})
}

// A rotation reaches minions with the next publication; requests of version 3 go on without a
// sign-in.
func TestRotation(t *testing.T) {
	p := newPair(t, ClientOptions{Tries: 1, RequireSigned: true})
	must(t, p.call())
	must(t, p.secrets.Rotate())
	must(t, p.call())
	if n := p.signIns.Load(); n != 1 {
		t.Errorf("%d sign-ins after a rotation", n)
	}
	if _, err := p.client.OpenPublication(t.Context(), p.publish("20261121074539197176")); err != nil {
		t.Errorf("the first publication after the rotation: %v", err)
	}
	must(t, p.call())
	if n := p.signIns.Load(); n != 2 {
		t.Errorf("%d sign-ins after the publication", n)
	}
}

func TestPrune(t *testing.T) {
	dir := t.TempDir()
	s := openSecrets(t, dir, 0)
	for i := range 5 {
		sessionOf(t, s, fmt.Sprint("web", i))
	}
	must(t, os.WriteFile(filepath.Join(dir, ".new-0011223344556677"), nil, 0o600))
	must(t, s.Prune(func(id string) bool { return id == "web1" || id == "web3" }))
	entries, err := os.ReadDir(dir)
	must(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if !slices.Equal(names, []string{"web1", "web3"}) {
		t.Errorf("%v are left", names)
	}
	if _, err := s.Existing("web0"); err == nil {
		t.Error("a key that was pruned is in memory")
	}
}

func TestSecretsAtOnce(t *testing.T) {
	s := openSecrets(t, t.TempDir(), time.Hour)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 40 {
				id := fmt.Sprint("web", j%10)
				if _, err := s.Session(id); err != nil {
					t.Error(err)
				}
				s.Existing(id)
				s.Shared()
				s.next()
				s.Due()
				switch {
				case i == 0 && j%10 == 9:
					must(t, s.Rotate())
				case i == 1 && j%10 == 9:
					must(t, s.Prune(func(id string) bool { return id != "web3" }))
				}
			}
		})
	}
	wg.Wait()
	seen := map[string]bool{}
	for i := range 10 {
		seen[sessionOf(t, s, fmt.Sprint("web", i))] = true
	}
	if len(seen) != 10 {
		t.Errorf("%d keys for 10 minions", len(seen))
	}
}

// Many who sign in at once are all let in, with keys that open.
func TestSignInsAtOnce(t *testing.T) {
	r := newRig(t, rigOptions{signIn: SignInOptions{Parallel: 2, MaxWait: time.Minute,
		Policy: Policy{Rules: &pki.Autosign{AcceptAll: true}}}})
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			id := fmt.Sprint("web", i)
			c := r.client(id, "minion", r.direct(), ClientOptions{AuthTries: 1, Tries: 1})
			if creds, err := c.SignIn(context.Background()); err != nil || creds.Version != 3 {
				t.Errorf("%s: %v", id, err)
			}
		})
	}
	wg.Wait()
}

// A sign-in that does not get its turn in time may be tried again: our minions are told, Salt's
// wait for an answer in vain, which makes them ask again.
func TestSignInWaitsForItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{signIn: SignInOptions{Parallel: 1}})
		r.accept("web1", "minion")
		_, err := r.signIn.line.join(netip.Addr{}, 0)
		must(t, err)
		f := &forger{rig: r}
		for id, key := range map[string]string{"web1": "minion", "web9": "other"} {
			start := time.Now()
			req := &fakeRequest{body: f.signInOf(id, key, 3)}
			r.server.Handle(t.Context(), req)
			if req.replies != 0 || time.Since(start) != 35*time.Second {
				t.Errorf("%s of Salt: %d replies after %v", id, req.replies, time.Since(start))
			}
			start = time.Now()
			c := r.client(id, key, r.direct(), ClientOptions{AuthTries: 1})
			if _, err := c.SignIn(t.Context()); !errors.Is(err, ErrBusy) ||
				time.Since(start) != 4*time.Second {
				t.Errorf("%s of ours: %v after %v", id, err, time.Since(start))
			}
		}
		if len(r.events) > 0 {
			t.Errorf("sign-ins without a turn were judged: %v", r.events)
		}
		done := make(chan any)
		go func() { done <- decoded(t, r.ask(f.signInOf("web1", "minion", 3))) }()
		synctest.Wait()
		r.signIn.line.leave()
		if reply, ok := (<-done).(*data.Map); !ok || !reply.Has("sig") {
			t.Errorf("with a turn that became free: %v", reply)
		}
	})
}

// A client that is told to come again does so after a pause, which differs from one to the other.
func TestBusyMasterIsAskedAgainAfterAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{})
		r.accept("web1", "minion")
		pauses := map[time.Duration]bool{}
		for range 20 {
			asked := 0
			start := time.Now()
			out := wire(func(ctx context.Context, body []byte) ([]byte, error) {
				if asked++; asked == 1 {
					return marshal(data.NewMap("enc", "clear", "load", data.NewMap("ret", retBusy))), nil
				}
				return r.direct().Do(ctx, body)
			})
			if _, err := r.client("web1", "minion", out,
				ClientOptions{AuthTries: 2}).SignIn(t.Context()); err != nil {
				t.Fatal(err)
			}
			pauses[time.Since(start)] = true
			if time.Since(start) > busyPause {
				t.Errorf("a pause of %v", time.Since(start))
			}
		}
		if len(pauses) < 15 {
			t.Errorf("%d different pauses of 20", len(pauses))
		}
	})
}

// A key that is used once by the master's file signature, and by its signing key, gives the same
// text.
func TestSignedKey(t *testing.T) {
	ring := newRig(t, rigOptions{}).ring
	sig, err := ring["other"].Sign([]byte(ring.pub("master")), crypto.SHA1Sign)
	must(t, err)
	for name, o := range map[string]SignInOptions{"by the key": {Signing: ring["other"]},
		"by the file": {SignedKey: crypto.SignatureText(sig)}} {
		r := newRig(t, rigOptions{ring: ring, signIn: o})
		r.accept("web1", "minion")
		for _, alg := range []string{crypto.SHA1Sign, crypto.SHA224Sign, crypto.SHA1Sign} {
			keys := &memoryKeys{signing: ring.pub("other")}
			c := newTestClient(t, ring["minion"], keys, "web1", r.direct(),
				ClientOptions{VerifySigned: true, SigAlgo: alg, AuthTries: 1})
			if _, err := c.SignIn(t.Context()); (err == nil) != (name == "by the key" ||
				alg == crypto.SHA1Sign) {
				t.Errorf("%s, %s: %v", name, alg, err)
			}
		}
	}
}

// A minion with several signing keys takes a master's key that one of them has signed, and no other.
// The refusal of a second master, whose key it does not know, makes it wait.
func TestSeveralSigningKeys(t *testing.T) {
	ring := newRig(t, rigOptions{}).ring
	for _, name := range []string{"first signer", "second signer", "second master"} {
		key, err := crypto.GenerateKey(2048)
		must(t, err)
		ring[name] = key
	}
	first := newRig(t, rigOptions{ring: ring, signIn: SignInOptions{Signing: ring["first signer"]}})
	second := newRig(t, rigOptions{ring: ring, master: "second master",
		signIn: SignInOptions{Signing: ring["second signer"]}})
	keys := &memoryKeys{signing: ring.pub("first signer") + "," + ring.pub("second signer")}
	o := ClientOptions{VerifySigned: true, SigAlgo: crypto.SHA224Sign, AuthTries: 1}
	signIn := func(r *rig) error {
		_, err := newTestClient(t, ring["minion"], keys, "web1", r.direct(), o).SignIn(t.Context())
		return err
	}
	first.accept("web1", "minion")
	must(t, signIn(first))
	if err := signIn(second); !errors.Is(err, ErrPending) || !errors.Is(err, ErrUnproved) {
		t.Errorf("at a second master that has not accepted the minion: %v", err)
	}
	second.accept("web1", "minion")
	for _, r := range []*rig{second, first, second} { // the stored key is the other one each time
		must(t, signIn(r))
	}
	for _, one := range []string{ring.pub("first signer"), ring.pub("minion"), "no key"} {
		keys := &memoryKeys{signing: one, master: ring.pub("master")}
		c := newTestClient(t, ring["minion"], keys, "web1", second.direct(), o)
		if _, err := c.SignIn(t.Context()); !errors.Is(err, ErrMasterKey) {
			t.Errorf("with another signing key: %v", err)
		}
		if keys.master != ring.pub("master") {
			t.Error("a key without a valid signature was stored")
		}
	}
	o.VerifySigned = false
	if err := signIn(second); !errors.Is(err, ErrMasterKey) {
		t.Errorf("without verify_master_pubkey_sign: %v", err)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	n := newNonces(1000, nil)
	for i := range 10_000 {
		if !n.add("web1", fmt.Sprint(i), mark{}) {
			t.Fatal("a new nonce is taken for an old one")
		}
		if i >= 400 && n.add("web1", fmt.Sprint(i-400), mark{}) {
			t.Fatalf("nonce %d is forgotten after 400", i-400)
		}
		if size := len(n.now.known) + len(n.past.known); size > 1000 {
			t.Fatalf("%d nonces are kept", size)
		}
	}
	if !n.add("web2", "9999", mark{}) {
		t.Error("minions share nonces")
	}
	key := newRig(t, rigOptions{}).ring["minion"]
	token, err := key.EncryptX931([]byte("salt"))
	must(t, err)
	p := newProofs(10)
	for i := range 100 {
		if !p.prove(fmt.Sprint(i), key.Public(), token) || len(p.known) > 10 {
			t.Fatalf("%d proofs are kept", len(p.known))
		}
	}
}

func TestProofs(t *testing.T) {
	ring := newRig(t, rigOptions{}).ring
	public := func(name string) *crypto.PublicKey { return ring[name].Public() }
	token := func(name, text string) []byte {
		b, err := ring[name].EncryptX931([]byte(text))
		must(t, err)
		return b
	}
	p := newProofs(10)
	minion := public("minion")
	good := token("minion", "salt")
	for range 2 {
		if !p.prove("web1", minion, good) {
			t.Error("a good token proves nothing")
		}
		for name, bad := range map[string][]byte{"none": nil, "short": good[1:],
			"long": append([]byte{0}, good...), "other text": token("minion", "pepper"),
			"other key": token("minion2", "salt"), "zeros": make([]byte, 256),
			"changed": append(append([]byte{}, good[:255]...), good[255]^1)} {
			if p.prove("web1", minion, bad) {
				t.Errorf("a token that is %s proves", name)
			}
		}
		if p.prove("web1", public("minion2"), good) || !p.prove("web2", minion, good) {
			t.Error("a proof holds for the wrong key")
		}
	}
	good[0] ^= 1
	if p.prove("web1", minion, good) {
		t.Error("the kept token shares memory with the request")
	}
}

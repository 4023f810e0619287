package minion_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/internal/test/testsalt"
	"github.com/brineproject/brine/minion"
)

// newSignedPair starts two masters with different keys, each signed by a signing key of its own, and
// gives the minion the signing keys. Their names are the minion's master_sign_key_name.
func newSignedPair(t *testing.T) *pair {
	t.Helper()
	names := []string{"signer_a", "signer_b"}
	next := 0
	p := newPairOf(t, func(cfg *config.Master) {
		cfg.MasterSignPubkey, cfg.MasterSignKeyName = true, names[next]
		next++
	})
	p.cfg.VerifyMasterPubkeySign, p.cfg.MasterSignKeyName = true, names
	for i, name := range names {
		p.trust(t, i, name)
	}
	return p
}

// trust copies the public part of a master's signing key to the minion.
func (p *pair) trust(t *testing.T, i int, name string) {
	t.Helper()
	body, err := os.ReadFile(filepath.Join(p.masters[i].Config.PKIDir, name+".pub"))
	if err == nil {
		err = os.MkdirAll(p.cfg.PKIDir, 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(p.cfg.PKIDir, name+".pub"), body, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// stored returns the index of the master whose key the minion has stored, or -1.
func (p *pair) stored(t *testing.T) int {
	t.Helper()
	got, err := os.ReadFile(filepath.Join(p.cfg.PKIDir, "minion_master.pub"))
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range p.masters {
		want, err := os.ReadFile(filepath.Join(m.Config.PKIDir, "master.pub"))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) == string(want) {
			return i
		}
	}
	return -1
}

// TestFailoverToAnotherKey goes from a master to one with another key and another signing key, and
// back. The stored key is that of the last master.
func TestFailoverToAnotherKey(t *testing.T) {
	p := newSignedPair(t)
	p.startMinion(t)
	p.awaitStart(t, 0)
	for _, now := range []int{1, 0} {
		p.stop(t, 1-now)
		p.awaitStart(t, now)
		if got := p.run(t, now, "test.ping"); got != true {
			t.Errorf("master %d got %v", now, got)
		}
		if got := p.run(t, now, "pillar.items"); got == nil {
			t.Errorf("master %d got no pillar", now)
		}
		if got := p.stored(t); got != now {
			t.Errorf("the key of master %d is stored, want %d", got, now)
		}
		if now == 1 {
			p.start(t, 0, p.masters[0].Config)
		}
	}
}

// TestMastersOfDifferentKeys is connected to both masters at once. Whichever key is stored, both
// are served, also after a restart of one and of the minion.
func TestMastersOfDifferentKeys(t *testing.T) {
	p := newSignedPair(t)
	p.cfg.MasterType = "str"
	check := func() {
		t.Helper()
		for i := range p.masters {
			if got := p.run(t, i, "test.ping"); got != true {
				t.Errorf("master %d got %v", i, got)
			}
			if got := p.run(t, i, "pillar.items"); got == nil {
				t.Errorf("master %d got no pillar", i)
			}
		}
		if p.stored(t) < 0 {
			t.Error("the stored key is that of no master")
		}
	}
	p.startMinion(t)
	p.awaitStart(t, 0)
	p.awaitStart(t, 1)
	check()
	p.stop(t, 0)
	p.start(t, 0, p.masters[0].Config)
	p.awaitOwn(t, "__master_connected")
	testsalt.AwaitEvent(t, p.events[0], "salt/auth")
	check()
	if err := p.minion.Stop(); err != nil {
		t.Fatal(err)
	}
	p.bus.Close()
	p.startMinion(t)
	p.awaitStart(t, 0)
	p.awaitStart(t, 1)
	check()
}

// TestUnknownSigner trusts one of the two signing keys. The other master is not served, and without
// verify_master_pubkey_sign no master is that signs.
func TestUnknownSigner(t *testing.T) {
	p := newSignedPair(t)
	if err := os.Remove(filepath.Join(p.cfg.PKIDir, "signer_a.pub")); err != nil {
		t.Fatal(err)
	}
	p.startMinion(t)
	p.awaitStart(t, 1)
	if got := p.stored(t); got != 1 {
		t.Errorf("the key of master %d is stored, want 1", got)
	}
	if err := p.minion.Stop(); err != nil {
		t.Fatal(err)
	}
	p.bus.Close()
	join := func() error {
		c, err := minion.NewCaller(t.Context(), p.cfg, p.cfg.Map(), testsalt.MinionOptions(t, p.cfg))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		return c.Join(context.WithoutCancel(t.Context()))
	}
	if err := join(); err != nil {
		t.Errorf("a caller that knows the second master's signing key: %v", err)
	}
	if err := os.Remove(filepath.Join(p.cfg.PKIDir, "signer_b.pub")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(p.cfg.PKIDir, "minion_master.pub")); err != nil {
		t.Fatal(err)
	}
	if err := join(); !errors.Is(err, channel.ErrMasterKey) {
		t.Errorf("without a signing key: %v", err)
	}
	p.cfg.VerifyMasterPubkeySign = false
	if err := join(); !errors.Is(err, channel.ErrMasterKey) {
		t.Errorf("without verify_master_pubkey_sign: %v", err)
	}
}

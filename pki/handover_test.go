package pki

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/crypto"
)

var handoverNow = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func newKeys(t testing.TB, n int) []*crypto.PrivateKey {
	t.Helper()
	keys := make([]*crypto.PrivateKey, n)
	for i := range keys {
		var err error
		if keys[i], err = crypto.GenerateKey(2048); err != nil {
			t.Fatal(err)
		}
	}
	return keys
}

func handover(t testing.TB, from, to *crypto.PrivateKey, serial int64, at time.Time) Handover {
	t.Helper()
	h, err := NewHandover(from, to.Public(), serial, at, 24*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestFollow(t *testing.T) {
	k := newKeys(t, 4)
	a, b, c, evil := k[0], k[1], k[2], k[3]
	ab, bc := handover(t, a, b, 1, handoverNow), handover(t, b, c, 2, handoverNow)
	forged, _ := NewHandover(evil, c.Public(), 1, handoverNow, time.Hour)
	forged.Statement = strings.Replace(forged.Statement, KeyName(evil.Public()), KeyName(a.Public()), 1)
	reworded := ab
	reworded.Statement = strings.Replace(ab.Statement, "serial: 1\n", "serial: 01\n", 1)
	resigned := Handover{reworded.Statement, mustSign(t, a, reworded.Statement)}
	foreign := Handover{"made by another protocol", mustSign(t, a, "made by another protocol")}
	for _, tt := range []struct {
		name     string
		chain    Chain
		from, to *crypto.PrivateKey
		heard    Heard
		steps    int // 0 is refused
	}{
		{"one step", Chain{ab}, a, b, Heard{}, 1},
		{"away during two changes", Chain{ab, bc}, a, c, Heard{}, 2},
		{"from the middle", Chain{ab, bc}, b, c, Heard{Serial: 1}, 1},
		{"whatever the order", Chain{bc, ab}, a, c, Heard{}, 2},
		{"a change that was broken off before it", Chain{handover(t, a, evil, 1, handoverNow), ab},
			a, b, Heard{}, 1},
		{"a change that was broken off after it", Chain{ab, handover(t, a, evil, 2, handoverNow)},
			a, b, Heard{}, 1},
		{"none", nil, a, b, Heard{}, 0},
		{"the same key", Chain{ab}, a, a, Heard{}, 0},
		{"of another master", Chain{bc}, a, c, Heard{}, 0},
		{"of somebody who takes the name of the key", Chain{forged}, a, c, Heard{}, 0},
		{"changed", Chain{reworded}, a, b, Heard{}, 0},
		{"signed but in another form", Chain{resigned}, a, b, Heard{}, 0},
		{"signed but no statement", Chain{foreign}, a, b, Heard{}, 0},
		{"replayed", Chain{ab}, a, b, Heard{Serial: 1}, 0},
		{"expired", Chain{ab}, a, b, Heard{Now: handoverNow.Add(24 * time.Hour)}, 0},
		{"a second before that", Chain{ab}, a, b, Heard{Now: handoverNow.Add(24*time.Hour - time.Second)}, 1},
		{"of the future", Chain{handover(t, a, b, 1, handoverNow.Add(25*time.Hour))}, a, b, Heard{}, 0},
		{"back to a key that was left", Chain{handover(t, b, a, 3, handoverNow)}, b, a,
			Heard{Serial: 1, Left: leftKeys(a)}, 0},
		{"back within the chain", Chain{ab, handover(t, b, a, 2, handoverNow),
			handover(t, a, c, 3, handoverNow)}, b, c, Heard{Left: leftKeys(a)}, 0},
		{"numbers that fall", Chain{handover(t, a, b, 5, handoverNow), bc}, a, c, Heard{}, 0},
		{"more than a chain has", make(Chain, maxHandovers+1), a, b, Heard{}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.heard.Now.IsZero() {
				tt.heard.Now = handoverNow
			}
			path, _, err := tt.chain.Follow(tt.from.Public(), tt.to.Public(), tt.heard)
			if len(path) != tt.steps || (err == nil) != (tt.steps > 0) ||
				err != nil && !errors.Is(err, ErrHandover) {
				t.Errorf("Follow = %d steps, %v, want %d", len(path), err, tt.steps)
			}
		})
	}
}

func mustSign(t *testing.T, key *crypto.PrivateKey, text string) []byte {
	t.Helper()
	sig, err := key.Sign([]byte(text), handoverAlg)
	if err != nil {
		t.Fatal(err)
	}
	return sig
}

func leftKeys(keys ...*crypto.PrivateKey) func(string) bool {
	return func(name string) bool {
		for _, k := range keys {
			if KeyName(k.Public()) == name {
				return true
			}
		}
		return false
	}
}

func TestChainSurvivesDiskAndWire(t *testing.T) {
	k := newKeys(t, 3)
	chain := Chain{handover(t, k[0], k[1], 1, handoverNow), handover(t, k[1], k[2], 2, handoverNow)}
	read, err := ParseChain(chain.Text())
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]Chain{"disk": read, "wire": ChainOf(chain.Wire())} {
		if path, serial, err := c.Follow(k[0].Public(), k[2].Public(),
			Heard{Now: handoverNow}); len(path) != 2 || serial != 2 || err != nil {
			t.Errorf("%s: Follow = %d steps, %d, %v", name, len(path), serial, err)
		}
	}
	if live := chain.Live(handoverNow.Add(24 * time.Hour)); len(live) != 0 {
		t.Errorf("%d statements live on after they have expired", len(live))
	}
	if _, err := ParseChain("{}\nrubbish\n"); err == nil || !strings.Contains(err.Error(), "statement 2") {
		t.Errorf("ParseChain of rubbish = %v, want an error that names the line", err)
	}
}

// openPair returns keys with a pair called master.
func openPair(t *testing.T, pass string) (*Keys, *crypto.PrivateKey) {
	t.Helper()
	keys, err := OpenKeys(filepath.Join(t.TempDir(), "pki"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	key, err := keys.LoadOrCreate("master", 2048, pass)
	if err != nil {
		t.Fatal(err)
	}
	return keys, key
}

func TestRotate(t *testing.T) {
	keys, first := openPair(t, "secret")
	rotation := Rotation{Name: "master", Bits: 2048, Pass: "secret", Life: time.Hour, Now: time.Now()}
	wrong := rotation
	wrong.Pass = "other"
	if _, err := keys.Rotate(wrong); !errors.Is(err, crypto.ErrPassphrase) {
		t.Fatalf("Rotate with a wrong passphrase = %v, want ErrPassphrase", err)
	}
	one, err := keys.Rotate(rotation)
	if err != nil {
		t.Fatal(err)
	}
	rotation.Now = rotation.Now.Add(time.Second)
	two, err := keys.Rotate(rotation)
	if err != nil {
		t.Fatal(err)
	}
	now, err := keys.LoadOrCreate("master", 2048, "secret")
	if err != nil {
		t.Fatal(err)
	}
	if !now.Public().Equal(two.Key.Public()) || one.To != two.From || one.From != KeyName(first.Public()) {
		t.Errorf("after two rotations the key is %s, of %+v and %+v", KeyName(now.Public()), one, two)
	}
	chain, err := keys.Chain("master")
	if err != nil {
		t.Fatal(err)
	}
	if path, _, err := chain.Follow(first.Public(), now.Public(),
		Heard{Now: time.Now()}); len(path) != 2 || err != nil {
		t.Errorf("Follow = %d steps, %v, want 2", len(path), err)
	}
	for _, file := range []string{"master.pem", one.Kept, two.Kept} {
		if info, err := os.Stat(filepath.Join(keys.Path(), file)); err != nil || info.Mode() != 0o400 {
			t.Errorf("%s: %v, %v, want mode 0400", file, info, err)
		}
		if text, _ := keys.ReadText(file); !strings.Contains(text, "ENCRYPTED") {
			t.Errorf("%s is not encrypted", file)
		}
	}
}

// TestRotationThatIsBrokenOff stops at each write of a rotation, and looks whether the pair can be
// read afterwards.
func TestRotationThatIsBrokenOff(t *testing.T) {
	for _, kept := range [][]string{{}, {"master_handover"}, {"master_handover", "master.pem"},
		{"master_handover", "master.pem", "master.pub"}} {
		keys, _ := openPair(t, "")
		before := map[string]string{}
		for _, file := range []string{"master.pem", "master.pub"} {
			before[file], _ = keys.ReadText(file)
		}
		if _, err := keys.Rotate(Rotation{Name: "master", Bits: 2048, Life: time.Hour,
			Now: time.Now()}); err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{"master_handover", "master.pem", "master.pub"} {
			if strings.Contains(strings.Join(kept, " "), file) {
				continue
			}
			if err := keys.WriteText(file, before[file]); err != nil {
				t.Fatal(err)
			}
		}
		key, err := keys.LoadOrCreate("master", 2048, "")
		if err != nil {
			t.Errorf("with %v written: %v", kept, err)
			continue
		}
		if pub, err := keys.Public("master"); err != nil || !pub.Equal(key.Public()) {
			t.Errorf("with %v written the halves do not match: %v", kept, err)
		}
	}
}

// A rotation beside another is refused however long that one takes, and goes on after one that has
// died.
func TestOneRotationAtATime(t *testing.T) {
	keys, first := openPair(t, "")
	lock := filepath.Join(keys.Path(), ".master_rotating")
	if err := os.WriteFile(lock, nil, 0o600); err != nil { // of one that has died
		t.Fatal(err)
	}
	rotation := Rotation{Name: "master", Bits: 2048, Life: time.Hour, Now: time.Now()}
	slow := rotation
	slow.Before = func(*crypto.PublicKey) error {
		past := time.Now().Add(-time.Hour)
		if err := os.Chtimes(lock, past, past); err != nil {
			t.Error(err)
		}
		if _, err := keys.Rotate(rotation); !errors.Is(err, ErrRotating) {
			t.Errorf("Rotate beside another = %v, want ErrRotating", err)
		}
		return nil
	}
	for _, r := range []Rotation{slow, rotation} {
		if _, err := keys.Rotate(r); err != nil {
			t.Fatal(err)
		}
	}
	chain, err := keys.Chain("master")
	if err != nil {
		t.Fatal(err)
	}
	now, err := keys.Private("master", "")
	if err != nil {
		t.Fatal(err)
	}
	if path, _, err := chain.Follow(first.Public(), now.Public(),
		Heard{Now: time.Now()}); len(path) != 2 || err != nil {
		t.Errorf("Follow = %d steps, %v, want 2", len(path), err)
	}
}

func TestRotationThatNobodyCouldFollow(t *testing.T) {
	keys, first := openPair(t, "")
	for _, life := range []time.Duration{-time.Hour, 0, time.Microsecond, time.Hour - time.Second} {
		if _, err := keys.Rotate(Rotation{Name: "master", Bits: 2048, Life: life,
			Now: time.Now()}); err == nil {
			t.Errorf("Rotate with %v to follow is done", life)
		}
	}
	if key, err := keys.Private("master", ""); err != nil || !key.Public().Equal(first.Public()) {
		t.Errorf("the key was replaced: %v", err)
	}
}

func FuzzHandover(f *testing.F) {
	k := newKeys(f, 2)
	h := handover(f, k[0], k[1], 1, handoverNow)
	f.Add(h.Statement, h.Signature)
	f.Add("", []byte{})
	f.Fuzz(func(t *testing.T, statement string, sig []byte) {
		path, _, err := Chain{{statement, sig}}.Follow(k[0].Public(), k[1].Public(), Heard{Now: handoverNow})
		if (err == nil) != (statement == h.Statement && string(sig) == string(h.Signature)) {
			t.Errorf("Follow = %d steps, %v for\n%q", len(path), err, statement)
		}
		if _, err := ParseChain(statement); err == nil {
			return
		}
	})
}

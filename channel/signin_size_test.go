package channel

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/pki"
)

// largestKey returns the text of a key of 16,384 bits, which nobody has the other half of.
func largestKey(t *testing.T) string {
	t.Helper()
	n, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 16384))
	must(t, err)
	n.SetBit(n.SetBit(n, 0, 1), 16383, 1)
	der, err := x509.MarshalPKIXPublicKey(&rsa.PublicKey{N: n, E: 65537})
	must(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
}

// TestThreatLargeSignInsAreRefused brings the largest sign-in that Salt's minions send, and one
// that is padded.
func TestThreatLargeSignInsAreRefused(t *testing.T) {
	grains := data.NewMap()
	for i := range 100 {
		grains.Set(fmt.Sprint("grain", i), strings.Repeat("x", 80))
	}
	for _, tt := range []struct {
		id    string
		pad   int
		state pki.State
	}{{"large", 0, pki.Pending}, {"padded", maxSignIn, pki.Unknown}} {
		r := newRig(t, rigOptions{})
		load := data.NewMap("cmd", "_auth", "id", tt.id, "nonce", strings.Repeat("a", 32),
			"pub", largestKey(t), "token", make([]byte, 2048), "enc_algo", "OAEP-SHA1", "sig_algo",
			"PKCS1v15-SHA1", "autosign_grains", grains, "pad", make([]byte, tt.pad))
		body, err := payload.Marshal(data.NewMap("enc", "clear", "load", load, "version", int64(Version)))
		must(t, err)
		if tt.pad == 0 && len(body) > maxSignIn/4 {
			t.Errorf("a sign-in of Salt has %d bytes of at most %d", len(body), maxSignIn)
		}
		r.ask(body)
		if state, _, err := r.pki.Find(tt.id); err != nil || state != tt.state {
			t.Errorf("%s: the key is %v, %v, want %v", tt.id, state, err, tt.state)
		}
	}
}

package certificate

import (
	"crypto"
	"errors"
	"testing"
)

// TestAlgorithmsSign signs a message with each algorithm; its signature verifies with nothing else.
func TestAlgorithmsSign(t *testing.T) {
	keys := map[string]crypto.Signer{"ed25519": newKey(t)}
	var err1, err2 error
	keys["rsa"], err1 = NewRSA(1024)
	keys["ec"], err2 = NewEC(256)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	message := []byte("message")
	for _, alg := range algorithms() {
		s, err := NewSigner(keys[alg.Key], alg.Hash)
		if err != nil {
			t.Fatal(err)
		}
		sig, err := s.Sign(message)
		if err != nil {
			t.Fatalf("%s with %v: %v", alg.Key, alg.Hash, err)
		}
		id := s.Identifier()
		if got := AlgorithmOf(id.Algorithm); got == nil || *got != alg {
			t.Errorf("%s with %v is known as %v", alg.Key, alg.Hash, got)
		}
		for kind, key := range keys {
			if err := Verify(key.Public(), id, message, sig); (err == nil) != (kind == alg.Key) {
				t.Errorf("%s with %v, verified by %s: %v", alg.Key, alg.Hash, kind, err)
			}
		}
		if err := Verify(keys[alg.Key].Public(), id, []byte("massage"), sig); !errors.Is(err, ErrSignature) {
			t.Errorf("%s with %v, another message: %v", alg.Key, alg.Hash, err)
		}
	}
}

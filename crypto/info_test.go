package crypto

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"testing"
)

// TestInfoIsThatOfX509 holds the reader and writer of keys against those of the standard library.
func TestInfoIsThatOfX509(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	want, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	got, err := marshalPublicInfo(&key.PublicKey)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("marshalPublicInfo: %x %v, want %x", got, err, want)
	}
	if public, err := parsePublicInfo(want); err != nil || !public.Equal(&key.PublicKey) {
		t.Errorf("parsePublicInfo: %v %v", public, err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	if back, err := parsePrivateInfo(private); err != nil || !back.Equal(key) {
		t.Errorf("parsePrivateInfo: %v", err)
	}
	for name, der := range map[string][]byte{"nothing": nil,
		"more behind it": append(bytes.Clone(want), 0), "cut short": want[:len(want)-1],
		"a private key": private} {
		if _, err := parsePublicInfo(der); err == nil {
			t.Errorf("%s is taken as a public key", name)
		}
	}
	if _, err := parsePrivateInfo(append(private, 0)); err == nil {
		t.Error("a private key with bytes behind it is taken")
	}
}

func TestInfoOfOtherAlgorithmsIsRefused(t *testing.T) {
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []interface{ Public() any }{signer{curve, curve.Public()},
		signer{edwards, edwards.Public()}} {
		public, err := x509.MarshalPKIXPublicKey(key.Public())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parsePublicInfo(public); err == nil {
			t.Errorf("a %T is taken", key.Public())
		}
		private, err := x509.MarshalPKCS8PrivateKey(key.(signer).private)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parsePrivateInfo(private); err == nil {
			t.Errorf("the private key of a %T is taken", key.Public())
		}
	}
}

type signer struct{ private, public any }

func (s signer) Public() any { return s.public }

package crypto

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"
	"math/big"
	"testing"
)

// Package x509 and ours write the same bytes and read each other's.
func TestPKCS1IsThatOfX509(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	private, err := marshalPKCS1Private(key)
	if err != nil || !bytes.Equal(private, x509.MarshalPKCS1PrivateKey(key)) {
		t.Errorf("the private key is encoded as %x, %v", private, err)
	}
	public, err := marshalPKCS1Public(&key.PublicKey)
	if err != nil || !bytes.Equal(public, x509.MarshalPKCS1PublicKey(&key.PublicKey)) {
		t.Errorf("the public key is encoded as %x, %v", public, err)
	}
	if got, err := parsePKCS1Private(private); err != nil || !got.Equal(key) {
		t.Errorf("the private key is read as %v, %v", got, err)
	}
	if got, err := parsePKCS1Public(public); err != nil || !got.Equal(&key.PublicKey) {
		t.Errorf("the public key is read as %v, %v", got, err)
	}
}

// Keys that x509 rejects are rejected.
func TestPKCS1RejectsBadKeys(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	good := pkcs1Private{N: key.N, E: key.E, D: key.D, P: key.Primes[0], Q: key.Primes[1]}
	for name, change := range map[string]func(k *pkcs1Private){
		"as it is":           func(*pkcs1Private) {},
		"another version":    func(k *pkcs1Private) { k.Version = 2 },
		"a negative modulus": func(k *pkcs1Private) { k.N = new(big.Int).Neg(k.N) },
		"a zero exponent":    func(k *pkcs1Private) { k.D = new(big.Int) },
		"another exponent":   func(k *pkcs1Private) { k.D = new(big.Int).Add(k.D, big.NewInt(2)) },
		"the wrong primes":   func(k *pkcs1Private) { k.P = new(big.Int).Add(k.P, big.NewInt(2)) },
		"a negative CRT value": func(k *pkcs1Private) {
			k.DP, k.DQ, k.QInv = big.NewInt(-1), big.NewInt(1), big.NewInt(1)
		},
		"a zero prime more": func(k *pkcs1Private) {
			k.Version, k.More = 1, []pkcs1Prime{{new(big.Int), big.NewInt(1), big.NewInt(1)}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			k := good
			change(&k)
			der, err := asn1.Marshal(k)
			if err != nil {
				t.Fatal(err)
			}
			_, wantErr := x509.ParsePKCS1PrivateKey(der)
			if _, err := parsePKCS1Private(der); (err == nil) != (wantErr == nil) {
				t.Errorf("ours says %v, x509 %v", err, wantErr)
			}
			if _, err := parsePKCS1Private(append(der, 0)); err == nil {
				t.Error("a byte after the key is accepted")
			}
		})
	}
	for name, k := range map[string]pkcs1Public{
		"good":                {key.N, key.E},
		"a negative modulus":  {new(big.Int).Neg(key.N), key.E},
		"a zero exponent":     {key.N, 0},
		"a negative exponent": {key.N, -3},
	} {
		der, err := asn1.Marshal(k)
		if err != nil {
			t.Fatal(err)
		}
		_, wantErr := x509.ParsePKCS1PublicKey(der)
		if _, err := parsePKCS1Public(der); (err == nil) != (wantErr == nil) {
			t.Errorf("%s: ours says %v, x509 %v", name, err, wantErr)
		}
	}
}

// Each of OpenSSL's ciphers is read and written as x509 does.
func TestTraditionalEncryptionIsThatOfX509(t *testing.T) {
	plain := &pem.Block{Type: "RSA PRIVATE KEY", Bytes: []byte("thirty-two bytes, no more, of it")}
	for name, alg := range map[string]x509.PEMCipher{"DES-CBC": x509.PEMCipherDES,
		"DES-EDE3-CBC": x509.PEMCipher3DES, "AES-128-CBC": x509.PEMCipherAES128,
		"AES-192-CBC": x509.PEMCipherAES192, "AES-256-CBC": x509.PEMCipherAES256} {
		t.Run(name, func(t *testing.T) {
			sealed, err := sealDEK(rand.Reader, plain, "secret", name)
			if err != nil {
				t.Fatal(err)
			}
			//nolint:staticcheck // x509 is the oracle
			if got, err := x509.DecryptPEMBlock(sealed, []byte("secret")); err != nil || !bytes.Equal(got, plain.Bytes) {
				t.Errorf("x509 reads %q, %v", got, err)
			}
			//nolint:staticcheck // x509 is the oracle
			theirs, err := x509.EncryptPEMBlock(rand.Reader, plain.Type, plain.Bytes, []byte("secret"), alg)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := openDEK(theirs, "secret"); err != nil || !bytes.Equal(got, plain.Bytes) {
				t.Errorf("ours reads %q, %v", got, err)
			}
			for header, b := range map[string][]byte{"": theirs.Bytes, name: theirs.Bytes,
				name + ",00":                                theirs.Bytes,
				name + ",xx":                                theirs.Bytes,
				"CAST5-CBC,0011223344556677":                theirs.Bytes,
				theirs.Headers["DEK-Info"]:                  theirs.Bytes[1:],
				theirs.Headers["DEK-Info"] + "0123456789ab": theirs.Bytes} {
				broken := &pem.Block{Headers: map[string]string{"DEK-Info": header}, Bytes: b}
				if got, err := openDEK(broken, "secret"); err == nil {
					t.Errorf("%q of %d bytes is read as %q", header, len(b), got)
				}
			}
			if got, err := openDEK(&pem.Block{Headers: theirs.Headers}, "secret"); err == nil {
				t.Errorf("no bytes are read as %q", got)
			}
		})
	}
}

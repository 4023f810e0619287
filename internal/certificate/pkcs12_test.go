package certificate

import (
	"crypto"
	"crypto/x509/pkix"
	"encoding/asn1"
	"strings"
	"testing"

	"github.com/brineproject/brine/internal/pbes2"
)

func newKey(t testing.TB) crypto.Signer {
	t.Helper()
	key, err := NewEd25519()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// safeOf returns the content of a container with these keys, without its MAC.
func safeOf(t testing.TB, passphrase *string, keys ...crypto.Signer) []byte {
	t.Helper()
	w := &storeWriter{passphrase: passphrase}
	var contents []contentInfo
	for _, key := range keys {
		c, err := w.key(&Store{Key: key})
		if err != nil {
			t.Fatal(err)
		}
		contents = append(contents, *c)
	}
	safe, err := asn1.Marshal(contents)
	if err != nil {
		t.Fatal(err)
	}
	return safe
}

func TestOfSeveralKeysTheFirstCounts(t *testing.T) {
	first, secret := newKey(t), "x"
	for _, passphrase := range []*string{nil, &secret} {
		w := &storeWriter{passphrase: passphrase}
		der, err := w.whole(safeOf(t, passphrase, first, newKey(t)))
		if err != nil {
			t.Fatal(err)
		}
		s, err := ParseStore(der, passphrase)
		if err != nil {
			t.Fatal(err)
		}
		if !Same(s.Key.Public(), first.Public()) {
			t.Error("the key is not the first one")
		}
	}
}

func TestKeyDerivationIsBounded(t *testing.T) {
	kdf, err := identifier(pbes2.OIDPBKDF2,
		pbes2.KDFParams{Salt: []byte("salt"), Rounds: pbes2.MaxRounds + 1})
	if err != nil {
		t.Fatal(err)
	}
	aes256, err := identifier(pbes2.OIDAES256, make([]byte, 16))
	if err != nil {
		t.Fatal(err)
	}
	for oid, params := range map[string]any{
		pbes2.OID:  pbes2.Params{KDF: kdf, Cipher: aes256},
		oidPBE3DES: pbeParams{[]byte("salt"), pbes2.MaxRounds + 1},
	} {
		alg, err := identifier(oid, params)
		if err != nil {
			t.Fatal(err)
		}
		der, err := asn1.Marshal(encryptedKey{alg, make([]byte, 16)})
		if err != nil {
			t.Fatal(err)
		}
		secret := "x"
		if _, err := ParseKey(der, &secret); err == nil || !strings.Contains(err.Error(), "2000001 rounds") {
			t.Errorf("%s: ParseKey = %v, want an error that tells of the rounds", oid, err)
		}
	}
	o := newOpener("x")
	for i := range maxWork / pbes2.MaxRounds {
		if err := o.take(pbes2.MaxRounds); err != nil {
			t.Errorf("derivation %d: %v", i, err)
		}
	}
	if err := o.take(1); err == nil {
		t.Error("the work that a container asks for in all is not bounded")
	}
	if err := newOpener("x").take(0); err == nil {
		t.Error("0 rounds are taken")
	}
}

// FuzzReadStore reads damaged contents of containers, which can only be reached with the right MAC.
func FuzzReadStore(f *testing.F) {
	secret := ""
	cert, err := identifier(pbes2.OID,
		pbes2.Params{KDF: pkix.AlgorithmIdentifier{Algorithm: known(pbes2.OIDPBKDF2)},
			Cipher: pkix.AlgorithmIdentifier{Algorithm: known(pbes2.OIDAES256)}})
	if err != nil {
		f.Fatal(err)
	}
	encrypted, err := content(oidEncryptedData,
		encryptedData{0, encryptedInfo{known(oidData), cert, make([]byte, 16)}})
	if err != nil {
		f.Fatal(err)
	}
	safe, err := asn1.Marshal([]contentInfo{*encrypted})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(safe)
	f.Add(safeOf(f, nil, newKey(f)))
	f.Add(safeOf(f, &secret, newKey(f)))
	f.Fuzz(func(t *testing.T, safe []byte) {
		s, err := readStore(safe, &opener{"", rounds})
		if err == nil && s.Key == nil && s.Cert != nil {
			t.Error("a certificate belongs to a key that is not there")
		}
	})
}

// FuzzParseBundle reads damaged containers of certificates.
func FuzzParseBundle(f *testing.F) {
	der, err := MarshalBundle([]*Certificate{{Raw: []byte{0x30, 0}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(der)
	f.Fuzz(func(t *testing.T, der []byte) {
		if certs, err := ParseBundle(der); err == nil && len(certs) == 0 {
			t.Error("no certificates and no error")
		}
	})
}

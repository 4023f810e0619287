package crypto

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
)

func writeFile(t testing.TB, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// testKey makes one key for all tests that need any.
var testKey = sync.OnceValue(func() *PrivateKey {
	k, err := GenerateKey(2048)
	if err != nil {
		panic(err)
	}
	return k
})

func publicPEM(n *big.Int, e int) []byte {
	der := x509.MarshalPKCS1PublicKey(&rsa.PublicKey{N: n, E: e})
	return pem.EncodeToMemory(&pem.Block{Type: "RSA PUBLIC KEY", Bytes: der})
}

// TestCVE2013_2228 reads and makes keys with exponent 1 and the like: none is accepted.
func TestCVE2013_2228(t *testing.T) {
	odd := func(bits int) *big.Int {
		n := new(big.Int).Lsh(big.NewInt(3), uint(bits-2))
		return n.SetBit(n, 0, 1)
	}
	for _, tt := range []struct {
		name   string
		n      *big.Int
		e      int
		policy Policy
		good   bool
	}{
		{"2048 bits", odd(2048), 65537, Policy{}, true},
		{"16384 bits", odd(16384), 65537, Policy{}, true},
		{"a larger exponent", odd(2048), 65539, Policy{}, true},
		{"2047 bits", odd(2047), 65537, Policy{}, false},
		{"16385 bits", odd(16385), 65537, Policy{}, false},
		{"exponent 1", odd(2048), 1, Policy{}, false},
		{"exponent 3", odd(2048), 3, Policy{}, false},
		{"exponent 65535", odd(2048), 65535, Policy{}, false},
		{"even exponent", odd(2048), 65538, Policy{}, false},
		{"even modulus", new(big.Int).Lsh(big.NewInt(1), 2047), 65537, Policy{}, false},
		{"1024 bits where admitted", odd(1024), 65537, Policy{MinBits: 1024}, true},
		{"exponent 3 where short keys are admitted", odd(1024), 3, Policy{MinBits: 1024}, false},
		{"512 bits where any length is asked for", odd(512), 65537, Policy{MinBits: 1}, false},
		{"2048 bits where 3072 are asked for", odd(2048), 65537, Policy{MinBits: 3072}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := tt.policy.ParsePublicKey(publicPEM(tt.n, tt.e))
			if tt.good && err != nil || !tt.good && !errors.Is(err, ErrWeakKey) {
				t.Errorf("ParsePublicKey: %v, want good %t", err, tt.good)
			}
		})
	}
	for _, bits := range []int{0, 1024, 2047, 16385} {
		if _, err := GenerateKey(bits); !errors.Is(err, ErrWeakKey) {
			t.Errorf("GenerateKey(%d): %v, want ErrWeakKey", bits, err)
		}
	}
}

func TestGeneratedKey(t *testing.T) {
	k := testKey()
	if k.Bits() != 2048 || k.rsa.E != 65537 {
		t.Errorf("key of %d bits with exponent %d", k.Bits(), k.rsa.E)
	}
	if err := (Policy{}).Check(k.Public()); err != nil {
		t.Error(err)
	}
}

// Texts that could be read as one key by one program and as another by the next.
func TestConfusingPublicKeysAreRefused(t *testing.T) {
	good := testKey().Public().PEM()
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ecDER, err := x509.MarshalPKIXPublicKey(ec.Public())
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode([]byte(good))
	longer := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: append(bytes.Clone(block.Bytes), 0)})
	headers := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: block.Bytes,
		Headers: map[string]string{"A": "b"}})
	for name, text := range map[string]string{
		"two keys":                good + "\n" + good,
		"a broken one before":     "-----BEGIN PUBLIC KEY-----\nAAAA\n" + good,
		"text after":              good + "\nmore",
		"NUL after":               good + "\n\x00",
		"text before":             "x\n" + good,
		"a private key":           string(testKey().PEM("")),
		"another label":           strings.ReplaceAll(good, "PUBLIC KEY", "CERTIFICATE"),
		"an elliptic key":         string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: ecDER})),
		"bytes after the numbers": string(longer),
		"PEM headers":             string(headers),
		"too much white space":    good + strings.Repeat("\n", maxPEM),
	} {
		t.Run(name, func(t *testing.T) {
			if k, err := ParsePublicKey([]byte(text)); !errors.Is(err, ErrBadKey) {
				t.Errorf("ParsePublicKey = %v, %v, want ErrBadKey", k, err)
			}
		})
	}
}

func TestAlgorithms(t *testing.T) {
	k, msg := testKey(), []byte("message")
	for _, alg := range []string{SHA1Sign, SHA224Sign} {
		sig, err := k.Sign(msg, alg)
		if err != nil || k.Public().Verify(msg, sig, alg) != nil {
			t.Errorf("%s does not verify: %v", alg, err)
		}
		for _, other := range []string{SHA1Sign, SHA224Sign} {
			if err := k.Public().Verify(msg, sig, other); (err == nil) != (alg == other) {
				t.Errorf("%s verified as %s: %v", alg, other, err)
			}
		}
	}
	for alg, most := range map[string]int{OAEPSHA1: 256 - 42, OAEPSHA224: 256 - 58} {
		full := bytes.Repeat([]byte("x"), most)
		ct, err := k.Public().Encrypt(full, alg)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := k.Decrypt(ct, alg); err != nil || !bytes.Equal(got, full) {
			t.Errorf("%s: Decrypt = %q, %v", alg, got, err)
		}
		if _, err := k.Public().Encrypt(append(full, 'x'), alg); !errors.Is(err, ErrTooLong) {
			t.Errorf("%s of %d bytes: %v, want ErrTooLong", alg, most+1, err)
		}
	}
}

func TestUnknownAlgorithms(t *testing.T) {
	k := testKey()
	for _, alg := range []string{"", "PKCS1v15-SHA256", "oaep-sha1", "OAEP-SHA1 "} {
		_, sign := k.Sign(nil, alg)
		_, encrypt := k.Public().Encrypt(nil, alg)
		_, decrypt := k.Decrypt(nil, alg)
		_, hash := NewHash(alg)
		for i, err := range []error{sign, encrypt, decrypt, hash, k.Public().Verify(nil, nil, alg)} {
			if !errors.Is(err, ErrUnknownAlgorithm) {
				t.Errorf("%q, call %d: %v, want ErrUnknownAlgorithm", alg, i, err)
			}
		}
	}
}

func TestPrivateKeyForms(t *testing.T) {
	k := testKey()
	pkcs8, err := x509.MarshalPKCS8PrivateKey(k.rsa)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{
		"PKCS#1":           k.PEM(""),
		"PKCS#8":           pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}),
		"AES-256":          k.PEM("secret"),
		"3DES":             k.encode(rand.Reader, "secret", "DES-EDE3-CBC"),
		"AES-128":          k.encode(rand.Reader, "secret", "AES-128-CBC"),
		"CRLF":             bytes.ReplaceAll(k.PEM("secret"), []byte("\n"), []byte("\r\n")),
		"space around it":  append(append([]byte("\n "), k.PEM("")...), "\n\n"...),
		"3DES and newline": append(k.encode(rand.Reader, "secret", "DES-EDE3-CBC"), '\n'),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParsePrivateKey(text, "secret")
			if err != nil || !got.Public().Equal(k.Public()) || got.rsa.D.Cmp(k.rsa.D) != 0 {
				t.Errorf("ParsePrivateKey: %v", err)
			}
			if !bytes.Contains(text, []byte("ENCRYPTED")) {
				return
			}
			for _, wrong := range []string{"", "Secret"} {
				if _, err := ParsePrivateKey(text, wrong); !errors.Is(err, ErrPassphrase) {
					t.Errorf("with %q: %v, want ErrPassphrase", wrong, err)
				}
			}
		})
	}
}

// OpenSSL writes the forms that Salt's libraries write, and reads ours.
func TestPrivateKeysOfOpenSSL(t *testing.T) {
	openssl, err := exec.LookPath("openssl")
	need.That(t, "program openssl", err)
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain.pem")
	writeFile(t, plain, append(testKey().PEM(""), '\n'))
	for _, args := range []string{
		"rsa -traditional -des3 -passout pass:secret",
		"rsa -traditional -aes256 -passout pass:secret",
		"pkcs8 -topk8 -nocrypt",
		"pkcs8 -topk8 -v2 aes-256-cbc -passout pass:secret",
		"pkcs8 -topk8 -v2 aes-128-cbc -v2prf hmacWithSHA1 -passout pass:secret",
		"pkcs8 -topk8 -v2 des3 -v2prf hmacWithSHA512 -passout pass:secret",
	} {
		t.Run(args, func(t *testing.T) {
			text := run(t, openssl, append(strings.Fields(args), "-in", plain)...)
			got, err := ParsePrivateKey(text, "secret")
			if err != nil || got.rsa.D.Cmp(testKey().rsa.D) != 0 {
				t.Fatalf("ParsePrivateKey: %v\n%s", err, text)
			}
			if _, err := ParsePrivateKey(text, "wrong"); strings.Contains(args, "pass:") &&
				!errors.Is(err, ErrPassphrase) {
				t.Errorf("with a wrong passphrase: %v, want ErrPassphrase", err)
			}
		})
	}
	ours := filepath.Join(dir, "ours.pem")
	writeFile(t, ours, append(testKey().PEM("secret"), '\n'))
	public := run(t, openssl, "rsa", "-in", ours, "-passin", "pass:secret", "-pubout")
	if got := strings.TrimSpace(string(public)); got != testKey().Public().PEM() {
		t.Errorf("openssl reads our file as %s", got)
	}
}

func run(t *testing.T, program string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(program, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", program, args, err, stderr.Bytes())
	}
	return out
}

func TestSecretsDoNotPrint(t *testing.T) {
	key := NewKeyString()
	c, err := NewCrypticle(key)
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if got := fmt.Sprintf(verb, c); strings.Contains(got, key) {
			t.Errorf("%s of a Crypticle prints the key", verb)
		}
		if got := fmt.Sprintf(verb, testKey()); strings.Contains(got, testKey().rsa.D.String()) ||
			len(got) > 80 {
			t.Errorf("%s of a private key prints %s", verb, got)
		}
	}
	if _, err := NewCrypticle("secretsecret"); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("NewCrypticle: %v", err)
	}
}

func TestX931OfEveryLength(t *testing.T) {
	k := testKey()
	size := k.rsa.Size()
	for _, length := range []int{1, 2, 4, 64, 128, size - 5, size - 4, size - 2} {
		msg := bytes.Repeat([]byte{0xBB}, length)
		sig, err := k.EncryptX931(msg)
		if err != nil || len(sig) != size {
			t.Fatalf("%d bytes: %d, %v", length, len(sig), err)
		}
		// A message that begins with the filler cannot be told from it, in OpenSSL neither.
		if got, err := k.Public().RecoverX931(sig); err != nil || !bytes.Equal(got, msg) {
			t.Errorf("%d bytes: RecoverX931 = %x, %v", length, got, err)
		}
	}
}

func TestX931TakesBothRoots(t *testing.T) {
	k := testKey()
	sig, err := k.EncryptX931([]byte("salt"))
	if err != nil {
		t.Fatal(err)
	}
	other := new(big.Int).Sub(k.rsa.N, new(big.Int).SetBytes(sig)).FillBytes(make([]byte, len(sig)))
	if bytes.Compare(sig, other) > 0 {
		t.Error("the larger root was chosen")
	}
	if got, err := k.Public().RecoverX931(other); err != nil || string(got) != "salt" {
		t.Errorf("RecoverX931 of the other root = %q, %v", got, err)
	}
}

func TestForgedTokensAreRefused(t *testing.T) {
	k := testKey()
	n, size := k.rsa.N, k.rsa.Size()
	good, err := k.EncryptX931([]byte("salt"))
	if err != nil {
		t.Fatal(err)
	}
	number := func(x *big.Int) []byte { return x.FillBytes(make([]byte, size)) }
	plus := new(big.Int).Add(n, new(big.Int).SetBytes(good))
	for name, token := range map[string][]byte{
		"nothing":          nil,
		"0":                number(new(big.Int)),
		"1":                number(big.NewInt(1)),
		"n-1":              number(new(big.Int).Sub(n, big.NewInt(1))),
		"n":                number(n),
		"all ones":         bytes.Repeat([]byte{0xff}, size),
		"one byte short":   good[:size-1],
		"a leading zero":   append([]byte{0}, good...),
		"a trailing zero":  append(bytes.Clone(good), 0),
		"n more":           plus.Bytes(),
		"a flipped bit":    append([]byte{good[0] ^ 1}, good[1:]...),
		"twice the length": append(bytes.Clone(good), good...),
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := k.Public().RecoverX931(token); err != ErrVerification {
				t.Errorf("RecoverX931 = %q, %v, want ErrVerification", got, err)
			}
		})
	}
}

// A key whose modulus is a square makes the power 0, which has no words to look at.
func TestRecoverWithSquareModulus(t *testing.T) {
	p := testKey().rsa.Primes[0]
	k := &PublicKey{rsa: rsa.PublicKey{N: new(big.Int).Mul(p, p), E: 65537}}
	if _, err := k.RecoverX931(p.FillBytes(make([]byte, k.rsa.Size()))); err != ErrVerification {
		t.Errorf("RecoverX931: %v, want ErrVerification", err)
	}
}

// A faulty computation would give the primes away.
func TestX931ChecksItsResult(t *testing.T) {
	broken := *testKey().rsa
	broken.Precomputed.Dp = new(big.Int).Add(broken.Precomputed.Dp, big.NewInt(2))
	if sig, err := (&PrivateKey{rsa: &broken}).EncryptX931([]byte("salt")); err == nil {
		t.Errorf("EncryptX931 = %x, want an error", sig)
	}
}

func TestX931IsDeterministic(t *testing.T) {
	first, err := testKey().EncryptX931([]byte("salt"))
	if err != nil {
		t.Fatal(err)
	}
	second, err := testKey().EncryptX931([]byte("salt"))
	if err != nil || !bytes.Equal(first, second) {
		t.Errorf("two tokens differ: %v", err)
	}
}

func TestEveryChangeOfABlobIsRefused(t *testing.T) {
	c, err := NewCrypticle(NewKeyString())
	if err != nil {
		t.Fatal(err)
	}
	blob := c.Seal([]byte("\x81\xa1a\x01"), "")
	for i := range blob {
		changed := bytes.Clone(blob)
		changed[i] ^= 0x10
		if got, err := c.Open(changed, ""); err != ErrAuthentication {
			t.Fatalf("byte %d changed: %x, %v", i, got, err)
		}
		if got, err := c.Open(blob[:i], ""); err != ErrAuthentication {
			t.Fatalf("cut to %d: %x, %v", i, got, err)
		}
	}
}

func TestDecryptLeavesTheBlobAlone(t *testing.T) {
	c, err := NewCrypticle(NewKeyString())
	if err != nil {
		t.Fatal(err)
	}
	blob := c.Encrypt([]byte("plain"))
	before := bytes.Clone(blob)
	if got, err := c.Decrypt(blob); err != nil || string(got) != "plain" || !bytes.Equal(blob, before) {
		t.Errorf("Decrypt = %q, %v, blob changed %t", got, err, !bytes.Equal(blob, before))
	}
}

func TestAppendSeal(t *testing.T) {
	c, err := NewCrypticle(NewKeyString())
	if err != nil {
		t.Fatal(err)
	}
	for n := range 40 {
		body, nonce := bytes.Repeat([]byte{0xc0}, n), strings.Repeat("n", nonceSize)
		got, err := c.AppendSeal([]byte("head"), nonce,
			func(dst []byte) ([]byte, error) { return append(dst, body...), nil })
		if err != nil || string(got[:4]) != "head" {
			t.Fatalf("AppendSeal of %d bytes = %x, %v", n, got, err)
		}
		if plain, err := c.Open(got[4:], nonce); err != nil || !bytes.Equal(plain, body) {
			t.Errorf("Open of AppendSeal = %x, %v, want %x", plain, err, body)
		}
	}
	bad := errors.New("bad")
	if got, err := c.AppendSeal(nil,
		"", func([]byte) ([]byte, error) { return nil, bad }); err != bad || got != nil {
		t.Errorf("AppendSeal of what cannot be encoded = %x, %v", got, err)
	}
}

func TestOpenInPlace(t *testing.T) {
	c, err := NewCrypticle(NewKeyString())
	if err != nil {
		t.Fatal(err)
	}
	blob := c.Seal([]byte("plain"), "")
	blob[40] ^= 1
	before := bytes.Clone(blob)
	if got, err := c.OpenInPlace(blob, ""); err != ErrAuthentication || !bytes.Equal(blob, before) {
		t.Errorf("OpenInPlace of a changed blob = %q, %v, blob changed %t", got, err,
			!bytes.Equal(blob, before))
	}
	blob[40] ^= 1
	if got, err := c.OpenInPlace(blob, ""); err != nil || string(got) != "plain" {
		t.Errorf("OpenInPlace = %q, %v", got, err)
	}
}

func TestVectorsOfMessagesDiffer(t *testing.T) {
	c, err := NewCrypticle(NewKeyString())
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for range 500 {
		iv := string(c.Encrypt(nil)[:ivSize])
		if seen[iv] {
			t.Fatal("an initial vector came twice")
		}
		seen[iv] = true
	}
}

func TestNonceOfAnotherLength(t *testing.T) {
	c, err := NewCrypticle(NewKeyString())
	if err != nil {
		t.Fatal(err)
	}
	for _, nonce := range []string{"short", strings.Repeat("n", 33)} {
		if got, err := c.Open(c.Seal([]byte("\xc0"), nonce), nonce); err != ErrNonce {
			t.Errorf("Open with a nonce of %d bytes = %x, %v, want ErrNonce", len(nonce), got, err)
		}
	}
}

func TestCrypticleConcurrently(t *testing.T) {
	c, err := NewCrypticle(NewKeyString())
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			plain := bytes.Repeat([]byte{byte(i)}, 100*i)
			for range 200 {
				if got, err := c.Decrypt(c.Encrypt(plain)); err != nil || !bytes.Equal(got, plain) {
					t.Errorf("goroutine %d: %v", i, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestSerialOfOddKinds(t *testing.T) {
	s := NewSerial(5)
	for _, v := range []any{"6", 6.0, nil, true, []byte("6")} {
		m := data.NewMap("fun", "test.ping", "serial", v)
		if s.Take(m) || m.Has("serial") || s.Last() != 5 {
			t.Errorf("serial %#v was taken", v)
		}
	}
	if m := data.NewMap("serial", int64(7)); !s.Take(m) || m.Has("serial") || s.Last() != 7 || s.Next() != 8 {
		t.Error("serial 7 was not taken")
	}
}

func TestCleanPEM(t *testing.T) {
	for text, want := range map[string]string{
		"":                  "",
		" \r\n a\r\nb\n\n ": "a\nb",
		"a\rb":              "a\nb",
	} {
		if got := CleanPEM(text); got != want {
			t.Errorf("CleanPEM(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestSameKey(t *testing.T) {
	k := testKey().Public()
	pkcs1 := string(publicPEM(k.rsa.N, k.rsa.E))
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{k.PEM(), pkcs1, true},
		{k.PEM(), strings.ReplaceAll(k.PEM(), "\n", "\r\n"), true},
		{k.PEM(), string(publicPEM(new(big.Int).Add(k.rsa.N, big.NewInt(2)), k.rsa.E)), false},
		{k.PEM(), string(publicPEM(k.rsa.N, 65539)), false},
		{k.PEM(), "", false},
		{"no key", "no key\n", true},
		{"no key", "other", false},
	} {
		if got := SameKey(tt.a, tt.b); got != tt.want || SameKey(tt.b, tt.a) != tt.want {
			t.Errorf("SameKey(%.40q, %.40q) = %t, want %t", tt.a, tt.b, got, tt.want)
		}
	}
}

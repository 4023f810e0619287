package nacl

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// The keys and the box in Salt's documentation of the runner.
const (
	secret  = "SVWut5SqNpuPeNzb1b9y6b2eXg2PLIog43GBzp48Sow="
	public  = "/kfGX7PbWeu099702PBbKWLpG/9p06IQRswkdWHCDk0="
	example = "tqXzeIJnTAM9Xf0mdLcpEdklMbfBGPj2oTKmlgrm3S1DTVVHNnh9h8mU1GKllGq/+cYsk6m5WhGdk58="
)

func shelf(t *testing.T, opts *data.Map) *loader.Registry {
	t.Helper()
	r, err := loader.NewRegistry(&loader.Env{Opts: opts}, []loader.Plugin{Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func call(t *testing.T, r *loader.Registry, fun string, words ...any) any {
	t.Helper()
	v, err := r.Invoke(t.Context(), fun, nil, data.NewMap(words...))
	if err != nil {
		t.Fatalf("%s %s: %v", fun, data.Repr(words), err)
	}
	return v
}

// TestDocumentedBox decrypts the example of Salt's documentation: nacl.dec and
// nacl.sealedbox_decrypt.
func TestDocumentedBox(t *testing.T) {
	r := shelf(t, data.NewMap("nacl.config", data.NewMap("sk", secret)))
	for range 2 {
		if v := call(t, r, "nacl.dec", "data", example); v != "asecretpass" {
			t.Errorf("nacl.dec with the key of nacl.config is %s", data.Repr(v))
		}
		if v := call(t, shelf(t, &data.Map{}), "nacl.sealedbox_decrypt", "data", example,
			"sk", secret); v != "asecretpass" {
			t.Errorf("nacl.sealedbox_decrypt is %s", data.Repr(v))
		}
	}
	if v := call(t, r, "nacl.dec", "data", nil); v != nil {
		t.Errorf("None is decrypted as %s", data.Repr(v))
	}
}

// TestBoxes encrypts and decrypts again, with each type of box and each way to name a key.
func TestBoxes(t *testing.T) {
	dir := t.TempDir()
	sk, pk := filepath.Join(dir, "sk"), filepath.Join(dir, "pk")
	for file, key := range map[string]string{sk: secret, pk: public} {
		if err := os.WriteFile(file, []byte(key+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := shelf(t, &data.Map{})
	for _, c := range []struct {
		enc, dec     string
		lock, unlock []any
	}{
		{"nacl.enc", "nacl.dec", []any{"pk", public}, []any{"sk", secret}},
		{"nacl.enc", "nacl.dec", []any{"pk_file", pk}, []any{"sk_file", sk}},
		{"nacl.enc", "nacl.dec", []any{"sk", secret, "box_type", "secretbox"},
			[]any{"sk", secret, "box_type", "secretbox"}},
		{"nacl.enc", "nacl.dec", []any{"key", secret}, []any{"keyfile", sk}},
		{"nacl.sealedbox_encrypt", "nacl.sealedbox_decrypt", []any{"pk", public}, []any{"sk_file", sk}},
		{"nacl.secretbox_encrypt", "nacl.secretbox_decrypt", []any{"sk_file", sk}, []any{"sk", secret}},
	} {
		first := call(t, r, c.enc, append([]any{"data", "schön"}, c.lock...)...)
		second := call(t, r, c.enc, append([]any{"data", "schön"}, c.lock...)...)
		if first == second {
			t.Errorf("%s gives the same box twice", c.enc)
		}
		if v := call(t, r, c.dec, append([]any{"data", first}, c.unlock...)...); v != "schön" {
			t.Errorf("%s, %s: %s", c.enc, c.dec, data.Repr(v))
		}
	}
}

// TestKeygen makes keys: nacl.keygen, twice where files are written.
func TestKeygen(t *testing.T) {
	r, dir := shelf(t, &data.Map{}), t.TempDir()
	pair := call(t, r, "nacl.keygen").(*data.Map)
	box := call(t, r, "nacl.enc", "data", "x", "pk", pair.Value("pk"))
	if v := call(t, r, "nacl.dec", "data", box, "sk", pair.Value("sk")); v != "x" {
		t.Errorf("the pair does not belong together: %s", data.Repr(v))
	}
	sk := filepath.Join(dir, "nacl")
	pk := sk + ".pub"
	if v := call(t, r, "nacl.keygen", "sk_file", sk); v != "saved sk_file:"+sk+"  pk_file: "+pk {
		t.Errorf("got %s", data.Repr(v))
	}
	if info, err := os.Stat(sk); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the secret key has mode %v, %v", info.Mode(), err)
	}
	made, err := os.ReadFile(pk)
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Invoke(t.Context(), "nacl.keygen", nil, data.NewMap("sk_file", sk))
	if err == nil || err.Error() != "sk_file:"+sk+" and pk_file:"+pk+" already exist." {
		t.Errorf("again: %v", err)
	}
	if err := os.Remove(pk); err != nil {
		t.Fatal(err)
	}
	if v := call(t, r, "nacl.keygen", "sk_file", sk); v != "saved pk_file: "+pk {
		t.Errorf("got %s", data.Repr(v))
	}
	if again, err := os.ReadFile(pk); err != nil || string(again) != string(made) {
		t.Errorf("the public key is %s, %v, was %s", again, err, made)
	}
}

// TestFiles encrypts and decrypts files: nacl.enc_file and nacl.dec_file. Existing files are not
// overwritten.
func TestFiles(t *testing.T) {
	r, dir := shelf(t, data.NewMap("nacl.config", data.NewMap("sk", secret, "pk", public))), t.TempDir()
	plain, sealed, again := filepath.Join(dir, "plain"), filepath.Join(dir, "sealed"),
		filepath.Join(dir, "again")
	if err := os.WriteFile(plain, []byte("text\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if v := call(t, r, "nacl.enc_file", "name", plain, "out", sealed); v != "Wrote: "+sealed {
		t.Errorf("got %s", data.Repr(v))
	}
	if v := call(t, r, "nacl.dec_file", "name", sealed); v != "text\n" {
		t.Errorf("got %s", data.Repr(v))
	}
	if v := call(t, r, "nacl.dec_file", "name", sealed, "out", again); v != "Wrote: "+again {
		t.Errorf("got %s", data.Repr(v))
	}
	if text, err := os.ReadFile(again); err != nil || string(text) != "text\n" {
		t.Errorf("the file has %q, %v", text, err)
	}
	if _, err := r.Invoke(t.Context(), "nacl.dec_file", nil,
		data.NewMap("name", sealed, "out", again)); err == nil || err.Error() != "file:"+again+
		" already exist." {
		t.Errorf("over a file: %v", err)
	}
}

// TestFaults checks the errors for invalid keys and boxes.
func TestFaults(t *testing.T) {
	r := shelf(t, data.NewMap("pki_dir", t.TempDir()))
	short := base64.StdEncoding.EncodeToString([]byte("short"))
	for _, c := range []struct {
		fun, want string
		words     *data.Map
	}{
		{"nacl.dec", "Exception: no key or sk_file found", data.NewMap("data", example)},
		{"nacl.enc", "Exception: no pubkey or pk_file found", data.NewMap("data", "x")},
		{"nacl.dec", "CryptoError: An error occurred trying to decrypt the message",
			data.NewMap("data", example, "sk", public)},
		{"nacl.dec", "CryptoError: Decryption failed. Ciphertext failed verification",
			data.NewMap("data", example, "key", secret)},
		{"nacl.dec", "CryptoError: Decryption failed. Ciphertext failed verification",
			data.NewMap("data", "YQ==", "key", secret)},
		{"nacl.dec", "TypeError: PrivateKey must be created from a 32 bytes long raw secret key",
			data.NewMap("data", example, "sk", short)},
		{"nacl.enc", "ValueError: The public key must be exactly 32 bytes long",
			data.NewMap("data", "x", "pk", short)},
		{"nacl.enc", "ValueError: The key must be exactly 32 bytes long",
			data.NewMap("data", "x", "key", short)},
		{"nacl.dec", "binascii.Error: Incorrect padding", data.NewMap("data", "abc", "sk", secret)},
		{"nacl.enc", "TypeError: expected str, bytes, or bytearray not <class 'int'>",
			data.NewMap("data", int64(5), "pk", public)},
	} {
		if _, err := r.Invoke(t.Context(), c.fun, nil, c.words); err == nil ||
			!strings.Contains(loader.Traceback(err), c.want) {
			t.Errorf("%s %s: %v, want %s", c.fun, data.Repr(c.words), err, c.want)
		}
	}
}

package render_test

import (
	"bytes"
	"encoding/base64"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/curve25519"
	"golang.org/x/crypto/nacl/box"
	"golang.org/x/crypto/nacl/secretbox"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/render"
)

func TestNaCl(t *testing.T) {
	secret := [32]byte{1, 2, 3}
	public, err := curve25519.X25519(secret[:], curve25519.Basepoint)
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := box.SealAnonymous(nil, []byte("hidden"), (*[32]byte)(public), nil)
	if err != nil {
		t.Fatal(err)
	}
	nonce := [24]byte{9}
	shared := secretbox.Seal(nonce[:], []byte("shared"), &nonce, &secret)
	key := base64.StdEncoding.EncodeToString(secret[:])
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "nacl"), []byte(key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := func(b []byte) string { return "NACL[" + base64.StdEncoding.EncodeToString(b) + "]" }
	for _, tt := range []struct {
		name, text, want string
		config           *data.Map
	}{
		{"sealed, key in a file", text(sealed), "hidden", data.NewMap("sk_file", filepath.Join(dir, "nacl"))},
		{"with a shared key", text(shared), "shared", data.NewMap("sk", key, "box_type", "secretbox")},
		{"other text", "NACL is salt", "NACL is salt", data.NewMap()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := data.NewMap("a", []any{tt.text, int64(1)})
			for range 2 {
				got, err := engine(t, nil, "nacl.config", tt.config).RenderData(t.Context(), in,
					render.Input{Default: "nacl"})
				if want := data.NewMap("a", []any{tt.want, int64(1)}); err != nil || !data.Equal(got, want) {
					t.Errorf("got %s, %v", data.Repr(got), err)
				}
			}
		})
	}
	_, err = engine(t, nil, "nacl.config",
		data.NewMap("sk", base64.StdEncoding.EncodeToString(make([]byte, 32)))).
		RenderData(t.Context(), text(sealed), render.Input{Default: "nacl"})
	if err == nil || err.Error() != "NACL[…] was not encrypted for the key of nacl.config" {
		t.Errorf("another key: %v", err)
	}
}

// fakePass puts a program pass that knows one secret first in PATH.
func fakePass(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	script := "#!/bin/sh\nif [ \"$1 $2\" = \"show db/root\" ]; then echo \"$PASSWORD_STORE_DIR s3cret\"; else echo nope >&2; exit 1; fi\n"
	if err := os.WriteFile(filepath.Join(dir, "pass"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

func TestPass(t *testing.T) {
	fakePass(t)
	in := data.NewMap("pw", "pass: db/root ", "user", "pass:none", "other", "db/root")
	e := engine(t, nil, "pass_variable_prefix", "pass:", "pass_dir", "/store")
	got, err := e.RenderData(t.Context(), in, render.Input{Default: "pass"})
	if want := data.NewMap("pw", "/store s3cret", "user", "pass:none", "other",
		"db/root"); err != nil || !data.Equal(got, want) {
		t.Errorf("got %s, %v", data.Repr(got), err)
	}
	e = engine(t, nil, "pass_variable_prefix", "pass:", "pass_strict_fetch", true)
	_, err = e.RenderData(t.Context(), in, render.Input{Default: "pass"})
	if err == nil || err.Error() != "Could not fetch secret 'none' from the password store: nope\n" {
		t.Errorf("strict: %v", err)
	}
}

// encrypted makes a key below dir and returns a message for it.
func encrypted(t *testing.T, dir, secret string) string {
	t.Helper()
	gpg := func(input string, args ...string) string {
		cmd := exec.Command("gpg", append([]string{"--homedir", dir, "--batch", "--quiet",
			"--no-tty"}, args...)...)
		cmd.Stdin = strings.NewReader(input)
		var problems bytes.Buffer
		cmd.Stderr = &problems
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("gpg %v: %v\n%s", args, err, problems.Bytes())
		}
		return string(out)
	}
	gpg("", "--passphrase", "", "--quick-gen-key", "salt@example.net", "default", "default", "never")
	t.Cleanup(func() { _ = exec.Command("gpgconf", "--homedir", dir, "--kill", "all").Run() })
	return gpg(secret, "--armor", "--trust-model", "always", "--encrypt", "-r", "salt@example.net")
}

func TestGPG(t *testing.T) {
	need.Program(t, "gpg")
	dir, err := os.MkdirTemp("/tmp", "g") // short, for gpg-agent's socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	message := encrypted(t, dir, "s3cret")
	in := data.NewMap("a", message, "b", []any{"x " + strings.ReplaceAll(message, "\n", `\n`)}, "c", int64(1))
	e := engine(t, nil, "gpg_keydir", dir)
	for range 2 {
		got, err := e.RenderData(t.Context(), in, render.Input{Default: "gpg", TranslateNewlines: true})
		if want := data.NewMap("a", "s3cret", "b", []any{"x s3cret"}, "c", int64(1)); err != nil ||
			!data.Equal(got, want) {
			t.Fatalf("got %s, %v", data.Repr(got), err)
		}
	}
	broken := "-----BEGIN PGP MESSAGE-----\nx\n-----END PGP MESSAGE-----"
	if got, err := e.RenderData(t.Context(), broken, render.Input{Default: "gpg"}); err != nil ||
		got != broken {
		t.Errorf("what cannot be decrypted: %v, %v", got, err)
	}
	e = engine(t, nil, "gpg_keydir", dir, "gpg_decrypt_must_succeed", true)
	_, err = e.RenderData(t.Context(), broken, render.Input{Default: "gpg"})
	if err == nil || !strings.HasPrefix(err.Error(),
		`Could not decrypt cipher b'-----BEGIN PGP MESSAGE-----\nx`) {
		t.Errorf("gpg_decrypt_must_succeed: %v", err)
	}
}

// TestDecrypt checks that only renderers in the option are accepted, and that others are an error
// in Salt's words.
func TestDecrypt(t *testing.T) {
	for _, tt := range []struct {
		valid      any
		name, want string
	}{
		{[]any{"gpg", "json"}, "json", "{'a': 1}"},
		{nil, "json", "{'a': 1}"},
		{[]any{"gpg", "nacl"}, "json",
			"'json' is not a valid decryption renderer. Valid choices are: gpg, nacl"},
		{[]any{}, "nothere", "Decryption renderer 'nothere' is not available"},
	} {
		got, err := engine(t, nil, "decrypt_pillar_renderers", tt.valid).Decrypt(t.Context(),
			`{"a": 1}`, render.Input{Default: tt.name})
		text := data.Repr(got)
		if err != nil {
			text = err.Error()
		}
		if text != tt.want {
			t.Errorf("%s of %v: got %s, want %s", tt.name, tt.valid, text, tt.want)
		}
	}
}

package ssh

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/loader"
)

func FuzzKeys(f *testing.F) {
	f.Add("# c\nfrom=\"a\",b ssh-rsa AAAA me\n\nnone\n", "AAAA")
	f.Fuzz(func(t *testing.T, text, gone string) {
		keys, err := keysIn(without(text, gone), nil)
		if _, there := find(keys, gone); err != nil || there {
			t.Errorf("%q without %q still has it: %v", text, gone, err)
		}
		for _, k := range keys {
			if again, ok, err := parseKey(k.line(), nil); !ok || err != nil || again.key != k.key {
				t.Errorf("%q becomes %v, %v", k.line(), again, err)
			}
		}
		if _, err := entries(text, nil); err != nil {
			t.Error(err)
		}
		_ = numbers(text, []any{"ssh-rsa"})
	})
}

// The fingerprints are those of "test" in base64.
func TestFingerprint(t *testing.T) {
	for method, want := range map[string]string{"md5": "09:8f:6b:cd:46:21:d3:73:ca:de:4e:83:26:27:b4:f6", "": "9f:86:d0:81:88:4c:7d:65:9a:2f:ea:a0:c5:5a:d0:15"} {
		if got, err := fingerprint("dGVzdA==", method); err != nil || !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, %v", method, got, err)
		}
	}
	if got, err := fingerprint("no key", nil); got != "" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := fingerprint("dGVzdA==", "rot13"); err == nil {
		t.Error("a hash that there is not")
	}
}

// TestKeyIsEncrypted compares with the answers of Salt 3006.0; each call runs twice.
func TestKeyIsEncrypted(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{"plain": "-----BEGIN RSA PRIVATE KEY-----\nAAAA\n",
		"closed": "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nAAAA\n",
		"pkcs8":  "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n", "public": "ssh-rsa AAAA ENCRYPTED\n"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r, err := loader.NewRegistry(&loader.Env{Root: root}, []loader.Plugin{Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{"/plain": false, "/closed": true, "/pkcs8": true,
		"/public": "/public is not a private key", "/none": "/none does not exist"} {
		for range 2 {
			got, err := r.Invoke(t.Context(), "ssh.key_is_encrypted", []any{name}, nil)
			if err != nil {
				got = err.Error()
			}
			if got != want {
				t.Errorf("ssh.key_is_encrypted %s gives %v, want %v", name, got, want)
			}
		}
	}
}

// TestOptionsAsText checks that an option which is a text and no list is not lost.
func TestOptionsAsText(t *testing.T) {
	for options, want := range map[any]string{"no-pty": "no-pty ssh-rsa AAAA me",
		nil: "ssh-rsa AAAA me", "": "ssh-rsa AAAA me"} {
		k, err := wanted("AAAA", "ssh-rsa", "me", options)
		if got := strings.TrimSpace(k.line()); err != nil || got != want {
			t.Errorf("options %v give %q, %v, want %q", options, got, err, want)
		}
	}
	k, err := wanted("AAAA", "ssh-rsa", "me", []any{"no-pty", `from="a,b"`})
	if got, want := strings.TrimSpace(k.line()), `no-pty,from="a,b" ssh-rsa AAAA me`; err != nil ||
		got != want {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}

package file

import (
	"crypto/md5"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
)

// open writes a file of users and opens it with settings.
func open(t testing.TB, content string, settings ...any) (auth.System, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "users")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	own := data.NewMap(append([]any{"^filename", file, "fred", []any{".*"}}, settings...)...)
	return Open(data.NewMap("external_auth", data.NewMap("file", own)))
}

func check(t *testing.T, s auth.System, name, password string, want bool) {
	t.Helper()
	if ok, err := s.Login(t.Context(), auth.Login{Name: name, Password: password}); ok != want {
		t.Errorf("Login(%s, %s) = %v, %v, want %v", name, password, ok, err, want)
	}
}

func TestPlainText(t *testing.T) {
	s, err := open(t, "dean:goneFishing\ngene:OceanMan\ngene:second\nodd:a:b\n")
	if err != nil {
		t.Fatal(err)
	}
	check(t, s, "dean", "goneFishing", true)
	check(t, s, "gene", "OceanMan", true)
	check(t, s, "gene", "second", false)
	check(t, s, "dean", "gonefishing", false)
	check(t, s, "dean", "", false)
	check(t, s, "nobody", "goneFishing", false)
	check(t, s, "odd", "a", true)
}

// TestFields is the file of Salt's manual.
func TestFields(t *testing.T) {
	s, err := open(t, "46|trey|16a0034f90b06bf3c5982ed8ac41aab4\n555|mike|b6e02a4d2cb2a6ef0669e79be6fd02e4\n8|fred|5ebe2294ecd0e0f08eab7690d2a6ee69\nshort\n9|after|x\n",
		"^filetype", "text", "^hashtype", "md5", "^username_field", int64(2), "^password_field",
		"3", "^field_separator", "|")
	if err != nil {
		t.Fatal(err)
	}
	check(t, s, "fred", "secret", true)
	check(t, s, "fred", "5ebe2294ecd0e0f08eab7690d2a6ee69", false)
	check(t, s, "trey", "secret", false)
	if ok, err := s.Login(t.Context(), auth.Login{Name: "after", Password: "x"}); ok || err == nil {
		t.Errorf("a line without the fields: %v, %v", ok, err)
	}
}

func TestHashes(t *testing.T) {
	for _, name := range []string{"md5", "sha1", "sha224", "sha256", "sha384", "sha512",
		"sha3_256", "blake2b"} {
		h, err := crypto.NewHash(name)
		if err != nil {
			t.Fatal(err)
		}
		h.Write([]byte("secret"))
		s, err := open(t, "fred:"+hex.EncodeToString(h.Sum(nil)), "^hashtype", name)
		if err != nil {
			t.Fatal(err)
		}
		check(t, s, "fred", "secret", true)
		check(t, s, "fred", "wrong", false)
	}
}

// TestHtpasswd has hashes that openssl passwd and crypt(3) made of the word secret.
func TestHtpasswd(t *testing.T) {
	s, err := open(t, strings.Join([]string{
		"# users", "", "apr1:$apr1$abcdefgh$h9FWgUz3n9YxylKLlR5SQ/",
		"sha256:$5$abcdefgh$gruCpC7VkOTspMQTTSAR8mtlO9Upms.fwqE5y16JVM.",
		"sha512:$6$abcdefgh$ltjgWl6579NluT/Vi1nwEvcil.G5Nbc4NiXZaNGStk8PSwGfQv72N2CKPPrVACtLtip/cZ/1GM/O6IND4WQhG.", "sha1:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=",
		"bcrypt:$2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW", "plain:secret",
		"des:abNANd1rDfiNc", "odd:$9$abc$def", "bad:$2y$x",
	}, "\n"), "^filetype", "htpasswd")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"apr1", "sha256", "sha512", "sha1", "bcrypt", "plain"} {
		check(t, s, name, "secret", true)
		check(t, s, name, "Secret", false)
		check(t, s, name, "", false)
	}
	for name, password := range map[string]string{"des": "secret", "odd": "$9$abc$def",
		"bad": "$2y$x", "#": "users"} {
		check(t, s, name, password, false)
	}
	check(t, s, "des", "abNANd1rDfiNc", false)
}

func TestHtdigest(t *testing.T) {
	sum := md5.Sum([]byte("fred:realm:secret"))
	s, err := open(t, "fred:other:x\nfred:realm:"+hex.EncodeToString(sum[:])+"\n", "^filetype",
		"htdigest", "^realm", "realm")
	if err != nil {
		t.Fatal(err)
	}
	check(t, s, "fred", "secret", true)
	check(t, s, "fred", "wrong", false)
}

func TestSettingsThatAreWrong(t *testing.T) {
	for _, settings := range [][]any{{"^filename", ""}, {"^filetype", "sqlite"},
		{"^filetype", "htdigest"}, {"^hashtype", "rot13"}, {"^username_field", int64(0)},
		{"^password_field", "x"}} {
		if _, err := open(t, "fred:x", settings...); err == nil || !strings.Contains(err.Error(), "^") {
			t.Errorf("%v: %v", settings, err)
		}
	}
	s, err := Open(data.NewMap("external_auth",
		data.NewMap("file", data.NewMap("^filename", filepath.Join(t.TempDir(), "absent")))))
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := s.Login(t.Context(), auth.Login{Name: "fred", Password: "x"}); ok || err == nil {
		t.Errorf("no file: %v, %v", ok, err)
	}
}

// FuzzLine reads any line as one of each kind.
func FuzzLine(f *testing.F) {
	f.Add("fred:secret", "fred", "secret")
	f.Add("fred:$apr1$abcdefgh$x", "fred", "secret")
	f.Add("fred:$5$rounds=1000$x$y", "fred", "secret")
	f.Fuzz(func(t *testing.T, line, name, password string) {
		if strings.Contains(line, "rounds=") || strings.Contains(line, "$2") {
			return // a file may ask for as much work as its owner likes
		}
		for _, kind := range []string{"text", "htpasswd", "htdigest"} {
			u := &users{kind: kind, hash: "plaintext", separator: ":", password: 1, realm: "r"}
			if found, ok, _ := u.line(line, auth.Login{Name: name, Password: password}); ok && !found {
				t.Errorf("%s: %q lets in whom it is not about", kind, line)
			}
		}
	})
}

package aptsources

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/calls"
	"github.com/brineproject/brine/internal/test/need"
)

// makeKey creates a key with gpg, and returns it armored with its ID.
func makeKey(t *testing.T) (armor []byte, id string) {
	t.Helper()
	need.Program(t, "gpg")
	home, err := os.MkdirTemp("", "gpg") // its socket needs a short name
	must(t, err)
	t.Cleanup(func() {
		_ = exec.Command("gpgconf", "--homedir", home, "--kill", "all").Run()
		_ = os.RemoveAll(home)
	})
	gpg := func(args ...string) []byte {
		out, err := exec.Command("gpg",
			append([]string{"--homedir", home, "--batch", "--quiet", "--passphrase", ""},
				args...)...).Output()
		must(t, err)
		return out
	}
	gpg("--quick-generate-key", "Brine Test <brine@example.com>", "ed25519", "sign", "never")
	listed := string(gpg("--list-keys", "--with-colons"))
	id = strings.Split(listed[strings.Index(listed, "pub:"):], ":")[4]
	return gpg("--armor", "--export"), id
}

func dearmorByGPG(t *testing.T, armor []byte) []byte {
	t.Helper()
	cmd := exec.Command("gpg", "--dearmor")
	cmd.Stdin = bytes.NewReader(armor)
	out, err := cmd.Output()
	must(t, err)
	return out
}

func TestKeyOfSource(t *testing.T) {
	armor, id := makeKey(t)
	plain := dearmorByGPG(t, armor)
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "any.asc"), armor, 0o644))
	must(t, os.WriteFile(filepath.Join(dir, "any.gpg"), plain, 0o644))
	h := newHost(t, nil)
	h.files["salt://k"], h.files["salt://p"] = filepath.Join(dir, "any.asc"), filepath.Join(dir, "any.gpg")
	for file, words := range map[string][]any{"a.gpg": {"key_url", "salt://k"},
		"b.gpg": {"key_url", "salt://p"}, "c.gpg": {"key_text", string(armor)}} {
		for range 2 {
			h.want("mod_repo", []any{"deb [signed-by=/etc/apt/keyrings/" + file + "] http://a x " +
				file[:1]}, append(words, "refresh", false)...)
			if h.text("/etc/apt/keyrings/"+file) != string(plain) {
				t.Errorf("%s is another key", file)
			}
		}
	}
	h.want("mod_repo", []any{"deb [signed-by=/etc/apt/keyrings/d.asc] http://a x d"}, "key_url", "salt://k")
	if h.text("/etc/apt/keyrings/d.asc") != string(armor) {
		t.Error("a key that apt reads armored was dearmored")
	}
	must(t, os.Remove(filepath.Join(h.root, keyDir, "d.asc")))
	for range 2 {
		keys := h.want("get_repo_keys", nil).(*data.Map)
		key, _ := keys.Value(id).(*data.Map)
		if keys.Len() != 1 || key.Text("uid") != "Brine Test <brine@example.com>" ||
			!strings.HasSuffix(key.Text("fingerprint"), id) || key.Value("algorithm") != int64(22) {
			t.Errorf("the keys are %s", data.Repr(keys))
		}
	}
	for _, want := range []any{id, id, id, false, false} {
		if got := h.want("del_repo_key", nil, "keyid", id); got != want {
			t.Errorf("it returned %v, want %v", got, want)
		}
	}
	if got := h.want("del_repo_key", nil, "keyid", "ABC"); got != false {
		t.Errorf("a short id returned %v", got)
	}
}

func TestAddRepoKey(t *testing.T) {
	armor, id := makeKey(t)
	h := newHost(t, nil)
	file := filepath.Join(t.TempDir(), "web.gpg")
	must(t, os.WriteFile(file, armor, 0o644))
	h.files["salt://k"] = file
	for range 2 {
		if got := h.want("add_repo_key", []any{"salt://k"}); got != true ||
			h.text(keyDir+"/web.gpg") != string(dearmorByGPG(t, armor)) {
			t.Errorf("it returned %v", got)
		}
		// already present
		if got := h.want("add_repo_key", nil, "keyserver", "s", "keyid", id[8:]); got != true {
			t.Errorf("it returned %v", got)
		}
	}
	for _, tt := range []struct {
		words []any
		want  any
	}{
		{[]any{"path", "salt://none"}, false},
		{[]any{"text", string(armor)}, false},
		{[]any{"text", string(armor), "keyfile", "t.gpg"}, true},
		{[]any{"path", "salt://k", "keydir", "/none"}, false},
		{[]any{"keyserver", "s"}, "salt.exceptions.SaltInvocationError: No keyid or keyid too short for keyserver: s"},
		{[]any{"keyid", "12"}, "salt.exceptions.SaltInvocationError: No keyserver specified for keyid: 12"},
		{nil, "TypeError: add_repo_key() takes at least 1 argument (0 given)"},
	} {
		got, err := h.call("add_repo_key", nil, tt.words...)
		if err != nil {
			got = calls.Text(err)
		}
		if got != tt.want {
			t.Errorf("%v returned %v, want %v", tt.words, got, tt.want)
		}
	}
}

// A key from a key server is added to its file in the format that apt reads, once, and the other
// keys stay.
func TestKeyServer(t *testing.T) {
	armor, id := makeKey(t)
	other, _ := makeKey(t)
	plain := string(dearmorByGPG(t, armor))
	h := newHost(t, map[string]string{keyDir + "/s.gpg": string(dearmorByGPG(t, other))})
	h.options["proxy_host"], h.options["proxy_port"] = "proxy", int64(3128)
	h.programs["gpg"] = func(args []string) (int64, string) {
		switch {
		case slices.Contains(args, "--recv-keys"):
			if args[len(args)-1] != id {
				return 2, "gpg: keyserver receive failed: No data"
			}
			return 0, ""
		case slices.Contains(args, "--export"):
			return 0, writeTo(args[slices.Index(args, "--output")+1], plain)
		}
		out, _ := exec.Command("gpg", args...).Output()
		return 0, string(out)
	}
	before := h.text(keyDir + "/s.gpg")
	for range 2 {
		h.want("mod_repo", []any{"deb [signed-by=/etc/apt/keyrings/s.gpg] http://a x y"},
			"keyid", id, "keyserver", "keys.example.com")
		if h.text(keyDir+"/s.gpg") != before+plain {
			t.Error("the file has other keys")
		}
	}
	received := slices.DeleteFunc(slices.Clone(h.ran),
		func(c string) bool { return !strings.Contains(c, "--recv-keys") })
	if len(received) != 1 || !strings.HasSuffix(received[0],
		"--keyserver keys.example.com --keyserver-options http-proxy=http://proxy:3128 --recv-keys "+id) {
		t.Errorf("it ran %v", received)
	}
	_, err := h.call("mod_repo", []any{"deb [signed-by=/etc/apt/keyrings/s.gpg] http://a x y"},
		"keyid", "0011223344556677", "keyserver", "keys.example.com")
	if calls.Text(err) != "salt.exceptions.CommandExecutionError: Error: Could not add key: 0011223344556677" {
		t.Error(err)
	}
}

func writeTo(file, text string) string {
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return err.Error()
	}
	return ""
}

func TestAptKey(t *testing.T) {
	h := newHost(t, nil)
	h.has["apt-key"] = true
	known := map[string]bool{}
	h.files["salt://k"] = "/cache/k"
	h.programs["apt-key"] = func(args []string) (int64, string) {
		switch last := args[len(args)-1]; {
		case args[0] == "export" && known[last]:
			return 0, "-----BEGIN PGP PUBLIC KEY BLOCK-----"
		case args[0] == "export":
			return 0, "gpg: WARNING: nothing exported"
		case args[0] == "add" && last == "/cache/k":
			return 0, "OK"
		case args[0] == "add":
			return 2, "gpg: no valid OpenPGP data found."
		case args[0] == "del" && !known[last]:
			return 1, "no such key"
		case args[0] == "adv" && args[2] == "--list-public-keys":
			return 0, "tru::1:1\n" +
				"pub:-:2048:1:4528B6CD9E61EF26:1427227952:::-:::scESC::::::23::0:\n" +
				"fpr:::::::::759D690F60992D526A358C824528B6CD9E61EF26:\nuid:-::::1427227952::H::SaltStack:\n" +
				"sub:-:2048:1:0A0F1C7DFBE4D4D3:1427227952::::::e:\nfpr:::::::::AAAA:\n"
		case last == "00FF":
			return 2, "no such server"
		default:
			known[last] = true
			return 0, ""
		}
	}
	for range 2 {
		h.want("mod_repo", []any{"deb http://a x y"}, "keyid", []any{"AB12", int64(0x1234)}, "keyserver", "s")
		h.want("mod_repo", []any{"deb http://a x y"}, "key_url", "salt://k")
	}
	adv := slices.DeleteFunc(slices.Clone(h.ran), func(c string) bool { return !strings.Contains(c, "adv") })
	if want := []string{"apt-key adv --batch --keyserver s --logger-fd 1 --recv-keys AB12",
		"apt-key adv --batch --keyserver s --logger-fd 1 --recv-keys 0x1234"}; !slices.Equal(adv, want) {
		t.Errorf("it ran %q", adv)
	}
	_, err := h.call("mod_repo", []any{"deb http://a x y"}, "keyid", "00FF", "keyserver", "s")
	if calls.Text(err) != "salt.exceptions.CommandExecutionError: Error: key retrieval failed: no such server" {
		t.Error(err)
	}
	_, err = h.call("mod_repo", []any{"deb http://a x y"}, "key_text", "junk")
	if calls.Text(err) != "salt.exceptions.CommandExecutionError: Error: failed to add key:\njunk" {
		t.Error(err)
	}
	want := data.NewMap("4528B6CD9E61EF26", data.NewMap("algorithm", int64(1), "bits", int64(2048),
		"capability", "scESC", "date_creation", int64(1427227952),
		"date_expiration", nil, "keyid", "4528B6CD9E61EF26", "validity", "-", "fingerprint",
		"759D690F60992D526A358C824528B6CD9E61EF26", "uid", "SaltStack",
		"uid_hash", "H", "subkey", data.NewMap("algorithm", int64(1), "bits", int64(2048),
			"capability", "e", "date_creation", int64(1427227952),
			"date_expiration", nil, "keyid", "0A0F1C7DFBE4D4D3", "validity", "-", "fingerprint", "AAAA")))
	if got := h.want("get_repo_keys", nil); !data.Equal(got, want) {
		t.Errorf("got %s", data.Repr(got))
	}
	if got := h.want("del_repo_key", nil, "keyid", "AB12"); got != "AB12" {
		t.Errorf("got %v", got)
	}
	_, err = h.call("del_repo_key", nil, "keyid", "FFFF")
	if calls.Text(err) != "salt.exceptions.CommandExecutionError: Failed to remove keyid FFFF: no such key" {
		t.Error(err)
	}
}

func FuzzDearmor(f *testing.F) {
	f.Add([]byte("-----BEGIN PGP PUBLIC KEY BLOCK-----\nVersion: 1\n\naGVsbG8=\n=9nsA\n-----END PGP PUBLIC KEY BLOCK-----\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if out, err := dearmor(text); err == nil && len(out) == 0 && len(text) == 0 {
			t.Error("there is a key in nothing")
		}
		if n := parseKeys(string(text)).Len(); n > len(text) {
			t.Errorf("%d keys in %d bytes", n, len(text))
		}
	})
}

package aptsources

import (
	"os"
	"strings"
	"testing"
)

// While gpg runs, the password of a proxy is in a file that only its owner can read.
func TestProxyWithPasswordIsNoArgument(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	options, drop, err := proxyOptions("http://u:marker@proxy:3128")
	if err != nil || len(options) != 2 || options[0] != "--options" {
		t.Fatalf("got %v, %v", options, err)
	}
	file := options[1]
	text, err := os.ReadFile(file)
	info, statErr := os.Stat(file)
	if err != nil || statErr != nil ||
		string(text) != "keyserver-options http-proxy=http://u:marker@proxy:3128\n" ||
		info.Mode().Perm() != 0o600 {
		t.Errorf("the file has %q, %v, %v, %v", text, info.Mode(), err, statErr)
	}
	if drop(); exists(file) {
		t.Error("the file stays")
	}
	options, drop, err = proxyOptions("http://proxy:3128")
	if drop(); err != nil || len(options) != 2 || options[1] != "http-proxy=http://proxy:3128" {
		t.Errorf("without a password it returned %v, %v", options, err)
	}
	if options, _, err = proxyOptions(""); err != nil || options != nil {
		t.Errorf("without a proxy it returned %v, %v", options, err)
	}
	if _, _, err = proxyOptions("http://u:a\nexec-path /tmp@proxy"); err == nil {
		t.Error("a password brings an option of gpg")
	}
}

func TestKeysAreNoOptions(t *testing.T) {
	h := newHost(t, nil)
	for _, file := range []string{" [signed-by=/etc/apt/keyrings/s.gpg]",
		" [signed-by=/etc/apt/keyrings/t.gpg]"} {
		_, err := h.call("mod_repo", []any{"deb" + file + " http://a x y"}, "keyid",
			"--exec-path=/tmp", "keyserver", "keys.example.com")
		if err == nil || !strings.Contains(err.Error(), "begins with a dash") {
			t.Errorf("%q: %v", file, err)
		}
	}
	for _, line := range h.ran {
		if strings.Contains(line, "exec-path") {
			t.Errorf("it ran %s", line)
		}
	}
}

func exists(file string) bool {
	_, err := os.Lstat(file)
	return err == nil
}

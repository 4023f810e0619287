package aptsources

import (
	"os"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
)

// The password of a proxy is in a file that its owner alone may read, while gpg needs it.
func TestProxyWithPasswordIsNoArgument(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	options, drop, err := through("http://u:marker@proxy:3128")
	if err != nil || len(options) != 2 || options[0] != "--options" {
		t.Fatalf("got %v, %v", options, err)
	}
	file := data.Str(options[1])
	text, err := os.ReadFile(file)
	info, statErr := os.Stat(file)
	if err != nil || statErr != nil || string(text) != "keyserver-options http-proxy=http://u:marker@proxy:3128\n" || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has %q, %v, %v, %v", text, info.Mode(), err, statErr)
	}
	if drop(); exists(file) {
		t.Error("the file stays")
	}
	options, drop, err = through("http://proxy:3128")
	if drop(); err != nil || len(options) != 2 || options[1] != "http-proxy=http://proxy:3128" {
		t.Errorf("without a password it gives %v, %v", options, err)
	}
	if options, _, err = through(""); err != nil || options != nil {
		t.Errorf("without a proxy it gives %v, %v", options, err)
	}
	if _, _, err = through("http://u:a\nexec-path /tmp@proxy"); err == nil {
		t.Error("a password brings an option of gpg")
	}
}

func TestKeysAreNoOptions(t *testing.T) {
	h := newHost(t, nil)
	for _, file := range []string{" [signed-by=/etc/apt/keyrings/s.gpg]", " [signed-by=/etc/apt/keyrings/t.gpg]"} {
		_, err := h.call("mod_repo", []any{"deb" + file + " http://a x y"}, "keyid", "--exec-path=/tmp", "keyserver", "keys.example.com")
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

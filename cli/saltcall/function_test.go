package saltcall

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/cli"
)

// The returners of the configuration get what is called here, however they are written, and those of the command line in their place.
func TestReturnersOfTheConfiguration(t *testing.T) {
	for name, option := range map[string]string{"list": "[rawfile_json, local]", "text": "rawfile_json, local", "nothing": ""} {
		dir := t.TempDir()
		file := filepath.Join(dir, "returned")
		text := fmt.Sprintf("id: m\nroot_dir: %s\nfile_client: local\nrawfile_json.filename: %s\nreturn: %s\n", dir, file, option)
		if err := os.WriteFile(filepath.Join(dir, "minion"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		call := func(args ...string) string {
			var stdout, stderr bytes.Buffer
			in := cli.Invocation{Args: append([]string{"-c", dir}, args...), Dir: dir, Env: func(string) string { return "" }}
			if code := Run(t.Context(), in, &stdout, &stderr); code != 0 {
				t.Fatalf("%s: salt-call %q: %d %s", name, args, code, stderr.String())
			}
			return stderr.String()
		}
		if said := call("test.ping"); bytes.Contains([]byte(said), []byte("returner")) {
			t.Errorf("%s: %s", name, said)
		}
		got, err := os.ReadFile(file)
		if want := name != "nothing"; (err == nil && bytes.Contains(got, []byte("test.ping"))) != want {
			t.Errorf("%s: the returner wrote %q, %v", name, got, err)
		}
		_ = os.Remove(file)
		call("--return", "rawfile_json", "test.ping")
		if _, err := os.Stat(file); err != nil {
			t.Errorf("%s: --return: %v", name, err)
		}
	}
}

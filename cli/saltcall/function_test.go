package saltcall

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/cli"
)

// The configured returners get the result, in whatever form they are written; those of the command
// line replace them.
func TestReturnersOfTheConfiguration(t *testing.T) {
	for name, option := range map[string]string{"list": "[rawfile_json, local]",
		"text": "rawfile_json, local", "nothing": ""} {
		dir := t.TempDir()
		file := filepath.Join(dir, "returned")
		text := fmt.Sprintf("id: m\nroot_dir: %s\nfile_client: local\nrawfile_json.filename: %s\nreturn: %s\n", dir, file, option)
		if err := os.WriteFile(filepath.Join(dir, "minion"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		call := func(args ...string) string {
			var stdout, stderr bytes.Buffer
			in := cli.Invocation{Args: append([]string{"-c", dir}, args...), Dir: dir,
				Env: func(string) string { return "" }}
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

// An invalid call gets a short message if no function runs, and the documentation if the function
// itself reports it.
func TestWrongCalls(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "minion"),
		[]byte("id: m\nroot_dir: "+dir+"\nfile_client: local\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args           []string
		stdout, stderr string
	}{
		{[]string{"test.ping", "a=1"}, "", "The following keyword arguments are not valid: a=1\n"},
		{[]string{"state.show_sls", "a", "pillar=b"}, "Returns the high data",
			"\nPassed invalid arguments: Pillar data must be formatted as a dictionary, unless pillar_enc is specified..\n\nUsage:\n"},
	} {
		var stdout, stderr bytes.Buffer
		in := cli.Invocation{Args: append([]string{"-c", dir}, tt.args...), Dir: dir,
			Env: func(string) string { return "" }}
		code := Run(t.Context(), in, &stdout, &stderr)
		if code != 1 || stderr.String() != tt.stderr || !bytes.Contains(stdout.Bytes(), []byte(tt.stdout)) {
			t.Errorf("%q: %d\n%s%q", tt.args, code, &stdout, &stderr)
		}
	}
}

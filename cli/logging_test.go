package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLogLevelHidesOptionWarnings reads a configuration with an unknown option as
// salt and salt-cp do.
func TestLogLevelHidesOptionWarnings(t *testing.T) {
	dir := t.TempDir()
	options := "id: m\nlog_handlers_dirs: [/x]\nknown_hosts_file: /x\nyaml_utf8: true\nlog_fmt: x\ncmd_blacklist_glob: [x]\nwhens: {a: b}\nuse_superseded: [module.run]\n" +
		"winrepo_provider: x\nrosters: [/x]\nmy_opt: 1\n"
	for _, tt := range []struct {
		args  []string
		own   string // log_level of the configuration
		warns bool
	}{
		{[]string{"-l", "quiet"}, "", false}, {[]string{"--log-level=critical"}, "", false},
		{[]string{"-l", "error"}, "", false},
		{nil, "critical", false}, {[]string{"-l", "warning"}, "critical", true}, {nil, "", true},
		{[]string{"-l", "debug"}, "", true},
	} {
		text := options
		if tt.own != "" {
			text += "log_level: " + tt.own + "\n"
		}
		if err := os.WriteFile(filepath.Join(dir, "master"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		in := Invocation{Args: append([]string{"-c", dir, "*", "test.ping"}, tt.args...),
			Env: func(string) string { return "" }}
		o, err := ParseSalt(in)
		if err != nil {
			t.Fatal(err)
		}
		var stderr bytes.Buffer
		if _, err := clientConfig(o.Line, o.ConfigDir, in, &stderr); err != nil {
			t.Fatal(err)
		}
		want := 0
		if tt.warns {
			want = 1 // of my_opt: the others are Salt's
		}
		if lines := strings.Count(stderr.String(), "\n"); lines != want ||
			tt.warns && !strings.Contains(stderr.String(), "my_opt: unknown option") {
			t.Errorf("%v, log_level: %s prints %q", tt.args, tt.own, stderr.String())
		}
	}
}

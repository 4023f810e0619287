package cli_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/internal/test/vectors"
)

// TestCp sends files to Brine minions. The output is that of Salt 3006.0, except for runs repeated
// to show that nothing changes.
func TestCp(t *testing.T) {
	s := startSite(t, vectors.Load(t, "10-cli.json"))
	src := filepath.Join(s.root, "src")
	big := bytes.Repeat([]byte("0123456789abcdef"), 40_000) // several pieces
	for name, body := range map[string]string{"one": "one\n", "two": "two\r\n", "d/in": "in\n",
		"d/zero": "", "d/e/big": string(big), "binary": "\xff\xfe"} {
		s.write(t, "src/"+name, body)
	}
	if err := os.Mkdir(filepath.Join(src, "d", "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(src, "d", "in"), 0o640); err != nil {
		t.Fatal(err)
	}
	answer := func(id string, pairs ...string) string {
		text := id + ":\n    ----------\n"
		for i := 0; i < len(pairs); i += 2 {
			text += "    " + pairs[i] + ":\n        " + pairs[i+1] + "\n"
		}
		return text
	}
	const noMinions = "No minions matched the target. No command was sent, no jid was assigned.\n"
	for _, tt := range []struct {
		name, line     string
		code           int
		stdout, stderr string
		same           map[string]string // received file → sent file
	}{
		{"a file", "web1 SRC/one DST/x", 0, answer("web1", "DST/x", "True"),
			"", map[string]string{"x": "one"}},
		{"a file again", "web1 SRC/one DST/x", 0, answer("web1", "DST/x", "True"),
			"", map[string]string{"x": "one"}},
		{"into a folder", "web1 SRC/one SRC/two DST", 0,
			answer("web1", "DST/one", "True", "DST/two", "True"), "",
			map[string]string{"one": "one", "two": "two"}},
		{"a folder that is missing", "web1 SRC/one DST/no/x", 0,
			"web1:\n    Destination unavailable\n", "", nil},
		{"a folder for a source", "web1 SRC/d DST", 1,
			"SRC/d is a directory, only files are supported in non-chunked mode. Use \"--chunked\" command line argument.\n", "", nil},
		{"a source that is missing", "web1 SRC/none DST", 0, "web1:\n    ----------\n", "", nil},
		{"what is no text", "web1 SRC/binary DST", 1, "",
			"SRC/binary is not text in UTF-8. Use \"--chunked\" command line argument.\n", nil},
		{"nobody", "nosuch SRC/one DST", 0, noMinions, "", nil},
		{"pieces", "-C web1 SRC/d/e/big DST/big", 0, answer("web1", "DST/big", "True"),
			"", map[string]string{"big": "d/e/big"}},
		{"pieces again, not compressed", "-C -n web1 SRC/d/e/big DST/big", 0,
			answer("web1", "DST/big", "True"), "", map[string]string{"big": "d/e/big"}},
		{"pieces into a folder to be made", "-C web1 SRC/one DST/new/", 0,
			answer("web1", "DST/new/one", "True"), "", map[string]string{"new/one": "one"}},
		{"a tree", "-C web1 SRC/d DST/t", 0,
			answer("web1", "DST/t/d/e/big", "True", "DST/t/d/empty", "True", "DST/t/d/in", "True",
				"DST/t/d/zero", "True"), "",
			map[string]string{"t/d/e/big": "d/e/big", "t/d/in": "d/in", "t/d/zero": "d/zero"}},
		{"an empty file, not compressed", "-C -n web1 SRC/d/zero DST/zero", 0,
			answer("web1", "DST/zero", "True"), "", map[string]string{"zero": "d/zero"}},
		{"what is no text, in pieces", "-C web1 SRC/binary DST/b", 0,
			answer("web1", "DST/b", "True"), "", map[string]string{"b": "binary"}},
		{"a source that is missing, in pieces", "-C web1 SRC/none DST", 42, "",
			"SRC/none does not exist\n", nil},
		{"nobody, in pieces", "-C nosuch SRC/one DST/y", 0, noMinions, "", nil},
		{"a place that cannot be", "-C web1 SRC/one /proc/nope/x", 0,
			answer("web1", "/proc/nope/x", "[Errno 2] No such file or directory: '/proc/nope'"), "", nil},
		{"two minions", "-C -L web1,web2 SRC/one /proc/nope/x --out=yaml", 0,
			"web1:\n  /proc/nope/x: '[Errno 2] No such file or directory: ''/proc/nope'''\n" +
				"web2:\n  /proc/nope/x: '[Errno 2] No such file or directory: ''/proc/nope'''\n", "", nil},
		{"too few arguments", "web1", 64, "", "", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dst := filepath.Join(s.root, "dst")
			if err := os.MkdirAll(dst, 0o755); err != nil {
				t.Fatal(err)
			}
			shown := strings.NewReplacer("SRC", "/tmp/s/src", "DST", "/tmp/s/dst")
			stdout, stderr, code := s.cp(t,
				strings.Fields(strings.NewReplacer("SRC", src, "DST", dst).Replace(tt.line)))
			if tt.code == 64 {
				if code != 64 || !strings.Contains(stdout+stderr, "Insufficient arguments") {
					t.Errorf("code %d, %q, %q", code, stdout, stderr)
				}
				return
			}
			want := []any{tt.code, strings.ReplaceAll(shown.Replace(tt.stdout), "/tmp/s", fixture),
				strings.ReplaceAll(shown.Replace(tt.stderr), "/tmp/s", fixture)}
			if d := cmp.Diff(want, []any{code, sortedMinions(stdout), stderr}); d != "" {
				t.Errorf("salt-cp %s: code, stdout, stderr (-want +got):\n%s", tt.line, d)
			}
			for came, sent := range tt.same {
				sameFile(t, filepath.Join(dst, came), filepath.Join(src, sent),
					strings.Contains(tt.line, "-C"))
			}
		})
	}
	if info, err := os.Stat(filepath.Join(s.root, "dst", "t", "d", "empty")); err != nil || !info.IsDir() {
		t.Errorf("the empty folder did not come: %v", err)
	}
}

// cp runs salt-cp on the master's host.
func (s *site) cp(t *testing.T, argv []string) (stdout, stderr string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out, errs bytes.Buffer
	in := cli.Invocation{Env: s.env, Dir: s.root, Stdin: strings.NewReader(""),
		Args: append([]string{"-c", s.root + "/cli"}, argv...)}
	code = cli.Cp(ctx, in, &out, &errs)
	return s.original(out.String()), s.original(errs.String()), code
}

// sameFile checks that two files have the same content, and the same mode if that is sent.
func sameFile(t *testing.T, came, sent string, mode bool) {
	t.Helper()
	got, err := os.ReadFile(came)
	if err != nil {
		t.Error(err)
		return
	}
	want, err := os.ReadFile(sent)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s came with another content", sent)
	}
	gotInfo, _ := os.Stat(came)
	wantInfo, _ := os.Stat(sent)
	if mode && gotInfo.Mode() != wantInfo.Mode() {
		t.Errorf("%s came with mode %v, not %v", sent, gotInfo.Mode(), wantInfo.Mode())
	}
}

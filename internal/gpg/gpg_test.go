package gpg

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// script creates a program that prints how it was run.
func script(t *testing.T, body string) Program {
	t.Helper()
	path := filepath.Join(t.TempDir(), "gpg")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return Program{Path: path, Home: "/keys"}
}

func TestDo(t *testing.T) {
	p := script(t, `echo "$@"; cat; cat <&3; echo "$MORE"
printf 'gpg: note\n[GNUPG:] BEGIN_SIGNING\n[GNUPG:] GOODSIG 1234  A Name\n[GNUPG:] GOODSIG 5 B\n[GNUPG:] \n' >&2; exit 2`)
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, []byte("third\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		secret := "open sesame"
		r, err := p.Do(t.Context(), Call{
			Args: []string{"-d"}, Input: strings.NewReader("text\n"), Passphrase: &secret, File: f,
			Env: []string{"MORE=more"},
		})
		if err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
		want := "--homedir /keys --status-fd 2 --no-tty --pinentry-mode loopback --passphrase-fd 0 -d\nopen sesame\ntext\nthird\nmore\n"
		status := []Status{{"BEGIN_SIGNING", ""}, {"GOODSIG", "1234  A Name"}, {"GOODSIG", "5 B"}, {"", ""}}
		if d := cmp.Diff([]any{want, status, 2}, []any{string(r.Output), r.Status, r.Code}); d != "" {
			t.Errorf("result (-want +got):\n%s", d)
		}
		if v, ok := r.Value("GOODSIG"); v != "5 B" || !ok {
			t.Errorf("the last signature is %q, %t", v, ok)
		}
	}
}

func TestDoFails(t *testing.T) {
	several := "a\nb"
	if _, err := script(t, "exit 0").Do(t.Context(), Call{Passphrase: &several}); !errors.Is(err, ErrPassphrase) {
		t.Errorf("a passphrase of two lines: %v", err)
	}
	if _, err := (Program{Path: "/nosuch"}).Do(t.Context(), Call{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no program: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := script(t, "exit 0").Do(ctx, Call{}); !errors.Is(err, context.Canceled) {
		t.Errorf("ended: %v", err)
	}
}

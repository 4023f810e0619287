package keyboard

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/replay"
	"github.com/brineproject/brine/loader"
)

// TestFiles reads and changes the files of each family, as on a system without localectl. No argument
// reaches a program as an option or as several words.
func TestFiles(t *testing.T) {
	for _, tt := range []struct{ family, file, old, new string }{
		{"Debian", "etc/default/keyboard", "# XKBLAYOUT=fr\nXKBMODEL=\"pc105\"\nXKBLAYOUT=\"us\"\n",
			"# XKBLAYOUT=fr\nXKBMODEL=\"pc105\"\nXKBLAYOUT=de\n"},
		{"RedHat", "etc/sysconfig/keyboard", "LAYOUT=us\n", "LAYOUT=de\n"},
		{"RedHat", "etc/sysconfig/keyboard", " LAYOUT=us\n", "LAYOUT=de\n"},
		{"Gentoo", "etc/conf.d/keymaps", "keymap=\"us\"\nwindowkeys=\"YES\"\n",
			"keymap=de\nwindowkeys=\"YES\"\n"},
	} {
		root := t.TempDir()
		path := filepath.Join(root, tt.file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(tt.old), 0o644); err != nil {
			t.Fatal(err)
		}
		env := &loader.Env{Root: root, Grains: func() *data.Map {
			return data.NewMap("os_family",
				tt.family)
		}}
		shell := &replay.Shell{}
		r, err := loader.NewRegistry(env, []loader.Plugin{shell.Plugin(), Plugin()})
		if err != nil {
			t.Fatal(err)
		}
		m := &module{env}
		if got, err := m.fromFile(); got != "us" || err != nil {
			t.Errorf("%s: the layout is %q, %v", tt.family, got, err)
		}
		if err := m.intoFile("de"); err != nil {
			t.Errorf("%s: %v", tt.family, err)
		}
		if got, err := m.fromFile(); got != "de" || err != nil {
			t.Errorf("%s: the layout becomes %q, %v", tt.family, got, err)
		}
		if text, err := os.ReadFile(path); err != nil || string(text) != tt.new {
			t.Errorf("%s: the file is %q, %v", tt.family, text, err)
		}
		for _, bad := range []string{"-x", "a\nb", "de; reboot", ""} {
			for _, fun := range []string{"set_sys", "set_x"} {
				if got, err := r.Invoke(t.Context(), "keyboard."+fun, []any{bad}, nil); err == nil {
					t.Errorf("%s %q gives %v", fun, bad, got)
				}
			}
		}
		if data.Repr(shell.Ran) != "[]" {
			t.Errorf("it ran %s", data.Repr(shell.Ran))
		}
	}
}

// A file without a layout gets one, and a failing program is an error.
func TestFailures(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, "etc/sysconfig/keyboard")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("MODEL=pc105"), 0o644); err != nil {
		t.Fatal(err)
	}
	env := &loader.Env{Root: root, Grains: func() *data.Map { return data.NewMap("os_family", "RedHat") }}
	m := &module{env}
	for range 2 {
		if err := m.intoFile("de"); err != nil {
			t.Error(err)
		}
		if text, err := os.ReadFile(path); err != nil || string(text) != "MODEL=pc105\nLAYOUT=de\n" {
			t.Errorf("the file is %q, %v", text, err)
		}
	}
	shell := &replay.Shell{} // every program fails
	r, err := loader.NewRegistry(env, []loader.Plugin{shell.Plugin(), Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := r.Invoke(t.Context(), "keyboard.set_x", []any{"de"}, nil); err == nil ||
		err.Error() != "setxkbmap de: code 127: not found" {
		t.Errorf("a failing setxkbmap gives %v, %v", got, err)
	}
}

package pdbedit

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/replay"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/cmd"
	"github.com/brineproject/brine/render"
)

// install puts the programs of Samba into the search path; they are never run.
func install(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"pdbedit", "smbpasswd", "python3"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/false\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

// testdata/calls.json has the commands and results of Salt 3006.18. Where Salt passes a hash as an
// argument, the file has smbpasswd for a plain password, and python3 with PROGRAM for a hash.
func TestCalls(t *testing.T) {
	install(t)
	text, err := os.ReadFile("testdata/calls.json")
	if err != nil {
		t.Fatal(err)
	}
	program := strings.NewReplacer("\n", `\n`, `"`, `\"`).Replace(setHash)
	text = bytes.ReplaceAll(text, []byte("PROGRAM"), []byte(program))
	file := filepath.Join(t.TempDir(), "calls.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	replay.Check(t, file, replay.Options{Root: t.TempDir(), Plugins: []loader.Plugin{Plugin()}})
}

// The hashes are those that Windows makes of these passwords.
func TestHash(t *testing.T) {
	for password, want := range map[string]string{
		"":         "31D6CFE0D16AE931B73C59D7E0C089C0",
		"password": "8846F7EAEE8FB117AD06BDD830B7586C",
		"123456":   "32ED87BDB5FDC5E9CBA88547376818D4",
	} {
		if got := ntHash(password); got != want {
			t.Errorf("%q has the hash %s, want %s", password, got, want)
		}
	}
}

// A plain password is on the standard input of the programs, and neither it nor its hash is an
// argument.
func TestPasswordsOnStandardInput(t *testing.T) {
	install(t)
	var ran, input []string
	lists := map[string]string{}
	env := &loader.Env{Opts: data.NewMap("id", "web1"), Run: func(_ context.Context, c *exec.Cmd) error {
		line := strings.Join(c.Args[1:], " ")
		if text, ok := lists[line]; ok {
			_, err := io.WriteString(c.Stdout, text)
			return err
		}
		text, err := io.ReadAll(c.Stdin)
		ran, input = append(ran, filepath.Base(c.Args[0])+" "+line), append(input, string(text))
		return err
	}}
	r, err := loader.NewRegistry(env, []loader.Plugin{cmd.Plugin(render.Brought{}), Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	lists["--list --verbose --smbpasswd-style"] = "Unix username: bob\nNT hash: X\n"
	for list, want := range map[string][]string{
		"":            {"pdbedit --create --user bob -t", "smbpasswd -s bob"},
		"bob:1000:\n": {"smbpasswd -s bob"},
	} {
		lists["--list"] = list
		for _, fun := range []string{"create", "modify"} {
			ran, input = nil, nil
			_, err := r.Invoke(t.Context(), "pdbedit."+fun, []any{"bob", "marker"}, nil)
			if err != nil || !slices.Equal(ran, want) {
				t.Errorf("%s runs %q, %v", fun, ran, err)
			}
			for _, text := range input {
				if text != "marker\nmarker\n" {
					t.Errorf("%s writes %q", fun, text)
				}
			}
		}
	}
}

// A hash is on the standard input of a program, and no argument. A new account never has an empty
// password.
func TestHashesOnStandardInput(t *testing.T) {
	install(t)
	const hash = "8846F7EAEE8FB117AD06BDD830B7586C"
	for list, want := range map[string][]string{"": {"pdbedit", "python3"}, "bob:1000:\n": {"python3"}} {
		for _, fun := range []string{"create", "modify"} {
			var ran []string
			input := map[string]string{}
			env := &loader.Env{Opts: data.NewMap("id", "web1"), Run: func(_ context.Context, c *exec.Cmd) error {
				if line := strings.ToUpper(strings.Join(c.Args, " ")); strings.Contains(line, hash) {
					t.Errorf("%s runs %q", fun, c.Args)
				}
				switch line := strings.Join(c.Args[1:], " "); line {
				case "--list":
					_, err := io.WriteString(c.Stdout, list)
					return err
				case "--list --verbose --smbpasswd-style":
					_, err := io.WriteString(c.Stdout, "Unix username: bob\nNT hash: X\n")
					return err
				}
				text, err := io.ReadAll(c.Stdin)
				name := filepath.Base(c.Args[0])
				ran, input[name] = append(ran, name), string(text)
				return err
			}}
			r, err := loader.NewRegistry(env, []loader.Plugin{cmd.Plugin(render.Brought{}), Plugin()})
			if err != nil {
				t.Fatal(err)
			}
			_, err = r.Invoke(t.Context(), "pdbedit."+fun, []any{"bob", strings.ToLower(hash), true}, nil)
			if err != nil || !slices.Equal(ran, want) || input["python3"] != hash+"\n" {
				t.Errorf("%s runs %q with the input %q, %v", fun, ran, input, err)
			}
			first := strings.Split(input["pdbedit"], "\n")
			if list == "" && (len(first) != 3 || len(first[0]) < 20 || first[1] != first[0]) {
				t.Errorf("a new account has the password %q", input["pdbedit"])
			}
		}
	}
}

// TestProgram runs the program that sets a hash, with a library like Samba's.
func TestProgram(t *testing.T) {
	need.Program(t, "python3")
	lib, err := filepath.Abs("testdata/lib")
	if err != nil {
		t.Fatal(err)
	}
	const hash = "8846F7EAEE8FB117AD06BDD830B7586C"
	for _, tt := range []struct {
		lib, login, input, want string
		code                    int
	}{
		{lib, "zoe", hash + "\n", "tdbsam zoe 8846f7eaee8fb117ad06bdd830b7586c\n", 0},
		{lib, "wash", hash + "\n", "set the NT hash of wash: Unable to get user information\n", 1},
		{"", "zoe", hash + "\n", "python3 has no module samba.samba3 (package python3-samba), " +
			"which sets an NT hash: No module named 'samba'\n", 1},
	} {
		c := exec.CommandContext(t.Context(), "python3", "-B", "-c", setHash, tt.login)
		c.Env, c.Stdin = []string{"PYTHONPATH=" + tt.lib, "PATH=" + os.Getenv("PATH")}, strings.NewReader(tt.input)
		if tt.lib == "" {
			c.Args = slices.Insert(c.Args, 1, "-I", "-S") // without the libraries of this host
		}
		out, err := c.CombinedOutput()
		if string(out) != tt.want || c.ProcessState.ExitCode() != tt.code {
			t.Errorf("%s: %q, %v, want %q", tt.login, out, err, tt.want)
		}
	}
}

// Arguments that a program would read as options, more than one line, and hashes that are none are
// refused.
func TestRefused(t *testing.T) {
	install(t)
	zoe := data.NewMap("retcode", int64(0), "stdout", "zoe:1000:", "stderr", "")
	long := data.NewMap("retcode", int64(0), "stderr", "",
		"stdout", "Unix username: zoe\nFull name: x\nNT hash: X")
	shell := &replay.Shell{Answers: data.NewMap("pdbedit --list", zoe,
		"pdbedit --list --verbose --smbpasswd-style", long)}
	r, err := loader.NewRegistry(&loader.Env{}, []loader.Plugin{shell.Plugin(), Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	for _, call := range [][]any{
		{"delete", "-x"}, {"delete", "a\nb"}, {"create", "-x", "pw"}, {"create", "zoe", "a\nb"}, {"modify", "-x"},
		{"create", "zoe", "pw", true}, {"create", "zoe", "--set-nt-hash=", true}, {"modify", "zoe", "a\nb"},
	} {
		if v, err := r.Invoke(t.Context(), "pdbedit."+call[0].(string), call[1:], nil); err == nil {
			t.Errorf("%q gives %s", call, data.Repr(v))
		}
	}
	v, err := r.Invoke(t.Context(), "pdbedit.modify", []any{"zoe"}, data.NewMap("fullname", "a\nb"))
	if err == nil {
		t.Errorf("a name of two lines gives %s", data.Repr(v))
	}
	for _, line := range shell.Ran.([]any) {
		if words := data.TextsOf(line); words[1] != "--list" {
			t.Errorf("it ran %q", words)
		}
	}
}

// A list that fails changes nothing.
func TestFailingList(t *testing.T) {
	install(t)
	shell := &replay.Shell{}
	r, err := loader.NewRegistry(&loader.Env{}, []loader.Plugin{shell.Plugin(), Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	for _, call := range [][]any{{"delete", "zoe"}, {"create", "zoe", "pw"}, {"modify", "zoe"}} {
		v, err := r.Invoke(t.Context(), "pdbedit."+call[0].(string), call[1:], nil)
		if err == nil || err.Error() != "list the accounts of Samba: not found" {
			t.Errorf("%q gives %s, %v", call, data.Repr(v), err)
		}
	}
}

// Flags that an account has are no change, in whatever order.
func TestSameFlags(t *testing.T) {
	m := &module{}
	account := data.NewMap("account flags", "[DUX        ]")
	if got := m.options(modifyArgs{AccountControl: "xd"}, account); len(got) > 0 {
		t.Errorf("the options are %q", got)
	}
	got := m.options(modifyArgs{AccountControl: "[]"}, account)
	if len(got) != 1 || got[0] != "--account-control=[]" {
		t.Errorf("the options are %q", got)
	}
}

func FuzzAccounts(f *testing.F) {
	f.Add("---------------\nUnix username:        zoe\nNT hash             : X\nmore\n---------------\nA: b\n")
	f.Fuzz(func(t *testing.T, text string) {
		for name, v := range accounts(text).All() {
			if got := v.(*data.Map).Value("unix username"); got != name {
				t.Errorf("%q: %s has %s", text, data.Repr(name), data.Repr(got))
			}
		}
	})
}

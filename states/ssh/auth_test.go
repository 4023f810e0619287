//go:build unix

package ssh_test

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/testroot"
)

func list(words ...any) []any { return words }

const (
	one = "AAAAB3NzaC1kc3MAAACBAL0sQ9fJ5bYTEyY="
	two = "AAAAC3NzaC1lZDI1NTE5AAAAIJ0q"
)

func newRoot(t *testing.T) *testroot.Root {
	t.Helper()
	need.Program(t, "ssh")
	r := testroot.Plain(t)
	r.Write(t, "srv/salt/keys.pub", "ssh-ed25519 "+two+" two@web1\nfrom=\"a\",no-pty ssh-dss "+one+" one\n")
	r.Write(t, "srv/salt/none.pub", "nothing\n")
	return r
}

// The comments and the files are those of Salt 3006.0.
func TestKeys(t *testing.T) {
	r := newRoot(t)
	file := "root/.ssh/authorized_keys"
	for _, c := range []struct {
		fun               string
		args              *data.Map
		would, done, same testroot.Step
		file              string
	}{
		{"present", data.NewMap("name", "ssh-dss "+one+" a comment"),
			testroot.Step{Comment: "Key " + one + " for user root is set to be added"},
			testroot.Step{Result: true, Changes: data.NewMap(one, "New"),
				Comment: "The authorized host key " + one + " for user root was added"},
			testroot.Step{Result: true, Comment: "The authorized host key " + one +
				" is already present for user root"},
			"ssh-dss " + one + " a comment\n"},
		{"present", data.NewMap("name", one, "enc", "dsa", "options", list(`command="x"`, "no-pty"),
			"comment", "c"),
			testroot.Step{Comment: "Key " + one + " for user root is set to be updated"},
			testroot.Step{Result: true, Changes: data.NewMap(one, "Updated"),
				Comment: "The authorized host key " + one + " for user root was updated"},
			testroot.Step{Result: true, Comment: "The authorized host key " + one +
				" is already present for user root"},
			`command="x",no-pty ssh-dss ` + one + " c\n"},
		{"present", data.NewMap("name", "keys", "source", "salt://keys.pub"),
			testroot.Step{Comment: "Set to add: " + two + "\nSet to update: " + one + "\n"},
			testroot.Step{Result: true, Changes: data.NewMap("keys", "Updated"),
				Comment: "The authorized host key keys for user root was updated"},
			testroot.Step{Result: true},
			"from=\"a\",no-pty ssh-dss " + one + " one\nssh-ed25519 " + two + " two@web1\n"},
		{"absent", data.NewMap("name", two),
			testroot.Step{Comment: "Key " + two + " for user root is set for removal"},
			testroot.Step{Result: true, Changes: data.NewMap(two, "Removed"), Comment: "Key removed"},
			testroot.Step{Result: true}, "from=\"a\",no-pty ssh-dss " + one + " one\n"},
		{"manage", data.NewMap("name", "all", "ssh_keys", list("ssh-ed25519 "+two+" two")),
			testroot.Step{Comment: one + " Key set for removal\nKey " + two +
				" for user root is set to be added"},
			testroot.Step{Result: true, Changes: data.NewMap(one, "Key removed", two, "New")},
			testroot.Step{Result: true, Comment: "The authorized host key " + two +
				" is already present for user root"},
			"ssh-ed25519 " + two + " two\n"},
		{"absent", data.NewMap("name", "keys", "source", "salt://keys.pub"),
			testroot.Step{Comment: "Set to remove: " + two + "\n"},
			testroot.Step{Result: true, Changes: data.NewMap("keys", "Removed"), Comment: "Key removed"},
			testroot.Step{Result: true}, ""},
	} {
		c.args.Set("user", "root")
		before := r.Read(t, file)
		r.Expect(t, true, "ssh_auth."+c.fun, c.args, c.would)
		if now := r.Read(t, file); now != before {
			t.Errorf("test mode wrote\n%s", now)
		}
		r.Expect(t, false, "ssh_auth."+c.fun, c.args, c.done)
		for _, test := range []bool{false, true} {
			got := r.Apply(t, test, "ssh_auth."+c.fun, c.args)
			if got.Value("result") != true || data.Truth(got.Value("changes")) ||
				c.same.Comment != "" && got.Value("comment") != c.same.Comment {
				t.Errorf("%s again, test mode %v: %s", c.fun, test, data.Repr(got))
			}
		}
		if got := r.Read(t, file); got != c.file {
			t.Errorf("%s: the file is\n%s\nwant\n%s", c.fun, got, c.file)
		}
	}
	if info, err := os.Stat(r.Path("root/.ssh")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory: %v, %v", info, err)
	}
	if info, err := os.Stat(r.Path(file)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info, err)
	}
}

func TestInvalidKeys(t *testing.T) {
	r := newRoot(t)
	for _, c := range []struct {
		args *data.Map
		want string
	}{
		{data.NewMap("name", "no/key!"), "Invalid public ssh key, most likely has spaces or invalid syntax"},
		{data.NewMap("name", one, "user", "nobody"),
			"Failed to add the ssh key. Is the home directory available, and/or does the key file exist?"},
		{data.NewMap("name", "x", "source", "salt://missing"),
			"Failed to add the ssh key. Source file salt://missing is missing"},
	} {
		if !c.args.Has("user") {
			c.args.Set("user", "root")
		}
		for range 2 {
			r.Expect(t, false, "ssh_auth.present", c.args, testroot.Step{Result: false, Comment: c.want})
		}
	}
	got := r.Apply(t, false, "ssh_auth.present",
		data.NewMap("name", "x", "user", "root", "source", "salt://none.pub"))
	if got.Value("result") != false || strings.Contains(r.Read(t, "root/.ssh/authorized_keys"), "nothing") {
		t.Errorf("got %s", data.Repr(got))
	}
	r.Expect(t, false, "ssh_auth.present", data.NewMap("name", one, "user", "root", "config", "%h/keys-%u"),
		testroot.Step{Result: true, Changes: data.NewMap(one, "New"),
			Comment: "The authorized host key " + one + " for user root was added"})
	if got := r.Read(t, "root/keys-root"); got != "ssh-rsa "+one+" \n" {
		t.Errorf("the file is %q", got)
	}
}

// A user may use links in the home directory, but gains no access to files of others.
func TestLinksOutOfTheHomeDirectory(t *testing.T) {
	need.Root(t, "to have files of other users")
	const uid = 54321
	for name, c := range map[string]struct {
		links  map[string]string
		others string // owner of the directory that the links lead to
		want   bool
	}{
		"the directory": {map[string]string{"home/ann/.ssh": "conf.d"}, "root", false},
		"the file":      {map[string]string{"home/ann/.ssh/authorized_keys": "conf.d/there"}, "root", false},
		// link replaced
		"a file that is missing": {map[string]string{"home/ann/.ssh/authorized_keys": "conf.d/none"}, "root", true},
		"to what is ann's":       {map[string]string{"home/ann/.ssh": "conf.d"}, "ann", true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoot(t)
			r.Write(t, "etc/passwd", "root:x:0:0::/root:/bin/sh\nann:x:54321:54321::/home/ann:/bin/sh\n")
			r.Write(t, "conf.d/there", "precious\n")
			r.Make(t, "home/ann")
			for from, to := range c.links {
				if from != "home/ann/.ssh" {
					r.Make(t, "home/ann/.ssh")
				}
				if err := os.Symlink(r.Path(to), r.Path(from)); err != nil {
					t.Fatal(err)
				}
			}
			if c.others == "ann" {
				if err := os.Chown(r.Path("conf.d"), uid, uid); err != nil {
					t.Fatal(err)
				}
			}
			before := names(t, r.Path("conf.d"))
			got, err := r.States.Invoke(t.Context(), "ssh_auth.present", nil,
				data.NewMap("name", "ssh-dss "+one+" c", "user", "ann"))
			ret, _ := got.(*data.Map)
			if did := err == nil && ret.Value("result") == true; did != c.want {
				t.Errorf("got %s, %v", data.Repr(got), err)
			}
			if text := r.Read(t, "conf.d/there"); text != "precious\n" || c.others == "root" &&
				names(t, r.Path("conf.d")) != before {
				t.Errorf("there is %s, with %q", names(t, r.Path("conf.d")), text)
			}
			if !c.want {
				return
			}
			info, err := os.Stat(r.Path("home/ann/.ssh/authorized_keys"))
			if err != nil || info.Sys().(*syscall.Stat_t).Uid != uid || info.Mode() != 0o600 {
				t.Errorf("the file is %v, %v", info, err)
			}
		})
	}
}

func names(t *testing.T, dir string) string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range list {
		all = append(all, e.Name())
	}
	return strings.Join(all, " ")
}

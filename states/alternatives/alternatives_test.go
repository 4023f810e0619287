//go:build linux

package alternatives_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/testroot"
)

// newRoot creates a system with the real program, configured to work there.
func newRoot(t *testing.T) *testroot.Root {
	t.Helper()
	program, err := exec.LookPath("update-alternatives")
	need.That(t, "program update-alternatives", err)
	r := testroot.Plain(t)
	for _, dir := range []string{"etc/alternatives", "var/lib/alternatives", "usr/bin", "bin"} {
		r.Make(t, dir)
	}
	script := "#!/bin/sh\nexec " + program + " --altdir " + r.Path("etc/alternatives") +
		" --admindir " + r.Path("var/lib/alternatives") + " --log /dev/null \"$@\"\n"
	if err := os.WriteFile(r.Path("bin/update-alternatives"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", r.Path("bin")+":"+os.Getenv("PATH"))
	for _, name := range []string{"usr/bin/vi", "usr/bin/ed"} {
		r.Write(t, name, "")
	}
	return r
}

// The comments are those of Salt 3006.0.
func TestAlternatives(t *testing.T) {
	r := newRoot(t)
	link, vi, ed := r.Path("usr/bin/editor"), r.Path("usr/bin/vi"), r.Path("usr/bin/ed")
	expect := func(test bool, fun string, args *data.Map, result any, changes *data.Map, comment string) {
		t.Helper()
		args.Set("name", "editor")
		r.Expect(t, test, "alternatives."+fun, args,
			testroot.Step{Result: result, Changes: changes, Comment: comment})
	}
	for _, c := range []struct{ path, priority, done string }{
		{vi, "30", "Alternative for editor set to path " + vi + " with priority 30"},
		{ed, "10", "Alternative " + ed + " for editor registered with priority 10 and not set to default"},
	} {
		args := data.NewMap("link", link, "path", c.path, "priority", c.priority)
		expect(true, "install", args, nil, nil, "Alternative will be set for editor to "+c.path+
			" with priority "+c.priority)
		expect(false, "install", args, true,
			data.NewMap("name", "editor", "link", link, "path", c.path, "priority", c.priority), c.done)
		for _, test := range []bool{false, true} {
			expect(test, "install", args, true, nil, "Alternative "+c.path+
				" for editor is already registered")
		}
	}
	path := data.NewMap("path", ed)
	expect(true, "set", path, nil, nil, "Alternative for editor will be set to path "+ed)
	expect(false, "set", path, true, data.NewMap("path", ed), "Alternative for editor set to path "+ed)
	for _, test := range []bool{false, true} {
		expect(test, "set", path, true, nil, "Alternative for editor already set to "+ed)
	}
	expect(false, "set", data.NewMap("path", "/bin/none"), false, nil,
		"Alternative /bin/none for editor doesn't exist")
	expect(true, "auto", data.NewMap(), nil, nil, "editor will be put in auto mode")
	if got := r.Apply(t, false, "alternatives.auto",
		data.NewMap("name", "editor")); got.Value("result") != true || !data.Truth(got.Value("changes")) {
		t.Errorf("auto: %s", data.Repr(got))
	}
	for _, test := range []bool{false, true} {
		expect(test, "auto", data.NewMap(), true, nil, "editor already in auto mode")
	}
	if now, err := os.Readlink(filepath.Join(r.Dir, "etc/alternatives/editor")); err != nil || now != vi {
		t.Errorf("the editor is %s, %v", now, err)
	}
	gone := data.NewMap("path", vi)
	expect(true, "remove", gone, nil, nil, "Alternative for editor will be removed")
	expect(false, "remove", gone, true, data.NewMap("path", ed),
		"Alternative for editor removed. Falling back to path "+ed)
	for _, test := range []bool{false, true} {
		expect(test, "remove", gone, true, nil, "Alternative for editor is set to it's default path "+ed)
	}
	expect(false, "remove", path, true, nil, "Alternative for editor removed")
	expect(false, "remove", path, false, nil, "Alternative for editor doesn't exist")
}

package git_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/steps"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules"
	"github.com/brineproject/brine/states/git"
)

// ssh replaces the program: it records the keys that it may read and runs the command locally. It
// rejects hosts with bad in their names.
const ssh = `#!/bin/sh
while test $# -gt 0; do case $1 in
-i) test -r "$2" && echo "-i $(basename $2 | sed s/__salt.*/copy/) $(tail -n 1 $2)" >> @/sshlog; shift 2;;
-o|-p|-l) shift 2;;
-*) shift;;
*) break;;
esac; done
case "$1" in *bad*) echo "Permission denied (publickey)." >&2; exit 255;; esac
shift
exec sh -c "$*"
`

// TestAsSalt brings clones to revisions of each kind, repeatedly while their remotes change, with
// each of the force options. The results are those of Salt 3006.0 with git 2.39.
func TestAsSalt(t *testing.T) {
	need.Program(t, "git")
	for key, value := range map[string]string{"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b",
		"GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b",
		"GIT_CONFIG_NOSYSTEM": "1", "GIT_ALLOW_PROTOCOL": "file:ssh:http:https"} {
		t.Setenv(key, value)
	}
	path := os.Getenv("PATH")
	steps.Run{Mend: spelled, States: func(t *testing.T, dir string) *loader.Registry {
		bin := filepath.Join(dir, "bin")
		if err := os.Mkdir(bin, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(bin, "ssh"), []byte(strings.ReplaceAll(ssh, "@", dir)), 0o755); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", bin+":"+path)
		t.Setenv("HOME", dir)
		opts := data.NewMap("id", "web1", "file_client", "local", "local", true,
			"cachedir", filepath.Join(dir, "cache"), "fileserver_backend", []any{"roots"},
			"file_roots", data.NewMap("base", []any{filepath.Join(dir, "srv")}))
		funcs, err := loader.NewRegistry(&loader.Env{Opts: opts}, modules.Plugins(modules.Brought()))
		if err != nil {
			t.Fatal(err)
		}
		states, err := loader.NewRegistry(funcs.Env(), []loader.Plugin{git.Plugin()})
		if err != nil {
			t.Fatal(err)
		}
		return states
	}}.Check(t, "testdata/salt.json")
}

// spelled fixes a comment in which Salt treats a string as a list and puts a full stop after each
// letter.
func spelled(comment string) string {
	head, rest, ok := strings.Cut(comment, " made: ")
	if !ok || len(rest) < 9 || rest[1:3] != ". " || rest[4:6] != ". " {
		return comment
	}
	var letters []byte
	for i := 0; i < len(rest); i += 3 {
		letters = append(letters, rest[i])
	}
	return head + " made: " + string(letters)
}

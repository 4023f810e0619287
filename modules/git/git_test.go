package git

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/cmd"
	"github.com/brineproject/brine/process"
	"github.com/brineproject/brine/render"
)

// A host has a repository r, and records the programs that are run.
type host struct {
	t     *testing.T
	dir   string
	ran   []*exec.Cmd
	funcs *loader.Registry
}

func newHost(t *testing.T) *host {
	t.Helper()
	need.Program(t, "git")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range map[string]string{"HOME": dir, "GIT_AUTHOR_NAME": "a",
		"GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b",
		"GIT_AUTHOR_DATE": "2020-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2020-01-01T00:00:00Z",
		"GIT_CONFIG_NOSYSTEM": "1"} {
		t.Setenv(key, value)
	}
	h := &host{t: t, dir: dir}
	env := &loader.Env{Opts: data.NewMap("id", "web1"), Run: func(ctx context.Context, c *exec.Cmd) error {
		h.ran = append(h.ran, c)
		return process.Run(ctx, c)
	}}
	if h.funcs, err = loader.NewRegistry(env,
		[]loader.Plugin{cmd.Plugin(render.Brought{}), Plugin()}); err != nil {
		t.Fatal(err)
	}
	setup := exec.Command("sh", "-ec",
		"git init -q -b main r && cd r && echo 1 >f && git add f && git commit -qm one && git tag v1 && git checkout -qb dev && echo 2 >f && "+
			"git commit -qam two && git checkout -q main && git config foo.a x && git config --add foo.a y && git clone -q . ../c")
	setup.Dir = dir
	if out, err := setup.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return h
}

func (h *host) call(fun string, words ...any) string {
	h.t.Helper()
	for i := range words {
		if s, ok := words[i].(string); ok {
			words[i] = strings.ReplaceAll(s, "@", h.dir)
		}
	}
	v, err := h.funcs.Invoke(h.t.Context(), "git."+fun, nil, data.NewMap(words...))
	if err != nil {
		return "error: " + strings.ReplaceAll(err.Error(), h.dir, "@")
	}
	return strings.ReplaceAll(data.Repr(v), h.dir, "@")
}

// TestRetcodeOfIsWorktree checks that the job fails if git does, as in Salt 3006.18.
func TestRetcodeOfIsWorktree(t *testing.T) {
	h := newHost(t)
	for dir, want := range map[string]int64{h.dir: 128, filepath.Join(h.dir, "r"): 0} {
		for range 2 {
			job := &loader.Context{}
			_, err := h.funcs.Invoke(loader.WithContext(t.Context(), job), "git.is_worktree", []any{dir}, nil)
			if code, _ := job.Get("retcode"); err != nil || code != want {
				t.Errorf("%s: return code %v, %v, want %d", dir, code, err, want)
			}
		}
	}
}

// Each call must return the expected result, both the first and the second time.
func TestCalls(t *testing.T) {
	h := newHost(t)
	one := strings.Trim(h.call("revision", "cwd", "@/r"), "'")
	for _, c := range []struct {
		fun         string
		words       []any
		want, again string
	}{
		{"add", []any{"cwd", "@/r", "filename", "f"}, "''", ""},
		{"archive", []any{"cwd", "@/r", "output", "@/a.tar"}, "True", ""},
		{"branch", []any{"cwd", "@/r", "name", "b"}, "True",
			"error: Command 'git branch b' failed: fatal: a branch named 'b' already exists"},
		{"checkout", []any{"cwd", "@/r", "rev", "dev"}, "\"Switched to branch 'dev'\"",
			"\"Already on 'dev'\""},
		{"checkout", []any{"cwd", "@/r"}, "error: 'rev' argument is required unless -b or -B in opts", ""},
		{"checkout", []any{"cwd", "@/r", "rev", "main"}, "\"Switched to branch 'main'\"",
			"\"Already on 'main'\""},
		{"clone", []any{"cwd", "@/c2", "url", "@/r"}, "True",
			"error: Command 'git clone -- @/r @/c2' failed: fatal: destination path '@/c2' already exists and is not an empty directory."},
		{"clone", []any{"cwd", "@/c2"}, "error: Missing 'url' argument", ""},
		{"clone", []any{"cwd", "@/c3", "url", "http://x", "https_user", "u"},
			"error: Basic Auth only supported for HTTPS", ""},
		{"commit", []any{"cwd", "@/r", "message", "one", "opts", "--quiet --amend"}, "''", ""},
		{"config_get", []any{"key", "foo.a", "cwd", "@/r"}, "'y'", ""},
		{"config_get", []any{"key", "foo.a", "cwd", "@/r", "all", true}, "['x', 'y']", ""},
		{"config_get", []any{"key", "foo.none", "cwd", "@/r"}, "None", ""},
		{"config_get", []any{"key", "foo.none"}, "error: 'cwd' argument required unless global=True", ""},
		{"config_get_regexp", []any{"key", "foo", "cwd", "@/r"}, "{'foo.a': ['x', 'y']}", ""},
		{"config_get_regex", []any{"key", "foo", "value_regex", "y", "cwd", "@/r"}, "{'foo.a': ['y']}", ""},
		{"config_set", []any{"key", "foo.b", "multivar", "p,q", "cwd", "@/r"}, "['p', 'q']", ""},
		{"config_unset", []any{"key", "foo.b", "cwd", "@/r"},
			"error: Multiple values exist for key 'foo.b'", ""},
		{"config_unset", []any{"key", "foo.b", "cwd", "@/r", "all", true}, "True",
			"error: Key 'foo.b' does not exist"},
		{"current_branch", []any{"cwd", "@/r"}, "'main'", ""},
		{"describe", []any{"cwd", "@/r"}, "'" + one[:7] + "'", ""},
		{"diff", []any{"cwd", "@/r", "item1", "main", "item2", "dev", "opts", "--stat"},
			"' f | 2 +-\\n 1 file changed, 1 insertion(+), 1 deletion(-)'", ""},
		{"diff", []any{"cwd", "@/r", "cached", true, "no_index", true},
			"error: The 'no_index' and 'cached' options cannot be used together", ""},
		{"discard_local_changes", []any{"cwd", "@/r"}, "''", ""},
		{"fetch", []any{"cwd", "@/c", "remote", "origin", "refspecs",
			"refs/heads/dev:refs/heads/dev"}, "{'new branches': ['dev']}", "{}"},
		{"init", []any{"cwd", "@/i", "bare", true}, "'Initialized empty Git repository in @/i/'",
			"'Reinitialized existing Git repository in @/i/'"},
		{"is_worktree", []any{"cwd", "@/r"}, "False", ""},
		{"list_branches", []any{"cwd", "@/r"}, "['b', 'dev', 'main']", ""},
		{"list_tags", []any{"cwd", "@/r"}, "['v1']", ""},
		{"ls_remote", []any{"remote", "@/r", "ref", "v1"}, "{'refs/tags/v1': '" + one + "'}", ""},
		{"merge", []any{"cwd", "@/r", "rev", "v1"}, "'Already up to date.'", ""},
		{"merge_base", []any{"cwd", "@/r", "refs", "main,dev"}, "'" + one + "'", ""},
		{"merge_base", []any{"cwd", "@/r", "refs", "main,dev", "is_ancestor", true}, "True", ""},
		{"merge_base", []any{"cwd", "@/r", "refs", "dev,main", "is_ancestor", true}, "False", ""},
		{"merge_base", []any{"cwd", "@/r", "refs", "dev", "is_ancestor", true},
			"error: Two refs/commits are required if 'is_ancestor' is True", ""},
		{"merge_tree", []any{"cwd", "@/r", "ref1", "main", "ref2", "main"}, "''", ""},
		{"pull", []any{"cwd", "@/c"}, "'Already up to date.'", ""},
		{"push", []any{"cwd", "@/c", "remote", "origin", "ref", "main:pushed"}, "''", ""},
		{"rebase", []any{"cwd", "@/r", "rev", "main", "opts", "-i"},
			"error: Interactive rebases are not supported", ""},
		{"rebase", []any{"cwd", "@/r", "rev", "v1"}, "'Current branch main is up to date.'", ""},
		{"remote_get", []any{"cwd", "@/c"}, "{'fetch': '@/r/.', 'push': '@/r/.'}", ""},
		{"remote_get", []any{"cwd", "@/c", "remote", "x"},
			"error: Remote 'x' not present in git checkout located at @/c", ""},
		{"remote_refs", []any{"url", "@/r", "tags", true}, "{'refs/tags/v1': '" + one + "'}", ""},
		{"remote_set", []any{"cwd", "@/c", "url", "https://h/r.git", "remote", "up", "https_user",
			"u", "https_pass", "secret"}, "{'fetch': 'https://<redacted>@h/r.git', 'push': " +
			"'https://<redacted>@h/r.git'}", ""},
		{"remotes", []any{"cwd", "@/c", "redact_auth", false},
			"{'origin': {'fetch': '@/r/.', 'push': '@/r/.'}, 'up': {'fetch': 'https://u:secret@h/r.git', 'push': " +
				"'https://u:secret@h/r.git'}}", ""},
		{"reset", []any{"cwd", "@/r", "opts", "--hard v1"}, "'HEAD is now at " + one[:7] + " one'", ""},
		{"rev_parse", []any{"cwd", "@/r", "rev", "HEAD"}, "'" + one + "'", ""},
		{"revision", []any{"cwd", "@/r", "short", true}, "'" + one[:7] + "'", ""},
		{"rm", []any{"cwd", "@/r", "filename", "f", "opts", "--dry-run"}, "\"rm 'f'\"", ""},
		{"stash", []any{"cwd", "@/r", "action", "list"}, "''", ""},
		{"status", []any{"cwd", "@/r"}, "{}", ""},
		{"submodule", []any{"cwd", "@/r", "command", "status"}, "''", ""},
		{"symbolic_ref", []any{"cwd", "@/r", "ref", "HEAD"}, "'refs/heads/main'", ""},
		{"symbolic_ref", []any{"cwd", "@/r", "ref", "FOO", "value", "refs/heads/dev"}, "''", ""},
		{"tag", []any{"cwd", "@/r", "name", "v5"}, "''",
			"error: Command 'git tag v5 HEAD' failed: fatal: tag 'v5' already exists"},
		{"worktree_add", []any{"cwd", "@/r", "worktree_path", "@/w", "detach", true, "opts",
			"--quiet"}, "''", "error: Command 'git worktree add --detach --quiet @/w' failed: fatal: '@/w' already exists"},
		{"is_worktree", []any{"cwd", "@/w"}, "True", ""},
		{"list_worktrees", []any{"cwd", "@/r", "stale", true}, "{}", ""},
		{"worktree_rm", []any{"cwd", "@/w"}, "True", "error: @/w does not exist"},
		{"worktree_prune", []any{"cwd", "@/r"},
			"'Removing worktrees/w: gitdir file points to non-existent location'", "''"},
	} {
		if got := h.call(c.fun, c.words...); got != c.want {
			t.Errorf("%s %s\n got %s\nwant %s", c.fun, data.Repr(c.words), got, c.want)
		}
		if c.again == "" {
			c.again = c.want
		}
		if got := h.call(c.fun, c.words...); got != c.again {
			t.Errorf("%s %s again\n got %s\nwant %s", c.fun, data.Repr(c.words), got, c.again)
		}
	}
	if got := h.call("version"); !strings.HasPrefix(got, "'2.") ||
		h.call("version", "versioninfo", true)[:3] != "[2," {
		t.Errorf("the version is %s", got)
	}
	for _, c := range h.ran {
		if strings.Contains(strings.Join(c.Args, " "), "secret") {
			t.Errorf("a command line shows the password: %q", c.Args)
		}
	}
}

// No command line and no error shows the password of a server.
func TestPasswords(t *testing.T) {
	h := newHost(t)
	for _, fun := range []string{"remote_refs", "clone"} {
		for range 2 {
			got := h.call(fun, "url", "https://127.0.0.1:1/r.git", "cwd", "@/x", "https_user", "u",
				"https_pass", "secret")
			if fun == "remote_refs" {
				got = h.call(fun, "url", "https://127.0.0.1:1/r.git", "https_user", "u",
					"https_pass", "secret")
			}
			if !strings.HasPrefix(got, "error: Command 'git ") || strings.Contains(got, "secret") {
				t.Errorf("%s returned %s", fun, got)
			}
		}
	}
	for _, c := range h.ran {
		if strings.Contains(strings.Join(c.Args, " "), "secret") {
			t.Errorf("a command line shows the password: %q", c.Args)
		}
	}
}

func FuzzOutput(f *testing.F) {
	f.Add(" * [new branch] a -> b\n   abc..def  main -> origin/main", "[remote \"o\"]\n\turl = x\n")
	f.Fuzz(func(t *testing.T, output, config string) {
		fetched(output)
		parseWorktree(output)
		cutLast(output)
		if text, found := setURL(config, "o", "url", login{"x", "https://u:p@x"}); found &&
			!strings.Contains(text, "u:p@x") {
			t.Errorf("%q became %q", config, text)
		}
	})
}

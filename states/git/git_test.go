package git_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules"
	"github.com/brineproject/brine/state/change"
	"github.com/brineproject/brine/states/git"
)

// A host has a repository r to clone: main with the tag v1, and dev one commit ahead with the tag
// v2.
type host struct {
	t      *testing.T
	dir    string
	states *loader.Registry
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
	funcs, err := loader.NewRegistry(&loader.Env{Opts: data.NewMap("id", "web1", "file_client",
		"local", "cachedir", dir)}, modules.Plugins(modules.Brought()))
	if err != nil {
		t.Fatal(err)
	}
	states, err := loader.NewRegistry(funcs.Env(), []loader.Plugin{git.Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	h := &host{t, dir, states}
	h.sh("git init -q -b main r && cd r && echo 1 >f && git add f && git commit -qm one && git tag v1 && git checkout -qb dev && echo 2 >f && git commit -qam two && " +
		"git tag -a v2 -m v2 && git checkout -q main; cd ..; mkdir full; touch full/x afile; git init -q -b main empty")
	return h
}

func (h *host) sh(script string) string {
	h.t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = h.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		h.t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (h *host) at(name string) string { return filepath.Join(h.dir, name) }

// run runs a state and returns result, changes and comment, with the test's directory replaced by @
// and commits by their names.
func (h *host) run(fun string, test bool, words ...any) string {
	h.t.Helper()
	call := &change.Call{Test: test, Low: data.NewMap("state", "git"), SaltEnv: "base", Run: "r"}
	ctx := loader.WithContext(change.WithCall(h.t.Context(), call), loader.ContextOf(h.t.Context()))
	v, err := h.states.Invoke(ctx, "git."+fun, nil, data.NewMap(words...))
	ret, ok := v.(*data.Map)
	if err != nil || !ok {
		h.t.Fatalf("git.%s: %v, %v", fun, v, err)
	}
	shown := data.Repr(ret.Value("result")) + " " + data.Repr(ret.Value("changes")) + " " +
		ret.Text("comment")
	shown = strings.ReplaceAll(shown, h.dir, "@")
	for _, line := range strings.Split(h.sh("git -C r for-each-ref --format='%(refname:short) %(objectname) %(*objectname)'"), "\n") {
		words := strings.Fields(line)
		for _, commit := range words[1:] {
			shown = strings.ReplaceAll(strings.ReplaceAll(shown, commit, "<"+words[0]+">"),
				commit[:7], words[0])
		}
	}
	return shown
}

func (h *host) want(got, want string) {
	h.t.Helper()
	if got != want {
		h.t.Errorf("\n got %s\nwant %s", got, want)
	}
}

// First test mode clones nothing, then the repository is cloned, then nothing is left to do. The
// comments are those of Salt 3006.0.
func TestThrice(t *testing.T) {
	for _, c := range []struct {
		fun                string
		words              []any
		would, done, again string
	}{
		{"latest", nil, "None {'new': '@/r => @/c'} Repository @/r would be cloned to @/c",
			"True {'new': '@/r => @/c', 'revision': {'old': None, 'new': '<main>'}} " +
				"@/r cloned to @/c", "True {} Repository @/c is up-to-date"},
		{"latest", []any{"rev", "dev"},
			"None {'new': '@/r => @/c'} Repository @/r would be cloned to @/c",
			"True {'new': '@/r => @/c', 'revision': {'old': None, 'new': " +
				"'<dev>'}} @/r cloned to @/c. Repository was reset to origin/dev (dev). Tracking branch was updated to origin/dev.", "True {} Repository @/c is up-to-date"},
		{"latest", []any{"rev", "v2", "branch", "mine"},
			"None {'new': '@/r => @/c'} Repository @/r would be cloned to @/c",
			"True {'new': '@/r => @/c', 'revision': {'old': " +
				"None, 'new': '<dev>'}} @/r cloned to @/c. Branch 'mine' checked out, with v2 (dev) as a starting point.", "True {} Repository @/c is up-to-date"},
		{"latest", []any{"bare", true},
			"None {'new': '@/r => @/c'} Repository @/r would be cloned to @/c",
			"True {'new': '@/r => @/c', 'revision': {'old': None, 'new': " +
				"'<main>'}} @/r cloned to @/c as bare repository", ""},
		{"detached", []any{"rev", "v1"}, "None {} Repository @/r would be cloned to @/c",
			"True {'HEAD': {'old': '<main>', 'new': '<main>'}} @/r cloned to @/c. " +
				"Commit ID <main> was checked out at @/c.",
			"True {} Already checked out at correct revision"},
		{"detached", []any{"rev", "dev"}, "None {} Repository @/r would be cloned to @/c", "",
			"True {} Already checked out at correct revision"},
		{"cloned", []any{"branch", "dev"},
			"None {'new': '@/r => @/c'} @/r would be cloned to @/c with branch 'dev'",
			"True {'new': '@/r => @/c'} @/r cloned to @/c with " +
				"branch 'dev'", "True {} Repository already exists at @/c and is checked out to branch 'dev'"},
	} {
		t.Run(c.fun+data.Repr(c.words), func(t *testing.T) {
			h := newHost(t)
			words := append([]any{"name", h.at("r"), "target", h.at("c")}, c.words...)
			h.want(h.run(c.fun, true, words...), c.would)
			if _, err := os.Stat(h.at("c")); err == nil {
				t.Fatal("test mode has cloned")
			}
			if got := h.run(c.fun, false, words...); c.fun != "detached" {
				h.want(got, c.done)
			} else if !strings.HasPrefix(got, "True {'HEAD'") {
				t.Errorf("got %s", got)
			}
			for range 2 {
				if got := h.run(c.fun, false, words...); c.again != "" {
					h.want(got, c.again)
				} else if !strings.HasPrefix(got, "True {} Repository @/c is up-to-date") {
					t.Errorf("again: %s", got)
				}
			}
		})
	}
}

// A clone follows its remote, and keeps local changes unless they may be discarded.
func TestFollows(t *testing.T) {
	h := newHost(t)
	words := []any{"name", h.at("r"), "target", h.at("c"), "rev", "main"}
	h.run("latest", false, words...)
	old := h.sh("git -C r rev-parse main")
	h.sh("cd r; echo 3 >g; git add g; git commit -qm three")
	want := "{'revision': {'old': '" + old + "', 'new': '<main>'}}"
	h.want(strings.ReplaceAll(h.run("latest", true, words...), "<v1>", old), "None "+want+
		" Remote 'origin' would be fetched. Repository would be updated from v1 to main.")
	h.want(strings.ReplaceAll(h.run("latest", false, words...), "<v1>", old), "True "+want+
		" @/r was fetched, resulting in updated refs. Repository was fast-forwarded to "+
		"origin/main (main).")
	h.want(h.run("latest", false, words...), "True {} Repository @/c is up-to-date")

	h.sh("echo dirty >c/f")
	h.want(h.run("latest", false, words...),
		"True {} Repository @/c is up-to-date, but with uncommitted changes. Set 'force_reset' to True to purge uncommitted changes.")
	h.want(h.run("latest", false, append(words, "force_reset", true)...),
		"True {'forced update': True} Repository @/c is up-to-date\n\nChanges made: Uncommitted changes were discarded. Repository was hard-reset to origin/main (main).")
	h.want(h.sh("cat c/f"), "1")

	h.sh("cd c; echo local >f; git commit -qam local; cd ../r; echo 4 >g; git commit -qam four")
	if got := h.run("latest", false, words...); !strings.HasPrefix(got, "False ") ||
		!strings.Contains(got, "but this is not a fast-forward merge. Set 'force_reset' to True") {
		t.Errorf("local commits: %s", got)
	}
	h.want(h.sh("cat c/f"), "local")
	if got := h.run("latest", false, append(words, "force_reset", true)...); !strings.Contains(got,
		"Repository was hard-reset to origin/main (main)") {
		t.Errorf("local commits, forced: %s", got)
	}
	h.want(h.run("latest", false, words...), "True {} Repository @/c is up-to-date")
}

func TestRefused(t *testing.T) {
	h := newHost(t)
	for _, c := range []struct {
		words []any
		want  string
	}{
		{[]any{"rev", "nosuch"}, "No revision matching 'nosuch' exists in the remote repository"},
		{[]any{"target", h.at("full")},
			"Target '@/full' exists, is non-empty and is not a git repository. Set the 'force_clone' option to True to remove this directory's " +
				"contents and proceed with cloning the remote repository"},
		{[]any{"target", h.at("afile")}, "Target '@/afile' exists and is a regular file, cannot proceed"},
		{[]any{"target", "rel"}, "target 'rel' is not an absolute path"},
		{[]any{"https_user", "x"}, "Basic Auth only supported for HTTPS"},
		{[]any{"bare", true, "rev", "main"},
			"'rev' is not compatible with the 'mirror' and 'bare' arguments"},
		{[]any{"foo", "x"}, "The following keyword arguments are not valid: foo=x"},
		{[]any{"https_pas", "x"}, "The following keyword arguments are not valid: https_pas=**********"},
		{[]any{"force_reset", "maybe"}, "'force_reset' must be one of True, False, or 'remote-changes'"},
		{[]any{"depth", int64(1)}, "When 'depth' is used, 'rev' must be set to the name of a branch or tag on the remote repository"},
		{[]any{"identity", "rel"}, "identity 'rel' is not an absolute path"},
	} {
		for _, test := range []bool{true, false, false} {
			h.want(h.run("latest", test, append([]any{"name", h.at("r"), "target", h.at("c")},
				c.words...)...), "False {} "+c.want)
		}
	}
	if got := h.run("latest", false, "name", h.at("nosuch"), "target",
		h.at("c")); !strings.HasPrefix(got, "False {} Failed to check remote refs: fatal: ") {
		t.Errorf("no remote: %s", got)
	}
	h.want(h.run("latest", false, "name", h.at("r"), "target", h.at("full"), "force_clone", true),
		"True {'forced clone': True, 'new': '@/r => @/full', 'revision': "+
			"{'old': None, 'new': '<main>'}} @/r cloned to @/full")
}

func TestPresent(t *testing.T) {
	h := newHost(t)
	for kind, bare := range map[string]bool{"bare ": true, "": false} {
		words := []any{"name", h.at("p" + strings.TrimSpace(kind)), "bare", bare}
		h.want(h.run("present", true, words...), "None {'new': '"+
			strings.ReplaceAll(words[1].(string), h.dir, "@")+"'} New "+kind+"repository would be created")
		if got := h.run("present", false, words...); !strings.Contains(got, "Initialized "+kind+
			"repository in @/p") {
			t.Errorf("got %s", got)
		}
		h.want(h.run("present", false, words...), "True {} ")
	}
	if got := h.run("present", false, "name", h.at("full")); !strings.HasPrefix(got,
		"False {} Target '@/full' exists, is non-empty, and is not a git repository") {
		t.Errorf("got %s", got)
	}
}

func TestConfig(t *testing.T) {
	h := newHost(t)
	set := []any{"name", "foo.many", "multivar", []any{"x", "y"}, "repo", h.at("r")}
	h.want(h.run("config_set", true, set...),
		"None {'old': None, 'new': ['x', 'y']} 'foo.many' would be added as ['x', 'y']")
	h.want(h.run("config_set", false, set...),
		"True {'foo.many': {'old': None, 'new': ['x', 'y']}} 'foo.many' was added as ['x', 'y']")
	h.want(h.run("config_set", false, set...), "True {} 'foo.many' is already set to ['x', 'y']")
	h.want(h.run("config_set", false, "name", "foo.one", "value", "a", "global", true),
		"True {'foo.one': {'old': None, 'new': ['a']}} Global key 'foo.one' was added as 'a'")
	h.want(h.run("config_set", false, "name", "foo.one", "value", "a", "global", true),
		"True {} Global key 'foo.one' is already set to 'a'")
	h.want(h.run("config_set", false, "name", "foo.one", "value", "a"),
		"False {} Non-global config options require the 'repo' argument to be set")

	unset := []any{"name", "foo.many", "repo", h.at("r")}
	h.want(h.run("config_unset", false, unset...),
		"False {} Multivar(s) matched by the key expression (set 'all' to True to force removal): foo.many (x, y)")
	unset = append(unset, "all", true)
	h.want(h.run("config_unset", true, unset...),
		"None {'foo.many': ['x', 'y']} 1 key(s) would have value(s) unset")
	h.want(h.run("config_unset", false, unset...),
		"True {'foo.many': ['x', 'y']} Value(s) successfully unset")
	h.want(h.run("config_unset", false, unset...), "True {} No matching keys are set")
}

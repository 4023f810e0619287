// Package git is Salt's module git: it runs the program git in repositories (salt/modules/git.py).
//
// run.go runs the program, with keys and passwords; clone.go, remote.go, branch.go, change.go,
// inspect.go, config.go and worktree.go have the functions, grouped by topic.
//
// Differences from Salt: user and password of a server are never on a command line. The program
// gets them in its environment, and they are written to the configuration of the repository, as
// Salt does. Versions of git before 2.0 are not supported.
package git

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/accounts"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"

	"os"
)

// Plugin returns the module git. It is available if the program is installed.
func Plugin() loader.Plugin { return loader.Plugin{Name: "git", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	if process.Find("git") == "" {
		return nil, errors.New("The git execution module cannot be loaded: git unavailable.") //nolint:staticcheck // Salt's text
	}
	m := &module{env}
	return &loader.Module{Funcs: slices.Concat(m.readFuncs(), m.changeFuncs(), m.remoteFuncs())},
		nil
}

func (m *module) readFuncs() []loader.Func {
	return []loader.Func{
		loader.F("config_get", m.configGet),
		loader.F("config_get_regexp", m.configGetRegexp),
		loader.F("config_get_regexp", m.configGetRegexp).Alias("config_get_regex"),
		loader.F("current_branch", m.currentBranch),
		loader.F("describe", m.describe),
		loader.F("diff", m.diff),
		loader.F("is_worktree", m.isWorktree),
		loader.F("list_branches", m.listBranches),
		loader.F("list_tags", m.listTags),
		loader.F("list_worktrees", m.listWorktrees),
		loader.F("merge_base", m.mergeBase),
		loader.F("merge_tree", m.mergeTree),
		loader.F("remote_get", m.remoteGet),
		loader.F("remotes", m.remotes),
		loader.F("rev_parse", m.revParse),
		loader.F("revision", m.revision),
		loader.F("status", m.status),
		loader.F("version", m.version),
	}
}

func (m *module) changeFuncs() []loader.Func {
	return []loader.Func{
		loader.F("add", m.add),
		loader.F("archive", m.archive),
		loader.F("branch", m.branch),
		loader.F("checkout", m.checkout),
		loader.F("commit", m.commit),
		loader.F("config_set", m.configSet),
		loader.F("config_unset", m.configUnset),
		loader.F("discard_local_changes", m.discardLocalChanges),
		loader.F("init", m.init),
		loader.F("merge", m.merge),
		loader.F("rebase", m.rebase),
		loader.F("reset", m.reset),
		loader.F("rm", m.rm).Def("rm_"),
		loader.F("stash", m.stash),
		loader.F("symbolic_ref", m.symbolicRef),
		loader.F("tag", m.tag),
		loader.F("worktree_add", m.worktreeAdd),
		loader.F("worktree_prune", m.worktreePrune),
		loader.F("worktree_rm", m.worktreeRm),
	}
}

func (m *module) remoteFuncs() []loader.Func {
	return []loader.Func{
		loader.F("clone", m.clone).Secret("password", "https_pass"),
		loader.F("fetch", m.fetch).Secret("password"),
		loader.F("ls_remote", m.lsRemote).Secret("password", "https_pass"),
		loader.F("pull", m.pull).Secret("password"),
		loader.F("push", m.push).Secret("password"),
		loader.F("remote_refs", m.remoteRefs).Secret("password", "https_pass"),
		loader.F("remote_set", m.remoteSet).Secret("password", "https_pass", "push_https_pass"),
		loader.F("submodule", m.submodule).Secret("password"),
	}
}

// options returns options for git: a list, or a string split into words like a shell does. A -- at
// the end of a string is dropped.
func options(v any) ([]string, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case []any:
		return data.Texts(v), nil
	case string:
		words, err := process.Words(v)
		if err != nil {
			return nil, loader.Exception("ValueError", "%w", err)
		}
		if n := len(words); n > 0 && words[n-1] == "--" {
			words = words[:n-1]
		}
		return words, nil
	}
	return []string{data.Str(v)}, nil
}

// absolute returns an absolute path. Relative paths are resolved against the home directory of the
// user.
func (m *module) absolute(path, user any) string {
	s := data.Str(path)
	if filepath.IsAbs(s) {
		return s
	}
	home := accounts.Home(os.Getenv)
	if data.Truth(user) {
		home = "~" + data.Str(user)
		users, _ := accounts.Users(m.env.Root) // an unknown user has no home directory
		for _, u := range users {
			if u.Name == data.Str(user) {
				home = u.Home
			}
		}
	}
	return filepath.Join(home, s)
}

// flag returns the truth value of a keyword argument.
func flag(kwargs *data.Map, name string) bool { return data.Truth(kwargs.Value(name)) }

// rejectUnknown rejects keyword arguments other than these.
func rejectUnknown(kwargs *data.Map, known ...string) error {
	bad := &data.Map{}
	for k, v := range kwargs.All() {
		name := data.Str(k)
		if !strings.HasPrefix(name, "__") && !slices.Contains(known, name) {
			bad.Set(k, v)
		}
	}
	return loader.Unknown(bad)
}

// lines splits a string into lines.
func lines(s string) []any {
	out := []any{}
	for line := range strings.Lines(s) {
		out = append(out, strings.TrimRight(line, "\r\n"))
	}
	return out
}

// stdout returns the standard output of a run.
func stdout(r calls.Ran, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return r.Stdout, nil
}

func done(_ calls.Ran, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return true, nil
}

// with concatenates words of a command line.
func with(words ...[]string) []string { return slices.Concat(words...) }

type versionArgs struct {
	Versioninfo bool `default:"False"`
}

// version returns the version of git, or with versioninfo its components as a list.
//
// CLI Example:
//
//	salt myminion git.version
func (m *module) version(ctx context.Context, a versionArgs) (any, error) {
	r, err := m.git(ctx, run{}, []string{"--version"})
	if err != nil {
		return nil, err
	}
	output, _, _ := strings.Cut(r.Stdout, "(")
	output, _, _ = strings.Cut(strings.TrimSpace(output), ".windows")
	words := strings.Fields(output)
	version := "unknown"
	if len(words) > 0 {
		version = words[len(words)-1]
	}
	if !a.Versioninfo {
		return version, nil
	}
	parts := []any{}
	for part := range strings.SplitSeq(version, ".") {
		parts = append(parts, number(part))
	}
	return parts, nil
}

package git

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

type isWorktreeArgs struct {
	Cwd            any
	User           any `default:"None"`
	Password       any `default:"None"`
	OutputEncoding any `default:"None"`
}

// isWorktree returns whether a directory is in a working tree created by git worktree. The other
// arguments are as in git.clone.
//
// CLI Example:
//
//	salt myminion git.is_worktree /path/to/repo
func (m *module) isWorktree(ctx context.Context, a isWorktreeArgs) (any, error) {
	// the job gets git's return code
	return m.worktree(ctx, m.at(a.Cwd, a.User, a.Password, false, a.OutputEncoding))
}

func (m *module) worktree(ctx context.Context, r run) (any, error) {
	if info, err := os.Stat(r.cwd); err != nil || !info.IsDir() {
		return false, nil //nolint:nilerr // a missing directory is not a working tree
	}
	r.soft = true
	result, err := m.git(ctx, r, []string{"rev-parse", "--show-toplevel"})
	if err != nil || result.Retcode != 0 {
		return false, err
	}
	src, err := os.ReadFile(filepath.Join(result.Stdout, ".git"))
	if err != nil {
		return false, nil //nolint:nilerr // a directory, or missing
	}
	line, _, _ := strings.Cut(string(src), "\n")
	path, ok := strings.CutPrefix(line, "gitdir: ")
	return ok && filepath.IsAbs(path), nil
}

type listWorktreesArgs struct {
	Cwd            any
	Stale          bool      `default:"False"`
	User           any       `default:"None"`
	Password       any       `default:"None"`
	OutputEncoding any       `default:"None"`
	Kwargs         *data.Map `kwargs:"kwargs"`
}

// listWorktrees returns the working trees of a repository by path: branch, HEAD, detached, stale
// and tags. It omits those whose directories are gone, but with stale it returns only these, and
// with all every one. The other arguments are as in git.clone.
//
// CLI Example:
//
//	salt myminion git.list_worktrees /path/to/repo all=True
func (m *module) listWorktrees(ctx context.Context, a listWorktreesArgs) (any, error) {
	if err := rejectUnknown(a.Kwargs, "all"); err != nil {
		return nil, err
	}
	all := flag(a.Kwargs, "all")
	if all && a.Stale {
		return nil, loader.Execution("'all' and 'stale' cannot both be set to True")
	}
	r := m.at(a.Cwd, a.User, a.Password, false, a.OutputEncoding)
	result, err := m.git(ctx, r, []string{"worktree", "list", "--porcelain"})
	if err != nil {
		return nil, err
	}
	ret := data.NewMap()
	for block := range strings.SplitSeq(strings.TrimSpace(result.Stdout), "\n\n") {
		path, tree := parseWorktree(block)
		if tree == nil {
			m.env.Log.Errorf("git.worktree: Incomplete worktree data: %s", block)
			continue
		}
		if stale := tree.Value("stale") == true; stale != a.Stale && !all {
			continue
		}
		if tree.Value("detached") == true {
			tags, err := m.git(ctx, r, []string{"tag", "--points-at", tree.Text("HEAD")})
			if err != nil {
				return nil, err
			}
			if list := lines(tags.Stdout); len(list) > 0 {
				tree.Set("tags", list)
			}
		}
		ret.Set(path, tree)
	}
	return ret, nil
}

// parseWorktree parses one entry of git worktree list --porcelain; it returns nil if the entry is
// incomplete.
func parseWorktree(block string) (path string, tree *data.Map) {
	facts := map[string]string{}
	for line := range strings.Lines(block) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if _, twice := facts[key]; !twice {
			facts[key] = value
		}
	}
	_, detached := facts["detached"]
	if path = facts["worktree"]; path == "" || facts["HEAD"] == "" ||
		facts["branch"] == "" && !detached {
		return "", nil
	}
	info, err := os.Stat(path)
	tree = data.NewMap("stale", err != nil || !info.IsDir(), "HEAD", facts["HEAD"],
		"detached", detached, "branch", nil)
	if !detached {
		tree.Set("branch", strings.Replace(facts["branch"], "refs/heads/", "", 1))
	}
	return path, tree
}

type worktreeAddArgs struct {
	Cwd          any
	WorktreePath any
	Ref          any  `default:"None"`
	ResetBranch  any  `default:"None"`
	Force        any  `default:"None"`
	Detach       bool `default:"False"`
	commandArgs
	Kwargs *data.Map `kwargs:"kwargs"`
}

// worktreeAdd creates a working tree and returns git's output. The working tree has the branch
// branch, by default named like the directory and created from ref; with detach it has none.
// reset_branch resets an existing branch, and force accepts one that is checked out elsewhere. The
// other arguments are as in git.clone.
//
// CLI Example:
//
//	salt myminion git.worktree_add /path/to/repo/main ../hotfix ref=origin/master
//	salt myminion git.worktree_add /path/to/repo/main ../hotfix branch=hotfix21 ref=v2.1.9.3
func (m *module) worktreeAdd(ctx context.Context, a worktreeAddArgs) (any, error) {
	if err := rejectUnknown(a.Kwargs, "branch"); err != nil {
		return nil, err
	}
	branch := a.Kwargs.Value("branch")
	if data.Truth(branch) && a.Detach {
		return nil, loader.Invocation("Only one of 'branch' and 'detach' is allowed")
	}
	before, opts, err := a.words()
	if err != nil {
		return nil, err
	}
	path := data.Str(a.WorktreePath)
	if err := plain(path, a.Ref, branch); err != nil {
		return nil, err
	}
	args := with(before, []string{"worktree", "add"})
	if a.Detach {
		args = append(args, "--detach")
	} else {
		if !data.Truth(branch) {
			branch = filepath.Base(path)
		}
		how := "-b"
		if data.Truth(a.ResetBranch) {
			how = "-B"
		}
		if args = append(args, how, data.Str(branch)); data.Truth(a.Force) {
			args = append(args, "--force")
		}
	}
	if args = append(with(args, opts), path); data.Truth(a.Ref) {
		args = append(args, data.Str(a.Ref))
	}
	r := m.in(a.Cwd, a.runArgs)
	r.merged = true
	return stdout(m.git(ctx, r, args))
}

type worktreePruneArgs struct {
	Cwd     any
	DryRun  bool `default:"False"`
	Verbose bool `default:"True"`
	Expire  any  `default:"None"`
	commandArgs
}

// worktreePrune removes the records of working trees whose directories are gone, only those older
// than expire if it is given, and returns git's output. With dry_run it changes nothing. The other
// arguments are as in git.clone.
//
// CLI Example:
//
//	salt myminion git.worktree_prune /path/to/repo dry_run=True
func (m *module) worktreePrune(ctx context.Context, a worktreePruneArgs) (any, error) {
	before, opts, err := a.words()
	if err != nil {
		return nil, err
	}
	args := with(before, []string{"worktree", "prune"})
	if a.DryRun {
		args = append(args, "--dry-run")
	}
	if a.Verbose {
		args = append(args, "--verbose")
	}
	if data.Truth(a.Expire) {
		args = append(args, "--expire", data.Str(a.Expire))
	}
	result, err := m.git(ctx, m.in(a.Cwd, a.runArgs),
		with(args, opts))
	if err != nil {
		return nil, err
	}
	if output := result.Stderr; output != "" {
		return output, nil
	}
	return result.Stdout, nil
}

type worktreeRmArgs struct {
	Cwd            any
	User           any `default:"None"`
	OutputEncoding any `default:"None"`
}

// worktreeRm removes a working tree created by git worktree, and returns True. The other arguments
// are as in git.clone.
//
// CLI Example:
//
//	salt myminion git.worktree_rm /path/to/worktree
func (m *module) worktreeRm(ctx context.Context, a worktreeRmArgs) (any, error) {
	path := m.absolute(a.Cwd, a.User)
	if _, err := os.Stat(path); err != nil {
		return nil, loader.Execution("%s does not exist", path)
	}
	is, err := m.worktree(ctx, m.at(path, nil, nil, true, a.OutputEncoding))
	if err != nil {
		return nil, err
	}
	if is != true {
		return nil, loader.Execution("%s is not a git worktree", path)
	}
	if err := os.RemoveAll(path); err != nil {
		return nil, loader.Execution("Unable to remove %s: %w", path, loader.OSError(err))
	}
	return true, nil
}

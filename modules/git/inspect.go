package git

import (
	"context"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// currentBranch returns the name of the current branch, or HEAD if there is none. The other
// arguments are as in git.clone.
//
// CLI Example:
//
//	salt myminion git.current_branch /path/to/repo
func (m *module) currentBranch(ctx context.Context, a repoArgs) (any, error) {
	return stdout(m.git(ctx, m.of(a), []string{"rev-parse", "--abbrev-ref", "HEAD"}))
}

type describeArgs struct {
	Cwd any
	Rev any `default:"'HEAD'"`
	runArgs
}

// describe describes a revision by the nearest tag. The other arguments are as in git.clone.
//
// CLI Example:
//
//	salt myminion git.describe /path/to/repo develop
func (m *module) describe(ctx context.Context, a describeArgs) (any, error) {
	if err := plain(a.Rev); err != nil {
		return nil, err
	}
	return stdout(m.git(ctx, m.in(a.Cwd, a.runArgs),
		[]string{"describe", "--always", data.Str(a.Rev)}))
}

type diffArgs struct {
	Cwd   any
	Item1 any `default:"None"`
	Item2 any `default:"None"`
	optionArgs
	User           any  `default:"None"`
	Password       any  `default:"None"`
	NoIndex        bool `default:"False"`
	Cached         bool `default:"False"`
	Paths          any  `default:"None"`
	OutputEncoding any  `default:"None"`
}

// diff returns the differences between two revisions, or between the working tree and one. With
// cached it compares the index with one, with no_index two paths. paths selects files. The other
// arguments are as in git.clone.
//
// CLI Example:
//
//	salt myminion git.diff /path/to/repo commit1 commit2
//	salt myminion git.diff /path/to/repo no_index=True paths=path/to/file1,path/to/file2
func (m *module) diff(ctx context.Context, a diffArgs) (any, error) {
	if a.NoIndex && a.Cached {
		return nil, loader.Execution("The 'no_index' and 'cached' options cannot be used together")
	}
	if err := plain(a.Item1, a.Item2); err != nil {
		return nil, err
	}
	args, err := a.command("diff")
	if err != nil {
		return nil, err
	}
	r := m.at(a.Cwd, a.User, a.Password, a.NoIndex, a.OutputEncoding)
	r.soft, r.merged = a.NoIndex, true
	items := []any{a.Item1, a.Item2}
	switch {
	case a.NoIndex:
		args, items = append(args, "--no-index"), nil
	case a.Cached:
		args, items = append(args, "--cached"), items[:1]
	}
	for _, item := range items {
		if data.Truth(item) {
			args = append(args, data.Str(item))
		}
	}
	if data.Truth(a.Paths) {
		args = append(append(args, "--"), data.SplitTexts(a.Paths, ",")...)
	}
	return stdout(m.git(ctx, r, args))
}

type listBranchesArgs struct {
	Cwd    any
	Remote bool `default:"False"`
	runArgs
}

// listBranches returns the branches of a repository, or with remote its remote-tracking branches.
// The other arguments are as in git.clone.
//
// CLI Example:
//
//	salt myminion git.list_branches /path/to/repo remote=True
func (m *module) listBranches(ctx context.Context, a listBranchesArgs) (any, error) {
	refs := "refs/heads/"
	if a.Remote {
		refs = "refs/remotes/"
	}
	result, err := m.git(ctx, m.in(a.Cwd, a.runArgs),
		[]string{"for-each-ref", "--format", "%(refname:short)", refs})
	if err != nil {
		return nil, err
	}
	return lines(result.Stdout), nil
}

// listTags returns the tags of a repository. The other arguments are as in git.clone.
//
// CLI Example:
//
//	salt myminion git.list_tags /path/to/repo
func (m *module) listTags(ctx context.Context, a repoArgs) (any, error) {
	result, err := m.git(ctx, m.of(a),
		[]string{"for-each-ref", "--format", "%(refname:short)", "refs/tags/"})
	if err != nil {
		return nil, err
	}
	return lines(result.Stdout), nil
}

type revParseArgs struct {
	Cwd any
	Rev any `default:"None"`
	commandArgs
}

// revParse runs git rev-parse and returns its output. The other arguments are as in git.clone.
//
// CLI Example:
//
//	salt myminion git.rev_parse /path/to/repo HEAD
//	salt myminion git.rev_parse /path/to/repo opts='--is-inside-work-tree'
func (m *module) revParse(ctx context.Context, a revParseArgs) (any, error) {
	args, err := a.command("rev-parse")
	if err != nil {
		return nil, err
	}
	if a.Rev != nil {
		args = append(args, data.Str(a.Rev))
	}
	return stdout(m.git(ctx, m.in(a.Cwd, a.runArgs),
		args))
}

type revisionArgs struct {
	Cwd   any
	Rev   any  `default:"'HEAD'"`
	Short bool `default:"False"`
	runArgs
}

// revision returns the commit ID of a revision, abbreviated if short is True. The other arguments
// are as in git.clone.
//
// CLI Example:
//
//	salt myminion git.revision /path/to/repo mybranch
func (m *module) revision(ctx context.Context, a revisionArgs) (any, error) {
	args := []string{"rev-parse"}
	if a.Short {
		args = append(args, "--short")
	}
	return stdout(m.git(ctx, m.in(a.Cwd, a.runArgs),
		append(args, data.Str(a.Rev))))
}

// status returns the modified, new, deleted and untracked files. The other arguments are as in
// git.clone.
//
// CLI Example:
//
//	salt myminion git.status /path/to/repo
func (m *module) status(ctx context.Context, a repoArgs) (any, error) {
	result, err := m.git(ctx, m.of(a), []string{"status", "-z", "--porcelain"})
	if err != nil {
		return nil, err
	}
	names := map[string]string{"M": "modified", "A": "new", "D": "deleted", "??": "untracked"}
	ret := data.NewMap()
	for entry := range strings.SplitSeq(result.Stdout, "\x00") {
		entry = strings.TrimLeft(entry, " ")
		state, file, ok := strings.Cut(entry, " ")
		if file = strings.TrimLeft(file, " "); !ok || file == "" {
			continue
		}
		if name := names[state]; name != "" {
			state = name
		}
		appendTo(ret, state, file)
	}
	return ret, nil
}

type mergeBaseArgs struct {
	Cwd         any
	Refs        any  `default:"None"`
	Octopus     bool `default:"False"`
	IsAncestor  bool `default:"False"`
	Independent bool `default:"False"`
	ForkPoint   any  `default:"None"`
	commandArgs
	Kwargs *data.Map `kwargs:"kwargs"`
}

// mergeBase returns the common ancestor of refs, or with all every one. With is_ancestor it returns
// whether the first ref is an ancestor of the second. octopus, independent and fork_point are
// options of git merge-base. The other arguments are as in git.clone.
//
// CLI Example:
//
//	salt myminion git.merge_base /path/to/repo HEAD upstream/mybranch
//	salt myminion git.merge_base /path/to/repo 8f2e542,4ad8cab is_ancestor=True
func (m *module) mergeBase(ctx context.Context, a mergeBaseArgs) (any, error) {
	if err := rejectUnknown(a.Kwargs, "all"); err != nil {
		return nil, err
	}
	all := flag(a.Kwargs, "all")
	refs, err := a.refs(all)
	if err != nil {
		return nil, err
	}
	args, err := a.command("merge-base")
	if err != nil {
		return nil, err
	}
	if all {
		args = append(args, "--all")
	}
	r := m.in(a.Cwd, a.runArgs)
	switch {
	case a.Octopus:
		args = append(args, "--octopus")
	case a.IsAncestor:
		args, r.soft = append(args, "--is-ancestor"), true
	case a.Independent:
		args = append(args, "--independent")
	case data.Truth(a.ForkPoint):
		args = append(args, "--fork-point", data.Str(a.ForkPoint))
	}
	result, err := m.git(ctx, r, append(args, refs...))
	switch bases := lines(result.Stdout); {
	case err != nil:
		return nil, err
	case a.IsAncestor:
		return result.Retcode == 0, nil
	case all:
		return bases, nil
	case len(bases) == 0:
		return nil, loader.Exception("IndexError", "list index out of range")
	default:
		return bases[0], nil
	}
}

// refs returns the refs that the call names, and rejects contradictory arguments.
func (a mergeBaseArgs) refs(all bool) ([]string, error) {
	fork := data.Truth(a.ForkPoint)
	if all && (a.Independent || a.IsAncestor || fork) {
		return nil, loader.Invocation("The 'all' argument is not compatible with 'independent', 'is_ancestor', or 'fork_point'")
	}
	refs := data.SplitTexts(a.Refs, ",")
	for i := range refs {
		refs[i] = strings.TrimSpace(refs[i])
	}
	if err := plainWords(append(refs, data.Str(a.ForkPoint))); err != nil {
		return nil, err
	}
	asked := 0
	for _, one := range []bool{a.Octopus, a.Independent, a.IsAncestor, fork} {
		if one {
			asked++
		}
	}
	switch {
	case asked > 1:
		return nil, loader.Invocation("Only one of 'octopus', 'independent', 'is_ancestor', and 'fork_point' is permitted")
	case a.IsAncestor && len(refs) != 2:
		return nil, loader.Invocation("Two refs/commits are required if 'is_ancestor' is True")
	case fork && len(refs) > 1:
		return nil, loader.Invocation("At most one ref/commit can be passed if 'fork_point' is specified")
	case fork && len(refs) == 0:
		refs = []string{"HEAD"}
	}
	return refs, nil
}

type mergeTreeArgs struct {
	Cwd  any
	Ref1 any
	Ref2 any
	Base any `default:"None"`
	runArgs
}

// mergeTree returns the changes that a merge of two refs would make. base is their common ancestor;
// by default it is determined. The other arguments are as in git.clone.
//
// CLI Example:
//
//	salt myminion git.merge_tree /path/to/repo HEAD upstream/dev
func (m *module) mergeTree(ctx context.Context, a mergeTreeArgs) (any, error) {
	if err := plain(a.Base, a.Ref1, a.Ref2); err != nil {
		return nil, err
	}
	base := a.Base
	if base == nil {
		var err error
		base, err = m.mergeBase(ctx, mergeBaseArgs{Cwd: a.Cwd, Refs: []any{a.Ref1, a.Ref2},
			commandArgs: commandArgs{runArgs: runArgs{OutputEncoding: a.OutputEncoding}}})
		if err != nil {
			return nil, loader.Execution("Unable to determine merge base for %s and %s",
				data.Str(a.Ref1), data.Str(a.Ref2))
		}
	}
	args := []string{"merge-tree", data.Str(base), data.Str(a.Ref1), data.Str(a.Ref2)}
	return stdout(m.git(ctx, m.in(a.Cwd, a.runArgs),
		args))
}

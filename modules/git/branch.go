package git

import (
	"context"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

type branchArgs struct {
	Cwd  any
	Name any `default:"None"`
	commandArgs
}

// branch runs git branch, for the branch name if one is given, and returns True. The other
// arguments are as in git.clone.
//
// CLI Example:
//
//	salt myminion git.branch /path/to/repo mybranch opts='--set-upstream-to=origin/mybranch'
//	salt myminion git.branch /path/to/repo newbranch opts='-m oldbranch'
func (m *module) branch(ctx context.Context, a branchArgs) (any, error) {
	if err := plain(a.Name); err != nil {
		return nil, err
	}
	args, err := a.command("branch")
	if err != nil {
		return nil, err
	}
	if a.Name != nil {
		args = append(args, data.Str(a.Name))
	}
	return done(m.git(ctx, m.in(a.Cwd, a.runArgs),
		args))
}

type checkoutArgs struct {
	Cwd   any
	Rev   any  `default:"None"`
	Force bool `default:"False"`
	commandArgs
}

// checkout checks out a revision and returns git's output. force discards uncommitted changes. The
// other arguments are as in git.clone.
//
// CLI Example:
//
//	salt myminion git.checkout /path/to/repo somebranch
//	salt myminion git.checkout /path/to/repo rev=origin/mybranch opts='--track'
func (m *module) checkout(ctx context.Context, a checkoutArgs) (any, error) {
	before, opts, err := a.words()
	if err != nil {
		return nil, err
	}
	if err := plain(a.Rev); err != nil {
		return nil, err
	}
	args := with(before, []string{"checkout"})
	if a.Force {
		args = append(args, "--force")
	}
	args = append(args, opts...)
	switch {
	case a.Rev != nil:
		args = append(args, data.Str(a.Rev))
	case !slices.Contains(opts, "-b") && !slices.Contains(opts, "-B"):
		return nil, loader.Invocation("'rev' argument is required unless -b or -B in opts")
	}
	r := m.in(a.Cwd, a.runArgs)
	r.merged = true
	return stdout(m.git(ctx, r, args))
}

type mergeArgs struct {
	Cwd any
	Rev any `default:"None"`
	optionArgs
	User           any       `default:"None"`
	Password       any       `default:"None"`
	Identity       any       `default:"None"`
	IgnoreRetcode  bool      `default:"False"`
	OutputEncoding any       `default:"None"`
	Kwargs         *data.Map `kwargs:"kwargs"`
}

// merge merges a revision into the current branch and returns git's output. The other arguments are
// as in git.clone.
//
// CLI Example:
//
//	salt myminion git.merge /path/to/repo upstream/mybranch opts='--ff-only'
func (m *module) merge(ctx context.Context, a mergeArgs) (any, error) {
	if err := rejectUnknown(a.Kwargs); err != nil {
		return nil, err
	}
	if err := plain(a.Rev); err != nil {
		return nil, err
	}
	args, err := a.command("merge")
	if err != nil {
		return nil, err
	}
	if data.Truth(a.Rev) {
		args = append(args, data.Str(a.Rev))
	}
	r := m.at(a.Cwd, a.User, a.Password, a.IgnoreRetcode, a.OutputEncoding)
	r.identity = a.Identity
	return stdout(m.git(ctx, r, args))
}

type rebaseArgs struct {
	Cwd any
	Rev any `default:"'master'"`
	commandArgs
}

// rebase rebases the current branch and returns git's output. The other arguments are as in
// git.clone.
//
// CLI Example:
//
//	salt myminion git.rebase /path/to/repo 'upstream/master --onto v2.0'
func (m *module) rebase(ctx context.Context, a rebaseArgs) (any, error) {
	opts, err := options(a.Opts)
	if err != nil {
		return nil, err
	}
	if slices.Contains(opts, "-i") || slices.Contains(opts, "--interactive") {
		return nil, loader.Invocation("Interactive rebases are not supported")
	}
	args, err := a.command("rebase")
	if err != nil {
		return nil, err
	}
	rev, err := options(data.Str(a.Rev))
	if err == nil {
		// opts cannot have these together with a revision
		err = plainWords(rev, "--abort", "--continue", "--quit", "--skip")
	}
	if err != nil {
		return nil, err
	}
	return stdout(m.git(ctx, m.in(a.Cwd, a.runArgs),
		append(args, rev...)))
}

type resetArgs struct {
	Cwd any
	optionArgs
	User           any  `default:"None"`
	Password       any  `default:"None"`
	Identity       any  `default:"None"`
	IgnoreRetcode  bool `default:"False"`
	OutputEncoding any  `default:"None"`
}

// reset runs git reset and returns its output. The other arguments are as in git.clone.
//
// CLI Example:
//
//	salt myminion git.reset /path/to/repo opts='--hard origin/master'
func (m *module) reset(ctx context.Context, a resetArgs) (any, error) {
	args, err := a.command("reset")
	if err != nil {
		return nil, err
	}
	r := m.at(a.Cwd, a.User, a.Password, a.IgnoreRetcode, a.OutputEncoding)
	r.identity = a.Identity
	return stdout(m.git(ctx, r, args))
}

type symbolicRefArgs struct {
	Cwd   any
	Ref   any
	Value any `default:"None"`
	commandArgs
}

// symbolicRef returns the target of a symbolic ref, or sets it to value. The other arguments are as
// in git.clone.
//
// CLI Example:
//
//	salt myminion git.symbolic_ref /path/to/repo FOO
//	salt myminion git.symbolic_ref /path/to/repo FOO refs/heads/bar
func (m *module) symbolicRef(ctx context.Context, a symbolicRefArgs) (any, error) {
	opts, err := options(a.Opts)
	if err != nil {
		return nil, err
	}
	if a.Value != nil && (slices.Contains(opts, "-d") || slices.Contains(opts, "--delete")) {
		return nil, loader.Invocation("Value cannot be set for symbolic ref if -d/--delete is included in opts")
	}
	if err := plain(a.Ref, a.Value); err != nil {
		return nil, err
	}
	args, err := a.command("symbolic-ref")
	if err != nil {
		return nil, err
	}
	if args = append(args, data.Str(a.Ref)); data.Truth(a.Value) {
		args = append(args, data.Str(a.Value))
	}
	return stdout(m.git(ctx, m.in(a.Cwd, a.runArgs),
		args))
}

type tagArgs struct {
	Cwd     any
	Name    any
	Ref     any `default:"'HEAD'"`
	Message any `default:"None"`
	commandArgs
}

// tag creates a tag for a ref, or with -d in the options removes one, and returns git's output.
// With a message the tag is annotated. The other arguments are as in git.clone.
//
// CLI Example:
//
//	salt myminion git.tag /path/to/repo v1.2.3 message='Version 1.2.3 tagged'
//	salt myminion git.tag /path/to/repo v1.2.3 opts='-d'
func (m *module) tag(ctx context.Context, a tagArgs) (any, error) {
	before, opts, err := a.words()
	if err != nil {
		return nil, err
	}
	opts = slices.DeleteFunc(opts, func(o string) bool { return o == "-a" || o == "--annotate" })
	if slices.ContainsFunc(opts, func(o string) bool { return o == "-m" || strings.Contains(o, "--message") }) {
		return nil, loader.Invocation(`Tag messages must be passed in the "message" argument`)
	}
	if data.Truth(a.Message) {
		opts = append(opts, "-m", data.Str(a.Message))
	}
	if err := plain(a.Name, a.Ref); err != nil {
		return nil, err
	}
	args := append(with(before, []string{"tag"}, opts), data.Str(a.Name))
	if !slices.Contains(opts, "-d") && !slices.Contains(opts, "--delete") {
		args = append(args, data.Str(a.Ref))
	}
	r := m.in(a.Cwd, a.runArgs)
	r.merged = true
	return stdout(m.git(ctx, r, args))
}

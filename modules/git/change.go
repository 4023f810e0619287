package git

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/brineproject/brine/data"
)

type addArgs struct {
	Cwd      any
	Filename any
	commandArgs
}

// add adds a file to the index and returns git's output. The other arguments are as in git.clone.
//
// CLI Example:
//
//	salt myminion git.add /path/to/repo foo/bar.py
func (m *module) add(ctx context.Context, a addArgs) (any, error) {
	before, opts, err := a.words()
	if err != nil {
		return nil, err
	}
	opts = slices.DeleteFunc(opts, func(o string) bool { return o == "-v" || o == "--verbose" })
	args := append(with(before, []string{"add", "--verbose"}, opts), "--", data.Str(a.Filename))
	return stdout(m.git(ctx, m.in(a.Cwd, a.runArgs),
		args))
}

type rmArgs struct {
	Cwd      any
	Filename any
	commandArgs
}

// rm removes a file from the working tree and the index, and returns git's output. The other
// arguments are as in git.clone.
//
// CLI Example:
//
//	salt myminion git.rm /path/to/repo foo/baz opts='-r'
func (m *module) rm(ctx context.Context, a rmArgs) (any, error) {
	args, err := a.command("rm")
	if err != nil {
		return nil, err
	}
	return stdout(m.git(ctx, m.in(a.Cwd, a.runArgs),
		append(args, "--", data.Str(a.Filename))))
}

type archiveArgs struct {
	Cwd     any
	Output  any
	Rev     any `default:"'HEAD'"`
	Prefix  any `default:"None"`
	GitOpts any `default:"''"`
	runArgs
	Kwargs *data.Map `kwargs:"kwargs"`
}

// archive writes the content of a revision to an archive, and returns True. Names in it begin with
// prefix, by default the name of the repository's directory. format is a format of git archive. The
// other arguments are as in git.clone.
//
// CLI Example:
//
//	salt myminion git.archive /path/to/repo /path/to/archive.tar
//	salt myminion git.archive /path/to/repo /path/to/archive.zip format=zip prefix=''
func (m *module) archive(ctx context.Context, a archiveArgs) (any, error) {
	if err := rejectUnknown(a.Kwargs, "format"); err != nil {
		return nil, err
	}
	if err := plain(a.Rev); err != nil {
		return nil, err
	}
	args, err := optionArgs{GitOpts: a.GitOpts}.command("archive")
	if err != nil {
		return nil, err
	}
	r := m.in(a.Cwd, a.runArgs)
	if a.Prefix != "" {
		prefix := data.Str(a.Prefix)
		if !data.Truth(a.Prefix) {
			prefix = filepath.Base(r.cwd) + "/"
		}
		args = append(args, "--prefix", prefix)
	}
	if format := a.Kwargs.Value("format"); data.Truth(format) {
		args = append(args, "--format", data.Str(format))
	}
	return done(m.git(ctx, r, append(args, "--output", m.absolute(a.Output, a.User),
		data.Str(a.Rev))))
}

type commitArgs struct {
	Cwd     any
	Message any
	optionArgs
	User           any  `default:"None"`
	Password       any  `default:"None"`
	Filename       any  `default:"None"`
	IgnoreRetcode  bool `default:"False"`
	OutputEncoding any  `default:"None"`
}

// commit commits the index, or one file, and returns git's output. The other arguments are as in
// git.clone.
//
// CLI Example:
//
//	salt myminion git.commit /path/to/repo 'The commit message'
//	salt myminion git.commit /path/to/repo 'The commit message' filename=foo/bar.py
func (m *module) commit(ctx context.Context, a commitArgs) (any, error) {
	before, opts, err := a.words()
	if err != nil {
		return nil, err
	}
	args := with(before, []string{"commit", "-m", data.Str(a.Message)}, opts)
	if data.Truth(a.Filename) {
		args = append(args, "--", data.Str(a.Filename))
	}
	return stdout(m.git(ctx, m.at(a.Cwd, a.User, a.Password, a.IgnoreRetcode, a.OutputEncoding),
		args))
}

type stashArgs struct {
	Cwd    any
	Action any `default:"'save'"`
	commandArgs
}

// stash stashes changes, or runs another action of git stash, and returns git's output. The other
// arguments are as in git.clone.
//
// CLI Example:
//
//	salt myminion git.stash /path/to/repo save opts='work in progress'
//	salt myminion git.stash /path/to/repo pop
func (m *module) stash(ctx context.Context, a stashArgs) (any, error) {
	before, opts, err := a.words()
	if err != nil {
		return nil, err
	}
	return stdout(m.git(ctx, m.in(a.Cwd, a.runArgs),
		with(before, []string{"stash", data.Str(a.Action)}, opts)))
}

type discardArgs struct {
	Cwd  any
	Path any `default:"'.'"`
	runArgs
}

// discardLocalChanges reverts changes below a path that are not in the index, and returns git's
// output. The other arguments are as in git.clone.
//
// CLI Example:
//
//	salt myminion git.discard_local_changes /path/to/repo path=foo
func (m *module) discardLocalChanges(ctx context.Context, a discardArgs) (any, error) {
	r := m.in(a.Cwd, a.runArgs)
	r.merged = true
	return stdout(m.git(ctx, r, []string{"checkout", "--", data.Str(a.Path)}))
}

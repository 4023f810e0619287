package git

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/brineproject/brine/data"
)

type addArgs struct {
	Cwd            any
	Filename       any
	Opts           any  `default:"''"`
	GitOpts        any  `default:"''"`
	User           any  `default:"None"`
	Password       any  `default:"None"`
	IgnoreRetcode  bool `default:"False"`
	OutputEncoding any  `default:"None"`
}

// add adds a file to the index and returns what git prints. The other arguments are as in
// git.clone.
//
// CLI Example:
//
//	salt myminion git.add /path/to/repo foo/bar.py
func (m *module) add(ctx context.Context, a addArgs) (any, error) {
	opts, err := options(a.Opts)
	if err != nil {
		return nil, err
	}
	before, err := options(a.GitOpts)
	if err != nil {
		return nil, err
	}
	opts = slices.DeleteFunc(opts, func(o string) bool { return o == "-v" || o == "--verbose" })
	args := append(with(before, []string{"add", "--verbose"}, opts), "--", data.Str(a.Filename))
	return stdout(m.git(ctx, m.at(a.Cwd, a.User, a.Password, a.IgnoreRetcode, a.OutputEncoding), args))
}

type rmArgs struct {
	Cwd            any
	Filename       any
	Opts           any  `default:"''"`
	GitOpts        any  `default:"''"`
	User           any  `default:"None"`
	Password       any  `default:"None"`
	IgnoreRetcode  bool `default:"False"`
	OutputEncoding any  `default:"None"`
}

// rm removes a file from the working tree and the index, and returns what git prints. The other arguments are as in git.clone.
//
// CLI Example:
//
//	salt myminion git.rm /path/to/repo foo/baz opts='-r'
func (m *module) rm(ctx context.Context, a rmArgs) (any, error) {
	args, err := command("rm", a.GitOpts, a.Opts)
	if err != nil {
		return nil, err
	}
	return stdout(m.git(ctx, m.at(a.Cwd, a.User, a.Password, a.IgnoreRetcode, a.OutputEncoding), append(args, "--", data.Str(a.Filename))))
}

type archiveArgs struct {
	Cwd            any
	Output         any
	Rev            any       `default:"'HEAD'"`
	Prefix         any       `default:"None"`
	GitOpts        any       `default:"''"`
	User           any       `default:"None"`
	Password       any       `default:"None"`
	IgnoreRetcode  bool      `default:"False"`
	OutputEncoding any       `default:"None"`
	Kwargs         *data.Map `kwargs:"kwargs"`
}

// archive writes what a revision holds to an archive, and returns True. Names in it begin with prefix, which is the name of the
// repository's directory where it is not given; format is one of git archive's. The other arguments are as in git.clone.
//
// CLI Example:
//
//	salt myminion git.archive /path/to/repo /path/to/archive.tar
//	salt myminion git.archive /path/to/repo /path/to/archive.zip format=zip prefix=''
func (m *module) archive(ctx context.Context, a archiveArgs) (any, error) {
	if err := only(a.Kwargs, "format"); err != nil {
		return nil, err
	}
	if err := plain(a.Rev); err != nil {
		return nil, err
	}
	args, err := command("archive", a.GitOpts, "")
	if err != nil {
		return nil, err
	}
	r := m.at(a.Cwd, a.User, a.Password, a.IgnoreRetcode, a.OutputEncoding)
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
	return done(m.git(ctx, r, append(args, "--output", m.where(a.Output, a.User), data.Str(a.Rev))))
}

type commitArgs struct {
	Cwd            any
	Message        any
	Opts           any  `default:"''"`
	GitOpts        any  `default:"''"`
	User           any  `default:"None"`
	Password       any  `default:"None"`
	Filename       any  `default:"None"`
	IgnoreRetcode  bool `default:"False"`
	OutputEncoding any  `default:"None"`
}

// commit commits what is in the index, or one file, and returns what git prints. The other arguments are as in git.clone.
//
// CLI Example:
//
//	salt myminion git.commit /path/to/repo 'The commit message'
//	salt myminion git.commit /path/to/repo 'The commit message' filename=foo/bar.py
func (m *module) commit(ctx context.Context, a commitArgs) (any, error) {
	before, err := options(a.GitOpts)
	if err != nil {
		return nil, err
	}
	opts, err := options(a.Opts)
	if err != nil {
		return nil, err
	}
	args := with(before, []string{"commit", "-m", data.Str(a.Message)}, opts)
	if data.Truth(a.Filename) {
		args = append(args, "--", data.Str(a.Filename))
	}
	return stdout(m.git(ctx, m.at(a.Cwd, a.User, a.Password, a.IgnoreRetcode, a.OutputEncoding), args))
}

type stashArgs struct {
	Cwd            any
	Action         any  `default:"'save'"`
	Opts           any  `default:"''"`
	GitOpts        any  `default:"''"`
	User           any  `default:"None"`
	Password       any  `default:"None"`
	IgnoreRetcode  bool `default:"False"`
	OutputEncoding any  `default:"None"`
}

// stash keeps changes aside, or does with them what action says, and returns what git prints. The other arguments are as in git.clone.
//
// CLI Example:
//
//	salt myminion git.stash /path/to/repo save opts='work in progress'
//	salt myminion git.stash /path/to/repo pop
func (m *module) stash(ctx context.Context, a stashArgs) (any, error) {
	before, err := options(a.GitOpts)
	if err != nil {
		return nil, err
	}
	opts, err := options(a.Opts)
	if err != nil {
		return nil, err
	}
	return stdout(m.git(ctx, m.at(a.Cwd, a.User, a.Password, a.IgnoreRetcode, a.OutputEncoding), with(before, []string{"stash", data.Str(a.Action)}, opts)))
}

type discardArgs struct {
	Cwd            any
	Path           any  `default:"'.'"`
	User           any  `default:"None"`
	Password       any  `default:"None"`
	IgnoreRetcode  bool `default:"False"`
	OutputEncoding any  `default:"None"`
}

// discardLocalChanges takes changes back that are not in the index, below a path, and returns what git prints. The other arguments are as in git.clone.
//
// CLI Example:
//
//	salt myminion git.discard_local_changes /path/to/repo path=foo
func (m *module) discardLocalChanges(ctx context.Context, a discardArgs) (any, error) {
	r := m.at(a.Cwd, a.User, a.Password, a.IgnoreRetcode, a.OutputEncoding)
	r.merged = true
	return stdout(m.git(ctx, r, []string{"checkout", "--", data.Str(a.Path)}))
}

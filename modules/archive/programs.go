package archive

import (
	"cmp"
	"context"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

type tarArgs struct {
	Options  any
	Tarfile  any
	Sources  any    `default:"None"`
	Dest     any    `default:"None"`
	Cwd      string `default:"None"`
	Template string `default:"None"`
	Runas    string `default:"None"`
}

// tar runs the program tar and returns the lines that it prints.
//
// options
//
//	The options of tar, such as cf or xzf.
//
// tarfile
//
//	The archive.
//
// sources
//
//	The files to pack, or the members to unpack: a list, or separated by commas; wildcards are
//	expanded.
//
// dest
//
//	The directory to unpack in.
//
// cwd, template, runas
//
//	The working directory, a template engine for the words of the command, and the user to run it
//	as.
//
// CLI Example:
//
//	salt '*' archive.tar cjvf /tmp/tarfile.tar.bz2 /tmp/file_1,/tmp/file_2
//	salt '*' archive.tar xf foo.tar dest=/target/directory
func (m *module) tar(ctx context.Context, a tarArgs) (any, error) {
	if err := needs("tar"); err != nil {
		return nil, err
	}
	if !data.Truth(a.Options) {
		return nil, loader.Invocation("Tar options can not be empty")
	}
	argv := []string{"tar"}
	for word := range strings.FieldsSeq(data.Str(a.Options)) {
		argv = append(argv, word)
	}
	argv = append(argv, data.Str(a.Tarfile))
	list, err := sources(a.Sources)
	if err != nil {
		return nil, err
	}
	argv = append(argv, list...)
	if data.Truth(a.Dest) {
		argv = append(argv, "-C", data.Str(a.Dest))
	}
	return orError(m.lines(ctx, calls.Run{Argv: argv, Dir: a.Cwd, Template: a.Template,
		As: a.Runas}))
}

// orError returns the list, or nil if there was an error.
func orError(list []any, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return list, nil
}

type gzipArgs struct {
	Sourcefile any
	Template   string `default:"None"`
	Runas      string `default:"None"`
	Options    any    `default:"None"`
}

// gzip compresses a file with the program gzip and at most one option, and returns the lines that
// it prints.
//
// CLI Example:
//
//	salt '*' archive.gzip /tmp/sourcefile.txt
//	salt '*' archive.gzip /tmp/sourcefile.txt options='-9 --verbose'
func (m *module) gzip(ctx context.Context, a gzipArgs) (any, error) {
	return m.compress(ctx, "gzip", a.Sourcefile, a.Options, a.Template, a.Runas)
}

type gunzipArgs struct {
	Gzipfile any
	Template string `default:"None"`
	Runas    string `default:"None"`
	Options  any    `default:"None"`
}

// gunzip decompresses a file with the program gunzip and at most one option, and returns the lines
// that it prints.
//
// CLI Example:
//
//	salt '*' archive.gunzip /tmp/sourcefile.txt.gz
//	salt '*' archive.gunzip /tmp/sourcefile.txt.gz options='--verbose'
func (m *module) gunzip(ctx context.Context, a gunzipArgs) (any, error) {
	return m.compress(ctx, "gunzip", a.Gzipfile, a.Options, a.Template, a.Runas)
}

func (m *module) compress(
	ctx context.Context, program string, file, options any, template, runas string,
) (any, error) {
	if err := needs(program); err != nil {
		return nil, err
	}
	argv := []string{program}
	if data.Truth(options) {
		argv = append(argv, data.Str(options))
	}
	return orError(m.lines(ctx, calls.Run{Argv: append(argv, data.Str(file)),
		Template: template, As: runas}))
}

type cmdZipArgs struct {
	ZipFile  any
	Sources  any
	Template string `default:"None"`
	Cwd      string `default:"None"`
	Runas    string `default:"None"`
}

// cmdZip packs files with the program zip and returns the lines that it prints. sources is a list,
// or separated by commas; wildcards are expanded.
//
// CLI Example:
//
//	salt '*' archive.cmd_zip /tmp/zipfile.zip /tmp/sourcefile1,/tmp/sourcefile2
func (m *module) cmdZip(ctx context.Context, a cmdZipArgs) (any, error) {
	return m.pack(ctx, "zip", []string{"zip", "-r", data.Str(a.ZipFile)}, a)
}

func (m *module) pack(
	ctx context.Context, program string, argv []string, a cmdZipArgs,
) (any, error) {
	if err := needs(program); err != nil {
		return nil, err
	}
	list, err := sources(a.Sources)
	if err != nil {
		return nil, err
	}
	return orError(m.lines(ctx, calls.Run{Argv: append(argv, list...), Dir: a.Cwd,
		Template: a.Template, As: a.Runas}))
}

type cmdUnzipArgs struct {
	ZipFile    any
	Dest       any
	Excludes   any    `default:"None"`
	Options    any    `default:"None"`
	Template   string `default:"None"`
	Runas      string `default:"None"`
	TrimOutput any    `default:"False"`
	Password   any    `default:"None"`
}

// cmdUnzip unpacks a ZIP archive with the program unzip and returns the lines that it prints.
//
// excludes
//
//	Members to leave out: a list, or separated by commas.
//
// options
//
//	Further options of unzip.
//
// trim_output : False
//
//	How many lines to return; True means 100.
//
// password
//
//	The password of the archive. It is visible in the process list; archive.unzip does not expose
//	it.
//
// CLI Example:
//
//	salt '*' archive.cmd_unzip /tmp/zipfile.zip /home/strongbad/ excludes=file_1,file_2
func (m *module) cmdUnzip(ctx context.Context, a cmdUnzipArgs) (any, error) {
	if err := needs("unzip"); err != nil {
		return nil, err
	}
	argv, level := []string{"unzip"}, "debug"
	if data.Truth(a.Password) {
		argv, level = append(argv, "-P", data.Str(a.Password)), "quiet"
	}
	if data.Truth(a.Options) {
		words, err := process.Words(data.Str(a.Options))
		if err != nil {
			return nil, loader.Exception("ValueError", "%w", err)
		}
		argv = append(argv, words...)
	}
	argv = append(argv, data.Str(a.ZipFile), "-d", data.Str(a.Dest))
	if a.Excludes != nil {
		argv = append(append(argv, "-x"), loader.SplitList(a.Excludes)...)
	}
	ran, err := calls.RunAll(ctx, m.env,
		calls.Run{Argv: argv, Template: a.Template, As: a.Runas, MergeStderr: true, Log: level})
	if err != nil {
		return nil, err
	}
	if ran.Retcode != 0 {
		return nil, loader.Execution("%s", ran.Stdout)
	}
	return trimmed(splitLines(ran.Stdout), a.TrimOutput), nil
}

type rarArgs struct {
	Rarfile  any
	Sources  any
	Template string `default:"None"`
	Cwd      string `default:"None"`
	Runas    string `default:"None"`
}

// rar packs files with the program rar and returns the lines that it prints. sources is a list, or
// separated by commas; wildcards are expanded.
//
// CLI Example:
//
//	salt '*' archive.rar /tmp/rarfile.rar /tmp/sourcefile1,/tmp/sourcefile2
func (m *module) rar(ctx context.Context, a rarArgs) (any, error) {
	argv := []string{"rar", "a", "-idp", data.Str(a.Rarfile)}
	return m.pack(ctx, "rar", argv,
		cmdZipArgs{Sources: a.Sources, Cwd: a.Cwd, Template: a.Template, Runas: a.Runas})
}

type unrarArgs struct {
	Rarfile    any
	Dest       any
	Excludes   any    `default:"None"`
	Template   string `default:"None"`
	Runas      string `default:"None"`
	TrimOutput any    `default:"False"`
}

// unrar unpacks a RAR archive with the program unrar, or rar, and returns the lines that it prints.
// Members in excludes are left out; trim_output is the number of lines to return, True meaning 100.
//
// CLI Example:
//
//	salt '*' archive.unrar /tmp/rarfile.rar /home/strongbad/ excludes=file_1,file_2
func (m *module) unrar(ctx context.Context, a unrarArgs) (any, error) {
	program := cmp.Or(process.Find("unrar"), process.Find("rar"))
	if program == "" {
		return nil, loader.NotFound(`None of provided binaries(["'unrar'", "'rar'"]) were found in $PATH.`)
	}
	argv := []string{program, "x", "-idp", data.Str(a.Rarfile)}
	for _, name := range loader.SplitList(a.Excludes) {
		argv = append(argv, "-x", name)
	}
	files, err := m.lines(ctx, calls.Run{Argv: append(argv, data.Str(a.Dest)), Template: a.Template,
		As: a.Runas})
	if err != nil {
		return nil, err
	}
	return trimmed(files, a.TrimOutput), nil
}

package archive

import (
	"archive/tar"
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/accounts"
	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/internal/unpack"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
	"github.com/brineproject/brine/state/change"
)

// extract unpacks the archive, or in test mode reports that it would.
func (e *extraction) extract(ctx context.Context) (bool, error) {
	if done, err := e.verify(ctx); done || err != nil {
		return done, err
	}
	if change.Test(ctx) {
		comment := "Archive " + e.shown() + " would be extracted to " + e.name
		if e.a.Clean {
			comment += ", after cleaning destination path(s)"
		}
		return e.end(nil, comment+e.because())
	}
	if done, err := e.makeRoom(); done || err != nil {
		return done, err
	}
	if !paths.IsDir(e.name) {
		if _, err := e.state(ctx, "file.directory", data.NewMap("user", e.a.User, "makedirs", true),
			e.name); err != nil {
			return false, err
		}
		e.madeFolder = true
	}
	switch {
	case e.format == "zip":
		return false, e.unzip(ctx)
	case e.format == "rar":
		return false, e.listed(e.call(ctx, "archive.unrar", e.with("trim_output", e.trim),
			e.cached, e.name))
	case e.a.Options == nil:
		return e.untar(ctx)
	}
	return e.runTar(ctx)
}

// verify checks the hash of an archive that is a file of the minion.
func (e *extraction) verify(ctx context.Context) (bool, error) {
	if !e.local || !data.Truth(e.a.SourceHash) || e.a.SkipVerify {
		return false, nil
	}
	same, err := loader.CallAs[bool](ctx, e.m.env, "file.check_hash",
		[]any{e.source, e.sum.Value("hsum")}, nil)
	if err == nil && !same {
		return e.fail(e.shown() + " does not match the desired source_hash " + e.sum.Text("hsum"))
	}
	return false, err
}

// with returns the given keywords and the state's further keywords, except keep, keep_source and
// internal ones.
func (e *extraction) with(pairs ...any) *data.Map {
	kwargs := data.NewMap(pairs...)
	for key, v := range e.a.Kwargs.All() {
		name := data.Str(key)
		if name != "keep" && name != "keep_source" && !strings.HasPrefix(name, "__") &&
			!kwargs.Has(name) {
			kwargs.Set(name, v)
		}
	}
	return kwargs
}

func (e *extraction) listed(v any, err error) error {
	e.files, _ = v.([]any)
	return err
}

func (e *extraction) unzip(ctx context.Context) error {
	if data.Truth(e.a.UseCmdUnzip) {
		kwargs := e.with("options", e.a.Options, "trim_output", e.trim, "password", e.a.Password)
		return e.listed(e.call(ctx, "archive.cmd_unzip", kwargs, e.cached, e.name))
	}
	kwargs := e.with("options", e.a.Options, "trim_output", e.trim, "password", e.a.Password,
		"extract_perms", e.a.ExtractPerms)
	return e.listed(e.call(ctx, "archive.unzip", kwargs, e.cached, e.name))
}

func (e *extraction) runner() unpack.Runner {
	if e.m.env.Run != nil {
		return e.m.env.Run
	}
	return process.Run
}

// untar unpacks a tar archive without the program tar.
func (e *extraction) untar(ctx context.Context) (bool, error) {
	err := e.unpackTar(ctx)
	var program *unpack.ProgramError
	switch {
	case err == nil:
		return false, nil
	case errors.Is(err, unpack.ErrNoXZ):
		e.dropDirectory()
		return e.fail("Failed to read from tar archive. If it is XZ-compressed, install xz-utils to attempt extraction.")
	case errors.Is(err, unpack.ErrFormat), errors.As(err, &program):
		e.dropDirectory()
		return e.fail("Failed to read from tar archive using Python's native tar file support. If archive is compressed using something other than " +
			"gzip or bzip2, the 'options' argument may be required to pass the correct options to the tar command in order to extract the archive.")
	}
	return e.fail(loader.OSError(err).Error())
}

// dropDirectory removes the directory that was created for the archive, if it is empty.
func (e *extraction) dropDirectory() {
	if e.madeFolder {
		_ = os.Remove(strings.TrimRight(e.name, "/")) // fails if it is not empty
	}
}

func (e *extraction) unpackTar(ctx context.Context) error {
	dest, err := unpack.OpenFolder(e.name)
	if err != nil {
		return err
	}
	if dest.Owner, err = e.owners(); err == nil {
		err = e.measure(ctx, dest)
	}
	if err == nil {
		err = e.put(ctx, dest)
	}
	return errors.Join(err, dest.Close())
}

// measure rejects an archive that is too large for the file system or has links that lead outside
// the directory.
func (e *extraction) measure(ctx context.Context, dest *unpack.Folder) error {
	t, err := unpack.Open(ctx, e.cached, e.runner())
	if err != nil {
		return err
	}
	var needed int64
	err = t.Each(func(h *tar.Header) error {
		needed = min(1<<62, needed) + dest.Needs(h.Name, h.Size)
		if h.Typeflag == tar.TypeLink {
			_, err := unpack.Local(h.Linkname)
			return err
		}
		return ctx.Err()
	})
	if err = errors.Join(err, t.Close()); err != nil {
		return err
	}
	return dest.Room(needed)
}

func (e *extraction) put(ctx context.Context, dest *unpack.Folder) error {
	t, err := unpack.Open(ctx, e.cached, e.runner())
	if err != nil {
		return err
	}
	e.files = []any{}
	err = t.Each(func(h *tar.Header) error {
		e.files = append(e.files, h.Name)
		if err := ctx.Err(); err != nil {
			return err
		}
		return dest.Put(h, t)
	})
	e.shorten()
	return errors.Join(err, t.Close())
}

func (e *extraction) shorten() {
	if n, ok := e.trim.(int64); ok && n >= 0 && data.Truth(n) && int64(len(e.files)) > n {
		e.files = e.files[:n]
	}
}

// owners returns a function for the owner of an archive member: by name if the host knows it,
// otherwise by number. It returns nil if the minion does not run as root.
func (e *extraction) owners() (func(*tar.Header) (uid, gid int), error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	users, err := accounts.Users(e.m.env.Root)
	if err != nil {
		return nil, err
	}
	groups, err := accounts.Groups(e.m.env.Root)
	if err != nil {
		return nil, err
	}
	return func(h *tar.Header) (int, int) {
		uid, gid := h.Uid, h.Gid
		if i := slices.IndexFunc(users,
			func(u accounts.User) bool { return u.Name == h.Uname }); i >= 0 && h.Uname != "" {
			uid = int(users[i].UID)
		}
		if i := slices.IndexFunc(groups,
			func(g accounts.Group) bool { return g.Name == h.Gname }); i >= 0 && h.Gname != "" {
			gid = int(groups[i].GID)
		}
		return uid, gid
	}, nil
}

// tarCommand returns the tar command line for options as an operator writes them: with or without a
// dash, long options, and options with arguments.
func (e *extraction) tarCommand() ([]any, error) {
	words, err := process.Words(data.Str(e.a.Options))
	if err != nil {
		return nil, loader.Exception("ValueError", "%w", err)
	}
	short, long := "xv", []any{}
	first := true
	for _, word := range words {
		if word == "v" || word == "-v" || word == "--verbose" {
			continue
		}
		if strings.HasPrefix(word, "-") || !first {
			long = append(long, word)
		} else {
			short += strings.NewReplacer("x", "", "f", "").Replace(word)
		}
		first = false
	}
	if strings.EqualFold(e.m.env.GrainsNow().Text("os"), "openbsd") {
		short = "-" + short
	}
	return append(append([]any{"tar", short}, long...), "-f", e.cached), nil
}

// runTar unpacks a tar archive with the program tar.
func (e *extraction) runTar(ctx context.Context) (bool, error) {
	if process.Find("tar") == "" {
		return e.fail("tar command not available, it might not be installed on minion")
	}
	argv, err := e.tarCommand()
	if err != nil {
		return false, err
	}
	ran, err := calls.RunAll(ctx, e.m.env, calls.Run{Argv: data.Texts(argv), Dir: e.name})
	if err != nil {
		return false, err
	}
	if ran.Retcode != 0 {
		e.ret.Set("result", false)
		e.ret.Set("changes", ran.Map)
		return true, nil
	}
	output := ran.Stdout
	version, err := calls.RunOutput(ctx, e.m.env, calls.Run{Argv: []string{"tar", "--version"}})
	if err != nil {
		return false, err
	}
	if strings.Contains(version, "bsdtar") {
		output = ran.Stderr
	}
	e.files = []any{}
	for line := range strings.Lines(output) {
		e.files = append(e.files, strings.TrimRight(line, "\r\n"))
	}
	if e.shorten(); len(e.files) == 0 {
		e.files = []any{silence}
	}
	return false, nil
}

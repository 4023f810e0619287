package archive

import (
	"archive/tar"
	"archive/zip"
	"context"
	"errors"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileclient"
	"github.com/brineproject/brine/internal/unpack"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

type listArgs struct {
	Name            string
	ArchiveFormat   any    `default:"None"`
	Options         any    `default:"None"`
	StripComponents any    `default:"None"`
	Clean           bool   `default:"False"`
	Verbose         bool   `default:"False"`
	Saltenv         string `default:"'base'"`
	SourceHash      any    `default:"None"`
	UseETag         bool   `name:"use_etag" default:"False"`
}

// A contents is the content of an archive, by kind. Directories end in a slash.
type contents struct{ dirs, files, links []string }

// list returns the content of an archive. The archive may be a file on the minion, the file server
// or a web server.
//
// archive_format
//
//	tar, zip or rar; by default it is derived from the name.
//
// options
//
//	For tar: a command that decompresses the archive to its standard output, if the archive is not
//	compressed by gzip, bzip2 or xz.
//
// strip_components
//
//	How many leading directories to remove from names.
//
// clean : False
//
//	Remove the copy of the archive from the minion's cache.
//
// verbose : False
//
//	Return dirs, files and links separately, and for each kind those at the top level.
//
// saltenv, source_hash, use_etag
//
//	As in cp.cache_file.
//
// CLI Example:
//
//	salt '*' archive.list /path/to/myfile.tar.gz
//	salt '*' archive.list salt://foo.tar.gz strip_components=1 verbose=True
//	salt '*' archive.list https://domain.tld/myfile.zip source_hash=f1d2d2f924e986ac86fdf7b36c94bcdf32beec15
func (m *module) list(ctx context.Context, a listArgs) (any, error) {
	cached, err := m.cached(ctx, a.Name, a.Saltenv, a.SourceHash, a.UseETag)
	if err != nil {
		return nil, err
	}
	ret, err := m.listed(ctx, a, cached)
	var failed *listError
	switch {
	case errors.As(err, &failed):
		info := data.NewMap()
		if failed.output != "" {
			info.Set("error", failed.output)
		}
		info.Set("archive location", cached)
		return nil, loader.ExecutionInfo(failed.text, info)
	case err != nil:
		return nil, err
	}
	return ret, nil
}

// A listError is the reason an archive cannot be listed, with the output of the program.
type listError struct{ text, output string }

func (e *listError) Error() string { return e.text }

func (m *module) cached(
	ctx context.Context, name, saltenv string, hash any, useETag bool,
) (string, error) {
	path, err := calls.CacheFile(ctx, m.env, calls.Source{
		Path: name, SaltEnv: saltenv, Hash: hash, UseETag: useETag,
	})
	if err == nil && path == "" {
		err = loader.Execution("Failed to cache %s", name)
	}
	return path, err
}

func (m *module) listed(ctx context.Context, a listArgs, cached string) (any, error) {
	strip, err := components(a.StripComponents)
	if err != nil {
		return nil, err
	}
	format := data.Str(a.ArchiveFormat)
	if !data.Truth(a.ArchiveFormat) {
		if format = guess(a.Name); format == "" {
			return nil, &listError{text: "Unable to guess archive format, please pass an 'archive_format' argument."}
		}
	}
	c, err := m.read(ctx, a, cached, format)
	if err != nil {
		return nil, err
	}
	if a.Clean {
		m.drop(cached)
	}
	if strip > 0 {
		c.strip(strip)
	}
	if a.Verbose {
		return c.verbose(), nil
	}
	all := slices.Concat(c.dirs, c.files, c.links)
	slices.Sort(all)
	return data.Values(all), nil
}

func components(v any) (int, error) {
	if !data.Truth(v) {
		return 0, nil
	}
	n, err := strconv.Atoi(data.Str(v))
	if err != nil || n <= 0 {
		return 0, &listError{text: "'strip_components' must be a positive integer"}
	}
	return n, nil
}

// guess derives the format of an archive from its name (salt/utils/files.py, guess_archive_type).
func guess(name string) string {
	name, _, _ = strings.Cut(name, "?")
	name = strings.ToLower(name)
	for ending := range strings.FieldsSeq(".tar .tar.gz .tgz .tar.bz2 .tbz2 .tbz .tar.xz .txz .tar.lzma .tlz") {
		if strings.HasSuffix(name, ending) {
			return "tar"
		}
	}
	for _, ending := range []string{"zip", "rar"} {
		if strings.HasSuffix(name, "."+ending) {
			return ending
		}
	}
	return ""
}

func (m *module) drop(cached string) {
	if err := os.Remove(cached); err != nil && !errors.Is(err, fs.ErrNotExist) {
		m.env.Log.Warnf("Failed to clean cached archive %s: %v", cached, err)
	}
}

func (m *module) read(ctx context.Context, a listArgs, cached, format string) (*contents, error) {
	c := &contents{}
	var err error
	switch format {
	case "tar":
		err = m.readTar(ctx, c, a, cached)
	case "zip":
		err = c.readZip(a.Name, cached)
	case "rar":
		err = m.readRar(ctx, c, a.Name)
	default:
		return nil, &listError{text: "Unsupported archive format '" + format + "'"}
	}
	if _, isPath := errors.AsType[*fs.PathError](err); isPath {
		return nil, &listError{text: "Failed to list contents of " + a.Name + ": " +
			loader.OSError(err).Error()}
	}
	return c, err
}

// readTar lists a tar archive. It uses the command that decompresses it if Go cannot.
func (m *module) readTar(ctx context.Context, c *contents, a listArgs, cached string) error {
	t, err := unpack.Open(ctx, cached, m.runner())
	if err == nil {
		err = c.readMembers(t)
	}
	if err == nil || isPathError(err) {
		return err
	}
	if !errors.Is(err, unpack.ErrFormat) && !errors.Is(err, unpack.ErrNoXZ) {
		return m.unlistable(a.Name, err)
	}
	if a.Options == nil {
		return m.unlistable(a.Name, err)
	}
	words, err := process.Words(data.Str(a.Options))
	if err != nil || len(words) == 0 {
		return &listError{text: "Invalid CLI options"}
	}
	if err := c.readMembers(unpack.OpenWith(ctx, append(words, cached), m.runner())); err != nil {
		return m.unlistable(a.Name, err)
	}
	return nil
}

func isPathError(err error) bool {
	_, is := errors.AsType[*fs.PathError](err)
	return is
}

// unlistable returns the error for an archive that is broken or compressed in an unsupported way.
func (m *module) unlistable(name string, err error) error {
	if program, ok := errors.AsType[*unpack.ProgramError](err); ok {
		return &listError{text: "Failed to decompress " + name, output: program.Said}
	}
	m.env.Log.Debugf("list %s: %v", name, err)
	return &listError{text: "Unable to list contents of " + name +
		". If this is an XZ-compressed tar archive, install XZ Utils to enable " +
		"listing its contents. If it is compressed using something other than XZ, it may be necessary to specify CLI options to " +
		"decompress the archive. See the documentation for details."}
}

func (c *contents) readMembers(t *unpack.Tar) error {
	err := t.Each(func(h *tar.Header) error {
		switch {
		case unpack.IsLink(h):
			c.links = append(c.links, h.Name)
		case unpack.IsDir(h):
			c.dirs = append(c.dirs, h.Name+"/")
		default:
			c.files = append(c.files, h.Name)
		}
		return nil
	})
	return errors.Join(err, t.Close())
}

// These are the file types in the upper half of a ZIP member's attributes, encoded as in st_mode.
const (
	kindMask = 0o170000
	kindLink = 0o120000
	kindDir  = 0o040000
)

func (c *contents) readZip(name, cached string) error {
	z, err := zip.OpenReader(cached)
	if err != nil && z == nil {
		if isPathError(err) {
			return err
		}
		return &listError{text: name + " is not a ZIP file"}
	}
	defer z.Close()
	dirs := map[string]bool{}
	for _, f := range z.File {
		switch (f.ExternalAttrs >> 16) & kindMask {
		case kindLink:
			c.links = append(c.links, f.Name)
		case kindDir:
			dirs[f.Name] = true
		default:
			c.files = append(c.files, f.Name)
		}
	}
	for _, file := range slices.Clone(c.files) {
		if i := strings.LastIndexByte(file, '/'); i >= 0 {
			dirs[file[:i+1]] = true
		}
	}
	c.files = slices.DeleteFunc(c.files, func(file string) bool { return dirs[file] })
	for dir := range dirs {
		c.dirs = append(c.dirs, dir)
	}
	return nil
}

func rarMembers() *regexp.Regexp { return regexp.MustCompile(`Name:\s*([^\n]+)\s*Type:\s*([^\n]+)`) }

func (m *module) readRar(ctx context.Context, c *contents, name string) error {
	if process.Find("rar") == "" {
		return &listError{text: "rar command not available, is it installed?"}
	}
	out, err := calls.RunOutput(ctx, m.env, calls.Run{Argv: []string{"rar", "lt", name}})
	if err != nil {
		return err
	}
	for _, match := range rarMembers().FindAllStringSubmatch(out, -1) {
		if match[2] == "Directory" {
			c.dirs = append(c.dirs, match[1]+"/")
		} else {
			c.files = append(c.files, match[1])
		}
	}
	if len(c.dirs)+len(c.files) == 0 {
		return &listError{text: "Failed to list " + name +
			", is it a rar file? If so, the installed version of rar may be too old to list " +
			"data in a parsable format. Installing the rarfile Python module may be an easier workaround if newer rar is not readily available.",
			output: out}
	}
	return nil
}

// strip removes n leading directories from names.
func (c *contents) strip(n int) {
	for _, list := range []*[]string{&c.dirs, &c.files, &c.links} {
		kept := []string{}
		for _, name := range *list {
			if parts := strings.SplitN(name, "/", n+1); len(parts) > n && parts[n] != "" {
				kept = append(kept, parts[n])
			}
		}
		*list = kept
	}
}

func (c *contents) verbose() *data.Map {
	for _, list := range [][]string{c.dirs, c.files, c.links} {
		slices.Sort(list)
	}
	top := having(c.dirs, 1)
	if common, _, deeper := strings.Cut(commonPrefix(c.dirs), "/"); deeper &&
		!slices.Contains(top, common+"/") {
		top = append(top, common+"/")
	}
	return data.NewMap("dirs", data.Values(c.dirs), "files", data.Values(c.files),
		"links", data.Values(c.links), "top_level_dirs", data.Values(top),
		"top_level_files", data.Values(having(c.files, 0)), "top_level_links",
		data.Values(having(c.links, 0)))
}

// having returns the names with the given number of slashes.
func having(list []string, slashes int) []string {
	out := []string{}
	for _, name := range list {
		if strings.Count(name, "/") == slashes {
			out = append(out, name)
		}
	}
	return out
}

// commonPrefix returns the longest common prefix of a sorted list.
func commonPrefix(list []string) string {
	if len(list) == 0 {
		return ""
	}
	first, last := list[0], list[len(list)-1]
	n := 0
	for n < len(first) && n < len(last) && first[n] == last[n] {
		n++
	}
	return first[:n]
}

type isEncryptedArgs struct {
	Name       string
	Clean      bool   `default:"False"`
	Saltenv    string `default:"'base'"`
	SourceHash any    `default:"None"`
	UseETag    bool   `name:"use_etag" default:"False"`
}

// isEncrypted returns whether a ZIP archive has a password. With clean its copy is removed from the
// minion's cache; the other arguments are as in archive.list.
//
// CLI Example:
//
//	salt '*' archive.is_encrypted /path/to/myfile.zip
//	salt '*' archive.is_encrypted salt://foo.zip clean=True
func (m *module) isEncrypted(ctx context.Context, a isEncryptedArgs) (any, error) {
	cached, err := m.cached(ctx, a.Name, a.Saltenv, a.SourceHash, a.UseETag)
	if err != nil {
		return nil, err
	}
	z, err := zip.OpenReader(cached)
	if err != nil && z == nil {
		text := fileclient.Redact(a.Name) + " is not a ZIP file"
		if isPathError(err) {
			text = loader.OSError(err).Error()
		}
		return nil, loader.ExecutionInfo(text, data.NewMap("archive location", cached))
	}
	defer z.Close()
	if a.Clean {
		defer m.drop(cached)
	}
	return slices.ContainsFunc(z.File, encrypted), nil
}

package archive

import (
	"context"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileclient"
	"github.com/brineproject/brine/internal/accounts"
	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/state/change"
)

func (e *extraction) checkFlags(context.Context) (bool, error) {
	if e.a.SkipFilesListVerify && e.a.SkipVerify {
		return e.fail(`Only one of "skip_files_list_verify" and "skip_verify" can be set to True`)
	}
	kept, both := e.a.Kwargs.Get("keep_source")
	keep, short := e.a.Kwargs.Get("keep")
	e.keep = true
	switch {
	case both && short:
		e.warn("Both 'keep_source' and 'keep' were used. Since these both do the same thing, 'keep' was ignored.")
		e.keep = data.Truth(kept)
	case both:
		e.keep = data.Truth(kept)
	case short:
		e.keep = data.Truth(keep)
	}
	return false, nil
}

// absolute reports whether a path is absolute. None counts as absolute.
func absolute(v any) bool {
	s, ok := v.(string)
	return v == nil || ok && filepath.IsAbs(s)
}

func (e *extraction) checkPaths(context.Context) (bool, error) {
	switch {
	case !filepath.IsAbs(e.a.Name):
		return e.fail(e.a.Name + " is not an absolute path")
	case !absolute(e.a.IfMissing):
		return e.fail("Value for 'if_missing' is not an absolute path")
	case !absolute(e.a.EnforceOwnershipOn):
		return e.fail("Value for 'enforce_ownership_on' is not an absolute path")
	}
	bare := strings.TrimRight(e.a.Name, "/")
	if paths.IsFile(bare) {
		return e.fail(bare + " exists and is not a directory")
	}
	e.name = bare + "/"
	if e.a.EnforceOwnershipOn != nil {
		if rel, err := filepath.Rel(e.name, data.Str(e.a.EnforceOwnershipOn)); err != nil ||
			strings.HasPrefix(rel, "../") {
			return e.fail("Value for 'enforce_ownership_on' must be within " + e.name)
		}
	}
	if e.a.IfMissing == nil {
		return false, nil
	}
	exists, err := there(data.Str(e.a.IfMissing))
	if exists {
		return e.end(true, "Path "+data.Str(e.a.IfMissing)+" exists")
	}
	return false, err
}

func (e *extraction) checkOwners(ctx context.Context) (bool, error) {
	e.uid, e.gid = -1, -1
	for _, one := range []struct {
		who  any
		ask  func(context.Context, *loader.Env, any) (int64, bool, error)
		word string
		id   *int64
	}{{e.a.User, calls.UserToUID, "User", &e.uid}, {e.a.Group, calls.GroupToGID, "Group", &e.gid}} {
		if !data.Truth(one.who) {
			continue
		}
		id, ok, err := one.ask(ctx, e.m.env, one.who)
		if err != nil {
			return false, err
		}
		if !ok {
			return e.fail(one.word + " " + data.Str(one.who) + " does not exist")
		}
		*one.id = id
	}
	if e.a.SourceHashUpdate && !data.Truth(e.a.SourceHash) {
		e.warn("The 'source_hash_update' argument is ignored when 'source_hash' is not also specified.")
	}
	return false, nil
}

// findSource finds the source to use, and whether it is a file of the minion.
func (e *extraction) findSource(ctx context.Context) (bool, error) {
	source, _, err := calls.SourceList(
		ctx, e.m.env, e.a.Source, e.a.SourceHash, change.CallOf(ctx).SaltEnv)
	if err != nil {
		return false, err
	}
	if !data.Truth(source) {
		return e.fail(`Invalid source "` + data.Str(e.a.Source) + `"`)
	}
	e.source = data.Str(source)
	scheme := fileclient.Scheme(e.source)
	if e.local = scheme == "" || scheme == "file" || len(scheme) == 1; !e.local {
		return false, nil
	}
	path := strings.TrimRight(strings.TrimPrefix(e.source, "file://"), "/")
	if real, err := filepath.EvalSymlinks(accounts.Expand(path)); err == nil {
		path = real
	}
	if e.source = path; !paths.IsFile(path) {
		return e.fail("Source file '" + e.shown() + "' does not exist")
	}
	return false, nil
}

const formats = "tar, rar, zip"

func (e *extraction) checkFormat(context.Context) (bool, error) {
	e.format = strings.ToLower(data.Str(e.a.ArchiveFormat))
	if !data.Truth(e.a.ArchiveFormat) {
		if e.format = guess(e.source); e.format == "" {
			return e.fail("Could not guess archive_format from the value of the 'source' argument. Please set this archive_format to one of " +
				"the following: " + formats)
		}
	}
	if !slices.Contains(strings.Split(formats, ", "), e.format) {
		return e.fail("Invalid archive_format '" + e.format +
			"'. Either set it to a supported value (" + formats + ") or remove this argument " +
			"and the archive format will be guessed based on file extension.")
	}
	if e.a.Options != nil {
		e.a.Options = data.Str(e.a.Options)
	}
	return false, nil
}

// guess returns the format of an archive from its name (salt/utils/files.py, guess_archive_type).
func guess(source string) string {
	if _, rest, ok := strings.Cut(source, "://"); ok {
		source, _, _ = strings.Cut(rest, "?")
		source, _, _ = strings.Cut(source, "#")
	}
	name := strings.ToLower(strings.TrimRight(source, "/"))
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

// stripped returns how many leading directories the tar options strip, nil for none.
func (e *extraction) stripped() any {
	if e.format != "tar" || !data.Truth(e.a.Options) {
		return nil
	}
	found := regexp.MustCompile(`--strip(?:-components)?(?:\s+|=)["']?(\d+)["']?`).FindStringSubmatch(data.Str(e.a.Options))
	if found == nil {
		return nil
	}
	n, err := strconv.ParseInt(found[1], 10, 32)
	if err != nil {
		return nil
	}
	return n
}

func (e *extraction) checkZip(context.Context) (bool, error) {
	if e.format != "zip" {
		switch {
		case data.Truth(e.a.Password):
			return e.fail("The 'password' argument is only supported for zip archives")
		case data.Truth(e.a.Options) && e.format != "tar":
			return e.fail("The 'options' argument is only compatible with the following archive formats: tar, zip")
		}
		return false, nil
	}
	if data.Truth(e.a.Options) {
		if e.a.UseCmdUnzip != nil && !data.Truth(e.a.UseCmdUnzip) {
			return e.fail("'use_cmd_unzip' cannot be set to False if CLI options are being specified (via the 'options' argument). Either " +
				"remove 'use_cmd_unzip', or set it to True.")
		}
		e.a.UseCmdUnzip = true
	}
	if !data.Truth(e.a.Password) {
		return false, nil
	}
	if e.a.UseCmdUnzip == nil {
		e.a.UseCmdUnzip = false
	} else if data.Truth(e.a.UseCmdUnzip) {
		e.warn("Using a password in combination with setting 'use_cmd_unzip' to True is considered insecure. It is recommended to remove the " +
			"'use_cmd_unzip' argument (or set it to False) and allow Salt to extract the archive using Python's built-in ZIP file support.")
	}
	return false, nil
}

func (e *extraction) checkTrim(context.Context) (bool, error) {
	e.trim = e.a.TrimOutput
	switch t := e.trim.(type) {
	case bool:
		if t {
			e.trim = int64(100)
		}
	case int64, nil:
	default:
		n, err := strconv.ParseInt(strings.TrimSpace(data.Str(t)), 10, 64)
		if err != nil {
			return e.fail("Invalid value for trim_output, must be True/False or an integer")
		}
		e.trim = n
	}
	return false, nil
}

func (e *extraction) findSum(ctx context.Context) (bool, error) {
	e.sum = data.NewMap()
	if !data.Truth(e.a.SourceHash) {
		return false, nil
	}
	sum, err := loader.CallAs[*data.Map](ctx, e.m.env, "file.get_source_sum", nil, data.NewMap(
		"source", e.source, "source_hash", e.a.SourceHash,
		"source_hash_name", e.a.SourceHashName, "saltenv", change.CallOf(ctx).SaltEnv))
	if sum != nil {
		e.sum = sum
	}
	return false, err
}

// skipKnown ends the state if the archive is the same as in the last run and that is sufficient.
func (e *extraction) skipKnown(ctx context.Context) (bool, error) {
	if !e.a.SkipFilesListVerify {
		return false, nil
	}
	cached := e.source
	if !e.local {
		var err error
		cached, err = calls.IsCached(ctx, e.m.env, e.source, change.CallOf(ctx).SaltEnv)
		if err != nil {
			return false, err
		}
		if cached == "" {
			cached, err = loader.CallAs[string](ctx, e.m.env, "cp.cache_dest", []any{e.source},
				data.NewMap("saltenv", change.CallOf(ctx).SaltEnv))
			if err != nil {
				return false, err
			}
		}
	}
	known, err := e.m.knownSum(cached, "")
	if err != nil || e.sum.Len() == 0 || known == nil || known.Text("hsum") != e.sum.Text("hsum") {
		return false, err
	}
	var result any = true
	if change.Test(ctx) {
		result = nil
	}
	return e.end(result, "Archive "+e.shown()+
		" existing source sum is the same as the expected one and skip_files_list_verify argument was set "+
		"to True. Extraction is not needed")
}

// fetch downloads the archive to the cache.
func (e *extraction) fetch(ctx context.Context) (bool, error) {
	if e.local {
		e.cached = e.source
		return false, e.remember()
	}
	if change.Test(ctx) {
		return e.end(nil, "Archive "+e.shown()+
			" would be cached (if necessary) and checked to discover if extraction is needed")
	}
	env := change.CallOf(ctx).SaltEnv
	if _, ok := e.m.env.Registry("states").Func("file.cached"); !ok {
		return e.fail("Unable to cache " + e.shown() + ", file.cached state not available")
	}
	result, err := e.state(ctx, "file.cached",
		data.NewMap("source_hash", e.a.SourceHash, "source_hash_name", e.a.SourceHashName,
			"skip_verify", e.a.SkipVerify, "saltenv", env, "use_etag", e.a.UseETag), e.source)
	if err != nil {
		return e.fail("Failed to cache " + e.shown() + ": " + err.Error())
	}
	if !data.Truth(result.Value("result")) {
		e.ret = result
		return true, nil
	}
	if e.cached, err = calls.IsCached(ctx, e.m.env, e.source, env); err != nil {
		return false, err
	}
	return false, e.remember()
}

// remember reads the hash of the last run.
func (e *extraction) remember() (err error) {
	e.before, err = e.m.knownSum(e.cached, "")
	return err
}

// list lists the contents of the archive.
func (e *extraction) list(ctx context.Context) (bool, error) {
	if data.Truth(e.a.SourceHash) && e.a.SourceHashUpdate && !e.a.SkipVerify {
		if err := e.m.keepSum(ctx, e.cached); err != nil {
			return false, err
		}
	}
	if e.format == "zip" && !data.Truth(e.a.Password) {
		locked, err := loader.CallAs[bool](ctx, e.m.env, "archive.is_encrypted", []any{e.cached},
			data.NewMap("clean", false, "saltenv", change.CallOf(ctx).SaltEnv,
				"use_etag", e.a.UseETag))
		if err == nil && locked {
			return e.fail("Archive " + e.shown() +
				" is password-protected, but no password was specified. Please set the 'password' argument.")
		}
	}
	contents, err := loader.CallAs[*data.Map](ctx, e.m.env,
		"archive.list", []any{e.cached}, data.NewMap(
			"archive_format", e.format, "options", e.a.ListOptions,
			"strip_components", e.stripped(), "clean", false, "verbose", true, "use_etag",
			e.a.UseETag))
	if loader.KindOf(err) == loader.KindExecution {
		return e.fail(e.unlistable(err))
	}
	if err != nil {
		return false, err
	}
	e.contents = contents
	if e.a.EnforceToplevel && (len(e.of("top_level_dirs")) > 1 ||
		len(e.of("top_level_files")) > 0) {
		return e.fail("Archive does not have a single top-level directory. To allow this archive to be extracted, set 'enforce_toplevel' to False. " +
			"To avoid a '" + e.format + "-bomb' it may also be advisable to set a top-level directory by adding it to the 'name' value (for " +
			"example, setting 'name' to " + e.name + "some_dir instead of " + e.name + ").")
	}
	if e.a.Clean && e.a.CleanParent {
		return e.fail("Only one of 'clean' and 'clean_parent' can be set to True")
	}
	return e.refuseOutside()
}

func (e *extraction) unlistable(err error) string {
	var ways []string
	if !data.Truth(e.a.IfMissing) {
		ways = append(ways, "'if_missing' must be set")
	}
	if !data.Truth(e.a.EnforceOwnershipOn) && (data.Truth(e.a.User) || data.Truth(e.a.Group)) {
		ways = append(ways, "Ownership cannot be managed without setting 'enforce_ownership_on'.")
	}
	if len(ways) == 0 {
		return err.Error()
	}
	text := "The following workarounds must be used for this state to proceed"
	if e.format == "tar" {
		text = "If the source archive is a tar archive compressed using a compression type not natively supported by the tar command, then " +
			"setting the 'list_options' argument may allow the contents to be listed. Otherwise, if Salt is unable to determine the " +
			"files/directories in the archive, the following workaround(s) would need to be used for this state to proceed"
	}
	return err.Error() + "\n\n" + text + " (assuming the source file is a valid " + e.format +
		" archive):\n" + bullets(ways)
}

func bullets(list []string) string {
	var b strings.Builder
	for _, item := range list {
		b.WriteString("\n- " + item)
	}
	return b.String()
}

// of returns one of the lists of the archive's contents.
func (e *extraction) of(kind string) []string {
	list, _ := e.contents.Value(kind).([]any)
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = data.Str(v)
	}
	return out
}

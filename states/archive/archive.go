// Package archive is Salt's state archive: directories with the contents of archives
// (salt/states/archive.py).
//
// archive.go contains the sequence of steps, source.go finds the archive and checks the arguments,
// compare.go checks the existing files and removes those in the way, extract.go unpacks, owner.go
// sets owners, and sums.go handles the hashes of archives in the cache.
//
// Differences from Salt: an archive with a name that leads outside the directory is rejected before
// anything changes, and nothing is written through symbolic links that lead outside. An archive
// larger than the free space is rejected as well. Files are put in place atomically. Devices and
// pipes are only created by the program tar, if options are given.
package archive

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileclient"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state archive.
func Plugin() loader.Plugin { return loader.Plugin{Name: "archive", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("extracted", m.extracted).Secret("password"),
	}}, nil
}

type extractedArgs struct {
	Name                string
	Source              any
	SourceHash          any       `default:"None"`
	SourceHashName      any       `default:"None"`
	SourceHashUpdate    bool      `default:"False"`
	SkipFilesListVerify bool      `default:"False"`
	SkipVerify          bool      `default:"False"`
	Password            any       `default:"None"`
	Options             any       `default:"None"`
	ListOptions         any       `default:"None"`
	Force               bool      `default:"False"`
	Overwrite           bool      `default:"False"`
	Clean               bool      `default:"False"`
	CleanParent         bool      `default:"False"`
	User                any       `default:"None"`
	Group               any       `default:"None"`
	IfMissing           any       `default:"None"`
	TrimOutput          any       `default:"False"`
	UseCmdUnzip         any       `default:"None"`
	ExtractPerms        bool      `default:"True"`
	EnforceToplevel     bool      `default:"True"`
	EnforceOwnershipOn  any       `default:"None"`
	ArchiveFormat       any       `default:"None"`
	UseETag             bool      `name:"use_etag" default:"False"`
	Kwargs              *data.Map `kwargs:"kwargs"`
}

// extracted unpacks an archive into a directory, unless the directory already has everything in the
// archive.
//
// name, source
//
//	The directory, and the archive: a file of the minion, of the file server or of a web server,
//	or a list of which the first existing one is used.
//
// source_hash, source_hash_name, source_hash_update, skip_verify
//
//	The hash that the archive must have, or a file of hashes and the name in it; unpack again when
//	the hash changes; accept an archive from a web server without a hash.
//
// archive_format
//
//	tar, zip or rar, if the name of the source does not tell.
//
// options, list_options, use_cmd_unzip, password
//
//	Options for the program tar or unzip, which is used instead of the built-in unpacker; a
//	decompression command for listing the archive; use the program unzip; the password of a ZIP
//	archive.
//
// if_missing, skip_files_list_verify
//
//	Do nothing if this path exists; do nothing if the archive still has the hash of the last run.
//
// overwrite, force, clean, clean_parent
//
//	Always unpack; remove paths of another kind, such as a file in place of a directory; remove
//	the top-level entries of the archive first; remove the whole directory first.
//
// user, group, enforce_ownership_on
//
//	The owner of all top-level entries of the archive, or of this path.
//
// enforce_toplevel
//
//	Reject archives that do not have a single top-level directory.
//
// extract_perms, trim_output, keep_source, use_etag
//
//	Use the modes in a ZIP archive; how many names to show; keep the archive in the minion's
//	cache; use ETags with web servers.
//
//	graylog2-server:
//	  archive.extracted:
//	    - name: /opt/
//	    - source: https://github.com/downloads/Graylog2/graylog2-server/graylog2-server-0.9.6p1.tar.lzma
//	    - source_hash: md5=499ae16dcae71eeb7c3a30c75ea7a1a6
//	    - options: v
//	    - list_options: lzma --decompress --stdout
func (m *module) extracted(ctx context.Context, a extractedArgs) (any, error) {
	e := &extraction{m: m, a: a, ret: data.NewMap("name", a.Name, "result", false,
		"changes", data.NewMap(), "comment", "")}
	for _, step := range []func(context.Context) (bool, error){
		e.checkFlags, e.checkPaths, e.checkOwners, e.findSource, e.checkFormat, e.checkZip,
		e.checkTrim, e.findSum, e.skipKnown, e.fetch, e.list, e.compare, e.explain,
	} {
		if done, err := step(ctx); done || err != nil {
			return e.outcome(err)
		}
	}
	if e.needed {
		if done, err := e.extract(ctx); done || err != nil {
			return e.outcome(err)
		}
	}
	if err := e.own(ctx); err != nil {
		return e.outcome(err)
	}
	e.conclude(ctx)
	e.owned.report()
	return e.outcome(e.dropSource(ctx))
}

// An extraction is one call of extracted in progress.
type extraction struct {
	m   *module
	a   extractedArgs
	ret *data.Map

	name       string // with a trailing slash
	keep       bool   // keep the archive in the cache
	uid, gid   int64  // -1 for no owner
	source     string
	local      bool
	format     string
	trim       any
	sum        *data.Map // expected hash of the source
	cached     string
	before     *data.Map // hash from the last run
	contents   *data.Map
	needed     bool
	byHash     bool // the hash has changed
	missing    bool // files are missing
	madeFolder bool
	files      []any
	owned      *ownerChange
}

// outcome returns the result. An error of a called function becomes the comment of a failure.
func (e *extraction) outcome(err error) (any, error) {
	if err != nil {
		if loader.KindOf(err) != loader.KindExecution && loader.KindOf(err) != loader.KindNotFound {
			return nil, err
		}
		e.fail(err.Error())
	}
	return e.ret, nil
}

// fail ends the state with a failure.
func (e *extraction) fail(comment string) (bool, error) {
	e.ret.Set("result", false)
	e.ret.Set("comment", comment)
	return true, nil
}

// end ends the state with a result.
func (e *extraction) end(result any, comment string) (bool, error) {
	e.ret.Set("result", result)
	e.ret.Set("comment", comment)
	return true, nil
}

func (e *extraction) appendComment(more string) { e.ret.Set("comment", e.ret.Text("comment")+more) }

func (e *extraction) warn(text string) {
	list, _ := e.ret.Value("warnings").([]any)
	e.ret.Set("warnings", append(list, text))
}

func (e *extraction) changes() *data.Map { return e.ret.Value("changes").(*data.Map) }

func (e *extraction) call(
	ctx context.Context, fun string, kwargs *data.Map, args ...any,
) (any, error) {
	return e.m.env.Call(ctx, fun, args, kwargs)
}

// state calls a function of another state.
func (e *extraction) state(
	ctx context.Context, fun string, kwargs *data.Map, args ...any,
) (*data.Map, error) {
	v, err := e.m.env.Registry("states").Invoke(ctx, fun, args, kwargs)
	ret, _ := v.(*data.Map)
	return ret, err
}

// shown returns the source without credentials, for messages.
func (e *extraction) shown() string { return fileclient.Redact(e.source) }

// explain adds to the comment why a changed hash makes it necessary to unpack.
func (e *extraction) explain(context.Context) (bool, error) {
	if !e.needed && e.a.SourceHashUpdate && e.before != nil {
		now, err := e.m.knownSum(e.cached, e.before.Text("hash_type"))
		if err != nil {
			return false, err
		}
		if now == nil || !data.Equal(now, e.before) {
			e.needed, e.byHash = true, true
		}
	}
	return false, nil
}

func (e *extraction) because() string {
	switch {
	case e.byHash:
		return ", due to source_hash update"
	case e.missing:
		return ", due to absence of one or more files/dirs"
	}
	return ""
}

// conclude adds a summary of what was done.
func (e *extraction) conclude(ctx context.Context) {
	switch {
	case e.needed && len(e.files) > 0:
		if e.madeFolder {
			e.changes().Set("directories_created", []any{e.name})
		}
		var files any = e.files
		if e.noOutput() {
			files = e.files[0]
		}
		e.changes().Set("extracted_files", files)
		e.appendComment(e.shown() + " extracted to " + e.name + e.because() +
			". Output was trimmed to " + data.Str(e.trim) + " number of lines")
		e.ret.Set("result", true)
	case e.needed:
		e.fail("No files were extracted from " + e.shown())
	default:
		e.ret.Set("result", true)
		e.ret.Set("comment", "All files in archive are already present")
		if change.Test(ctx) && data.Truth(e.changes().Value("updated ownership")) {
			e.ret.Set("result", nil)
			e.appendComment(". Ownership would be updated on one or more files/directories.")
		}
	}
}

// noOutput reports whether tar printed no file names.
func (e *extraction) noOutput() bool { return len(e.files) == 1 && e.files[0] == silence }

// silence is the placeholder in files if tar printed nothing.
const silence = "no tar output so far"

// dropSource removes the archive from the cache unless it is to be kept.
func (e *extraction) dropSource(ctx context.Context) error {
	if e.local || e.keep {
		return nil
	}
	result, err := e.state(ctx, "file.not_cached",
		data.NewMap("saltenv", change.CallOf(ctx).SaltEnv), e.source)
	if err == nil && !data.Truth(result.Value("result")) {
		e.warn(result.Text("comment"))
	}
	return err
}

// there reports whether a path exists. It returns an error if that cannot be determined.
func there(path string) (bool, error) {
	_, err := os.Stat(path)
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	}
	return false, loader.Execution("%w", loader.OSError(err))
}

// join returns a path below a directory. Leading slashes of the second argument are ignored.
func join(dir, name string) string {
	return strings.TrimRight(dir, "/") + "/" + strings.TrimLeft(name, "/")
}

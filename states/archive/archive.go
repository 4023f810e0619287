// Package archive is Salt's state archive: directories that hold what archives do (salt/states/archive.py).
//
// archive.go has the order of the work, source.go finds the archive and says what is wrong with the arguments, compare.go looks at what
// is there, clean.go removes, extract.go unpacks, owner.go is about owners, and sums.go about the hashes of archives in the cache.
//
// What differs: an archive in which a name leads out of the directory is refused before anything changes, and nothing is written through
// symbolic links that lead out; one that holds more than the file system has room for is refused as well; files come to their places
// as a whole; devices and pipes are only made by the program tar, with options.
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

// extracted unpacks an archive into a directory, where not all that the archive holds is there.
//
// name, source
//
//	The directory, and the archive: a file of the minion, of the file server or of a web server, or a list of which the first that is
//	there counts.
//
// source_hash, source_hash_name, source_hash_update, skip_verify
//
//	The hash that the archive must have, or a file with hashes and the name in it; unpack again when the hash changes; take an archive
//	of a web server without.
//
// archive_format
//
//	tar, zip or rar, where the name of the source does not tell.
//
// options, list_options, use_cmd_unzip, password
//
//	Options of the program tar or unzip, which is then used; the command that decompresses, to list the archive; use the program unzip;
//	the password of a ZIP archive.
//
// if_missing, skip_files_list_verify
//
//	Do nothing when this path exists; when the archive has the hash that it had last time.
//
// overwrite, force, clean, clean_parent
//
//	Unpack in any case; remove what is of another kind, as a file where a directory is to be; remove what stands at the top of the archive
//	before; remove the whole directory before.
//
// user, group, enforce_ownership_on
//
//	Whom all that is at the top of the archive, or this path, is to belong to.
//
// enforce_toplevel
//
//	Refuse archives that have not one directory at the top.
//
// extract_perms, trim_output, keep_source, use_etag
//
//	Take modes from a ZIP archive; how many names to show; keep the archive in the minion's cache; ask web servers by ETag.
//
//	graylog2-server:
//	  archive.extracted:
//	    - name: /opt/
//	    - source: https://github.com/downloads/Graylog2/graylog2-server/graylog2-server-0.9.6p1.tar.lzma
//	    - source_hash: md5=499ae16dcae71eeb7c3a30c75ea7a1a6
//	    - options: v
//	    - list_options: lzma --decompress --stdout
func (m *module) extracted(ctx context.Context, a extractedArgs) (any, error) {
	e := &extraction{m: m, a: a, ret: data.NewMap("name", a.Name, "result", false, "changes", data.NewMap(), "comment", "")}
	for _, step := range []func(context.Context) (bool, error){
		e.checkFlags, e.checkPaths, e.checkOwners, e.findSource, e.checkFormat, e.checkZip, e.checkTrim, e.findSum, e.skipKnown,
		e.fetch, e.list, e.compare, e.explain,
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

// An extraction is one call on its way.
type extraction struct {
	m   *module
	a   extractedArgs
	ret *data.Map

	name       string // with a slash at the end
	keep       bool   // the archive stays in the cache
	uid, gid   int64  // -1 is nobody
	source     string
	local      bool
	format     string
	trim       any
	sum        *data.Map // that the source is to have
	cached     string
	before     *data.Map // sum of last time
	contents   *data.Map
	needed     bool
	byHash     bool // the hash has changed
	missing    bool // something is not there
	madeFolder bool
	files      []any
	owned      *owning
}

// outcome returns the result, or an error of a function that was called as its comment.
func (e *extraction) outcome(err error) (any, error) {
	if err != nil {
		if loader.KindOf(err) != loader.KindExecution && loader.KindOf(err) != loader.KindNotFound {
			return nil, err
		}
		e.fail(err.Error())
	}
	return e.ret, nil
}

// fail ends the state with a comment.
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

func (e *extraction) say(more string) { e.ret.Set("comment", e.ret.Text("comment")+more) }

func (e *extraction) warn(text string) {
	list, _ := e.ret.Value("warnings").([]any)
	e.ret.Set("warnings", append(list, text))
}

func (e *extraction) changes() *data.Map { return e.ret.Value("changes").(*data.Map) }

func (e *extraction) call(ctx context.Context, fun string, kwargs *data.Map, args ...any) (any, error) {
	return e.m.env.Call(ctx, fun, args, kwargs)
}

// state calls a function of another state.
func (e *extraction) state(ctx context.Context, fun string, kwargs *data.Map, args ...any) (*data.Map, error) {
	v, err := e.m.env.Shelf("states").Invoke(ctx, fun, args, kwargs)
	ret, _ := v.(*data.Map)
	return ret, err
}

// shown is the source for people.
func (e *extraction) shown() string { return fileclient.Redact(e.source) }

// explain says why a second look at the hash makes it necessary to unpack.
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

// conclude says what was done.
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
		e.say(e.shown() + " extracted to " + e.name + e.because() + ". Output was trimmed to " + data.Str(e.trim) + " number of lines")
		e.ret.Set("result", true)
	case e.needed:
		e.fail("No files were extracted from " + e.shown())
	default:
		e.ret.Set("result", true)
		e.ret.Set("comment", "All files in archive are already present")
		if change.Test(ctx) && data.Truth(e.changes().Value("updated ownership")) {
			e.ret.Set("result", nil)
			e.say(". Ownership would be updated on one or more files/directories.")
		}
	}
}

// noOutput reports whether tar said nothing of what it unpacked.
func (e *extraction) noOutput() bool { return len(e.files) == 1 && e.files[0] == silence }

// silence stands for the files where tar printed none.
const silence = "no tar output so far"

// dropSource removes the archive from the cache where it is not to be kept.
func (e *extraction) dropSource(ctx context.Context) error {
	if e.local || e.keep {
		return nil
	}
	result, err := e.state(ctx, "file.not_cached", data.NewMap("saltenv", change.CallOf(ctx).SaltEnv), e.source)
	if err == nil && !data.Truth(result.Value("result")) {
		e.warn(result.Text("comment"))
	}
	return err
}

// there reports whether a path exists; one that cannot be looked at is an error.
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

// join returns a path below a directory; slashes at the beginning of the second count for nothing.
func join(dir, name string) string {
	return strings.TrimRight(dir, "/") + "/" + strings.TrimLeft(name, "/")
}

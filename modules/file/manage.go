package file

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileclient"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

// managed writes files as the state file.managed asks.
type managed struct {
	env     *loader.Env
	backups backups
	diffs   diffs
	dirs    directories
	perms   perms
}

type manageFileArgs struct {
	Name           string
	Sfn            any
	Ret            any
	Source         any
	SourceSum      *data.Map
	User           any
	Group          any
	Mode           any
	Attrs          any
	Saltenv        any
	Backup         any
	Makedirs       bool      `default:"False"`
	Template       any       `default:"None"`
	ShowChanges    bool      `default:"True"`
	Contents       any       `default:"None"`
	DirMode        any       `default:"None"`
	FollowSymlinks bool      `default:"True"`
	SkipVerify     bool      `default:"False"`
	KeepMode       bool      `default:"False"`
	Encoding       any       `default:"None"`
	EncodingErrors string    `default:"'strict'"`
	Seuser         any       `default:"None"`
	Serole         any       `default:"None"`
	Setype         any       `default:"None"`
	Serange        any       `default:"None"`
	VerifySSL      bool      `name:"verify_ssl" default:"True"`
	UseETag        bool      `name:"use_etag" default:"False"`
	Kwargs         *data.Map `kwargs:"kwargs"`
}

// manageFile writes a file with the source that file.get_managed returned, and returns the result
// of the state file.managed.
//
// sfn
//
//	The path of the content; empty if it is not fetched yet.
//
// ret
//
//	The state result so far, or an empty dictionary.
//
// source_sum
//
//	The hash of the content, as a dictionary with hash_type and hsum.
//
// contents : None
//
//	The content itself.
//
// Further arguments are those of file.managed.
//
// CLI Example:
//
//	salt '*' file.manage_file /etc/httpd/conf.d/httpd.conf '' '{}' salt://http/httpd.conf '{hash_type: 'md5', 'hsum': <md5sum>}' root root '755' '' base ''
func (m managed) manageFile(ctx context.Context, a manageFileArgs) (any, error) {
	a.Name = home(a.Name)
	w := &work{manageFileArgs: a, save: m.backups.saver(a.Backup), sum: a.SourceSum.Clone()}
	if w.sum == nil {
		w.sum = data.NewMap()
	}
	w.begin()
	err := m.manage(ctx, w)
	if stop := (*halt)(nil); errors.As(err, &stop) {
		w.ret.Set("result", false)
		w.ret.Set("comment", stop.comment)
		clean(w.file)
		return w.ret, nil
	}
	if err != nil {
		return nil, err
	}
	clean(w.file)
	return w.ret, nil
}

// A work is the state of one manage_file call.
type work struct {
	manageFileArgs
	file         string // path of the content
	sum          *data.Map
	ret, changes *data.Map
	save         func(path string, old fs.FileInfo) error // copies the old file; nil keeps no copy
	body         []byte                                   // encoded contents; nil without contents
}

// A halt is an error that ends the call with a comment.
type halt struct{ comment string }

// Error returns the comment.
func (h *halt) Error() string { return h.comment }

func (w *work) begin() {
	w.changes = data.NewMap()
	if so, ok := w.Ret.(*data.Map); ok && so.Len() > 0 {
		w.ret = so.Clone()
		if old, ok := so.Value("changes").(*data.Map); ok {
			w.changes.Update(old)
		}
		w.ret.Set("changes", w.changes)
	} else {
		w.ret = data.NewMap("name", w.Name, "changes", w.changes, "comment", "", "result", true)
	}
	if data.Truth(w.Sfn) {
		w.file = data.Str(w.Sfn)
	}
	if sum := w.sum.Value("hsum"); sum != nil {
		w.sum.Set("hsum", strings.ToLower(data.Str(sum)))
	}
}

func (m managed) manage(ctx context.Context, w *work) error {
	var err error
	if w.Contents != nil {
		if w.body, err = encoded(w.Contents, w.Encoding, w.EncodingErrors); err != nil {
			return err
		}
		w.body = append([]byte{}, w.body...) // not nil
	}
	if data.Truth(w.Source) {
		if err := m.fetch(ctx, w); err != nil {
			return err
		}
		if w.KeepMode {
			w.Mode = sourceMode(ctx, m.env, data.Str(w.Source), w.Saltenv, w.Mode)
		}
	}
	if paths.IsFile(w.Name) || paths.IsLink(w.Name) {
		return m.update(ctx, w)
	}
	return m.create(ctx, w)
}

// fetch fetches the source unless that is done.
func (m managed) fetch(ctx context.Context, w *work) error {
	if w.file != "" {
		return nil
	}
	var err error
	w.file, err = calls.CacheFile(ctx, m.env, calls.Source{
		Path: w.Source, SaltEnv: w.Saltenv, NoVerify: !w.VerifySSL, UseETag: w.UseETag,
	})
	if err != nil {
		return err
	}
	if w.file == "" {
		return &halt{"Source file '" + data.Str(w.Source) + "' not found"}
	}
	kind := w.sum.Text("hash_type")
	if kind == "" {
		kind = m.hashType()
	}
	sum, err := hashFile(w.file, kind)
	w.sum = data.NewMap("hash_type", kind, "hsum", sum)
	return err
}

func (m managed) hashType() string {
	if kind, ok := m.env.Option("hash_type").(string); ok {
		return kind
	}
	return "sha256"
}

// verified checks the hash of a source, except for sources on Salt's file server.
func (w *work) verified(subject, more string) error {
	if fileclient.Scheme(data.Str(w.Source)) == "salt" || w.SkipVerify || w.UseETag {
		return nil
	}
	kind := w.sum.Text("hash_type")
	sum, err := hashFile(w.file, kind)
	if err != nil || sum == w.sum.Value("hsum") {
		return err
	}
	return &halt{"Specified " + kind + " checksum for " + subject + " (" + w.sum.Text("hsum") +
		") does not match actual checksum (" + data.Str(sum) + ")" + more}
}

// update changes an existing file.
func (m managed) update(ctx context.Context, w *work) error {
	real := w.Name
	if w.FollowSymlinks && paths.IsLink(w.Name) {
		real = realPath(w.Name, 0)
	}
	if err := m.updateFromSource(w, real); err != nil {
		return err
	}
	if w.body != nil {
		if err := m.updateFromContents(w, real); err != nil {
			return err
		}
	}
	if paths.IsLink(w.Name) && !w.FollowSymlinks {
		if err := w.replaceLink(); err != nil {
			return err
		}
	}
	if err := m.setPerms(ctx, w, w.Mode, w.FollowSymlinks); err != nil {
		return err
	}
	switch {
	case w.changes.Len() > 0:
		w.ret.Set("comment", "File "+w.Name+" updated")
	case data.Truth(w.ret.Value("result")):
		w.ret.Set("comment", "File "+w.Name+" is in the correct state")
	}
	return nil
}

func (m managed) updateFromSource(w *work, real string) error {
	if !data.Truth(w.Source) {
		return nil
	}
	if w.FollowSymlinks || !paths.IsLink(real) {
		kind := w.sum.Text("hash_type")
		if kind == "" {
			kind = m.hashType()
		}
		if sum, err := hashFile(real, kind); err != nil || sum == w.sum.Value("hsum") {
			return err
		}
	}
	err := w.verified(data.Str(w.Source),
		". If the 'source_hash' value refers to a remote file with multiple "+
			"possible matches, then it may be necessary to set 'source_hash_name'.")
	if err != nil {
		return err
	}
	diff := "<show_changes=False>"
	switch {
	case m.diffs.obfuscates():
		diff = "<Obfuscated Template>"
	case w.ShowChanges:
		var err error
		if diff, err = m.diffs.files(real, w.file, diffArgs{ShowChanges: true}); err != nil {
			diff = err.Error()
		}
	}
	if diff != "" {
		w.changes.Set("diff", diff)
	}
	return w.commit(real, copyOf(w.file))
}

func (m managed) updateFromContents(w *work, real string) error {
	diff, err := m.diffs.body(real, w.body, diffArgs{ShowChanges: w.ShowChanges, Template: true})
	if err != nil {
		warned, _ := w.ret.Value("warnings").([]any)
		w.ret.Set("warnings", append(warned, "Failed to detect changes to file: "+err.Error()))
		return nil
	}
	if diff == "" {
		return nil
	}
	w.changes.Set("diff", diff)
	return w.commit(real, bytesOf(w.body))
}

// replaceLink replaces a link with a file.
func (w *work) replaceLink() error {
	fill := bytesOf(w.body)
	if w.body == nil {
		if w.file == "" {
			return &halt{"Source file '" + data.Str(w.Source) + "' not found"}
		}
		if err := w.verified(w.Name, ""); err != nil {
			return err
		}
		fill = copyOf(w.file)
	}
	if err := w.commit(w.Name, fill); err != nil {
		return err
	}
	w.changes.Set("diff", "Replace symbolic link with regular file")
	return nil
}

// commit writes the content of the file. On failure it removes the diff from the changes.
func (w *work) commit(path string, fill func(*os.File) error) error {
	if err := place(path, placing{save: w.save}, fill); err != nil {
		w.changes.Delete("diff")
		return &halt{"Failed to commit change: " + osError(err).Error()}
	}
	return nil
}

// setPerms sets owners, mode and attributes.
func (m managed) setPerms(ctx context.Context, w *work, mode any, follow bool) error {
	ret, _, err := m.perms.set(ctx,
		permsArgs{w.Name, w.ret, w.User, w.Group, mode, w.Attrs, follow, w.Seuser,
			w.Serole, w.Setype, w.Serange, accessListOf(w.Kwargs)})
	if err != nil {
		return err
	}
	w.ret, w.changes = ret, ret.Value("changes").(*data.Map)
	return nil
}

// create makes a new file.
func (m managed) create(ctx context.Context, w *work) error {
	if data.Truth(w.Source) {
		if err := w.verified(w.Name, ""); err != nil {
			return err
		}
	}
	if filepath.Base(w.Name) == w.Name || !paths.IsDir(filepath.Dir(w.Name)) {
		if !w.Makedirs {
			return &halt{"Parent directory not present"}
		}
		if _, err := m.dirs.makeParents(ctx, w.Name,
			owner{w.User, w.Group, w.dirMode(), accessListOf(w.Kwargs)}); err != nil {
			return err
		}
	}
	mask := umask(ctx)
	first := 0o666 &^ mask
	if data.Truth(w.Mode) {
		first &^= 0o077 // private until the owners are set
	}
	if err := m.fillNew(ctx, w, first); err != nil {
		return err
	}
	mode := w.Mode
	if mode == nil {
		mode = "0o" + strconv.FormatUint(uint64(0o666&^mask), 8)
	}
	if err := m.setPerms(ctx, w, mode, false); err != nil {
		return err
	}
	if w.ret.Text("comment") == "" {
		w.ret.Set("comment", "File "+w.Name+" updated")
	}
	switch {
	case testMode(ctx, m.env):
		w.ret.Set("comment", "File "+w.Name+" not updated")
	case w.changes.Len() == 0 && data.Truth(w.ret.Value("result")):
		w.ret.Set("comment", "File "+w.Name+" is in the correct state")
	}
	return nil
}

// fillNew writes the new file, with its content if there is one.
func (m managed) fillNew(ctx context.Context, w *work, mode fs.FileMode) error {
	switch {
	case testMode(ctx, m.env):
		return nil
	case data.Truth(w.Source) && w.body == nil:
		if err := place(w.Name, placing{}, copyOf(w.file)); err != nil {
			return osError(err)
		}
		w.changes.Set("diff", "New file")
		return nil
	case w.body != nil:
		if err := place(w.Name, placing{mode: mode}, bytesOf(w.body)); err != nil {
			return osError(err)
		}
		w.changes.Set("diff", "New file")
		return nil
	}
	err := atomicfile.Write(w.Name, nil, atomicfile.Options{Mode: mode, New: true})
	if err != nil {
		return loader.Execution("%s", reason(err))
	}
	w.changes.Set("new", "file "+w.Name+" created")
	w.ret.Set("comment", "Empty file")
	return nil
}

// reason returns the system's text of an error, in Python's form.
func reason(err error) string {
	number, ok := errors.AsType[syscall.Errno](err)
	if !ok {
		return err.Error()
	}
	text := number.Error()
	return strings.ToUpper(text[:1]) + text[1:]
}

// dirMode returns the mode for missing directories: anyone who may access the file may enter them.
func (w *work) dirMode() any {
	if w.DirMode != nil || w.Mode == nil {
		return w.DirMode
	}
	digits := []byte(data.Str(w.Mode))
	digits = digits[max(0, len(digits)-3):]
	for i, d := range digits {
		if d >= '1' && d <= '7' {
			digits[i] = '0' + (d - '0') | 1
		}
	}
	return string(digits)
}

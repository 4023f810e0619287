package file

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileclient"
	"github.com/brineproject/brine/internal/difflib"
	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/state"
	"github.com/brineproject/brine/state/change"
)

type managedArgs struct {
	Name              string
	Source            any       `default:"None"`
	SourceHash        any       `default:"''"`
	SourceHashName    any       `default:"None"`
	KeepSource        bool      `default:"True"`
	User              any       `default:"None"`
	Group             any       `default:"None"`
	Mode              any       `default:"None"`
	Attrs             any       `default:"None"`
	Template          any       `default:"None"`
	Makedirs          any       `default:"False"`
	DirMode           any       `default:"None"`
	Context           any       `default:"None"`
	Replace           bool      `default:"True"`
	Defaults          any       `default:"None"`
	Backup            any       `default:"''"`
	ShowChanges       bool      `default:"True"`
	Create            bool      `default:"True"`
	Contents          any       `default:"None"`
	TmpDir            string    `default:"''"`
	TmpExt            string    `default:"''"`
	ContentsPillar    any       `default:"None"`
	ContentsGrains    any       `default:"None"`
	ContentsNewline   bool      `default:"True"`
	ContentsDelimiter any       `default:"':'"`
	Encoding          any       `default:"None"`
	EncodingErrors    any       `default:"'strict'"`
	AllowEmpty        bool      `default:"True"`
	FollowSymlinks    bool      `default:"True"`
	CheckCmd          any       `default:"None"`
	SkipVerify        bool      `default:"False"`
	Selinux           *data.Map `default:"None"`
	WinOwner          any       `default:"None"`
	WinPerms          any       `default:"None"`
	WinDenyPerms      any       `default:"None"`
	WinInheritance    any       `default:"True"`
	WinPermsReset     any       `default:"False"`
	VerifySSL         bool      `name:"verify_ssl" default:"True"`
	UseETag           bool      `name:"use_etag" default:"False"`
	Kwargs            *data.Map `kwargs:"kwargs"`
}

// managed manages the content, owner and mode of a file.
//
// source
//
//	The source of the content: salt://, http(s)://, or a path. Of a list, the first existing
//	source is used.
//
// source_hash, source_hash_name, skip_verify, use_etag
//
//	The hash that a file from elsewhere must have, or a file of hashes, and the name to look up in
//	it; or that no hash is needed.
//
// contents, contents_pillar, contents_grains
//
//	The content itself, or its key in pillar or grains.
//
// contents_newline, contents_delimiter, allow_empty
//
//	End the last line with a line feed; the delimiter in keys of pillar and grains; accept an
//	empty content.
//
// user, group, mode, attrs, selinux
//
//	The owner of the file; its mode (keep copies that of the source); letters for chattr; its
//	SELinux context.
//
// template, context, defaults
//
//	The engine that renders the content first, with the variables of context, which override those
//	of defaults.
//
// makedirs, dir_mode
//
//	Create missing parent directories with this mode.
//
// replace, create
//
//	False: do not replace the content of an existing file; do not create a missing one.
//
// backup
//
//	minion: keep a backup of the file that is replaced.
//
// show_changes
//
//	False: omit the diff from the result.
//
// encoding, encoding_errors
//
//	The encoding of the content, and how to treat characters that it cannot represent.
//
// follow_symlinks
//
//	False: replace a link by the file.
//
// check_cmd, tmp_dir, tmp_ext
//
//	A command that checks the new file before it is put in place. The file's path, in tmp_dir and
//	with the suffix tmp_ext, is appended to the command.
//
//	/etc/http/conf/http.conf:
//	  file.managed:
//	    - source: salt://apache/http.conf
//	    - user: root
//	    - mode: "0644"
//	    - template: jinja
func (m contents) managed(ctx context.Context, a managedArgs) (any, error) {
	a.Name = home(a.Name)
	ret, err := m.manage(ctx, a)
	if err != nil {
		return nil, err
	}
	if a.Kwargs.Has("file_mode") {
		ret.Set("warnings", []any{"The 'file_mode' argument will be ignored.  Please use 'mode' instead to set file permissions."})
	}
	return ordered(ret, "changes", "comment", "name", "result"), nil
}

func (m contents) manage(ctx context.Context, a managedArgs) (*data.Map, error) {
	a.Kwargs = a.Kwargs.Clone()
	a.Kwargs.Delete("env")
	keep := strings.EqualFold(data.Str(a.Mode), "keep")
	if keep {
		a.Mode = nil
	}
	a.Mode = normalMode(a.Mode)
	if complaint := a.complaint(keep); complaint != "" {
		return change.Failed(a.Name, complaint), nil
	}
	m.warnOfHash(a.Source, a.SourceHash)
	contents, failed, err := m.contents(ctx, a)
	if err != nil || failed != nil {
		return failed, err
	}
	a.Contents = contents
	if a.Replace && !data.Truth(a.Source) && contents == nil {
		a.Replace = false
		m.env.Log.Warnf("State for file: %s - Neither 'source' nor 'contents' nor 'contents_pillar' nor 'contents_grains' was defined, yet 'replace' "+
			"was set to 'True'. As there is no source to replace the file with, 'replace' has been set to 'False' to avoid reading the file "+
			"unnecessarily.", a.Name)
	}
	a.User = m.ownerOf(a.User, a.Kwargs)
	if !a.Create && !paths.IsFile(a.Name) {
		return change.Unchanged(a.Name, "File "+a.Name+
			" is not present and is not set for creation"), nil
	}
	if onWindows {
		a.User = m.ownerOnWindows(a.WinOwner, a.User, a.Group, a.Name)
		a.Group, a.Mode, a.DirMode, a.Attrs = nil, nil, nil, nil
		keep = false
	}
	complaint, err := m.checkUser(ctx, a.User, a.Group)
	if err != nil {
		return nil, err
	}
	if complaint == "" {
		complaint = a.placeComplaint()
	}
	if complaint != "" {
		return change.Failed(a.Name, complaint), nil
	}
	if paths.Exists(a.Name) && (!a.Replace || m.hasSourceHash(ctx, a)) {
		return m.permitted(ctx, a)
	}
	if texts := accumulatorsOf(ctx).texts[a.Name]; texts != nil {
		vars, _ := a.Context.(*data.Map)
		vars = vars.Clone()
		if vars == nil {
			vars = data.NewMap()
		}
		vars.Set("accumulator", texts)
		a.Context = vars
	}
	if change.Test(ctx) {
		return m.forecast(ctx, a, keep)
	}
	return m.apply(ctx, a, keep)
}

// hasSourceHash reports whether the file already has the hash of its remote source, which then need
// not be fetched. Errors are ignored here, because they occur again when the source is fetched.
func (m contents) hasSourceHash(ctx context.Context, a managedArgs) bool {
	if !data.Truth(a.Source) || !data.Truth(a.SourceHash) || a.SkipVerify || a.Contents != nil ||
		data.Truth(a.Template) {
		return false
	}
	saltenv := change.CallOf(ctx).SaltEnv
	first, hash, err := calls.SourceList(ctx, m.env, a.Source, a.SourceHash, saltenv)
	if err != nil || !data.Truth(first) || !data.Truth(hash) {
		return false
	}
	source := data.Str(first)
	if scheme := fileclient.Scheme(source); scheme == "salt" || scheme == "file" ||
		filepath.IsAbs(source) {
		return false
	}
	sum, err := loader.CallAs[*data.Map](ctx, m.env, "file.get_source_sum",
		[]any{a.Name, source, hash, a.SourceHashName, saltenv},
		data.NewMap("verify_ssl", a.VerifySSL))
	if err != nil || sum.Text("hsum") == "" {
		return false
	}
	has, err := calls.GetHash(ctx, m.env, a.Name, sum.Value("hash_type"))
	return err == nil && has == sum.Value("hsum")
}

// complaint returns a message if the arguments are invalid.
func (a managedArgs) complaint(keep bool) string {
	given := 0
	for _, v := range []any{a.Contents, a.ContentsPillar, a.ContentsGrains} {
		if v != nil {
			given++
		}
	}
	switch {
	case a.Name == "":
		return "Destination file name is required"
	case data.Truth(a.Source) && given > 0:
		return "'source' cannot be used in combination with 'contents', 'contents_pillar', or 'contents_grains'"
	case keep && given > 0:
		return "Mode preservation cannot be used in combination with 'contents', 'contents_pillar', or 'contents_grains'"
	case given > 1:
		return "Only one of 'contents', 'contents_pillar', and 'contents_grains' is permitted"
	}
	return ""
}

func (a managedArgs) placeComplaint() string {
	_, contextGood := a.Context.(*data.Map)
	_, defaultsGood := a.Defaults.(*data.Map)
	switch {
	case !filepath.IsAbs(a.Name):
		return notAbsolute(a.Name)
	case paths.IsDir(a.Name):
		return "Specified target " + a.Name + " is a directory"
	case a.Context != nil && !contextGood:
		return "Context must be formed as a dict"
	case data.Truth(a.Defaults) && !defaultsGood:
		return "Defaults must be formed as a dict"
	}
	return ""
}

// contents returns the content from the arguments, nil if it comes from a source.
func (m contents) contents(ctx context.Context, a managedArgs) (any, *data.Map, error) {
	raw, id, complaint, err := m.rawContents(ctx, a)
	switch {
	case err != nil:
		return nil, nil, err
	case complaint != "":
		return nil, change.Failed(a.Name, complaint), nil
	case raw == nil:
		return nil, nil, nil
	case !a.AllowEmpty && !data.Truth(raw):
		return nil, change.Failed(a.Name,
			id+" value would result in empty contents. Set allow_empty to True to allow the managed file to be empty."), nil
	}
	if body, ok := raw.([]byte); ok && !utf8.Valid(body) {
		if data.Truth(a.Template) {
			return nil, change.Failed(a.Name,
				"Contents specified by contents/contents_pillar/contents_grains appears to be binary data, and as will not be able to be treated as a Jinja template."), nil
		}
		return body, nil, nil
	} else if ok {
		raw = string(body)
	}
	text := data.ClassText // dictionaries of the master's pillar and of grains are plain ones
	if a.Contents != nil {
		text = state.Text
	}
	parts := textsBy(text, raw)
	if len(parts) == 0 {
		return nil, change.Failed(a.Name,
			"Contents specified by contents/contents_pillar/contents_grains is not a string or list of strings, and is not binary data. SLS is likely malformed."), nil
	}
	var body strings.Builder
	for _, part := range parts {
		for _, line := range difflib.Lines(part) {
			body.WriteString(strings.TrimRight(difflib.Bare(line), "\r") + paths.LineEnd)
		}
	}
	contents := body.String()
	if !a.ContentsNewline {
		contents = strings.TrimRight(strings.TrimRight(body.String(), "\n"), "\r")
	}
	if !data.Truth(a.Template) {
		return contents, nil, nil
	}
	return m.template(ctx, a, contents)
}

func (m contents) template(
	ctx context.Context, a managedArgs, contents any,
) (any, *data.Map, error) {
	v, err := m.call(ctx, "file.apply_template_on_contents",
		data.NewMap("template", a.Template, "context", a.Context, "defaults", a.Defaults,
			"saltenv", change.CallOf(ctx).SaltEnv), contents)
	if outcome, ok := v.(*data.Map); ok && err == nil {
		return nil, change.New(a.Name, outcome.Value("result"), nil, outcome.Value("comment")), nil
	}
	return v, nil, err
}

// rawContents returns the value of contents, contents_pillar or contents_grains, and the name of
// the argument for messages.
func (m contents) rawContents(
	ctx context.Context, a managedArgs,
) (v any, id, complaint string, err error) {
	key, fun, word := a.ContentsPillar, "pillar.get", "Pillar"
	id = "contents_pillar " + data.Str(key)
	if key == nil {
		key, fun, word = a.ContentsGrains, "grains.get", "Grain"
		id = "contents_grains " + data.Str(key)
	}
	if key == nil {
		return a.Contents, "'contents'", "", nil
	}
	const nothing = "\x00there is nothing"
	list, many := key.([]any)
	if !many {
		list = []any{key}
	}
	var found []string
	for _, k := range list {
		v, err = m.call(ctx, fun, data.NewMap("delimiter", a.ContentsDelimiter), k, nothing)
		switch {
		case err != nil:
			return nil, "", "", err
		case v == nothing:
			return nil, "", word + " " + data.Str(k) + " does not exist", nil
		}
		found = append(found, data.Str(v))
	}
	if many {
		v = strings.Join(found, paths.LineEnd)
	}
	return v, id, "", nil
}

// special returns the arguments for the SELinux context, or on Windows for the access control list.
func (a managedArgs) special() *data.Map {
	if onWindows {
		return win{nil, a.WinPerms, a.WinDenyPerms, a.WinInheritance, a.WinPermsReset}.more()
	}
	kw := data.NewMap()
	for _, part := range []string{"seuser", "serole", "setype", "serange"} {
		kw.Set(part, a.Selinux.Value(part))
	}
	return kw
}

// permitted sets owner and mode of a file whose content does not change.
func (m contents) permitted(ctx context.Context, a managedArgs) (*data.Map, error) {
	ret, was, err := calls.CheckPerms(ctx, m.env, calls.Permissions{
		Path: a.Name, Changes: change.Unchanged(a.Name, ""), User: a.User, Group: a.Group,
		Mode:  a.Mode,
		Attrs: a.Attrs, FollowSymlinks: a.FollowSymlinks, More: a.special(),
	})
	if err != nil {
		return nil, err
	}
	changes, _ := ret.Value("changes").(*data.Map)
	switch {
	case change.Test(ctx) && data.Truth(a.Mode) && a.Mode != was.Value("lmode"):
		ret.Set("comment", "File "+a.Name+" will be updated with permissions "+data.Str(a.Mode)+
			" from its current state of "+was.Text("lmode"))
	case change.Test(ctx):
		ret.Set("comment", "File "+a.Name+" not updated")
	case changes.Len() == 0 && data.Truth(ret.Value("result")):
		ret.Set("comment", "File "+a.Name+" exists with proper permissions. No changes made.")
	}
	return ret, nil
}

// forecast returns the result of test mode.
func (m contents) forecast(ctx context.Context, a managedArgs, keep bool) (*data.Map, error) {
	kw := a.special()
	kw.Set("verify_ssl", a.VerifySSL)
	kw.Set("follow_symlinks", a.FollowSymlinks)
	kw.Update(a.Kwargs)
	v, err := m.call(ctx, "file.check_managed_changes", kw, a.Name, a.Source, a.SourceHash,
		a.SourceHashName, a.User, a.Group, a.Mode, a.Attrs,
		a.Template, a.Context, a.Defaults, change.CallOf(ctx).SaltEnv, a.Contents,
		a.SkipVerify, keep)
	if loader.KindOf(err) == loader.KindExecution {
		return change.Failed(a.Name, "Unable to manage file: "+err.Error()), nil
	}
	if err != nil {
		return nil, err
	}
	if outcome, ok := v.(data.Tuple); ok && len(outcome) == 2 {
		return change.New(a.Name, outcome[0], nil, outcome[1]), nil
	}
	changes, err := calls.FoundIn[*data.Map]("file.check_managed_changes", v)
	if err != nil {
		return nil, err
	}
	if changes.Len() == 0 {
		return change.Unchanged(a.Name, "The file "+a.Name+" is in the correct state"), nil
	}
	if changes.Has("diff") && !a.ShowChanges {
		changes.Set("diff", "<show_changes=False>")
	}
	return change.Would(a.Name, changes, "The file "+a.Name+
		" is set to be changed\nNote: No changes made, actual changes may\nbe different due to other states."), nil
}

// apply fetches the source and writes the file.
func (m contents) apply(ctx context.Context, a managedArgs, keep bool) (*data.Map, error) {
	saltenv := change.CallOf(ctx).SaltEnv
	source, hash, err := calls.SourceList(ctx, m.env, a.Source, a.SourceHash, saltenv)
	var got []any
	if err == nil {
		a.Source, a.SourceHash = source, hash
		kw := data.NewMap("verify_ssl", a.VerifySSL, "use_etag", a.UseETag)
		kw.Update(a.Kwargs)
		got, err = loader.CallAs[[]any](ctx, m.env, "file.get_managed", []any{
			a.Name, a.Template, a.Source, a.SourceHash, a.SourceHashName, a.User, a.Group,
			a.Mode, a.Attrs, saltenv, a.Context, a.Defaults, a.SkipVerify,
		}, kw)
	}
	if err != nil {
		return m.unmanaged(a.Name, err)
	}
	if len(got) != 3 {
		return nil, loader.Execution("file.get_managed: returned %d values, expected 3", len(got))
	}
	file := got[0]
	if !a.KeepSource {
		defer func() { m.dropSource(ctx, file, a.Source, saltenv) }()
	}
	if data.Truth(a.CheckCmd) {
		temp, failed, err := m.checked(ctx, a, keep, file, got[1])
		if temp != "" {
			defer os.Remove(temp)
		}
		if err != nil || failed != nil {
			if isTemporary(file) {
				_ = os.Remove(file.(string)) // no second use follows
			}
			return failed, err
		}
	}
	if data.Truth(got[2]) && a.Contents == nil {
		return change.Failed(a.Name, data.Str(got[2])), nil
	}
	ret, err := m.manageFile(ctx, a, keep, a.Name, file, got[1])
	if err != nil {
		return m.unmanaged(a.Name, err)
	}
	return ret, nil
}

// unmanaged fails the state, unless the run itself has ended.
func (m contents) unmanaged(name string, err error) (*data.Map, error) {
	return change.Failed(name, "Unable to manage file: "+err.Error()), nil
}

func (m contents) manageFile(
	ctx context.Context, a managedArgs, keep bool, name string, file, sum any,
) (*data.Map, error) {
	kw := a.special()
	kw.Update(data.NewMap("encoding", a.Encoding, "encoding_errors", a.EncodingErrors,
		"verify_ssl", a.VerifySSL, "use_etag", a.UseETag))
	for k, v := range a.Kwargs.All() {
		if !kw.Has(k) {
			kw.Set(k, v)
		}
	}
	return loader.CallAs[*data.Map](ctx, m.env, "file.manage_file", []any{
		name, file, change.Unchanged(name, ""), a.Source, sum, a.User, a.Group, a.Mode, a.Attrs,
		change.CallOf(ctx).SaltEnv, a.Backup, a.Makedirs, a.Template, a.ShowChanges,
		a.Contents, a.DirMode, a.FollowSymlinks, a.SkipVerify, keep,
	}, kw)
}

// checked writes the file to a temporary place and runs the command check_cmd on it. It returns the
// path of the temporary file.
func (m contents) checked(
	ctx context.Context, a managedArgs, keep bool, file, sum any,
) (temp string, failed *data.Map, err error) {
	f, err := os.CreateTemp(a.TmpDir, "__salt.tmp.*"+a.TmpExt)
	if err != nil {
		return "", nil, loader.Exception("OSError", "%w", err)
	}
	temp = f.Name()
	if err := f.Close(); err != nil {
		return temp, nil, err
	}
	if paths.IsFile(a.Name) {
		if _, err := m.call(ctx, "file.copy", nil, a.Name, temp); err != nil {
			return temp, change.Failed(a.Name, "Unable to copy file "+a.Name+" to "+temp+": "+
				err.Error()), nil
		}
	}
	// the first of two uses removes it
	if isTemporary(file) {
		second, err := copyFile(file.(string))
		if err != nil {
			return temp, nil, err
		}
		file = second
		defer os.Remove(second)
	}
	ret, err := m.manageFile(ctx, a, keep, temp, file, sum)
	if err != nil {
		return temp, change.Failed(a.Name, "Unable to check_cmd file: "+err.Error()), nil
	}
	if changes, _ := ret.Value("changes").(*data.Map); changes.Len() == 0 {
		return temp, nil, nil
	}
	outcome, err := m.runCheck(ctx, a.CheckCmd, temp)
	if err != nil || outcome == nil {
		return temp, nil, err
	}
	failed = change.Unchanged(a.Name, "")
	failed.Update(outcome)
	return temp, failed, nil
}

// isTemporary reports whether a source is a file that file.get_managed made, and that
// file.manage_file removes.
func isTemporary(file any) bool {
	path, ok := file.(string)
	return ok && strings.Contains(filepath.Base(path), "__salt.tmp.")
}

// copyFile copies a file to a new temporary file. Its name is unpredictable and only the owner can
// read it.
func copyFile(from string) (to string, err error) {
	body, err := os.ReadFile(from)
	if err != nil {
		return "", err
	}
	f, err := os.CreateTemp("", "__salt.tmp.")
	if err != nil {
		return "", err
	}
	_, err = f.Write(body)
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// dropSource removes the cached copy of the source, for keep_source: False.
func (m contents) dropSource(ctx context.Context, file, source any, saltenv string) {
	if !data.Truth(file) && data.Truth(source) && fileclient.Scheme(data.Str(source)) == "salt" {
		if path, err := calls.IsCached(ctx, m.env, source, saltenv); err == nil {
			file = path
		}
	}
	if path := data.Str(file); data.Truth(file) && fileclient.Scheme(data.Str(source)) != "" {
		_ = os.Remove(path) // it may be gone
	}
}

type checkCmdArgs struct {
	Cmd          any
	Filename     string
	CheckCmdOpts *data.Map `kwargs:"check_cmd_opts"`
}

// modRunCheckCmd runs check_cmd on a file. It returns True, or what a failed state adds to its
// result.
func (m contents) modRunCheckCmd(ctx context.Context, a checkCmdArgs) (any, error) {
	outcome, err := m.runCheck(ctx, a.Cmd, a.Filename)
	if err != nil || outcome == nil {
		return true, err
	}
	return outcome, nil
}

func (m contents) runCheck(ctx context.Context, cmd any, file string) (*data.Map, error) {
	kw := data.NewMap()
	if shell, ok := m.env.GrainsNow().Get("shell"); ok {
		kw.Set("shell", shell)
	}
	done, err := calls.RunAll(ctx, m.env, calls.Run{
		Line: data.Str(cmd) + " " + file, Shell: calls.CmdDecides, More: kw,
	})
	if err != nil || done.Retcode == 0 {
		return nil, err
	}
	comment := "check_cmd execution failed"
	for _, output := range []string{done.Stdout, done.Stderr} {
		if output != "" {
			comment += "\n" + output
		}
	}
	return data.NewMap("comment", comment, "skip_watch", true, "result", false), nil
}

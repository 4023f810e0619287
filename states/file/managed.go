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

// managed brings a file to a content, owners and a mode.
//
// source
//
//	Where the content comes from: salt://, http(s)://, or a path, or a list of which the first counts that is there.
//
// source_hash, source_hash_name, skip_verify, use_etag
//
//	The hash that a file from elsewhere must have, or a file of hashes, and the name to look for in that; or that none is needed.
//
// contents, contents_pillar, contents_grains
//
//	The content itself, or where it is in pillar or grains.
//
// contents_newline, contents_delimiter, allow_empty
//
//	End the last line; what separates the keys of pillar and grains; take an empty content.
//
// user, group, mode, attrs, selinux
//
//	To whom the file belongs, its mode (keep is that of the source), letters of chattr, and its SELinux context.
//
// template, context, defaults
//
//	The engine that renders the content first, with the variables of context over those of defaults.
//
// makedirs, dir_mode
//
//	Make directories above it, with this mode.
//
// replace, create
//
//	False: do not replace the content of a file that is there; do not make one that is not.
//
// backup
//
//	minion keeps a copy of the file that is replaced.
//
// show_changes
//
//	False: no diff in the result.
//
// encoding, encoding_errors
//
//	The encoding of the content, and what becomes of characters that it does not have.
//
// follow_symlinks
//
//	False: replace a link by the file.
//
// check_cmd, tmp_dir, tmp_ext
//
//	A command that judges the new file, whose path in tmp_dir, with the ending tmp_ext, stands behind it, before it comes to its
//	place.
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
		return change.Done(a.Name, "File "+a.Name+" is not present and is not set for creation"), nil
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

// hasSourceHash reports whether the file already has the hash of a source from elsewhere, which is then not fetched. What goes wrong here
// comes up again where the source is fetched.
func (m contents) hasSourceHash(ctx context.Context, a managedArgs) bool {
	if !data.Truth(a.Source) || !data.Truth(a.SourceHash) || a.SkipVerify || a.Contents != nil || data.Truth(a.Template) {
		return false
	}
	saltenv := change.CallOf(ctx).SaltEnv
	v, err := m.call(ctx, "file.source_list", nil, a.Source, a.SourceHash, saltenv)
	pair, ok := v.(data.Tuple)
	if err != nil || !ok || len(pair) != 2 || !data.Truth(pair[0]) || !data.Truth(pair[1]) {
		return false
	}
	source := data.Str(pair[0])
	if scheme := fileclient.Scheme(source); scheme == "salt" || scheme == "file" || filepath.IsAbs(source) {
		return false
	}
	v, err = m.call(ctx, "file.get_source_sum", data.NewMap("verify_ssl", a.VerifySSL), a.Name, source, pair[1], a.SourceHashName, saltenv)
	sum, _ := v.(*data.Map)
	if err != nil || sum.Text("hsum") == "" {
		return false
	}
	has, err := m.call(ctx, "file.get_hash", nil, a.Name, sum.Value("hash_type"))
	return err == nil && has == sum.Value("hsum")
}

// complaint says what is wrong with the arguments.
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

// contents returns the content that the arguments give, nil where it comes from a source.
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
		return nil, change.Failed(a.Name, id+" value would result in empty contents. Set allow_empty to True to allow the managed file to be empty."), nil
	}
	if body, ok := raw.([]byte); ok && !utf8.Valid(body) {
		if data.Truth(a.Template) {
			return nil, change.Failed(a.Name, "Contents specified by contents/contents_pillar/contents_grains appears to be binary data, and as will not be able to be treated as a Jinja template."), nil
		}
		return body, nil, nil
	} else if ok {
		raw = string(body)
	}
	text := data.ClassText // the dictionaries of a pillar from a master and of grains are plain ones
	if a.Contents != nil {
		text = state.Text
	}
	parts := textsBy(text, raw)
	if len(parts) == 0 {
		return nil, change.Failed(a.Name, "Contents specified by contents/contents_pillar/contents_grains is not a string or list of strings, and is not binary data. SLS is likely malformed."), nil
	}
	var body strings.Builder
	for _, part := range parts {
		for _, line := range difflib.Lines(part) {
			body.WriteString(strings.TrimRight(difflib.Bare(line), "\r") + "\n")
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
		data.NewMap("template", a.Template, "context", a.Context, "defaults", a.Defaults, "saltenv", change.CallOf(ctx).SaltEnv), contents)
	if told, ok := v.(*data.Map); ok && err == nil {
		return nil, change.New(a.Name, told.Value("result"), nil, told.Value("comment")), nil
	}
	return v, nil, err
}

// rawContents returns what contents, contents_pillar or contents_grains name, and the name of that in texts.
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
		v = strings.Join(found, "\n")
	}
	return v, id, "", nil
}

// selinux returns the arguments of the SELinux context.
func (a managedArgs) selinux() *data.Map {
	kw := data.NewMap()
	for _, part := range []string{"seuser", "serole", "setype", "serange"} {
		kw.Set(part, a.Selinux.Value(part))
	}
	return kw
}

// permitted sees to owners and mode of a file whose content stays.
func (m contents) permitted(ctx context.Context, a managedArgs) (*data.Map, error) {
	v, err := m.call(ctx, "file.check_perms", a.selinux(), a.Name, change.Done(a.Name, ""), a.User, a.Group, a.Mode, a.Attrs, a.FollowSymlinks)
	if err != nil {
		return nil, err
	}
	pair, _ := v.([]any)
	if len(pair) != 2 {
		return nil, loader.Execution("file.check_perms returned no pair: %s", data.Str(v))
	}
	ret, was := pair[0].(*data.Map), pair[1].(*data.Map)
	changes, _ := ret.Value("changes").(*data.Map)
	switch {
	case change.Test(ctx) && data.Truth(a.Mode) && a.Mode != was.Value("lmode"):
		ret.Set("comment", "File "+a.Name+" will be updated with permissions "+data.Str(a.Mode)+" from its current state of "+was.Text("lmode"))
	case change.Test(ctx):
		ret.Set("comment", "File "+a.Name+" not updated")
	case changes.Len() == 0 && data.Truth(ret.Value("result")):
		ret.Set("comment", "File "+a.Name+" exists with proper permissions. No changes made.")
	}
	return ret, nil
}

// forecast says what would change.
func (m contents) forecast(ctx context.Context, a managedArgs, keep bool) (*data.Map, error) {
	kw := a.selinux()
	kw.Set("verify_ssl", a.VerifySSL)
	kw.Set("follow_symlinks", a.FollowSymlinks)
	kw.Update(a.Kwargs)
	v, err := m.call(ctx, "file.check_managed_changes", kw, a.Name, a.Source, a.SourceHash, a.SourceHashName, a.User, a.Group, a.Mode, a.Attrs,
		a.Template, a.Context, a.Defaults, change.CallOf(ctx).SaltEnv, a.Contents, a.SkipVerify, keep)
	if loader.KindOf(err) == loader.KindExecution {
		return change.Failed(a.Name, "Unable to manage file: "+err.Error()), nil
	}
	if err != nil {
		return nil, err
	}
	if told, ok := v.(data.Tuple); ok && len(told) == 2 {
		return change.New(a.Name, told[0], nil, told[1]), nil
	}
	changes, _ := v.(*data.Map)
	if changes.Len() == 0 {
		return change.Done(a.Name, "The file "+a.Name+" is in the correct state"), nil
	}
	if changes.Has("diff") && !a.ShowChanges {
		changes.Set("diff", "<show_changes=False>")
	}
	return change.Would(a.Name, changes, "The file "+a.Name+" is set to be changed\nNote: No changes made, actual changes may\nbe different due to other states."), nil
}

// apply gets the source and makes the file.
func (m contents) apply(ctx context.Context, a managedArgs, keep bool) (*data.Map, error) {
	saltenv := change.CallOf(ctx).SaltEnv
	v, err := m.call(ctx, "file.source_list", nil, a.Source, a.SourceHash, saltenv)
	if err == nil {
		pair := v.(data.Tuple)
		a.Source, a.SourceHash = pair[0], pair[1]
		kw := data.NewMap("verify_ssl", a.VerifySSL, "use_etag", a.UseETag)
		kw.Update(a.Kwargs)
		v, err = m.call(ctx, "file.get_managed", kw, a.Name, a.Template, a.Source, a.SourceHash, a.SourceHashName, a.User, a.Group, a.Mode, a.Attrs,
			saltenv, a.Context, a.Defaults, a.SkipVerify)
	}
	if err != nil {
		return m.unmanaged(a.Name, err)
	}
	got := v.(data.Tuple)
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
	kw := a.selinux()
	kw.Update(data.NewMap("encoding", a.Encoding, "encoding_errors", a.EncodingErrors, "verify_ssl", a.VerifySSL, "use_etag", a.UseETag))
	for k, v := range a.Kwargs.All() {
		if !kw.Has(k) {
			kw.Set(k, v)
		}
	}
	v, err := m.call(ctx, "file.manage_file", kw, name, file, change.Done(name, ""), a.Source, sum, a.User, a.Group, a.Mode, a.Attrs, change.CallOf(ctx).SaltEnv,
		a.Backup, a.Makedirs, a.Template, a.ShowChanges, a.Contents, a.DirMode, a.FollowSymlinks, a.SkipVerify, keep)
	ret, _ := v.(*data.Map)
	return ret, err
}

// checked makes the file in a place of its own first and lets the command check_cmd judge it. It returns that place.
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
			return temp, change.Failed(a.Name, "Unable to copy file "+a.Name+" to "+temp+": "+err.Error()), nil
		}
	}
	if text, ok := file.(string); ok && strings.Contains(filepath.Base(text), "__salt.tmp.") { // it is used twice, and removed by the first
		second, err := copyFile(text)
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
	told, err := m.runCheck(ctx, a.CheckCmd, temp)
	if err != nil || told == nil {
		return temp, nil, err
	}
	failed = change.Done(a.Name, "")
	failed.Update(told)
	return temp, failed, nil
}

// copyFile copies a file to a new one, which nobody else can read and whose name nobody could know before.
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

// dropSource removes the copy of the source in the cache, for keep_source: False.
func (m contents) dropSource(ctx context.Context, file, source any, saltenv string) {
	if !data.Truth(file) && data.Truth(source) && fileclient.Scheme(data.Str(source)) == "salt" {
		if v, err := m.call(ctx, "cp.is_cached", nil, source, saltenv); err == nil {
			file = v
		}
	}
	if path := data.Str(file); data.Truth(file) && fileclient.Scheme(data.Str(source)) != "" {
		_ = os.Remove(path) // it may have gone
	}
}

type checkCmdArgs struct {
	Cmd          any
	Filename     string
	CheckCmdOpts *data.Map `kwargs:"check_cmd_opts"`
}

// modRunCheckCmd runs the command of check_cmd with a file, and returns True, or what a state that fails adds to its result.
func (m contents) modRunCheckCmd(ctx context.Context, a checkCmdArgs) (any, error) {
	told, err := m.runCheck(ctx, a.Cmd, a.Filename)
	if err != nil || told == nil {
		return true, err
	}
	return told, nil
}

func (m contents) runCheck(ctx context.Context, cmd any, file string) (*data.Map, error) {
	kw := data.NewMap()
	if shell, ok := m.env.GrainsNow().Get("shell"); ok {
		kw.Set("shell", shell)
	}
	v, err := m.call(ctx, "cmd.run_all", kw, data.Str(cmd)+" "+file)
	if err != nil {
		return nil, err
	}
	done, _ := v.(*data.Map)
	if !data.Truth(done.Value("retcode")) {
		return nil, nil
	}
	comment := "check_cmd execution failed"
	for _, stream := range []string{"stdout", "stderr"} {
		if said := done.Text(stream); said != "" {
			comment += "\n" + said
		}
	}
	return data.NewMap("comment", comment, "skip_watch", true, "result", false), nil
}

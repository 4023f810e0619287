package file

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileclient"
	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/state/change"
)

type recurseArgs struct {
	Name           string
	Source         any
	KeepSource     bool      `default:"True"`
	Clean          bool      `default:"False"`
	Require        any       `default:"None"`
	User           any       `default:"None"`
	Group          any       `default:"None"`
	DirMode        any       `default:"None"`
	FileMode       any       `default:"None"`
	SymMode        any       `default:"None"`
	Template       any       `default:"None"`
	Context        any       `default:"None"`
	Replace        bool      `default:"True"`
	Defaults       any       `default:"None"`
	IncludeEmpty   bool      `default:"False"`
	Backup         any       `default:"''"`
	IncludePat     any       `default:"None"`
	ExcludePat     any       `default:"None"`
	Maxdepth       any       `default:"None"`
	KeepSymlinks   bool      `default:"False"`
	ForceSymlinks  bool      `default:"False"`
	WinOwner       any       `default:"None"`
	WinPerms       any       `default:"None"`
	WinDenyPerms   any       `default:"None"`
	WinInheritance any       `default:"True"`
	Kwargs         *data.Map `kwargs:"kwargs"`
}

// recurse copies all files below a directory of the file server to a directory.
//
// source
//
//	The directory, salt://, or a list of which the first existing one is used.
//
// user, group, dir_mode, file_mode, sym_mode
//
//	Owner, and modes of directories, files (keep copies that of the source) and links.
//
// clean
//
//	Remove files that are neither on the file server nor managed by a state that this one
//	requires.
//
// include_pat, exclude_pat, maxdepth, include_empty, keep_symlinks, force_symlinks
//
//	Only matching files, by a glob or E@ and a regular expression; how deep; include empty
//	directories; copy links as links, replacing existing files.
//
// Further arguments are those of file.managed.
//
//	/opt/code/flask:
//	  file.recurse:
//	    - source: salt://code/flask
//	    - include_empty: True
func (m directories) recurse(ctx context.Context, a recurseArgs) (any, error) {
	a.Name = home(a.Name)
	a.User = m.ownerOf(a.User, a.Kwargs)
	a.DirMode = normalMode(a.DirMode)
	complaint, err := m.checkUser(ctx, a.User, a.Group)
	switch {
	case err != nil:
		return nil, err
	case a.Kwargs.Has("mode"):
		complaint = "'mode' is not allowed in 'file.recurse'. Please use 'file_mode' and 'dir_mode'."
	case complaint != "":
	case !filepath.IsAbs(a.Name):
		complaint = notAbsolute(a.Name)
	default:
		complaint, err = m.recurseSource(ctx, &a)
	}
	if err == nil && complaint == "" {
		complaint, err = m.recurseDest(ctx, a)
	}
	if err != nil {
		return nil, err
	}
	if complaint != "" {
		return change.Failed(a.Name, complaint), nil
	}
	plan, err := m.plan(ctx, a)
	if err != nil {
		return nil, err
	}
	s := &recurseCall{recurseArgs: a, ret: change.Unchanged(a.Name, ""), comments: data.NewMap()}
	return s.run(ctx, m, plan)
}

// recurseSource finds the source to use.
func (m directories) recurseSource(ctx context.Context, a *recurseArgs) (string, error) {
	var sources []any
	for _, source := range texts(a.Source) {
		source = strings.TrimRight(source, "/")
		if !strings.HasPrefix(source, "salt://") {
			return "Invalid source '" + source + "' (must be a salt:// URI)", nil
		}
		sources = append(sources, source)
	}
	source, _, err := calls.SourceList(ctx, m.env, sources, "", change.CallOf(ctx).SaltEnv)
	if loader.KindOf(err) == loader.KindExecution {
		return "Recurse failed: " + err.Error(), nil
	}
	if err != nil {
		return "", err
	}
	a.Source = source
	dir, env := saltPath(ctx, data.Str(a.Source))
	dirs, err := calls.ListMasterDirs(ctx, m.env, env)
	if err != nil {
		return "", err
	}
	if !slices.ContainsFunc(dirs, func(d string) bool { return d == dir || strings.HasPrefix(d, dir+"/") }) {
		return "The directory '" + dir + "' does not exist on the salt fileserver in saltenv '" +
			env + "'", nil
	}
	return "", nil
}

// recurseDest creates the directory if it is missing.
func (m directories) recurseDest(ctx context.Context, a recurseArgs) (string, error) {
	if complaint := untrustedLink(a.Name); complaint != "" {
		return complaint, nil
	}
	switch {
	case paths.IsDir(a.Name):
		return "", nil
	case paths.Exists(a.Name):
		return "The path " + a.Name + " exists and is not a directory", nil
	case change.Test(ctx):
		return "", nil
	}
	owned := data.NewMap("user", a.User, "group", a.Group, "mode", a.DirMode)
	if onWindows {
		owned = data.NewMap("owner", m.ownerOnWindows(a.WinOwner, a.User, a.Group, a.Name), "grant_perms",
			a.WinPerms, "deny_perms", a.WinDenyPerms, "inheritance", a.WinInheritance, "reset", false)
	}
	_, err := m.call(ctx, "file.makedirs_perms", owned, a.Name)
	return "", err
}

func saltPath(ctx context.Context, url string) (path, env string) {
	if path, env, _ = fileclient.ParseURL(url); env == "" {
		env = change.CallOf(ctx).SaltEnv
	}
	return path, env
}

// recurseOf returns the arguments of a file.recurse chunk.
func recurseOf(low *data.Map) recurseArgs {
	depth := low.Value("maxdepth")
	return recurseArgs{Name: low.Text("name"), Source: low.Value("source"),
		KeepSymlinks: data.Truth(low.Value("keep_symlinks")), IncludePat: low.Value("include_pat"),
		ExcludePat: low.Value("exclude_pat"), Maxdepth: depth,
		IncludeEmpty: data.Truth(low.Value("include_empty"))}
}

// A plan lists the files that a recurse creates.
type plan struct {
	files, links [][2]string // path, and source or target
	dirs, keep   []string
}

// plan lists the files on the file server.
func (m directories) plan(ctx context.Context, a recurseArgs) (*plan, error) {
	root, env := saltPath(ctx, data.Str(a.Source))
	root = strings.TrimPrefix(strings.TrimSuffix(root, "/")+"/", "/") // "" for all files
	wanted, err := a.wanted()
	if err != nil {
		return nil, err
	}
	names, err := calls.ListMaster(ctx, m.env, env, root)
	if err != nil {
		return nil, err
	}
	p := &plan{}
	links := data.NewMap()
	if a.KeepSymlinks {
		if links, err = calls.ListMasterSymlinks(ctx, m.env, env, root); err != nil {
			return nil, err
		}
	}
	for name, target := range links.All() {
		if rel, inside := strings.CutPrefix(data.Str(name), root); inside && wanted(rel) {
			at := filepath.Join(a.Name, rel)
			p.links = append(p.links, [2]string{at, data.Str(target)})
			p.keep = append(p.keep, at)
		}
	}
	below := func(name string) bool {
		for link := range links.All() {
			if name == link || strings.HasPrefix(name, data.Str(link)+"/") {
				return true
			}
		}
		return false
	}
	for _, name := range names {
		rel, inside := strings.CutPrefix(name, root) // the listing also has file.sls next to file/
		if !inside || strings.TrimSpace(name) == "" || below(name) || !wanted(rel) {
			continue
		}
		at := filepath.Join(a.Name, rel)
		p.files = append(p.files, [2]string{at, fileclient.SaltURL(name) + "?saltenv=" + env})
		p.keep = append(p.keep, at)
		if dir := filepath.Dir(at); !slices.Contains(p.dirs, dir) {
			p.dirs = append(p.dirs, dir)
		}
	}
	return p, m.planEmpty(ctx, a, p, root, env,
		func(dir string) bool { return wanted(strings.TrimPrefix(dir, root)) && !below(dir) })
}

// planEmpty adds directories that may be empty.
func (m directories) planEmpty(
	ctx context.Context, a recurseArgs, p *plan, root, env string, wanted func(string) bool,
) error {
	if !a.IncludeEmpty {
		return nil
	}
	// in test mode, where Salt names the directory itself as DIR/. (salt/states/file.py, recurse)
	if !paths.Exists(a.Name) {
		p.dirs = append(p.dirs, a.Name+"/.")
	}
	dirs, err := calls.ListMasterDirs(ctx, m.env, env, root)
	for _, dir := range dirs {
		rel, ok := strings.CutPrefix(dir, root)
		at := filepath.Join(a.Name, rel)
		if !ok || !wanted(dir) || slices.Contains(p.dirs, at) {
			continue
		}
		p.dirs = append(p.dirs, at)
		p.keep = append(p.keep, at)
	}
	return err
}

// wanted returns a function that reports whether a relative path is to be copied.
func (a recurseArgs) wanted() (func(string) bool, error) {
	exclude, err := excluder(a.ExcludePat)
	if err != nil {
		return nil, err
	}
	include, err := excluder(a.IncludePat)
	if err != nil {
		return nil, err
	}
	most := int64(-1)
	if a.Maxdepth != nil {
		if most, err = loader.Int(a.Maxdepth); err != nil {
			return nil, err
		}
	}
	return func(rel string) bool {
		deep := int64(strings.Count(strings.Trim(rel, "/"), "/"))
		return filepath.IsLocal(rel) && (most < 0 || deep <= most) &&
			(!data.Truth(a.IncludePat) || include(rel)) && !exclude(rel)
	}, nil
}

// A recurseCall is the execution of one recurse.
type recurseCall struct {
	recurseArgs
	ret, comments *data.Map
}

func (s *recurseCall) run(ctx context.Context, m directories, p *plan) (any, error) {
	for _, link := range p.links {
		ret, err := links{m.module}.linked(ctx,
			symlinkArgs{Name: link[0], Target: link[1], Makedirs: true, Force: s.ForceSymlinks,
				User: s.User, Group: s.Group, Mode: s.SymMode})
		if err != nil {
			return nil, err
		}
		s.merge(link[0], ret)
	}
	for _, dir := range p.dirs {
		if err := s.dir(ctx, m, dir); err != nil {
			return nil, err
		}
	}
	for _, file := range p.files {
		if err := s.file(ctx, m, file[0], file[1]); err != nil {
			return nil, err
		}
	}
	if err := s.clean(ctx, m, p); err != nil {
		return nil, err
	}
	var text strings.Builder
	for at, v := range s.comments.All() {
		text.WriteString("\n\n#### " + data.Str(at) + " ####\n" + strings.Join(texts(v), "\n"))
	}
	comment := strings.TrimSpace(text.String())
	if comment == "" {
		comment = "Recursively updated " + s.Name
	}
	if s.changes().Len() == 0 && data.Truth(s.ret.Value("result")) {
		comment = "The directory " + s.Name + " is in the correct state"
	}
	s.ret.Set("comment", comment)
	return s.ret, nil
}

func (s *recurseCall) changes() *data.Map { return s.ret.Value("changes").(*data.Map) }

// merge adds the result for one path to the overall result.
func (s *recurseCall) merge(at string, ret *data.Map) {
	result := ret.Value("result")
	if result == false || s.ret.Value("result") == true {
		s.ret.Set("result", result)
	}
	if result != true && data.Truth(ret.Value("comment")) {
		list, _ := s.comments.Value(at).([]any)
		s.comments.Set(at, append(list, ret.Value("comment")))
	}
	if changes, _ := ret.Value("changes").(*data.Map); changes.Len() > 0 {
		s.changes().Set(at, changes)
	}
}

// swap removes a file of the wrong kind, and reports whether that is all there is to do.
func (s *recurseCall) swap(
	ctx context.Context, m directories, at, would, done string,
) (bool, error) {
	if change.Test(ctx) {
		s.merge(at, change.Would(s.Name, nil, would))
		return true, nil
	}
	if _, err := m.call(ctx, "file.remove", nil, at); err != nil {
		return false, err
	}
	s.merge(at, change.New(s.Name, true, data.NewMap("diff", done), ""))
	return false, nil
}

func (s *recurseCall) dir(ctx context.Context, m directories, at string) error {
	if path.Base(at) == ".." {
		return nil
	}
	if s.Clean && paths.Exists(at) && !paths.IsDir(at) {
		if over, err := s.swap(ctx, m, at, "Replacing "+at+" with a directory",
			"Replaced file with a directory"); err != nil || over {
			return err
		}
	}
	ret, err := m.manageDirectory(ctx,
		directoryArgs{Name: at, User: s.User, Group: s.Group, DirMode: s.DirMode, Makedirs: true,
			AllowSymlink: true, WinOwner: s.WinOwner, WinPerms: s.WinPerms, WinDenyPerms: s.WinDenyPerms,
			WinInheritance: s.WinInheritance})
	if err == nil {
		s.merge(at, ret)
	}
	return err
}

func (s *recurseCall) file(ctx context.Context, m directories, at, source string) error {
	if complaint := untrustedLink(filepath.Dir(at)); complaint != "" {
		s.merge(at, change.Failed(at, complaint))
		return nil
	}
	if s.Clean && paths.IsDir(at) && s.Replace {
		if over, err := s.swap(ctx, m, at, "Replacing directory "+at+" with a file",
			"Replaced directory with a new file"); err != nil || over {
			return err
		}
	}
	kwargs := s.Kwargs.Clone()
	kwargs.Delete("makedirs")
	ret, err := contents{m.module}.manage(ctx,
		managedArgs{Name: at, Source: source, SourceHash: "", KeepSource: s.KeepSource,
			User: s.User, Group: s.Group, Mode: s.FileMode, Template: s.Template, Makedirs: true,
			Context: s.Context, Replace: s.Replace, Defaults: s.Defaults, Backup: s.Backup,
			ShowChanges: true, Create: true, ContentsNewline: true, AllowEmpty: true,
			EncodingErrors: "strict", FollowSymlinks: true, VerifySSL: true, Kwargs: kwargs,
			WinOwner: s.WinOwner, WinPerms: s.WinPerms, WinDenyPerms: s.WinDenyPerms,
			WinInheritance: s.WinInheritance})
	if err == nil {
		s.merge(at, ret)
	}
	return err
}

// clean removes files that should not exist.
func (s *recurseCall) clean(ctx context.Context, m directories, p *plan) error {
	if !s.Clean {
		return nil
	}
	keep, err := m.keepFiles(ctx, s.Name, s.Require)
	if err != nil {
		return err
	}
	for _, at := range p.keep {
		keepPath(keep, at)
	}
	exclude, err := excluder(s.ExcludePat)
	if err != nil {
		return err
	}
	var surplus []string
	err = walk(s.Name, nil, func(at string, _ bool) {
		if !keep[at] && !exclude(relative(s.Name, at)) {
			surplus = append(surplus, at)
		}
	})
	if err != nil || len(surplus) == 0 {
		return err
	}
	removed, err := m.removeAll(ctx, s.Name, surplus)
	switch {
	case err != nil:
		return err
	case !change.Test(ctx):
		s.changes().Set("removed", removed)
		return nil
	case data.Truth(s.ret.Value("result")):
		s.ret.Set("result", nil)
	}
	s.comments.Set("removed", removed)
	return nil
}

// expandPath expands variables and the home directory in a path.
func expandPath(p string) string {
	return os.Expand(home(p), func(name string) string {
		if v, ok := os.LookupEnv(name); ok {
			return v
		}
		return "$" + name
	})
}

package yumpkg

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/internal/packages/rpm"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

type listReposArgs struct {
	Basedir any       `default:"None"`
	Kwargs  *data.Map `kwargs:"kwargs"`
}

// listRepos returns the repositories by ID.
//
// basedir
//
//	The directory of their files, or several. Default: those in the program's configuration.
//
// CLI Example:
//
//	salt '*' pkg.list_repos basedir=/path/to/dir
func (m *module) listRepos(_ context.Context, a listReposArgs) (any, error) {
	return m.repos(a.Basedir, a.Kwargs)
}

func (m *module) repos(basedir any, _ *data.Map) (*data.Map, error) {
	dirs, err := m.dirs(basedir)
	if err != nil {
		return nil, err
	}
	repos := &data.Map{}
	for _, dir := range dirs {
		files, err := os.ReadDir(m.path(dir))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, loader.Execution("list repositories: %w", err)
		}
		for _, f := range files {
			if strings.HasSuffix(f.Name(), ".repo") {
				m.addRepos(repos, dir+"/"+f.Name())
			}
		}
	}
	return repos, nil
}

// addRepos adds the repositories in a file. It logs an unreadable file and goes on, as the program
// does.
func (m *module) addRepos(repos *data.Map, path string) {
	f, err := rpm.ReadRepos(m.path(path))
	if err != nil {
		m.env.Log.Errorf("Failed to parse file %s, error: %v", path, err)
		return
	}
	for name, repo := range f.Repos.All() {
		repo.(*data.Map).Set("file", path)
		repos.Set(name, repo)
	}
}

// dirs returns the directories of repository files.
func (m *module) dirs(basedir any) ([]string, error) {
	dirs := loader.SplitList(basedir)
	if len(dirs) == 0 {
		var err error
		if dirs, err = m.configuredDirs(); err != nil {
			return nil, err
		}
	}
	if len(dirs) == 0 {
		return nil, loader.Invocation("Could not determine any repo directories")
	}
	return dirs, nil
}

func (m *module) configuredDirs() ([]string, error) {
	paths := []string{"/etc/yum/yum.conf", "/etc/yum.conf", "/etc/dnf/dnf.conf",
		"/etc/tdnf/tdnf.conf"}
	for _, path := range paths {
		if _, err := os.Stat(m.path(path)); err != nil {
			continue
		}
		f, err := rpm.ReadRepos(m.path(path))
		if err != nil {
			return nil, loader.Execution("Unable to read from %s: %w", path, err)
		}
		section, _ := f.Repos.Value("main").(*data.Map)
		if dirs, ok := section.Get("reposdir"); ok {
			return loader.SplitList(dirs), nil
		}
		return []string{"/etc/yum/repos.d", "/etc/yum.repos.d"}, nil
	}
	if m.program == "dnf5" { // it works without a configuration
		return []string{"/etc/yum.repos.d"}, nil
	}
	return nil, loader.Execution("No suitable yum config file found in: %s",
		data.Repr(data.Tuple(data.Values(paths))))
}

// coprID returns the ID of a Copr repository.
func coprID(repo string) string {
	short, ok := strings.CutPrefix(repo, "copr:")
	if !ok {
		return repo
	}
	owner, project, _ := strings.Cut(short, "/")
	return "copr:copr.fedorainfracloud.org:" + owner + ":" + project
}

type repoArgs struct {
	Repo    string
	Basedir any       `default:"None"`
	Kwargs  *data.Map `kwargs:"kwargs"`
}

// getRepo returns the settings of a repository, or an empty result if its ID is unknown.
//
// basedir
//
//	The directory of the files, or several.
//
// CLI Example:
//
//	salt '*' pkg.get_repo myrepo
func (m *module) getRepo(_ context.Context, a repoArgs) (any, error) {
	repos, err := m.repos(a.Basedir, a.Kwargs)
	repo, _ := repos.Value(coprID(a.Repo)).(*data.Map)
	repo = repo.Clone()
	repo.Delete("file")
	return repo, err
}

// delRepo removes a repository, and its file if that has no other. It returns a text about that.
//
// basedir
//
//	The directory of the files, or several.
//
// CLI Example:
//
//	salt '*' pkg.del_repo myrepo
func (m *module) delRepo(_ context.Context, a repoArgs) (any, error) {
	id := coprID(a.Repo)
	repos, err := m.repos(a.Basedir, a.Kwargs)
	if err != nil {
		return nil, err
	}
	repo, ok := repos.Value(id).(*data.Map)
	if !ok {
		dirs, err := m.dirs(a.Basedir)
		return "Error: the " + id + " repo does not exist in " + data.Repr(data.Values(dirs)), err
	}
	path := repo.Text("file")
	f, err := rpm.ReadRepos(m.path(path))
	if err != nil {
		return nil, loader.Execution("remove repository: %w", err)
	}
	f.Repos.Delete(id)
	if f.Repos.Len() == 0 {
		return "File " + path + " containing repo " + id +
			" has been removed", os.Remove(m.path(path))
	}
	return "Repo " + id + " has been removed from " + path, f.Write(m.path(path), "\n")
}

// modRepo changes the settings of a repository, or adds it. It returns the file with its contents.
// An empty argument removes a setting.
//
// name
//
//	The name of the repository. Required for a new one.
//
// baseurl, mirrorlist
//
//	The URL. One of them is required for a new repository.
//
// comments
//
//	A text or a list to write to the file as comments.
//
// CLI Example:
//
//	salt '*' pkg.mod_repo reponame enabled=1 gpgcheck=1
func (m *module) modRepo(ctx context.Context, a repoArgs) (any, error) {
	c := &repoChange{module: m, id: coprID(a.Repo), options: packages.Own(a.Kwargs)}
	c.options.Delete("saltenv")
	if err := c.read(); err != nil {
		return nil, err
	}
	if err := c.find(ctx, a); err != nil {
		return nil, err
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	repo := c.file.Repos.Value(c.id).(*data.Map)
	for _, key := range c.deleted {
		repo.Delete(key)
	}
	repo.Update(c.options)
	if err := c.file.Write(m.path(c.path), ""); err != nil {
		return nil, loader.Execution("write repository: %w", err)
	}
	for _, v := range c.file.Repos.All() {
		v.(*data.Map).Delete("comments")
	}
	return data.NewMap(c.path, c.file.Repos), nil
}

// A repoChange is a change of a repository.
type repoChange struct {
	*module
	id      string
	options *data.Map
	deleted []string
	path    string
	file    rpm.RepoFile
}

// read sorts the arguments into settings to set and settings to remove.
func (c *repoChange) read() error {
	if c.options.Has("mirrorlist") && c.options.Has("baseurl") {
		return loader.Invocation("Only one of 'mirrorlist' and 'baseurl' can be specified")
	}
	for k, v := range c.options.Clone().All() {
		if v != false && !data.Equal(v, int64(0)) && !data.Truth(v) {
			c.options.Delete(k)
			c.deleted = append(c.deleted, data.Str(k))
		}
	}
	switch {
	case c.options.Has("mirrorlist"):
		c.deleted = append(c.deleted, "baseurl")
	case c.options.Has("baseurl"):
		c.deleted = append(c.deleted, "mirrorlist")
	}
	if c.deletes("name") {
		return loader.Invocation("The repo name cannot be deleted")
	}
	return nil
}

func (c *repoChange) deletes(key string) bool {
	for _, d := range c.deleted {
		if d == key {
			return true
		}
	}
	return false
}

// find reads the file of the repository, or chooses one for a new repository.
func (c *repoChange) find(ctx context.Context, a repoArgs) error {
	repos, err := c.repos(a.Basedir, a.Kwargs)
	if err != nil {
		return err
	}
	repo, ok := repos.Value(c.id).(*data.Map)
	if !ok && strings.HasPrefix(a.Repo, "copr:") {
		repo, err = c.enableCopr(ctx, a)
	}
	if err != nil {
		return err
	}
	if repo == nil {
		return c.newRepo(a)
	}
	c.path = repo.Text("file")
	if c.file, err = rpm.ReadRepos(c.module.path(c.path)); err != nil {
		return loader.Execution("change repository: %w", err)
	}
	return nil
}

func (c *repoChange) newRepo(a repoArgs) error {
	dir, err := c.newDir(a.Basedir)
	switch {
	case err != nil:
		return err
	case !c.options.Has("name"):
		return loader.Invocation("The repo does not exist and needs to be created, but a name was not given")
	case !c.options.Has("baseurl") && !c.options.Has("mirrorlist"):
		return loader.Invocation("The repo does not exist and needs to be created, but either a baseurl or a mirrorlist needs to be given")
	}
	c.path, c.file = dir+"/"+c.id+".repo", rpm.RepoFile{Repos: data.NewMap(c.id, &data.Map{})}
	text, err := os.ReadFile(c.module.path(c.path))
	if errors.Is(err, fs.ErrNotExist) || err == nil && strings.TrimSpace(string(text)) == "" {
		return nil
	}
	if err == nil {
		c.file, err = rpm.ParseRepos(string(text))
	}
	if err != nil {
		return loader.Execution("create repository: %w", err)
	}
	c.file.Repos.Set(c.id, &data.Map{})
	return nil
}

// newDir returns the directory for the file of a new repository.
func (c *repoChange) newDir(basedir any) (string, error) {
	dirs, err := c.dirs(basedir)
	if err != nil {
		return "", err
	}
	for _, dir := range dirs {
		if _, err := os.Stat(c.module.path(dir)); err == nil {
			return filepath.Clean(dir), nil
		}
	}
	return "", loader.Invocation("The repo does not exist and needs to be created, but none of the following basedir directories exist: %s", data.Repr(data.Values(dirs)))
}

// enableCopr makes the program add a Copr repository, and returns it.
func (c *repoChange) enableCopr(ctx context.Context, a repoArgs) (*data.Map, error) {
	plugin := "yum-plugin-copr"
	if c.dnf() {
		plugin = "dnf-plugins-core"
	}
	if all, err := c.all(ctx, true); err != nil || !all.Has(plugin) && c.program != "dnf5" {
		if err == nil {
			err = loader.Invocation("%s must be installed to use COPR", plugin)
		}
		return nil, err
	}
	name := strings.TrimPrefix(a.Repo, "copr:")
	out, err := c.yum(ctx, calls.Run{}, "copr", "enable", name, "-y")
	if err == nil && out.Retcode != 0 {
		err = loader.Execution("Unable to add COPR '%s'. '%s' exited with status %d: '%s' ", name,
			c.program, out.Retcode, out.Stderr)
	}
	if err != nil {
		return nil, err
	}
	repos, err := c.repos(a.Basedir, a.Kwargs)
	repo, ok := repos.Value(c.id).(*data.Map)
	if err == nil && !ok {
		err = loader.Execution("COPR '%s' was enabled, but repository %s does not exist", name,
			c.id)
	}
	return repo, err
}

// check returns an error if the repository would have no URL.
func (c *repoChange) check() error {
	now := c.file.Repos.Value(c.id).(*data.Map)
	for gone, other := range map[string]string{"baseurl": "mirrorlist", "mirrorlist": "baseurl"} {
		if c.deletes(gone) && !c.options.Has(other) && !now.Has(other) {
			return loader.Invocation("Cannot delete %s without specifying %s", gone, other)
		}
	}
	return nil
}

package zypperpkg

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/internal/packages/rpm"
	"github.com/brineproject/brine/loader"
)

const repoDir = "/etc/zypp/repos.d"

type reposArgs struct {
	Root   any       `default:"None"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// listRepos returns the repositories by alias.
//
// CLI Example:
//
//	salt '*' pkg.list_repos
func (m *module) listRepos(_ context.Context, a reposArgs) (any, error) { return m.repos(a.Root) }

func (m *module) repos(root any) (*data.Map, error) {
	files, err := os.ReadDir(m.path(root, repoDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, loader.Execution("list repositories: %w", err)
	}
	repos := &data.Map{}
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".repo") {
			continue
		}
		read, err := rpm.ReadRepos(m.path(root, repoDir+"/"+f.Name()))
		if err != nil {
			return nil, loader.Execution("list repositories: %w", err)
		}
		for alias, repo := range read.Repos.All() {
			repos.Set(alias, described(data.Str(alias), repo.(*data.Map)))
		}
	}
	return repos, nil
}

// described returns a repository with booleans and None instead of 0, 1 and NONE in its file.
func described(alias string, repo *data.Map) *data.Map {
	out := &data.Map{}
	for k, v := range repo.All() {
		switch {
		case k == "comments":
			continue
		case v == "0" || v == "1":
			v = v == "1"
		case v == "NONE":
			v = nil
		}
		out.Set(k, v)
	}
	out.Set("alias", alias)
	return out
}

type getRepoArgs struct {
	Repo   string
	Root   any       `default:"None"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// getRepo returns the settings of a repository, or an empty result if it does not exist.
//
// CLI Example:
//
//	salt '*' pkg.get_repo alias
func (m *module) getRepo(_ context.Context, a getRepoArgs) (any, error) {
	return m.repo(a.Repo, a.Root)
}

func (m *module) repo(alias string, root any) (*data.Map, error) {
	repos, err := m.repos(root)
	repo, _ := repos.Value(alias).(*data.Map)
	return repo.Clone(), err
}

type delRepoArgs struct {
	Repo string
	Root any `default:"None"`
}

// delRepo removes a repository.
//
// CLI Example:
//
//	salt '*' pkg.del_repo alias
func (m *module) delRepo(ctx context.Context, a delRepoArgs) (any, error) {
	repos, err := m.repos(a.Root)
	if err != nil {
		return nil, err
	}
	if repos.Has(a.Repo) {
		out, err := m.run(ctx, call{root: a.Root, xml: true}, "rr", "--loose-auth",
			"--loose-query", a.Repo)
		if err != nil {
			return nil, err
		}
		nodes, err := parseXML(out.Stdout)
		if err != nil {
			return nil, loader.Execution("parse the output of zypper: %w", err)
		}
		if messages := named(nodes, "message"); len(messages) > 0 &&
			len(named(nodes, "progress")) > 0 {
			return data.NewMap(a.Repo, true, "message", messages[0].text), nil
		}
	}
	return nil, loader.Execution("Repository '%s' not found.", a.Repo)
}

type modRepoArgs struct {
	Repo   string
	Kwargs *data.Map `kwargs:"kwargs"`
}

// modRepo changes a repository, or adds it, and returns its settings.
//
// baseurl, mirrorlist, url
//
//	The URL. One of them is required for a new repository.
//
// name, enabled, refresh, cache, gpgcheck, priority
//
//	Its name; whether it is enabled, is refreshed each time, caches packages, and has its
//	signatures checked; its priority.
//
// gpgautoimport
//
//	True: import and trust its key.
//
// CLI Example:
//
//	salt '*' pkg.mod_repo alias baseurl=http://host/path refresh=True
func (m *module) modRepo(ctx context.Context, a modRepoArgs) (any, error) {
	return m.modify(ctx, a.Repo, packages.Own(a.Kwargs))
}

func (m *module) modify(ctx context.Context, alias string, kwargs *data.Map) (any, error) {
	root := kwargs.Value("root")
	repos, err := m.repos(root)
	if err != nil {
		return nil, err
	}
	now, there := repos.Value(alias).(*data.Map)
	if base, ok := kwargs.Get("baseurl"); there && ok && base != now.Value("baseurl") {
		return m.move(ctx, alias, now, kwargs)
	}
	if !there {
		if err := m.addRepo(ctx, alias, repos, kwargs); err != nil {
			return nil, err
		}
	}
	options := modifyWords(kwargs)
	global, refresh := []any{}, kwargs.Value("gpgautoimport") == true
	if refresh {
		global = append(global, "--gpg-auto-import-keys")
	}
	if len(options) > 0 {
		if _, err := m.run(ctx, call{root: root, xml: true, refresh: true},
			append(append(append(global, "mr"), options...), alias)...); err != nil {
			return nil, err
		}
	}
	if refresh {
		if _, err := m.run(ctx, call{root: root, xml: true},
			append(global, "refresh", alias)...); err != nil {
			return nil, err
		}
	}
	repo, err := m.repo(alias, root)
	if err == nil && there && !refresh && len(options) == 0 {
		repo.Set("comment", "Specified arguments did not result in modification of repo")
	}
	return repo, err
}

// move adds a repository again with another URL and otherwise the same settings.
func (m *module) move(ctx context.Context, alias string, now, kwargs *data.Map) (any, error) {
	words := now.Clone()
	words.Update(kwargs)
	if !words.Has("cache") {
		words.Set("cache", false)
	}
	if _, err := m.delRepo(ctx, delRepoArgs{alias, kwargs.Value("root")}); err != nil {
		return nil, err
	}
	return m.modify(ctx, alias, words)
}

func (m *module) addRepo(ctx context.Context, alias string, repos, kwargs *data.Map) error {
	place := ""
	for _, key := range []string{"url", "mirrorlist", "baseurl"} {
		if v := kwargs.Value(key); place == "" && data.Truth(v) {
			place = data.Str(v)
		}
	}
	if place == "" {
		return loader.Execution("Repository '%s' not found, and neither 'baseurl' nor 'mirrorlist' was specified", alias)
	}
	u, err := url.Parse(place)
	if err != nil || u.Scheme == "" {
		return loader.Execution("Repository '%s' not found and URL for baseurl/mirrorlist is malformed", alias)
	}
	if u.Path == "" {
		u.Path = "/"
	}
	for other, repo := range repos.All() {
		if base := repo.(*data.Map).Text("baseurl"); base == place || base == u.String() {
			return loader.Execution("Repository '%s' already exists as '%s'.", alias,
				data.Str(other))
		}
	}
	root := kwargs.Value("root")
	if _, err := m.run(ctx, call{root: root, xml: true}, "ar", place, alias); err != nil {
		return err
	}
	added, err := m.repo(alias, root)
	if err == nil && added.Len() == 0 {
		err = loader.Execution("Failed add new repository '%s' for unspecified reason. Please check zypper logs.", alias)
	}
	return err
}

// modifyWords returns the options of zypper mr for the arguments.
func modifyWords(kwargs *data.Map) []any {
	var words []any
	for _, o := range [][3]string{{"enabled", "--enable", "--disable"},
		{"refresh", "--refresh", "--no-refresh"},
		{"cache", "--keep-packages", "--no-keep-packages"}, {"gpgcheck", "--gpgcheck",
			"--no-gpgcheck"}} {
		if v, ok := kwargs.Get(o[0]); ok && data.Truth(v) {
			words = append(words, o[1])
		} else if ok {
			words = append(words, o[2])
		}
	}
	if v, ok := kwargs.Get("priority"); ok {
		words = append(words, "--priority="+data.Str(v))
	}
	for _, name := range []string{"humanname", "name"} {
		if v, ok := kwargs.Get(name); ok {
			words = append(words, "--name", data.Str(v))
		}
	}
	return words
}

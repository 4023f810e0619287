package helm

import (
	"context"
	"slices"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

type repoAddArgs struct {
	Name      string
	URL       string `name:"url"`
	Namespace any    `default:"None"`
	options
}

// repoAdd adds a repository of charts, and returns True or helm's error. kvflags may hold username and
// password.
//
// CLI Example:
//
//	salt '*' helm.repo_add NAME URL
func (m *module) repoAdd(ctx context.Context, a repoAddArgs) (any, error) {
	return m.do(ctx, a.with("namespace", a.Namespace), []string{"repo", "add"}, a.Name, a.URL)
}

type repoIndexArgs struct {
	Directory string
	Namespace any `default:"None"`
	options
}

// repoIndex writes the index of a directory with packed charts, and returns True or helm's error.
//
// CLI Example:
//
//	salt '*' helm.repo_index DIRECTORY
func (m *module) repoIndex(ctx context.Context, a repoIndexArgs) (any, error) {
	return m.do(ctx, a.with("namespace", a.Namespace), []string{"repo", "index"}, a.Directory)
}

// repoList returns the repositories, each with its name and url, or helm's error.
//
// CLI Example:
//
//	salt '*' helm.repo_list
func (m *module) repoList(ctx context.Context, a listArgs) (any, error) {
	return m.value(ctx, a.with("namespace", a.Namespace), []string{"repo", "list"})
}

type repoRemoveArgs struct {
	Name      string
	Namespace any `default:"None"`
	options
}

// repoRemove removes a repository, and returns True or helm's error.
//
// CLI Example:
//
//	salt '*' helm.repo_remove NAME
func (m *module) repoRemove(ctx context.Context, a repoRemoveArgs) (any, error) {
	return m.do(ctx, a.with("namespace", a.Namespace), []string{"repo", "remove"}, a.Name)
}

// repoUpdate fetches the lists of charts of all repositories, and returns True or helm's error.
//
// CLI Example:
//
//	salt '*' helm.repo_update
func (m *module) repoUpdate(ctx context.Context, a listArgs) (any, error) {
	return m.do(ctx, a.with("namespace", a.Namespace), []string{"repo", "update"})
}

type manageArgs struct {
	Present   []any `default:"None"`
	Absent    []any `default:"None"`
	Prune     any   `default:"False"`
	Namespace any   `default:"None"`
	options
}

// repoManage adds and removes repositories. It returns the lists present, added, absent, removed and failed.
//
// present
//
//	Repositories that should be there: a list of dictionaries with name and url.
//
// absent
//
//	Names of repositories that should not be there.
//
// prune
//
//	True: remove all repositories that are not in present.
//
// CLI Example:
//
//	salt '*' helm.repo_manage present="[{'name': 'a', 'url': 'https://charts.example.com'}]" absent="['b']"
func (m *module) repoManage(ctx context.Context, a manageArgs) (any, error) {
	v, err := m.repoList(ctx, listArgs{a.Namespace, a.options})
	if err != nil {
		return nil, err
	}
	there, _ := v.([]any)
	there = slices.Clone(there)
	present, added, absent, removed, failed := []any{}, []any{}, []any{}, []any{}, []any{}
	for _, item := range a.Present {
		repo, _ := item.(*data.Map)
		if !repo.Has("name") || !repo.Has("url") {
			return nil, loader.Execution("Parameter present have to be formatted like " +
				"[{'name': '<myRepoName>', 'url': '<myRepoUrl>'}]")
		}
		if i := slices.IndexFunc(there, func(v any) bool { return sameRepo(v, repo) }); i >= 0 {
			present, there = append(present, repo), slices.Delete(there, i, i+1)
			continue
		}
		done, err := m.repoAdd(ctx,
			repoAddArgs{repo.Text("name"), repo.Text("url"), a.Namespace, a.options})
		if err != nil {
			return nil, err
		}
		if done == true {
			added = append(added, repo)
		} else {
			failed = append(failed, repo)
		}
	}
	unwanted := slices.Clone(a.Absent)
	for _, v := range there {
		repo, _ := v.(*data.Map)
		name := repo.Value("name")
		switch {
		case data.Truth(a.Prune):
			unwanted = append(unwanted, name)
		case !slices.ContainsFunc(unwanted, func(v any) bool { return data.Equal(v, name) }):
			present = append(present, repo)
		}
	}
	for _, name := range unwanted {
		done, err := m.repoRemove(ctx, repoRemoveArgs{data.Str(name), a.Namespace, options{}})
		if err != nil {
			return nil, err
		}
		if done == true {
			removed = append(removed, name)
		} else {
			absent = append(absent, name)
		}
	}
	return data.NewMap("present", present, "added", added, "absent", absent, "removed", removed,
		"failed", failed), nil
}

func sameRepo(v any, repo *data.Map) bool {
	one, _ := v.(*data.Map)
	return data.Equal(one.Value("name"), repo.Value("name")) && data.Equal(one.Value("url"), repo.Value("url"))
}

// Package helm is Salt's state helm: repositories of charts and releases of Kubernetes
// (salt/states/helm.py). It uses the module helm.
//
// Differences from Salt: test mode reports what a real run would do. A release is upgraded only if a trial
// run of helm shows that its manifest or values would change; Salt upgrades it in each run. A release
// counts as absent only if helm says so, and not if the cluster does not answer.
package helm

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state helm.
func Plugin() loader.Plugin { return loader.Plugin{Name: "helm", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	if !env.Functions.Has("helm.status") {
		return nil, errors.New("helm module could not be loaded")
	}
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("release_absent", m.releaseAbsent),
		loader.F("release_present", m.releasePresent).Secret("set", "kvflags"),
		loader.F("repo_managed", m.repoManaged).Secret("kvflags"),
		loader.F("repo_updated", m.repoUpdated),
	}}, nil
}

// call calls a function of the module helm. An error of helm is the state's comment.
func (m *module) call(ctx context.Context, fun string, args []any, kwargs *data.Map) (any, error) {
	v, err := m.env.Call(ctx, "helm."+fun, args, kwargs)
	return v, change.Except(err, loader.KindExecution)
}

// do calls a function that returns True or the reason of its failure.
func (m *module) do(ctx context.Context, fun string, args []any, kwargs *data.Map) error {
	v, err := m.call(ctx, fun, args, kwargs)
	if err == nil && v != true {
		err = change.Reason(data.Str(v))
	}
	return err
}

type managedArgs struct {
	Name       any
	Present    []any     `default:"None"`
	Absent     []any     `default:"None"`
	Prune      any       `default:"False"`
	RepoUpdate any       `default:"False"`
	Namespace  any       `default:"None"`
	Flags      any       `default:"None"`
	Kvflags    *data.Map `default:"None"`
}

// repoManaged adds and removes repositories of charts.
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
// repo_update
//
//	True: fetch the lists of charts after a change.
//
// namespace, flags, kvflags
//
//	Options of helm, as in helm.repo_manage.
//
//	helm_repository_is_managed:
//	  helm.repo_managed:
//	    - present:
//	      - name: stable
//	        url: https://charts.example.com
//	    - absent:
//	      - old
func (m *module) repoManaged(ctx context.Context, a managedArgs) (change.Result, error) {
	options := data.NewMap("namespace", a.Namespace, "flags", a.Flags, "kvflags", a.Kvflags)
	done := &data.Map{}
	return change.Thing[[]any]{
		Name: a.Name,
		Look: func(ctx context.Context) ([]any, error) {
			v, err := m.call(ctx, "repo_list", nil, options)
			list, _ := v.([]any)
			return list, err
		},
		Wants: a.wants,
		Apply: func(ctx context.Context, _ []any) error {
			args := options.Clone()
			args.Update(data.NewMap("present", a.Present, "absent", a.Absent, "prune", a.Prune))
			v, err := m.call(ctx, "repo_manage", nil, args)
			if err != nil {
				return err
			}
			result, _ := v.(*data.Map)
			done.Update(result)
			switch {
			case data.Truth(result.Value("failed")):
				return change.Reason("Failed to add or remove some repositories.")
			case !data.Truth(a.RepoUpdate):
				return nil
			}
			updated, err := m.call(ctx, "repo_update", nil, options)
			done.Set("repo_update", updated)
			return err
		},
		Changed: func(_, _ []any) *data.Map { return done },
		Texts: change.Texts{Same: "Helm repo is managed.", Would: "Helm repo would have been managed.",
			Done: "Repositories were added or removed."},
		Say: func(o change.Outcome[[]any]) any {
			if o.Stage == change.StageFailed && loader.KindOf(o.Err) == loader.KindExecution && done.Len() == 0 &&
				o.Err != nil {
				return "Failed to add some repositories: " + o.Err.Error() + "."
			}
			return nil
		},
		Silent: true,
	}.Ensure(ctx)
}

// wants returns the repositories to add and to remove.
func (a managedArgs) wants(there []any) *data.Map {
	wanted := &data.Map{}
	var add, remove []any
	kept := slices.Clone(there)
	for _, v := range a.Present {
		repo, _ := v.(*data.Map)
		i := slices.IndexFunc(kept, func(v any) bool {
			one, _ := v.(*data.Map)
			return one.Text("name") == repo.Text("name") && one.Text("url") == repo.Text("url")
		})
		if i < 0 {
			add = append(add, v)
			continue
		}
		kept = slices.Delete(kept, i, i+1)
	}
	for _, v := range kept {
		repo, _ := v.(*data.Map)
		name := repo.Text("name")
		if data.Truth(a.Prune) || slices.Contains(data.Texts(a.Absent), name) {
			remove = append(remove, name)
		}
	}
	if len(add) > 0 {
		wanted.Set("added", add)
	}
	if len(remove) > 0 {
		wanted.Set("removed", remove)
	}
	return wanted
}

type updatedArgs struct {
	Name      any
	Namespace any       `default:"None"`
	Flags     any       `default:"None"`
	Kvflags   *data.Map `default:"None"`
}

// repoUpdated fetches the lists of charts of all repositories in each run. It reports no changes.
//
//	helm_repository_is_updated:
//	  helm.repo_updated
func (m *module) repoUpdated(ctx context.Context, a updatedArgs) (change.Result, error) {
	if change.Test(ctx) {
		return change.Result{Name: a.Name, Verdict: change.Pending,
			Comment: "Helm repo would have been updated."}, nil
	}
	v, err := m.env.Call(ctx, "helm.repo_update", nil,
		data.NewMap("namespace", a.Namespace, "flags", a.Flags, "kvflags", a.Kvflags))
	switch {
	case loader.KindOf(err) == loader.KindExecution:
		return change.Refuse(a.Name, "Failed to update some repositories: "+err.Error()+".")
	case err != nil:
		return change.Result{}, err
	case v != true:
		return change.Refuse(a.Name, "Failed to sync some repositories. "+data.Str(v))
	}
	return change.Leave(a.Name, "Helm repo is updated.")
}

// release returns the status of a release without its manifest, or nil if there is none.
func (m *module) release(ctx context.Context, name string, namespace any) (*data.Map, error) {
	v, err := m.call(ctx, "status", []any{name}, data.NewMap("namespace", namespace))
	if err != nil {
		return nil, err
	}
	status, ok := v.(*data.Map)
	if ok {
		status.Delete("manifest")
		return status, nil
	}
	if text := data.Str(v); !strings.Contains(text, "not found") {
		return nil, change.Reason(text)
	}
	return nil, nil
}

type presentArgs struct {
	Name      string
	Chart     string
	Values    any       `default:"None"`
	Version   any       `default:"None"`
	Namespace any       `default:"None"`
	Set       any       `default:"None"`
	Flags     any       `default:"None"`
	Kvflags   *data.Map `default:"None"`
}

// installation is what release_present finds.
type installation struct {
	status *data.Map // nil if there is none
	stale  bool      // an upgrade would change it
}

// releasePresent keeps a release installed with a chart and values.
//
// chart
//
//	The chart: REPOSITORY/NAME, a path or an address.
//
// values, version, namespace, set, flags, kvflags
//
//	Options of helm, as in helm.install.
//
//	mongodb:
//	  helm.release_present:
//	    - chart: stable/mongodb
//	    - namespace: db
//	    - set:
//	      - replicas=3
func (m *module) releasePresent(ctx context.Context, a presentArgs) (change.Result, error) {
	args := []any{a.Name, a.Chart}
	kwargs := data.NewMap("values", a.Values, "version", a.Version, "namespace", a.Namespace, "set", a.Set,
		"flags", a.Flags, "kvflags", a.Kvflags)
	return change.Thing[installation]{
		Name: a.Name,
		Look: func(ctx context.Context) (installation, error) {
			status, err := m.release(ctx, a.Name, a.Namespace)
			if err != nil || status == nil {
				return installation{}, err
			}
			stale, err := m.call(ctx, "needs_upgrade", args, kwargs)
			return installation{status, data.Truth(stale)}, err
		},
		Wants: func(now installation) *data.Map {
			return change.When(now.status == nil || now.stale, data.NewMap("release", a.Name))
		},
		Apply: func(ctx context.Context, now installation) error {
			if now.status == nil {
				return m.do(ctx, "install", args, kwargs)
			}
			return m.do(ctx, "upgrade", args, kwargs)
		},
		Changed: func(_, now installation) *data.Map { return now.status },
		Texts: change.Texts{Same: "Helm release " + a.Name + " is present",
			Would: "Helm release would have been installed or updated.",
			Done:  "Helm release " + a.Name + " is present"},
		Silent: true,
	}.Ensure(ctx)
}

type absentArgs struct {
	Name      string
	Namespace any       `default:"None"`
	Flags     any       `default:"None"`
	Kvflags   *data.Map `default:"None"`
}

// releaseAbsent keeps a release uninstalled.
//
//	mongodb:
//	  helm.release_absent:
//	    - namespace: db
func (m *module) releaseAbsent(ctx context.Context, a absentArgs) (change.Result, error) {
	return change.Thing[*data.Map]{
		Name:  a.Name,
		Look:  func(ctx context.Context) (*data.Map, error) { return m.release(ctx, a.Name, a.Namespace) },
		Wants: func(now *data.Map) *data.Map { return change.When(now != nil, data.NewMap("absent", a.Name)) },
		Apply: func(ctx context.Context, _ *data.Map) error {
			return m.do(ctx, "uninstall", []any{a.Name},
				data.NewMap("namespace", a.Namespace, "flags", a.Flags, "kvflags", a.Kvflags))
		},
		Texts: change.Texts{Same: "Helm release " + a.Name + " is absent.",
			Would: "Helm release would have been uninstalled.", Done: "Helm release " + a.Name + " is absent."},
		Silent: true,
	}.Ensure(ctx)
}

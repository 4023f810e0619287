// Package nfsexport is Salt's state nfs_export: directories that this host exports over NFS
// (salt/states/nfs_export.py). It uses the module nfs3.
//
// Differences from Salt: an export without options is the same as one with an empty list of them. Hosts
// and options that cannot be written fail the state before it deletes the old export.
package nfsexport

import (
	"context"
	"errors"
	"slices"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/nfsexports"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/process"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state nfs_export. It is available on hosts with the program exportfs.
func Plugin() loader.Plugin { return loader.Plugin{Name: "nfs_export", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	if process.Find("exportfs") == "" {
		//nolint:staticcheck // Salt's text
		return nil, errors.New("The nfs_exports state module failed to load: " +
			"the exportfs binary is not in the path")
	}
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("absent", m.absent),
		loader.F("present", m.present),
	}}, nil
}

type presentArgs struct {
	Name    string
	Clients any    `default:"None"`
	Hosts   any    `default:"None"`
	Options any    `default:"None"`
	Exports string `default:"'/etc/exports'"`
}

// check returns an error for clients that cannot be written: an old export is deleted before they are.
func (a presentArgs) check() error {
	for _, v := range a.clients() {
		client, _ := v.(*data.Map)
		hosts, ok := client.Value("hosts").(string)
		if !ok || hosts == "" {
			return errors.New("hosts argument must be a string")
		}
		if err := nfsexports.Check(a.Name, hosts, nfsexports.Options(client.Value("options"))); err != nil {
			return err
		}
	}
	return nil
}

// clients returns the wanted hosts, each with its options.
func (a presentArgs) clients() []any {
	if data.Truth(a.Clients) {
		return data.ListOf(a.Clients)
	}
	return []any{data.NewMap("hosts", a.Hosts, "options", a.Options)}
}

// equal reports whether two lists of clients mean the same.
func equal(a, b []any) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		one, _ := a[i].(*data.Map)
		two, _ := b[i].(*data.Map)
		if one.Text("hosts") != two.Text("hosts") ||
			!slices.Equal(nfsexports.Options(one.Value("options")), nfsexports.Options(two.Value("options"))) {
			return false
		}
	}
	return true
}

// exported is the export of a directory: nil if there is none.
func (m *module) exported(ctx context.Context, file, path string) (clients []any, there bool, err error) {
	all, err := change.Ask[*data.Map](ctx, m.env, "nfs3.list_exports", []any{file}, nil)
	return data.ListOf(all.Value(path)), all.Has(path), err
}

// reload makes the kernel follow the file, and returns what exportfs reports as an error.
func (m *module) reload(ctx context.Context) error {
	result, err := change.Ask[*data.Map](ctx, m.env, "nfs3.reload_exports", nil, nil)
	if err == nil && result.Value("result") != true {
		err = change.Reason(result.Text("stderr"))
	}
	return err
}

type state struct {
	clients []any
	there   bool
}

// present keeps a directory exported to these hosts with these options, and to no others.
//
// clients
//
//	A list of dictionaries with hosts and options.
//
// hosts, options
//
//	Instead: the hosts, such as 10.0.2.0/24 or *.example.com, and a list of options for them.
//
//	/srv/nfs:
//	  nfs_export.present:
//	    - hosts: 10.0.2.0/24
//	    - options: [rw]
func (m *module) present(ctx context.Context, a presentArgs) (change.Result, error) {
	if !data.Truth(a.Clients) && !data.Truth(a.Hosts) {
		return change.Refuse(a.Name, "Either 'clients' or 'hosts' must be defined")
	}
	if err := a.check(); err != nil {
		return change.Refuse(a.Name, err.Error())
	}
	wanted := a.clients()
	return change.Thing[state]{
		Name: a.Name,
		Look: func(ctx context.Context) (state, error) {
			clients, there, err := m.exported(ctx, a.Exports, a.Name)
			return state{clients, there}, err
		},
		Wants: func(now state) *data.Map {
			switch {
			case !now.there:
				return data.NewMap("old", nil, "new", wanted)
			case !equal(now.clients, wanted):
				return data.NewMap("new", wanted, "old", now.clients)
			}
			return nil
		},
		Apply: func(ctx context.Context, now state) error {
			if now.there {
				if err := change.Do(ctx, m.env, "nfs3.del_export", []any{a.Exports, a.Name},
					nil); err != nil {
					return err
				}
			}
			for _, v := range wanted {
				client, _ := v.(*data.Map)
				if err := change.Do(ctx, m.env, "nfs3.add_export",
					[]any{a.Exports, a.Name, client.Value("hosts"),
						client.Value("options")}, nil); err != nil {
					return err
				}
			}
			return m.reload(ctx)
		},
		Texts: change.Texts{Same: "Export " + a.Name + " already configured"},
		Say: func(o change.Outcome[state]) any {
			switch {
			case o.Stage == change.StageWould && o.Before.there:
				return "Export " + a.Name + " would be changed"
			case o.Stage == change.StageWould:
				return "Export " + a.Name + " would be added"
			case o.Stage == change.StageDone:
				return ""
			}
			return nil
		},
	}.Ensure(ctx)
}

type absentArgs struct {
	Name    string
	Exports string `default:"'/etc/exports'"`
}

// absent keeps a directory from being exported.
//
//	/srv/nfs:
//	  nfs_export.absent
func (m *module) absent(ctx context.Context, a absentArgs) (change.Result, error) {
	return change.Thing[state]{
		Name: a.Name,
		Look: func(ctx context.Context) (state, error) {
			clients, there, err := m.exported(ctx, a.Exports, a.Name)
			return state{clients, there}, err
		},
		Wants: func(now state) *data.Map { return change.When(now.there, data.NewMap(a.Name, now.clients)) },
		Apply: func(ctx context.Context, _ state) error {
			if err := change.Do(ctx, m.env, "nfs3.del_export", []any{a.Exports, a.Name}, nil); err != nil {
				return err
			}
			return m.reload(ctx)
		},
		Texts: change.Texts{
			Same:  "Export " + a.Name + " already absent",
			Would: "Export " + a.Name + " would be removed",
			Done:  "Export " + a.Name + " removed",
		},
	}.Ensure(ctx)
}

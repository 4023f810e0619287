// Package saltutil is Salt's runner saltutil (salt/runners/saltutil.py). In Salt its functions bring extensions written in
// Python from the file server to the master. There is no Python here: the functions tell which such files there are, and do
// nothing with them.
package saltutil

import (
	"context"
	"path"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileserver"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/runners"
)

// Plugin returns the runner saltutil. Without a file server there are no extensions.
func Plugin(s *fileserver.Server) loader.Plugin {
	return loader.Plugin{Name: "saltutil", New: func(env *loader.Env) (*loader.Module, error) {
		return (&module{env, s}).module(), nil
	}}
}

type module struct {
	env   *loader.Env
	files *fileserver.Server
}

// A kind is one sort of extensions.
type kind struct{ result, folder string }

// kinds are those that sync_all looks for, in the order of Salt 3006.
func kinds() []kind {
	return []kind{
		{"clouds", "_clouds"},
		{"modules", "_modules"},
		{"states", "_states"},
		{"grains", "_grains"},
		{"renderers", "_renderers"},
		{"returners", "_returners"},
		{"output", "_output"},
		{"proxymodules", "_proxy"},
		{"runners", "_runners"},
		{"wheel", "_wheel"},
		{"engines", "_engines"},
		{"thorium", "_thorium"},
		{"queues", "_queues"},
		{"pillar", "_pillar"},
		{"utils", "_utils"},
		{"sdb", "_sdb"},
		{"cache", "_cache"},
		{"fileserver", "_fileserver"},
		{"tops", "_tops"},
		{"tokens", "_tokens"},
		{"serializers", "_serializers"},
		{"executors", "_executors"},
		{"roster", "_roster"},
	}
}

type syncArgs struct {
	Saltenv         any `default:"'base'"`
	ExtmodWhitelist any `default:"None"`
	ExtmodBlacklist any `default:"None"`
}

// syncAll tells which extensions there are of all kinds.
//
// saltenv
//
//	The environments of the file server to look into, with commas.
//
// CLI Example:
//
//	salt-run saltutil.sync_all
func (m *module) syncAll(ctx context.Context, a syncArgs) (any, error) {
	ret := &data.Map{}
	for _, k := range kinds() {
		v, err := m.sync(ctx, a, k)
		if err != nil {
			return nil, err
		}
		ret.Set(k.result, v)
	}
	return ret, nil
}

// sync returns an empty list, as Salt does where there is nothing to bring. Files that are there are told in the log, and as
// progress to who called.
func (m *module) sync(ctx context.Context, a syncArgs, k kind) (any, error) {
	if m.files == nil {
		return []any{}, nil
	}
	for _, env := range loader.SplitList(a.Saltenv) {
		files, err := m.files.List(ctx, fileserver.ListOf{Env: env, Kind: fileserver.Files, Prefix: k.folder})
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			if strings.HasPrefix(f, k.folder+"/") && path.Ext(f) != "" {
				m.env.Log.Warnf("salt://%s of environment %s is an extension for Salt; it cannot be used here", f, env)
				runners.RunOf(ctx).Progress(ctx, "salt://%s of environment %s is an extension for Salt; it cannot be used here", f, env)
			}
		}
	}
	return []any{}, nil
}

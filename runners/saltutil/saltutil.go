// Package saltutil is Salt's runner saltutil: it copies users' own plug-ins from the file server to
// the master (salt/runners/saltutil.py). Those that are written in Python run, see package python;
// the other files lie there for Salt.
package saltutil

import (
	"context"
	"os/exec"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/extmods"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/runners"
)

// Plugin returns the runner saltutil.
func Plugin() loader.Plugin {
	return loader.Plugin{Name: "saltutil", New: func(env *loader.Env) (*loader.Module, error) {
		return (&module{env}).module(), nil
	}}
}

type module struct{ env *loader.Env }

// A kind is one kind of plug-ins: its key in the result of sync_all, and the form in the directories
// salt://_FORM and extension_modules/FORM.
type kind struct{ result, form string }

// kinds returns the kinds of sync_all, in the order of Salt 3006.
func kinds() []kind {
	return []kind{
		{"clouds", "clouds"},
		{"modules", "modules"},
		{"states", "states"},
		{"grains", "grains"},
		{"renderers", "renderers"},
		{"returners", "returners"},
		{"output", "output"},
		{"proxymodules", "proxy"},
		{"runners", "runners"},
		{"wheel", "wheel"},
		{"engines", "engines"},
		{"thorium", "thorium"},
		{"queues", "queues"},
		{"pillar", "pillar"},
		{"utils", "utils"},
		{"sdb", "sdb"},
		{"cache", "cache"},
		{"fileserver", "fileserver"},
		{"tops", "tops"},
		{"tokens", "tokens"},
		{"serializers", "serializers"},
		{"executors", "executors"},
		{"roster", "roster"},
	}
}

type syncArgs struct {
	Saltenv         any `default:"'base'"`
	ExtmodWhitelist any `default:"None"`
	ExtmodBlacklist any `default:"None"`
}

// syncAll copies users' own plug-ins of all kinds and returns the names of new and changed ones by
// kind.
//
// saltenv : base
//
//	The environments of the file server to copy from, comma-separated.
//
// extmod_whitelist, extmod_blacklist : None
//
//	Dictionaries by kind of the only plug-ins to copy, or of those to leave out.
//
// CLI Example:
//
//	salt-run saltutil.sync_all
//	salt-run saltutil.sync_all extmod_whitelist="{'runners': ['custom_runner'], 'grains': []}"
func (m *module) syncAll(ctx context.Context, a syncArgs) (any, error) {
	ret := data.NewMap()
	touched := false
	for _, k := range kinds() {
		done := m.copied(ctx, a, k)
		ret.Set(k.result, done.Names)
		touched = touched || done.Touched
	}
	if touched {
		m.reload()
	}
	return ret, nil
}

// sync copies the plug-ins of one kind and returns the names of new and changed ones.
func (m *module) sync(ctx context.Context, a syncArgs, k kind) (any, error) {
	done := m.copied(ctx, a, k)
	if done.Touched {
		m.reload()
	}
	return done.Names, nil
}

// copied copies the plug-ins of one kind with the execution modules of the master.
func (m *module) copied(ctx context.Context, a syncArgs, k kind) extmods.Result {
	functions := m.env.Registry("modules")
	if functions == nil {
		return extmods.Result{Names: []any{}}
	}
	done := extmods.Sync(ctx, functions.Env(), extmods.Request{
		Form: k.form, Envs: loader.SplitList(a.Saltenv), CacheDir: m.env.Opts.Text("cachedir"),
		Dir: m.env.Opts.Text("extension_modules"), Whitelist: a.ExtmodWhitelist,
		Blacklist: a.ExtmodBlacklist,
	})
	m.warnPython(ctx, done.Files)
	return done
}

// warnPython warns about copied plug-ins in Python if this host has no python3.
func (m *module) warnPython(ctx context.Context, files []string) {
	if len(files) == 0 {
		return
	}
	if _, err := exec.LookPath("python3"); err == nil {
		return
	}
	text := "These plug-ins are in Python, and this host has no python3: " + strings.Join(files, ", ") +
		". They were copied but are not used. Install Python (Debian: python3-minimal)"
	m.env.Log.Warn(text)
	runners.RunOf(ctx).Progress(ctx, "%s", text)
}

// reload makes the copied plug-ins count.
func (m *module) reload() {
	for _, r := range m.env.Registries {
		r.Reload()
	}
}

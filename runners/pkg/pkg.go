// Package pkg is Salt's runner pkg: it combines minions' returns of pkg.list_upgrades jobs
// (salt/runners/pkg.py).
package pkg

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/output"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/runners"
)

// Needs are the runner's dependencies.
type Needs struct {
	Jobs returners.JobReader // the master's job cache
	// Other opens a job cache by the name of its returner; if nil only Jobs is available.
	Other func(ctx context.Context, name string) (returners.JobReader, error)
}

// Plugin returns the runner pkg.
func Plugin(n Needs) loader.Plugin {
	return loader.Plugin{Name: "pkg", New: func(env *loader.Env) (*loader.Module, error) {
		if n.Jobs == nil {
			return nil, errors.New("no job cache is configured")
		}
		m := &module{env, n}
		return &loader.Module{Funcs: []loader.Func{loader.F("list_upgrades", m.listUpgrades)}}, nil
	}}
}

type module struct {
	env   *loader.Env
	needs Needs
}

type listUpgradesArgs struct {
	Jid       any
	Style     any `default:"'group'"`
	Outputter any `default:"'nested'"`
	ExtSource any `default:"None"`
}

// listUpgrades returns the packages that minions could upgrade, from the results of a job of
// pkg.list_upgrades. The result lists the minions by package and version. It is also printed.
//
// jid
//
//	The job ID.
//
// style : group
//
//	For any other style nothing is returned.
//
// outputter : nested
//
//	The outputter for printing the packages; None prints only the result.
//
// ext_source
//
//	The returner to read instead of the master's job cache.
//
// CLI Example:
//
//	salt-run pkg.list_upgrades jid=20141120114114417719 style=group
func (m *module) listUpgrades(ctx context.Context, a listUpgradesArgs) (any, error) {
	jobs, err := m.cache(ctx, a.ExtSource)
	if err != nil {
		return nil, err
	}
	pkgs := &data.Map{}
	if a.Style == "group" {
		if err := group(ctx, jobs, data.Str(a.Jid), pkgs); err != nil {
			return nil, err
		}
	}
	if data.Truth(a.Outputter) {
		if err := m.show(ctx, data.Str(a.Outputter), pkgs); err != nil {
			return nil, err
		}
	}
	return pkgs, nil
}

// cache returns the job cache to use: ext_job_cache, the caller's choice, or master_job_cache.
func (m *module) cache(ctx context.Context, asked any) (returners.JobReader, error) {
	for _, name := range []any{m.env.Option("ext_job_cache"), asked} {
		s, ok := name.(string)
		if !ok || s == "" || s == m.env.Opts.Text("master_job_cache") {
			continue
		}
		if m.needs.Other == nil {
			return nil, loader.Exception("KeyError", "%s", data.Repr(s+".get_jid"))
		}
		r, err := m.needs.Other(ctx, s)
		if err != nil {
			return nil, loader.Execution("job cache %s: %w", s, err)
		}
		return r, nil
	}
	return m.needs.Jobs, nil
}

// group reads the returns of a job, and adds each minion to the hosts of its packages.
func group(ctx context.Context, jobs returners.JobReader, jid string, pkgs *data.Map) error {
	id, err := job.ParseID(jid)
	if err != nil {
		return nil // an invalid id: no such job exists
	}
	returns, err := jobs.Returns(ctx, id)
	if err != nil {
		return err
	}
	for _, one := range returns {
		v, err := payload.UnmarshalText(one.Load, payload.WireLimits())
		if err != nil {
			return fmt.Errorf("read what %s returned for %s: %w", one.Minion, jid, err)
		}
		load, _ := v.(*data.Map)
		results, ok := load.Value("return").(*data.Map)
		if !ok {
			return loader.Exception("AttributeError", "'%s' object has no attribute 'items'",
				loader.TypeName(load.Value("return")))
		}
		for name, version := range results.All() {
			add(pkgs, name, version, one.Minion)
		}
	}
	return nil
}

// add adds a minion to the hosts of a package's version.
func add(pkgs *data.Map, name, version any, minion string) {
	versions, ok := pkgs.Value(name).(*data.Map)
	if !ok {
		versions = &data.Map{}
		pkgs.Set(name, versions)
	}
	of, ok := versions.Value(version).(*data.Map)
	if !ok {
		of = data.NewMap("hosts", []any{})
		versions.Set(version, of)
	}
	hosts, _ := of.Value("hosts").([]any)
	of.Set("hosts", append(hosts, minion))
}

// show prints on the terminal of salt-run. An unknown outputter is replaced by nested.
func (m *module) show(ctx context.Context, outputter string, v any) error {
	o, err := output.New(outputter, output.Options{Indent: output.NoIndent{}})
	if err != nil {
		m.env.Log.Error(err)
	}
	text, err := o.Format(v)
	if err != nil {
		return err
	}
	if text = strings.TrimRight(text, "\n"); text != "" {
		runners.RunOf(ctx).Printf("%s\n", text)
	}
	return nil
}

package master

import (
	"context"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/engines"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/tops"
)

// An Own is the users' own plug-ins in Python (package cli/code). Several goroutines may use it.
type Own interface {
	// Source returns the plug-ins of a kind beside those that are listed.
	Source(kind string, env *loader.Env, listed []loader.Plugin) loader.Source
	// Has reports whether there is a file for a plug-in, without loading it. listed is true if the
	// master has a plug-in of that name itself, which only a file of that name replaces.
	Has(kind, name string, listed bool) bool
	// Grains returns the grains of users' own files, which see those that are known.
	Grains(ctx context.Context, known *data.Map) []*data.Map
	// Version returns a number that changes when a file does.
	Version() uint64
}

// ownCode gives the parts of a master the users' own plug-ins. A nil ownCode has none.
type ownCode struct {
	Own
	log logrus.FieldLogger

	mu       sync.Mutex
	env      *loader.Env // of execution modules on the master; nil before it is assembled
	seen     uint64      // version of the files that the registries know
	looked   time.Time   // when the files were last looked at
	extended []extendedRegistry
	shelves  map[string]*loader.Registry // of kinds that have no registry otherwise
}

// An extendedRegistry is a registry with users' own plug-ins beside those listed.
type extendedRegistry struct {
	*loader.Registry
	kind   string
	listed []loader.Plugin
}

// newOwnCode returns nil if there are no plug-ins.
func newOwnCode(o Own, log logrus.FieldLogger) *ownCode {
	if o == nil {
		return nil
	}
	return &ownCode{Own: o, log: log, seen: o.Version(), shelves: map[string]*loader.Registry{}}
}

// extend adds the users' own plug-ins of a kind to a registry of those listed.
func (o *ownCode) extend(r *loader.Registry, kind string, listed []loader.Plugin) {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	r.Extend(o.Source(kind, r.Env(), listed))
	o.extended = append(o.extended, extendedRegistry{r, kind, listed})
}

// setEnv sets the environment of kinds that have no registry otherwise: that of the execution
// modules on the master.
func (o *ownCode) setEnv(env *loader.Env) {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.env = env
}

// shelf returns a function that returns the plug-ins of a kind, with files that changed more than a
// second ago: it is called several times for each return of a minion.
func (o *ownCode) shelf(kind string) func() *loader.Registry {
	return func() *loader.Registry {
		o.mu.Lock()
		recent := time.Since(o.looked) < time.Second
		o.mu.Unlock()
		if !recent {
			o.refresh()
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		if r, ok := o.shelves[kind]; ok || o.env == nil {
			return r
		}
		r := o.registry(kind, o.env)
		o.shelves[kind] = r
		return r
	}
}

// add returns a registry of the users' own plug-ins of a kind alone; nil, which is empty, if there
// are none.
func (o *ownCode) add(kind string, env *loader.Env) *loader.Registry {
	if o == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.registry(kind, env)
}

// registry makes a registry of users' own plug-ins. o.mu is held.
func (o *ownCode) registry(kind string, env *loader.Env) *loader.Registry {
	r, err := loader.NewRegistry(env, nil)
	if err != nil { // only plug-ins listed twice are an error
		o.log.WithError(err).Errorf("list the %s of users' own code", kind)
		return nil
	}
	r.Extend(o.Source(kind, env, nil))
	o.extended = append(o.extended, extendedRegistry{r, kind, nil})
	return r
}

// has reports whether users' own code has a plug-in.
func (o *ownCode) has(kind, name string, listed bool) bool {
	return o != nil && name != "" && o.Has(kind, name, listed)
}

// begin begins a job in which users' own code may run: the code gets a process of its own, which
// end ends. Files that have changed since the last job are loaded again.
func (o *ownCode) begin(ctx context.Context) (own context.Context, end func()) {
	if o == nil {
		return ctx, func() {}
	}
	o.refresh()
	own, scope := loader.WithScope(ctx)
	return own, func() {
		if err := scope.Close(); err != nil {
			o.log.WithError(err).Debug("end a process of users' own code")
		}
	}
}

// refresh makes the registries find files that have changed. Salt loads them for each job.
func (o *ownCode) refresh() {
	if o == nil {
		return
	}
	now := o.Version()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.looked = time.Now()
	if now == o.seen {
		return
	}
	o.seen = now
	for _, r := range o.extended {
		r.Reload()
	}
}

// renew applies the options of a reloaded configuration.
func (o *ownCode) renew(opts *data.Map) {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, r := range o.extended {
		r.SetOptions(opts)
		r.Extend(o.Source(r.kind, r.Env(), r.listed))
	}
	if o.env != nil {
		env := *o.env
		env.Opts = opts
		o.env = &env
	}
}

// tops returns the function that finds systems of master_tops of users' own code; nil if there are
// none. listed are those of the master.
func (o *ownCode) tops(listed []tops.Source) func(name string) (tops.Source, bool) {
	if o == nil {
		return nil
	}
	names := map[string]bool{}
	for _, s := range listed {
		names[s.Name()] = true
	}
	return func(name string) (tops.Source, bool) {
		if !o.has("tops", name, names[name]) {
			return nil, false
		}
		return tops.Own(name, o.shelf("tops")), true
	}
}

// engines returns the engines of the option engines that users' own code has, and the listed ones.
func (o *ownCode) engines(option any, listed map[string]engines.Make) map[string]engines.Make {
	if o == nil {
		return listed
	}
	all := map[string]engines.Make{}
	for name, maker := range listed {
		all[name] = maker
	}
	for _, name := range engines.Modules(option) {
		if o.has("engines", name, listed[name] != nil) {
			all[name] = engines.Own(name, o.shelf("engines"))
		}
	}
	return all
}

// login returns a system of external_auth of users' own code, and whether there is one.
func (o *ownCode) login(name string, opts *data.Map) (auth.System, bool) {
	known := false
	for _, n := range auth.SystemNames() {
		known = known || n == name
	}
	if !o.has("auth", name, known) {
		return nil, false
	}
	return auth.Own(name, o.shelf("auth"), opts), true
}

// returner returns a returner of users' own code; nil if there is none. listed is true if the
// master has one of that name.
func (o *ownCode) returner(name string, listed bool) *returners.Own {
	if !o.has("returners", name, listed) {
		return nil
	}
	return returners.NewOwn(name, o.shelf("returners"), o.log)
}

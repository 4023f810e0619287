// Package pkgrepo is Salt's state pkgrepo: the repositories that packages come from (salt/states/pkgrepo.py). The module pkg of the
// system reads and changes them.
//
// What differs from Salt 3006.0: enabled and disabled count on all systems with apt, and not on Ubuntu and Mint alone; options in
// brackets may stand in any order; lists of components and architectures have none; slashes at the end of an address do not count; a
// repository that is not as wanted after it was configured is a failure. absent takes a repository for other architectures for
// another one, as 3007 does, and looks again whether it has gone.
package pkgrepo

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state pkgrepo. There is one where the module pkg changes repositories.
func Plugin() loader.Plugin { return loader.Plugin{Name: "pkgrepo", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	if !env.Functions.Has("pkg.mod_repo") {
		return nil, errors.New("")
	}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("absent", m.absent),
		loader.F("managed", m.managed),
	}}, nil
}

func (m *module) family() string { return m.env.GrainsNow().Text("os_family") }

func (m *module) debian() bool { return m.family() == "Debian" }

func (m *module) ubuntu() bool {
	return slices.Contains([]string{"Ubuntu", "Mint"}, m.env.GrainsNow().Text("os"))
}

type managedArgs struct {
	Name   string
	PPA    any       `name:"ppa" default:"None"`
	Copr   any       `default:"None"`
	Aptkey any       `default:"True"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// managed keeps a repository.
//
// With apt the name is the whole line of it, and these words are known: ppa, ppa_auth, disabled, enabled, architectures, comps, file,
// dist, keyid, keyserver, key_url, key_text, aptkey, allow_insecure_key, comments, consolidate, clean_file, refresh.
//
//	deb [signed-by=/etc/apt/keyrings/web.gpg] https://apt.example.com bookworm main:
//	  pkgrepo.managed:
//	    - file: /etc/apt/sources.list.d/web.list
//	    - key_url: salt://web/key.asc
//	    - aptkey: False
//
// With yum, dnf and zypper the name is the id of the repository, humanname its name, and all other words are lines of its file: baseurl,
// mirrorlist, gpgcheck, gpgkey; comments are put in front of them. copr names one of Fedora's community.
//
//	web:
//	  pkgrepo.managed:
//	    - humanname: The web
//	    - baseurl: https://rpm.example.com/$releasever/$basearch
//	    - gpgcheck: 1
//	    - gpgkey: https://rpm.example.com/key
func (m *module) managed(ctx context.Context, a managedArgs) (any, error) {
	w := &wish{module: m, name: a.Name, repo: a.Name, kwargs: packages.Own(a.Kwargs), aptKey: a.Aptkey}
	if wrong := w.read(a); wrong != "" {
		return change.Failed(a.Name, wrong), nil
	}
	return change.Thing[*data.Map]{
		Name:    a.Name,
		Look:    w.look,
		Wants:   w.wants,
		Apply:   w.apply,
		Changed: w.changed,
		Texts: change.Texts{
			Same: fmt.Sprintf("Package repo '%s' already configured", a.Name),
			Would: fmt.Sprintf("Package repo '%s' would be configured. This may cause pkg states to behave differently than stated if this action is "+
				"repeated without test=True, due to the differences in the configured repositories.", a.Name),
			Done: fmt.Sprintf("Configured package repo '%s'", a.Name),
		},
	}.Ensure(ctx)
}

// A wish is a repository as it is to be.
type wish struct {
	*module
	name, repo string    // of the state, and for the module
	kwargs     *data.Map // for the module
	wanted     *data.Map // what pkg.get_repo is to show
	aptKey     any
	applied    bool
}

// read turns the arguments of the state into those of the module, and says what is wrong with them.
func (w *wish) read(a managedArgs) string {
	if wrong := conflict(w.kwargs); wrong != "" {
		return wrong
	}
	enabled := packages.Take(w.kwargs, "enabled", nil)
	disabled := packages.Take(w.kwargs, "disabled", nil)
	if enabled != nil && disabled != nil {
		return "Only one of enabled/disabled is allowed"
	}
	insecure := packages.Take(w.kwargs, "allow_insecure_key", true)
	if strings.HasPrefix(strings.TrimSpace(w.kwargs.Text("key_url")), "http:") && !data.Truth(insecure) {
		return "Cannot have 'key_url' using http with 'allow_insecure_key' set to True"
	}
	on := enabled == nil && !packages.True(disabled) || enabled != nil && packages.True(enabled)
	switch family := w.family(); {
	case w.ubuntu() || family == "Debian":
		if a.PPA != nil && w.ubuntu() {
			w.repo = "ppa:" + data.Str(a.PPA)
		}
		w.kwargs.Set("disabled", !on)
	case family == "RedHat" || family == "Suse":
		w.readRPM(a, on)
	case family == "NILinuxRT" || family == "Poky":
		w.kwargs.Set("enabled", on)
	}
	return ""
}

func (w *wish) readRPM(a managedArgs, on bool) {
	if a.Copr != nil && w.family() == "RedHat" {
		w.repo = "copr:" + data.Str(a.Copr)
		w.kwargs.Set("name", a.Name)
	}
	if human, ok := w.kwargs.Get("humanname"); ok {
		w.kwargs.Delete("humanname")
		w.kwargs.Set("name", human)
	}
	if !w.kwargs.Has("name") {
		w.kwargs.Set("name", w.repo)
	}
	w.kwargs.Set("enabled", on)
}

// conflict says which arguments do not go together.
func conflict(kwargs *data.Map) string {
	server := kwargs.Has("keyid") || kwargs.Has("keyserver")
	switch {
	case kwargs.Has("repo"):
		return "'repo' is not a supported argument for this state. The 'name' argument is probably what was intended."
	case kwargs.Has("key_text") && kwargs.Has("key_url"):
		return `You may not use both "key_url" and "key_text" argument.`
	case kwargs.Has("key_text") && server:
		return `You may not use both "keyid"/"keyserver" and "key_text" argument.`
	case kwargs.Has("key_url") && server:
		return `You may not use both "keyid"/"keyserver" and "key_url" argument.`
	}
	return ""
}

// look returns the repository as it is, and notes how it is to be.
func (w *wish) look(ctx context.Context) (*data.Map, error) {
	words := w.kwargs.Clone()
	words.Set("repo", w.repo)
	now, err := w.env.Call(ctx, "pkg.get_repo", nil, words)
	if err == nil && w.wanted == nil {
		w.wanted, err = w.expand(ctx, words)
	}
	switch {
	case err == nil:
		repo, _ := now.(*data.Map)
		return repo.Clone(), nil
	case w.applied:
		return nil, fmt.Errorf("Failed to confirm config of repo '%s': %w", w.name, err) //nolint:staticcheck // Salt's text
	}
	return nil, fmt.Errorf("Failed to examine repo '%s': %w", w.name, err) //nolint:staticcheck // Salt's text
}

// expand returns what pkg.get_repo is to show.
func (w *wish) expand(ctx context.Context, words *data.Map) (*data.Map, error) {
	if !w.debian() {
		return w.kwargs.Clone(), nil
	}
	v, err := w.env.Call(ctx, "pkg.expand_repo_def", nil, words)
	all, _ := v.(*data.Map)
	return all.Clone(), err
}

// apply has the module configure the repository.
func (w *wish) apply(ctx context.Context, _ *data.Map) error {
	w.applied = true
	words := w.kwargs.Clone()
	if w.debian() {
		words.Set("saltenv", change.CallOf(ctx).SaltEnv)
		words.Set("aptkey", w.aptKey)
	}
	err := w.empty()
	if err == nil {
		_, err = w.env.Call(ctx, "pkg.mod_repo", []any{w.repo}, words)
	}
	loader.ContextOf(ctx).Delete("pkg._avail") // the packages that are available may be others now
	if err != nil {
		return fmt.Errorf("Failed to configure repo '%s': %w", w.name, err) //nolint:staticcheck // Salt's text
	}
	return nil
}

// empty empties the file of the repository if that is wanted.
func (w *wish) empty() error {
	if !data.Truth(w.kwargs.Value("clean_file")) {
		return nil
	}
	path := filepath.Join("/", w.env.Root, w.kwargs.Text("file"))
	return atomicfile.Write(path, nil, atomicfile.Options{Mode: 0o644, Keep: true})
}

// changed returns what the repository has become.
func (w *wish) changed(before, after *data.Map) *data.Map {
	changes := &data.Map{}
	switch {
	case before.Len() == 0 && after.Len() > 0:
		changes.Set("repo", w.repo)
	case before.Len() > 0:
		for key := range w.wanted.All() {
			if was, is := before.Value(key), after.Value(key); key != "file" && !data.Equal(was, is) {
				changes.Set(key, change.OldNew(was, is))
			}
		}
	}
	return changes
}

type absentArgs struct {
	Name   string
	Kwargs *data.Map `kwargs:"kwargs"`
}

// absent takes a repository away.
//
// ppa, ppa_auth
//
//	The archive at Launchpad, on Ubuntu.
//
// copr
//
//	The repository of Fedora's community.
//
// keyid
//
//	The key of that id goes, too.
//
// keyid_ppa
//
//	True: the key of the archive goes, too.
//
//	deb http://apt.example.com bookworm main:
//	  pkgrepo.absent
func (m *module) absent(ctx context.Context, a absentArgs) (any, error) {
	g := &gone{module: m, name: a.Name, kwargs: packages.Own(a.Kwargs)}
	g.read()
	if g.withKey && !m.env.Functions.Has("pkg.del_repo_key") {
		return change.Failed(a.Name, "Repo key management is not implemented for this platform"), nil
	}
	now, err := g.look(ctx)
	switch {
	case err != nil:
		return change.Failed(a.Name, fmt.Sprintf("Failed to configure repo '%s': %v", g.name, err)), nil
	case now.Len() == 0:
		return change.Done(a.Name, fmt.Sprintf("Package repo %s is absent", g.name)), nil
	case change.Test(ctx):
		return change.Would(a.Name, nil, fmt.Sprintf("Package repo '%s' will be removed. This may cause pkg states to behave differently than stated if "+
			"this action is repeated without test=True, due to the differences in the configured repositories.", g.name)), nil
	}
	return g.remove(ctx, a.Name), nil
}

// A gone is a repository that is to go.
type gone struct {
	*module
	name, repo string // as the state tells it, and for the module
	kwargs     *data.Map
	withKey    bool
}

func (g *gone) read() {
	if v, ok := g.kwargs.Get("ppa"); ok && g.ubuntu() {
		g.kwargs.Delete("ppa")
		g.name = "ppa:" + strings.TrimPrefix(data.Str(v), "ppa:")
	}
	if v, ok := g.kwargs.Get("copr"); ok && g.family() == "RedHat" {
		g.kwargs.Delete("copr")
		g.name = "copr:" + strings.TrimPrefix(data.Str(v), "copr:")
	}
	g.withKey = g.kwargs.Value("keyid") != nil || g.kwargs.Value("keyid_ppa") != nil
	g.repo = g.name
	if g.debian() {
		g.repo = withoutSlashes(g.name)
	}
}

// withoutSlashes returns a line without slashes at the end of its addresses (salt/utils/pkg/deb.py, strip_uri).
func withoutSlashes(line string) string {
	words := strings.Fields(line)
	for i, w := range words {
		if strings.Contains(w, "://") {
			words[i] = strings.TrimRight(w, "/")
		}
	}
	return strings.Join(words, " ")
}

// look returns the repository as it is; nothing where there is only one for other architectures.
func (g *gone) look(ctx context.Context) (*data.Map, error) {
	v, err := g.env.Call(ctx, "pkg.get_repo", []any{g.repo}, g.kwargs.Clone())
	now, _ := v.(*data.Map)
	if err != nil || now.Len() == 0 || !g.debian() || strings.HasPrefix(g.repo, "ppa:") {
		return now, err
	}
	words := g.kwargs.Clone()
	words.Set("repo", g.repo)
	v, err = g.env.Call(ctx, "pkg.expand_repo_def", nil, words)
	def, _ := v.(*data.Map)
	if err != nil || !sameWords(def.Value("architectures"), now.Value("architectures")) {
		return nil, err
	}
	return now, nil
}

func (g *gone) remove(ctx context.Context, id string) *data.Map {
	if _, err := g.env.Call(ctx, "pkg.del_repo", []any{g.repo}, g.kwargs.Clone()); err != nil {
		return change.Failed(id, err.Error())
	}
	if left, err := g.look(ctx); err != nil || left.Len() > 0 {
		return change.Failed(id, "Failed to remove repo "+g.name)
	}
	changes := data.NewMap("repo", g.name)
	comment := "Removed repo " + g.name
	if !g.withKey {
		return change.New(id, true, changes, comment)
	}
	key, err := g.env.Call(ctx, "pkg.del_repo_key", []any{g.repo}, g.kwargs.Clone())
	if err != nil {
		return change.New(id, false, changes, fmt.Sprintf("%s, but failed to remove key: %v", comment, err))
	}
	changes.Set("keyid", key)
	return change.New(id, true, changes, fmt.Sprintf("%s, and keyid %s", comment, data.Str(key)))
}

// Package pkgrepo is Salt's state pkgrepo: package repositories (salt/states/pkgrepo.py). The
// system's module pkg reads and changes them.
//
// Differences from Salt 3006.0: enabled and disabled work on all systems with apt, not only on
// Ubuntu and Mint. The order of options in brackets, of components and of architectures does not
// matter. Trailing slashes of addresses are ignored. A repository that is not as desired after its
// configuration is a failure. absent treats a repository for other architectures as a different
// one, as 3007 does, and checks that the repository is gone.
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
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state pkgrepo. It loads only if the module pkg can change repositories.
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

// managed configures a repository.
//
// With apt the name is the complete source line. The supported arguments are ppa, ppa_auth,
// disabled, enabled, architectures, comps, file, dist, keyid, keyserver, key_url, key_text, aptkey,
// allow_insecure_key, comments, consolidate, clean_file, refresh.
//
//	deb [signed-by=/etc/apt/keyrings/web.gpg] https://apt.example.com bookworm main:
//	  pkgrepo.managed:
//	    - file: /etc/apt/sources.list.d/web.list
//	    - key_url: salt://web/key.asc
//	    - aptkey: False
//
// With yum, dnf and zypper the name is the ID of the repository, humanname its name, and all other
// arguments are lines of its file: baseurl, mirrorlist, gpgcheck, gpgkey. comments are placed above
// them. copr selects a repository of Fedora's community.
//
//	web:
//	  pkgrepo.managed:
//	    - humanname: The web
//	    - baseurl: https://rpm.example.com/$releasever/$basearch
//	    - gpgcheck: 1
//	    - gpgkey: https://rpm.example.com/key
func (m *module) managed(ctx context.Context, a managedArgs) (any, error) {
	w := &desired{module: m, name: a.Name, repo: a.Name, kwargs: packages.Own(a.Kwargs),
		aptKey: a.Aptkey}
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

// desired is the desired state of a repository.
type desired struct {
	*module
	name, repo string    // name of the state, and for the module
	kwargs     *data.Map // arguments for the module
	wanted     *data.Map // expected result of pkg.get_repo
	aptKey     any
	applied    bool
}

// read converts the arguments of the state to those of the module, and returns a message if they
// are invalid.
func (w *desired) read(a managedArgs) string {
	if wrong := conflict(w.kwargs); wrong != "" {
		return wrong
	}
	enabled := packages.Take(w.kwargs, "enabled", nil)
	disabled := packages.Take(w.kwargs, "disabled", nil)
	if enabled != nil && disabled != nil {
		return "Only one of enabled/disabled is allowed"
	}
	insecure := packages.Take(w.kwargs, "allow_insecure_key", true)
	if strings.HasPrefix(strings.TrimSpace(w.kwargs.Text("key_url")), "http:") &&
		!data.Truth(insecure) {
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

func (w *desired) readRPM(a managedArgs, on bool) {
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

// conflict returns a message if arguments contradict each other.
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

// look reads the repository, and determines its desired state.
func (w *desired) look(ctx context.Context) (*data.Map, error) {
	now, err := calls.GetRepo(ctx, w.env, w.repo, w.kwargs.Clone())
	if err == nil && w.wanted == nil {
		w.wanted, err = w.expand(ctx)
	}
	switch {
	case err == nil:
		return now.Clone(), nil
	case w.applied:
		return nil, fmt.Errorf("Failed to confirm config of repo '%s': %w", w.name, err) //nolint:staticcheck // Salt's text
	}
	return nil, fmt.Errorf("Failed to examine repo '%s': %w", w.name, err) //nolint:staticcheck // Salt's text
}

// expand returns the expected result of pkg.get_repo.
func (w *desired) expand(ctx context.Context) (*data.Map, error) {
	words := w.kwargs.Clone()
	if !w.debian() {
		return words, nil
	}
	words.Set("repo", w.repo)
	all, err := calls.ExpandRepoDef(ctx, w.env, words)
	return all.Clone(), err
}

// apply configures the repository with the module.
func (w *desired) apply(ctx context.Context, _ *data.Map) error {
	w.applied = true
	words := w.kwargs.Clone()
	if w.debian() {
		words.Set("saltenv", change.CallOf(ctx).SaltEnv)
		words.Set("aptkey", w.aptKey)
	}
	err := w.empty()
	if err == nil {
		err = calls.ModRepo(ctx, w.env, w.repo, words)
	}
	loader.ContextOf(ctx).Delete("pkg._avail") // the available packages may have changed
	if err != nil {
		return fmt.Errorf("Failed to configure repo '%s': %w", w.name, err) //nolint:staticcheck // Salt's text
	}
	return nil
}

// empty empties the file of the repository if clean_file is set.
func (w *desired) empty() error {
	if !data.Truth(w.kwargs.Value("clean_file")) {
		return nil
	}
	path := filepath.Join("/", w.env.Root, w.kwargs.Text("file"))
	return atomicfile.Write(path, nil, atomicfile.Options{Mode: 0o644, Keep: true})
}

// changed returns the changes of the repository.
func (w *desired) changed(before, after *data.Map) *data.Map {
	changes := &data.Map{}
	switch {
	case before.Len() == 0 && after.Len() > 0:
		changes.Set("repo", w.repo)
	case before.Len() > 0:
		for key := range w.wanted.All() {
			if was, is := before.Value(key), after.Value(key); key != "file" &&
				!data.Equal(was, is) {
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

// absent removes a repository.
//
// ppa, ppa_auth
//
//	The PPA on Launchpad. Ubuntu only.
//
// copr
//
//	The repository of Fedora's community.
//
// keyid
//
//	Also remove the key with this ID.
//
// keyid_ppa
//
//	True: also remove the key of the PPA.
//
//	deb http://apt.example.com bookworm main:
//	  pkgrepo.absent
func (m *module) absent(ctx context.Context, a absentArgs) (any, error) {
	g := &removal{module: m, name: a.Name, kwargs: packages.Own(a.Kwargs)}
	g.read()
	if g.withKey && !m.env.Functions.Has("pkg.del_repo_key") {
		return change.Failed(a.Name, "Repo key management is not implemented for this platform"),
			nil
	}
	now, err := g.look(ctx)
	switch {
	case err != nil:
		return change.Failed(a.Name, fmt.Sprintf("Failed to configure repo '%s': %v", g.name, err)),
			nil
	case now.Len() == 0:
		return change.Unchanged(a.Name, fmt.Sprintf("Package repo %s is absent", g.name)), nil
	case change.Test(ctx):
		return change.Would(a.Name, nil,
			fmt.Sprintf("Package repo '%s' will be removed. This may cause pkg states to behave differently than stated if "+
				"this action is repeated without test=True, due to the differences in the configured repositories.", g.name)), nil
	}
	return g.remove(ctx, a.Name), nil
}

// A removal is a repository to remove.
type removal struct {
	*module
	name, repo string // name of the state, and for the module
	kwargs     *data.Map
	withKey    bool
}

func (g *removal) read() {
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

// withoutSlashes removes the trailing slashes of addresses in a line (salt/utils/pkg/deb.py,
// strip_uri).
func withoutSlashes(line string) string {
	words := strings.Fields(line)
	for i, w := range words {
		if strings.Contains(w, "://") {
			words[i] = strings.TrimRight(w, "/")
		}
	}
	return strings.Join(words, " ")
}

// look reads the repository. The result is empty if it only exists for other architectures.
func (g *removal) look(ctx context.Context) (*data.Map, error) {
	now, err := calls.GetRepo(ctx, g.env, g.repo, g.kwargs.Clone())
	if err != nil || now.Len() == 0 || !g.debian() || strings.HasPrefix(g.repo, "ppa:") {
		return now, err
	}
	words := g.kwargs.Clone()
	words.Set("repo", g.repo)
	def, err := calls.ExpandRepoDef(ctx, g.env, words)
	if err != nil || !sameWords(def.Value("architectures"), now.Value("architectures")) {
		return nil, err
	}
	return now, nil
}

func (g *removal) remove(ctx context.Context, id string) *data.Map {
	if err := calls.DelRepo(ctx, g.env, g.repo, g.kwargs.Clone()); err != nil {
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
	key, err := loader.CallAs[any](ctx, g.env, "pkg.del_repo_key", []any{g.repo}, g.kwargs.Clone())
	if err != nil {
		return change.New(id, false, changes,
			fmt.Sprintf("%s, but failed to remove key: %v", comment, err))
	}
	changes.Set("keyid", key)
	return change.New(id, true, changes, fmt.Sprintf("%s, and keyid %s", comment, data.Str(key)))
}

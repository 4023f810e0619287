package gitfs

import (
	"path"
	"slices"
	"strings"
	"time"

	"github.com/brineproject/brine/fileserver"
	"github.com/brineproject/brine/fileserver/gitfs/mirror"
)

// A remote is one of gitfs_remotes, with all that holds for it.
type remote struct {
	mirror   *mirror.Mirror
	name     string // "" when it has none
	base     string
	fallback string
	// allEnvs is the branch or tag for all environments, all_saltenvs.
	allEnvs   string
	root      string
	mount     string
	own       map[string]envConf // saltenv of the remote
	global    map[string]envConf // gitfs_saltenv
	unmapped  bool               // disable_saltenv_mapping
	refTypes  []string
	exposed   *fileserver.Exposure
	interval  time.Duration
	mappedRef map[string][]string // ref → environments that the configuration gives it
}

// envConf is what a remote has otherwise in one environment; nil is as elsewhere.
type envConf struct{ root, mount, ref *string }

func (r *remote) label() string {
	if r.name != "" {
		return r.name
	}
	return r.mirror.URL()
}

// goesBy reports whether a text names the remote, or is part of its address.
func (r *remote) goesBy(text string) bool {
	return text == r.name || r.mirror.Is(text) || strings.Contains(r.mirror.URL(), text)
}

// mapRefs fills mappedRef. A remote's own environments come before those of all, and its own base replaces gitfs_base.
func (r *remote) mapRefs() {
	r.mappedRef = map[string][]string{}
	for env, c := range r.own {
		if c.ref == nil {
			continue
		}
		r.mappedRef[*c.ref] = append(r.mappedRef[*c.ref], env)
		if env == "base" {
			r.base = *c.ref
		}
	}
	for env, c := range r.global {
		if own, ok := r.own[env]; c.ref != nil && (!ok || own.ref == nil) {
			r.mappedRef[*c.ref] = append(r.mappedRef[*c.ref], env)
		}
	}
}

// envs returns the environments that the remote has now (GitProvider._get_envs_from_ref_paths).
func (r *remote) envs() ([]string, error) {
	refs, err := r.mirror.Refs()
	if err != nil {
		return nil, err
	}
	set := map[string]bool{}
	if _, isCommit := mirror.ParseHash(r.base); isCommit && !r.mirror.Fetched().IsZero() {
		set["base"] = true
	}
	for _, kind := range []struct {
		name string
		refs map[string]mirror.Hash
	}{{"branch", refs.Branches}, {"tag", refs.Tags}} {
		if !slices.Contains(r.refTypes, kind.name) {
			continue
		}
		for ref := range kind.refs {
			switch mapped := r.mappedRef[ref]; {
			case len(mapped) > 0:
			case ref == r.base:
				set["base"] = true
			case !r.unmapped:
				set[ref] = true
			}
		}
	}
	for _, mapped := range r.mappedRef {
		for _, env := range mapped {
			set[env] = true
		}
	}
	var out []string
	for env := range set {
		if r.exposed.Has(env) {
			out = append(out, env)
		}
	}
	slices.Sort(out)
	return out, nil
}

// conf returns what the configuration says of an environment: that of the remote, else that of all.
func (r *remote) conf(env string, get func(envConf) *string) (string, bool) {
	for _, all := range []map[string]envConf{r.own, r.global} {
		if c, ok := all[env]; ok {
			if v := get(c); v != nil {
				return *v, true
			}
		}
	}
	return "", false
}

func (r *remote) rootOf(env string) string {
	if v, ok := r.conf(env, func(c envConf) *string { return c.root }); ok {
		return v
	}
	return r.root
}

func (r *remote) mountOf(env string) string {
	if v, ok := r.conf(env, func(c envConf) *string { return c.mount }); ok {
		return v
	}
	return r.mount
}

// ref returns the branch, tag or commit of an environment.
func (r *remote) ref(env string) (string, bool) {
	if r.allEnvs != "" {
		return r.allEnvs, true
	}
	if env == "base" {
		return r.base, true
	}
	if ref, ok := r.conf(env, func(c envConf) *string { return c.ref }); ok {
		return ref, true
	}
	return env, !r.unmapped
}

// tree returns the tree of an environment, or that of the fallback (GitProvider.get_tree).
func (r *remote) tree(env string) (mirror.Hash, bool, error) {
	ref, ok := r.ref(env)
	if !ok || !r.exposed.Has(env) {
		return mirror.Hash{}, false, nil
	}
	refs, err := r.mirror.Refs()
	if err != nil {
		return mirror.Hash{}, false, err
	}
	for _, name := range []string{ref, r.fallback} {
		if name == "" {
			continue
		}
		for _, kind := range r.refTypes {
			if tree, ok := r.named(refs, kind, name, name != env); ok {
				return tree, true, nil
			}
		}
	}
	return mirror.Hash{}, false, nil
}

// named returns the tree of a ref of one kind. Commits are for names that the configuration gave.
func (r *remote) named(refs mirror.Refs, kind, name string, given bool) (tree mirror.Hash, ok bool) {
	switch kind {
	case "branch":
		tree, ok = refs.Branches[name]
	case "tag":
		tree, ok = refs.Tags[name]
	case "sha":
		if commit, isHash := mirror.ParseHash(name); isHash && given {
			var err error
			tree, err = r.mirror.Commit(commit)
			ok = err == nil
		}
	}
	return tree, ok
}

// inside returns the path in the tree of a path in the environment.
func (p place) inside(name string) (string, bool) {
	if p.at != "" {
		rest, ok := strings.CutPrefix(name, p.at+"/")
		if !ok {
			return "", false
		}
		name = rest
	}
	return path.Join(p.root, name), true
}

package gitfs

import (
	"path"
	"slices"
	"strings"
	"time"

	"github.com/brineproject/brine/fileserver"
	"github.com/brineproject/brine/fileserver/gitfs/mirror"
)

// A remote is one entry of gitfs_remotes with all its settings.
type remote struct {
	mirror   *mirror.Mirror
	name     string // "" if it has none
	base     string
	fallback string
	// allEnvs is the branch or tag that serves all environments, all_saltenvs.
	allEnvs   string
	root      string
	mount     string
	own       map[string]envConf // saltenv of the remote
	global    map[string]envConf // gitfs_saltenv
	unmapped  bool               // disable_saltenv_mapping
	refTypes  []string
	exposed   *fileserver.Exposure
	interval  time.Duration
	mappedRef map[string][]string // ref → environments that the configuration maps it to
}

// envConf is the settings of a remote for one environment; nil means the remote's own setting.
type envConf struct{ root, mount, ref *string }

func (r *remote) label() string {
	if r.name != "" {
		return r.name
	}
	return r.mirror.URL()
}

// matches reports whether a text is the remote's name or address, or part of its address.
func (r *remote) matches(text string) bool {
	return text == r.name || r.mirror.Is(text) || strings.Contains(r.mirror.URL(), text)
}

// mapRefs fills mappedRef. A remote's own environments come before the global ones, and its own
// base replaces gitfs_base.
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

// envs returns the current environments of the remote (GitProvider._get_envs_from_ref_paths).
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

// conf returns a setting for an environment: the remote's own, else the global one.
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

// tree returns the tree of an environment, or the tree of the fallback (GitProvider.get_tree).
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

// named returns the tree of a ref of one kind. Commits are only accepted for names from the
// configuration.
func (r *remote) named(
	refs mirror.Refs, kind, name string, given bool,
) (tree mirror.Hash, ok bool) {
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

// inside converts a path in the environment to a path in the tree.
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

package git

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileserver/gitfs"
	"github.com/brineproject/brine/fileserver/gitfs/mirror"
	"github.com/brineproject/brine/pillar"
)

// sharedOptions lists the options of a remote that can be set for all with the prefix git_pillar_;
// remoteOptions lists the others.
var (
	sharedOptions = []string{"base", "env", "root", "ssl_verify", "refspecs", "fallback", "user",
		"password", "pubkey", "privkey", "passphrase", "insecure_auth"}
	remoteOptions = []string{"name", "mountpoint", "all_saltenvs"}
)

// isOption reports whether an option of the master applies to remotes.
func isOption(name string) bool { return strings.HasPrefix(name, "git_pillar_") }

// defaultOf returns Salt's defaults that are not empty.
func defaultOf(name string) any {
	switch name {
	case "base", "branch":
		return "master"
	case "ssl_verify":
		return true
	case "refspecs":
		return []any{"+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*"}
	}
	return nil
}

// A remote is one repository and branch.
type remote struct {
	id     string // as configured
	mirror *mirror.Mirror
	branch string
	url    string // as configured
	dir    string // of the mirror

	base, env, root, fallback string
	name, mount, allEnvs      string
}

// readRemotes parses the argument of an entry. The error names the invalid option, and the remote
// without its password.
func readRemotes(argument any, opts *data.Map) ([]*remote, error) {
	args, named := pillar.Spread(argument)
	if named != nil {
		return nil, errors.New("expected a list of remotes, each of the form BRANCH ADDRESS")
	}
	var all []*remote
	for i, a := range args {
		r, err := readRemote(a, opts)
		if err != nil {
			return nil, fmt.Errorf("remote %d: %w", i+1, err)
		}
		all = append(all, r)
	}
	return all, nil
}

func readRemote(v any, opts *data.Map) (*remote, error) {
	id, ok := v.(string)
	own := data.NewMap()
	if m, with := v.(*data.Map); with && m.Len() > 0 {
		k, options := m.At(0)
		id, ok = k.(string)
		var err error
		if own, err = repack(options); err != nil {
			return nil, err
		}
	}
	words := strings.Fields(id)
	if !ok || len(words) == 0 {
		return nil, errors.New("expected BRANCH ADDRESS, or that with a list of options")
	}
	branch := first(textOf(opts, "git_pillar_branch"), "master")
	url := strings.TrimSpace(id)
	if len(words) > 1 {
		branch, url = words[0], strings.TrimSpace(strings.TrimPrefix(url, words[0]))
	}
	if branch != "__env__" && own.Has("base") {
		return nil, errors.New("base can only be specified if __env__ is specified as the branch name")
	}
	return newRemote(id, branch, url, settings{own, opts})
}

// repack merges the options of a remote, which may be a list of dictionaries, into one.
func repack(v any) (*data.Map, error) {
	out := data.NewMap()
	list, isList := v.([]any)
	if m, ok := v.(*data.Map); ok {
		list, isList = []any{m}, true
	}
	for _, e := range list {
		m, ok := e.(*data.Map)
		if !ok {
			return nil, errors.New("its list of options has an entry that is not an option")
		}
		out.Update(m)
	}
	if !isList || out.Len() == 0 {
		return nil, errors.New("there is a colon behind the address, and no option")
	}
	for name := range out.All() {
		n := data.Str(name)
		if !slices.Contains(sharedOptions, n) && !slices.Contains(remoteOptions, n) {
			return nil, fmt.Errorf("it has the option %.60q, which there is not: there are %s", n,
				strings.Join(append(slices.Clone(sharedOptions), remoteOptions...), ", "))
		}
	}
	return out, nil
}

// settings are the options of a remote, with defaults for all.
type settings struct{ own, all *data.Map }

func (s settings) value(name string) any {
	if v, ok := s.own.Get(name); ok {
		return v
	}
	if slices.Contains(remoteOptions, name) {
		return nil
	}
	if v, ok := s.all.Get("git_pillar_" + name); ok {
		return v
	}
	return defaultOf(name)
}

func (s settings) text(name string) string {
	v := s.value(name)
	if v == nil {
		return ""
	}
	return data.Str(v)
}

// list parses a list of texts, or one comma-separated text.
func (s settings) list(name string) []string {
	var out []string
	switch v := s.value(name).(type) {
	case string:
		for part := range strings.SplitSeq(v, ",") {
			out = append(out, strings.TrimSpace(part))
		}
	case []any:
		for _, e := range v {
			out = append(out, data.Str(e))
		}
	}
	return out
}

func textOf(opts *data.Map, name string) string {
	if v, ok := opts.Get(name); ok && v != nil {
		return data.Str(v)
	}
	v, _ := defaultOf(strings.TrimPrefix(name, "git_pillar_")).(string)
	return v
}

func newRemote(id, branch, url string, s settings) (*remote, error) {
	m, err := mirror.Open(mirror.Options{URL: url, Name: s.text("name"),
		Refspecs: s.list("refspecs"), NoVerify: s.value("ssl_verify") == false,
		User: s.text("user"), Password: s.text("password"),
		InsecureAuth: data.Truth(s.value("insecure_auth")),
		PrivKey:      s.text("privkey"), Passphrase: s.text("passphrase"), Root: root(s.all)})
	if err != nil {
		return nil, err
	}
	r := &remote{id: id, mirror: m, branch: branch, url: url,
		dir: filepath.Join(root(s.all), m.Key()), base: s.text("base"), env: s.text("env"),
		root: s.text("root"), fallback: s.text("fallback"),
		name: s.text("name"), mount: s.text("mountpoint"), allEnvs: s.text("all_saltenvs")}
	_, err = gitfs.NewView(m, mirror.Hash{}, r.root, r.mount)
	return r, err
}

// target returns the branch or tag for a minion (GitProvider.get_checkout_target).
func (r *remote) target(opts *data.Map) string {
	if r.branch != "__env__" {
		return r.branch
	}
	if r.allEnvs != "" {
		return r.allEnvs
	}
	env := first(opts.Text("pillarenv"), opts.Text("saltenv"), "base")
	if env == "base" {
		return r.base
	}
	return env
}

// environment returns the environment of the remote's SLS.
func (r *remote) environment(opts *data.Map) string {
	switch target := r.target(opts); {
	case r.branch == "__env__" && r.allEnvs != "":
		return first(opts.Text("pillarenv"), opts.Text("saltenv"), "base")
	case r.env != "":
		return r.env
	case r.branch == r.base || target == r.base:
		return "base"
	default:
		return target
	}
}

// tree returns the tree of the target, or of the fallback.
func (r *remote) tree(opts *data.Map) (mirror.Hash, bool, error) {
	refs, err := r.mirror.Refs()
	if err != nil {
		return mirror.Hash{}, false, err
	}
	for _, name := range []string{r.target(opts), r.fallback} {
		if name == "" {
			continue
		}
		if tree, ok := refs.Branches[name]; ok {
			return tree, true, nil
		}
		if tree, ok := refs.Tags[name]; ok {
			return tree, true, nil
		}
	}
	return mirror.Hash{}, false, nil
}

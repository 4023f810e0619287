package winrepo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileserver/gitfs"
	"github.com/brineproject/brine/fileserver/gitfs/mirror"
)

// perRemote are the options of a remote that replace those of the master with the prefix winrepo_;
// name has none.
func perRemote() []string {
	return []string{"ssl_verify", "refspecs", "fallback", "name", "user", "password", "pubkey",
		"privkey", "passphrase", "insecure_auth"}
}

// A remote is a branch or tag of a repository.
type remote struct {
	id       string // as configured
	name     string // of its directory
	branch   string
	fallback string // branch or tag to use if branch does not exist
	mirror   *mirror.Mirror
}

// remotes reads a list of remotes. The error names the remote without its password.
func (m *module) remotes(v any) ([]*remote, error) {
	list, ok := v.([]any)
	if !ok && v != nil {
		return nil, errors.New("the remotes are not a list")
	}
	var all []*remote
	for i, entry := range list {
		r, err := m.remote(entry)
		if err != nil {
			return nil, fmt.Errorf("remote %d: %w", i+1, err)
		}
		if slices.ContainsFunc(all, func(other *remote) bool { return other.name == r.name }) {
			return nil, fmt.Errorf("remote %d: the name %q is used twice; set the option name of one",
				i+1, r.name)
		}
		all = append(all, r)
	}
	return all, nil
}

// remote reads an entry: BRANCH ADDRESS, or an address alone, or one of these with options.
func (m *module) remote(entry any) (*remote, error) {
	id, ok := entry.(string)
	own := data.NewMap()
	if with, is := entry.(*data.Map); is && with.Len() > 0 {
		var k, v any
		k, v = with.At(0)
		id, ok = k.(string)
		var err error
		if own, err = options(v); err != nil {
			return nil, err
		}
	}
	words := strings.Fields(id)
	if !ok || len(words) == 0 {
		return nil, errors.New("expected an address, BRANCH ADDRESS, or one of these with options")
	}
	r := &remote{id: id, branch: data.Str(m.env.Option("winrepo_branch"))}
	url := words[0]
	if len(words) > 1 {
		r.branch, url = words[0], strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(id), words[0]))
	}
	s := settings{own, m.env.Opts}
	r.fallback = s.text("fallback")
	if r.name = s.text("name"); r.name == "" {
		r.name = nameOf(url)
	}
	if r.name == "." || r.name == ".." || strings.ContainsAny(r.name, "/\\\x00\n") {
		return nil, fmt.Errorf("%.60q is not a name for a directory", r.name)
	}
	var err error
	r.mirror, err = mirror.Open(mirror.Options{URL: url, Name: s.text("name"),
		Refspecs: data.SplitTexts(s.value("refspecs"), ","), NoVerify: s.value("ssl_verify") == false,
		Proxy: data.Str(s.orEmpty("proxy")), User: s.text("user"), Password: s.text("password"),
		InsecureAuth: data.Truth(s.value("insecure_auth")), PrivKey: s.text("privkey"),
		Passphrase: s.text("passphrase"), Root: m.mirrors()})
	return r, err
}

// mirrors returns the directory of the mirrors.
func (m *module) mirrors() string {
	return filepath.Join(data.Str(m.env.Option("cachedir")), "winrepo")
}

// nameOf returns the last part of an address without .git.
func nameOf(url string) string {
	name := url[strings.LastIndexByte(url, '/')+1:]
	if strings.HasSuffix(strings.ToLower(name), ".git") {
		name = name[:len(name)-len(".git")]
	}
	return name
}

// options merges the options of a remote, which are a dictionary or a list of these.
func options(v any) (*data.Map, error) {
	all := data.NewMap()
	for _, e := range data.ListOf(v) {
		m, ok := e.(*data.Map)
		if !ok {
			return nil, errors.New("an entry of its options is not a dictionary")
		}
		all.Update(m)
	}
	if all.Len() == 0 {
		return nil, errors.New("there is a colon behind the address, but no option")
	}
	for k := range all.All() {
		if name := data.Str(k); !slices.Contains(perRemote(), name) {
			return nil, fmt.Errorf("unknown option %.60q; there are %s", name,
				strings.Join(perRemote(), ", "))
		}
	}
	return all, nil
}

// settings are the options of a remote, and of the master for all remotes.
type settings struct{ own, all *data.Map }

func (s settings) value(name string) any {
	if v, ok := s.own.Get(name); ok {
		return v
	}
	if name == "name" {
		return nil
	}
	return s.all.Value("winrepo_" + name)
}

// orEmpty returns a value, or the empty text for None.
func (s settings) orEmpty(name string) any {
	if v := s.value(name); v != nil {
		return v
	}
	return ""
}

func (s settings) text(name string) string { return data.Str(s.orEmpty(name)) }

// update fetches remotes and writes their files below dir. It adds the directory of each remote to
// done. With clean it removes the directories of other remotes.
func (m *module) update(
	ctx context.Context, list any, dir string, clean bool, done *data.Map,
) error {
	remotes, err := m.remotes(list)
	if err != nil {
		return err
	}
	for _, r := range remotes {
		if _, err := r.mirror.Update(ctx); err != nil {
			return err
		}
	}
	if clean {
		if err := m.clean(dir, remotes); err != nil {
			return err
		}
	}
	for _, r := range remotes {
		tree, ok, err := r.tree()
		if err != nil {
			return err
		}
		if !ok {
			m.env.Log.Errorf("Failed to checkout %s from winrepo remote '%s': there is no such "+
				"branch or tag", r.branch, r.mirror.URL())
			continue
		}
		view, err := gitfs.NewView(r.mirror, tree, "", "")
		if err != nil {
			return err
		}
		at := filepath.Join(dir, r.name, "_")
		if err := checkout(ctx, at, r.mirror, view); err != nil {
			return fmt.Errorf("write the files of %s to %s: %w", r.mirror.URL(), at, err)
		}
		done.Set(r.id, at)
	}
	return nil
}

// tree returns the tree of the branch or tag, else of the fallback.
func (r *remote) tree() (tree mirror.Hash, ok bool, err error) {
	refs, err := r.mirror.Refs()
	if err != nil {
		return tree, false, err
	}
	for _, name := range []string{r.branch, r.fallback} {
		for _, kind := range []map[string]mirror.Hash{refs.Branches, refs.Tags} {
			if tree, ok = kind[name]; ok && name != "" {
				return tree, true, nil
			}
		}
	}
	return tree, false, nil
}

// clean removes directories below dir that belong to no remote (GitBase.clear_old_remotes).
func (m *module) clean(dir string, remotes []*remote) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() || slices.ContainsFunc(remotes,
			func(r *remote) bool { return r.name == e.Name() }) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return fmt.Errorf("remove an old directory: %w", err)
		}
		m.env.Log.Infof("winrepo: removed %s, which belongs to no remote",
			filepath.Join(dir, e.Name()))
	}
	return nil
}

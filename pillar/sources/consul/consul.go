// Package consul is Salt's external pillar of that name: a tree of keys of a Consul
// (salt/pillar/consul_pillar.py).
//
//	my_consul:
//	  consul.host: 127.0.0.1    # port 8500, scheme http, token, consistency, verify, cert
//	  consul.dc: dev            # or a dictionary of expressions for pillarenv to datacenters
//	ext_pillar:
//	  - consul: my_consul root=salt/%(minion_id)s pillar_root=consul expand_keys=false target="G@os:Debian"
//
// Without the name of a profile the options consul.host and so on apply. root may have
// %(minion_id)s, %(role)s and %(environment)s, the last two from the grains of the minion. Values
// are YAML unless expand_keys is false.
//
// Differences: the token travels in a header and not in the address. A target is matched with the
// grains and the pillar of the compilation. A part . or .. in the root is an error, and so is a root
// that an empty grain empties: it would be the whole store. If the server does not answer, the minion
// sees an error without the address.
package consul

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/consul"
	"github.com/brineproject/brine/match"
	"github.com/brineproject/brine/pillar"
	"github.com/brineproject/brine/yaml"
)

// patience is the timeout of a request, and places limits concurrent requests.
const (
	patience = 30 * time.Second
	places   = 16
)

// A Source is the external pillar consul.
type Source struct{ places chan struct{} }

// New returns the source.
func New() *Source { return &Source{make(chan struct{}, places)} }

var _ pillar.Checker = (*Source)(nil)

// Name implements pillar.Source.
func (*Source) Name() string { return "consul" }

// An entry holds the arguments of an entry.
type entry struct {
	target, root, pillarRoot, profile string
	targeted, literal                 bool
}

var (
	targetWord     = regexp.MustCompile(`target="(.*?)"`)
	rootWord       = regexp.MustCompile(`(^|[^_])root=(\S*)`)
	pillarRootWord = regexp.MustCompile(`pillar_root=(\S*)`)
	profileWord    = regexp.MustCompile(`(?:profile=)?(\S+)`)
	literalWord    = regexp.MustCompile(`(?i)expand_keys=False`)
)

// parse reads the words of an entry, in Salt's order. As in Salt, expand_keys=false without a
// profile is taken for the profile.
func parse(conf string) *entry {
	e := &entry{}
	take := func(re *regexp.Regexp, group int) (string, bool) {
		found := re.FindStringSubmatchIndex(conf)
		if found == nil {
			return "", false
		}
		value, begin := conf[found[2*group]:found[2*group+1]], found[0]
		if group == 2 {
			begin = found[3] // behind the character before the word
		}
		conf = strings.ReplaceAll(conf, conf[begin:found[1]], "")
		return value, true
	}
	e.target, e.targeted = take(targetWord, 1)
	e.root, _ = take(rootWord, 2)
	e.pillarRoot, _ = take(pillarRootWord, 1)
	e.profile, _ = take(profileWord, 1)
	_, e.literal = take(literalWord, 0)
	e.root, e.pillarRoot = strings.TrimRight(e.root, "/"), strings.TrimRight(e.pillarRoot, "/")
	return e
}

func read(argument any) (*entry, error) {
	args, err := pillar.Bind(argument, 1, "conf")
	if err != nil {
		return nil, err
	}
	conf, ok := args.Value("conf").(string)
	if !ok {
		return nil, errors.New("conf: expected PROFILE root=PATH")
	}
	return parse(conf), nil
}

// options returns the options consul.NAME by NAME: of the profile, or without one the master's.
func (e *entry) options(opts *data.Map) (*data.Map, error) {
	from := opts
	if e.profile != "" {
		v, ok := opts.Get(e.profile)
		if !ok {
			v = data.NewMap()
		}
		if from, ok = v.(*data.Map); !ok {
			return nil, fmt.Errorf("%s: expected a dictionary of options consul.…", e.profile)
		}
	}
	found := data.NewMap()
	for k, v := range from.All() {
		if name, ok := strings.CutPrefix(data.Str(k), "consul."); ok {
			name, _, _ = strings.Cut(name, ".")
			found.Set(name, v)
		}
	}
	return found, nil
}

func (e *entry) config(opts *data.Map, env string) (consul.Config, error) {
	options, err := e.options(opts)
	if err != nil {
		return consul.Config{}, err
	}
	dcs, mapped := options.Value("dc").(*data.Map)
	if mapped {
		dc, err := datacenter(dcs, env)
		if err != nil {
			return consul.Config{}, err
		}
		options.Set("dc", dc)
	}
	c, err := consul.Parse(options)
	c.Timeout = patience
	return c, err
}

// Check implements pillar.Checker.
func (*Source) Check(argument any, opts *data.Map) error {
	e, err := read(argument)
	if err != nil {
		return err
	}
	if e.profile != "" && !opts.Has(e.profile) {
		return fmt.Errorf("%s: there is no such profile among the options", e.profile)
	}
	if _, err := pillar.Percent(e.root, names("x", data.NewMap())); err != nil {
		return fmt.Errorf("root: %w", err)
	}
	if e.targeted {
		nodegroups, _ := opts.Value("nodegroups").(*data.Map)
		if _, err := match.Compile(e.target, "compound", "", match.Options{Nodegroups: nodegroups}); err != nil {
			return fmt.Errorf("target: %w", err)
		}
	}
	_, err = e.config(opts, "base")
	return err
}

// Pillar implements pillar.Source.
func (s *Source) Pillar(ctx context.Context, q pillar.Query) (*data.Map, error) {
	e, err := read(q.Argument)
	if err != nil {
		return nil, err
	}
	if e.targeted && !targets(e.target, q) {
		return nil, nil
	}
	env := q.Opts.Text("pillarenv")
	if env == "" || env == "None" {
		env = "base"
	}
	c, err := e.config(q.Opts, env)
	if err != nil {
		return nil, err
	}
	root, err := pillar.Percent(e.root, names(q.ID, q.Grains))
	if err != nil {
		return nil, fmt.Errorf("root: %w", err)
	}
	if e.root != "" && root == "" {
		return nil, errors.New("root: the grains in it are empty")
	}
	tree, err := s.tree(ctx, q, c, root, !e.literal)
	if err != nil {
		return nil, err
	}
	if e.pillarRoot == "" {
		return tree, nil
	}
	keys := strings.Split(e.pillarRoot, "/")
	for _, k := range slices.Backward(keys) {
		tree = data.NewMap(k, tree)
	}
	return tree, nil
}

// names returns the values that a root may have. That of a missing grain is None.
func names(id string, grains *data.Map) *data.Map {
	return data.NewMap("minion_id", id, "role", grains.Value("role"), "environment",
		grains.Value("environment"))
}

func targets(target string, q pillar.Query) bool {
	nodegroups, _ := q.Opts.Value("nodegroups").(*data.Map)
	x, err := match.Compile(target, "compound", "", match.Options{Nodegroups: nodegroups})
	return err == nil && x.Match(&match.Minion{ID: q.ID, Grains: q.Grains, Pillar: q.Pillar})
}

// tree fetches the keys below a root, as nested dictionaries.
func (s *Source) tree(
	ctx context.Context, q pillar.Query, c consul.Config, root string, expanded bool,
) (*data.Map, error) {
	select {
	case s.places <- struct{}{}:
		defer func() { <-s.places }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	kv, err := consul.Open(c)
	if err != nil {
		return nil, err
	}
	defer kv.Close()
	path := root
	if path != "" {
		path += "/"
	}
	if err := consul.CheckKey(path); err != nil {
		return nil, fmt.Errorf("root: %w", err)
	}
	entries, err := kv.Tree(ctx, path)
	if err != nil {
		q.Log.Errorf("ext_pillar consul for %s: %s", q.ID, err)
		return nil, errors.New("no answer of Consul; please see the master's log")
	}
	tree := data.NewMap()
	for _, e := range slices.Backward(entries) {
		key := strings.TrimPrefix(strings.TrimPrefix(e.Key, root), "/")
		if strings.HasSuffix(key, "/") || e.Value == nil {
			continue
		}
		v, err := value(e.Value, expanded)
		if err != nil {
			q.Log.Errorf("ext_pillar consul for %s: the value of %s is not YAML", q.ID, e.Key)
			return nil, errors.New("a value of Consul is not YAML; please see the master's log")
		}
		parts := strings.Split(key, "/")
		for _, p := range slices.Backward(parts) {
			v = data.NewMap(p, v)
		}
		data.Merge(tree, v.(*data.Map), false)
	}
	return tree, nil
}

func value(b []byte, expanded bool) (any, error) {
	switch {
	case expanded:
		return yaml.Load(b, yaml.Options{})
	case utf8.Valid(b):
		return string(b), nil
	}
	return b, nil
}

// datacenter returns the datacenter for an environment: of the longest pattern that matches its
// beginning. Its text may have {NAME} for a group of the pattern. "" means that of the agent.
func datacenter(dcs *data.Map, env string) (string, error) {
	patterns := map[string]string{}
	for k, v := range dcs.All() {
		patterns[data.Str(k)] = data.Str(v)
	}
	names := slices.SortedFunc(maps.Keys(patterns), func(a, b string) int {
		if n := utf8.RuneCountInString(b) - utf8.RuneCountInString(a); n != 0 {
			return n
		}
		return strings.Compare(a, b)
	})
	for _, name := range names {
		re, err := regexp.Compile(`\A(?:` + name + `)`)
		if err != nil {
			return "", fmt.Errorf("consul.dc: %q is not a regular expression", name)
		}
		if found := re.FindStringSubmatch(env); found != nil {
			return fill(patterns[name], re.SubexpNames(), found)
		}
	}
	return "", nil
}

var group = regexp.MustCompile(`\{\{|\}\}|\{(\w*)\}`)

func fill(text string, names, found []string) (string, error) {
	var failed error
	out := group.ReplaceAllStringFunc(text, func(word string) string {
		switch word {
		case "{{":
			return "{"
		case "}}":
			return "}"
		}
		name := strings.Trim(word, "{}")
		if i := slices.Index(names, name); i > 0 && name != "" {
			return found[i]
		}
		failed = fmt.Errorf("consul.dc: %q names no group of the expression", word)
		return ""
	})
	return out, failed
}

// Package saltclass reads nodes and classes from a tree of YAML templates. A node names its
// classes, classes may name others, and all of them have states and pillar. It implements the
// external pillar saltclass and the system saltclass of master_tops (salt/utils/saltclass.py, and
// salt/tops/saltclass.py for the form of the files).
//
//	PATH/nodes/…/MINION.yml        environment, classes, states, pillars
//	PATH/classes/NAME.yml          or NAME/init.yml; dots in a name are directories, and names may have wildcards
//
// Some odd rules are as in Salt. Lists of classes that the pillar does not have yet grow when
// others append to them, and are in the result both grown and once more. A class that another names
// deep below is read, but only counts if Salt's walk through the list reaches it. A variable ${a:b}
// must stand for a text.
//
// Differences: files are processed in the order of their names, while Salt uses the order on disk;
// an empty node or list is no error; and the limits are 2000 classes, and 100,000 elements in a
// list.
package saltclass

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/jinja"
	"github.com/brineproject/brine/pillar/shellglob"
	"github.com/brineproject/brine/render/saltjinja"
	"github.com/brineproject/brine/yaml"
)

// Limits of one tree.
const (
	maxClasses = 2000
	maxFolders = 10_000
	maxDepth   = 32
	maxList    = 100_000
)

// A Node is the minion for which the tree is read.
type Node struct {
	ID     string
	Path   string // of the tree
	Opts   *data.Map
	Grains *data.Map
	Pillar *data.Map // may be nil
	Salt   any       // __salt__ of templates; nil means an empty dictionary
	Log    logrus.FieldLogger
}

// Pillars returns the pillar of a node, including its sources under __saltclass__, and the pillar
// that the last template saw: the given one with the values of all files merged into it, also of
// classes that do not count. In Salt the latter also reaches the minion, below the former. Errors
// name the faulty file and show none of its content; the log has the full error.
func (n Node) Pillars(ctx context.Context) (found, seen *data.Map, err error) {
	r := newReading(n)
	got, err := r.read(ctx)
	if err != nil {
		return nil, nil, err
	}
	values, _ := got.pillars.Value("pillars").(*data.Map)
	if values, err = expandVariables(ctx, values); err != nil {
		return nil, nil, err
	}
	found = data.NewMap("__saltclass__",
		data.NewMap("states", list(got.states), "classes", list(data.Values(got.classes)),
			"environment", got.environment, "nodename", n.ID))
	found.Update(values)
	if found, err = export(found); err != nil {
		return nil, nil, err
	}
	seen, err = export(r.pillar)
	return found, seen, err
}

// export converts a template's dictionary to one of package data.
func export(m *data.Map) (*data.Map, error) {
	v, err := jinja.Export(m)
	if err != nil {
		return nil, err
	}
	return v.(*data.Map), nil
}

// Top returns the states of a node: environment → list of SLS.
func (n Node) Top(ctx context.Context) (*data.Map, error) {
	found, err := newReading(n).read(ctx)
	if err != nil {
		return nil, err
	}
	if !data.Hashable(found.environment) {
		return nil, errors.New("environment is not a text")
	}
	return export(data.NewMap(found.environment, list(found.states)))
}

func list(items []any) *jinja.List { return jinja.NewList(items...) }

// A result holds the data of a node's files.
type result struct {
	pillars     *data.Map // all dictionaries merged
	classes     []string
	states      []any
	environment any
}

// A reading is the state of reading one node. Its values are those of templates: lists are
// pointers, because those of one class may become part of another's.
type reading struct {
	Node
	pillar  *data.Map
	seen    []string
	classes map[string]*data.Map
	globs   map[string][]string
}

func newReading(n Node) *reading {
	r := &reading{Node: n, pillar: data.NewMap(), classes: map[string]*data.Map{},
		globs: map[string][]string{}}
	if p, ok := jinja.Import(n.Pillar).(*data.Map); ok && p != nil {
		r.pillar = p
	}
	return r
}

func (r *reading) read(ctx context.Context) (*result, error) {
	node := data.NewMap()
	file, err := r.node(ctx)
	if err != nil {
		return nil, err
	}
	if file == "" {
		r.Log.Warnf("%s: Node definition not found", r.ID)
	} else if node, err = r.file(ctx, file); err != nil {
		return nil, err
	}
	if own, ok := node.Value("pillars").(*data.Map); ok {
		if err := merge(r.pillar, own); err != nil {
			return nil, err
		}
	}
	dicts, names, states, err := r.order(ctx, node, nil)
	if err != nil {
		return nil, err
	}
	found := &result{pillars: data.NewMap(), classes: names, states: states, environment: ""}
	for _, d := range dicts {
		if v, ok := d.Get("environment"); ok {
			found.environment = v
		}
		if d.Has("pillars") {
			if err := merge(found.pillars, d); err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

// node returns the file of the node, or "". Of several the last counts.
func (r *reading) node(ctx context.Context) (string, error) {
	if r.ID == "" || strings.ContainsAny(r.ID, `/\`) {
		return "", errors.New("the minion's id is not fit for the name of a file")
	}
	w := &walk{name: r.ID + ".yml"}
	err := w.folder(ctx, filepath.Join(r.Path, "nodes"), nil)
	return w.found, err
}

type walk struct {
	name, found string
	folders     int
}

func (w *walk) folder(ctx context.Context, at string, above []os.FileInfo) error {
	self, err := os.Stat(at)
	if err != nil || !self.IsDir() || len(above) > maxDepth ||
		slices.ContainsFunc(above, func(a os.FileInfo) bool { return os.SameFile(a, self) }) {
		return ctx.Err()
	}
	if w.folders++; w.folders > maxFolders {
		return fmt.Errorf("there are more than %d directories of nodes", maxFolders)
	}
	entries, err := os.ReadDir(at)
	if err != nil {
		return nil // as in Salt, what cannot be read counts as missing
	}
	file := filepath.Join(at, w.name)
	if st, err := os.Stat(file); err == nil && !st.IsDir() {
		w.found = file
	}
	for _, e := range entries {
		if e.IsDir() || e.Type()&os.ModeSymlink != 0 {
			if err := w.folder(ctx, filepath.Join(at, e.Name()),
				append(slices.Clip(above), self)); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// file renders one file. An empty one is an empty dictionary.
func (r *reading) file(ctx context.Context, at string) (*data.Map, error) {
	dir, name := filepath.Split(at)
	templates, err := saltjinja.NewFolder(dir, nil)
	if err != nil {
		return nil, err
	}
	salt := r.Salt
	if salt == nil {
		salt = data.NewMap()
	}
	text, err := templates.Render(ctx, name,
		map[string]any{"__opts__": r.Opts, "__salt__": salt, "__grains__": r.Grains,
			"__pillar__": r.pillar, "minion_id": r.ID})
	if err != nil {
		return nil, r.wrong(at, "does not render", err)
	}
	v, err := yaml.Load([]byte(text), yaml.Options{})
	if err != nil {
		return nil, r.wrong(at, "is not YAML", err)
	}
	m, ok := jinja.Import(v).(*data.Map)
	if !ok && data.Truth(v) {
		return nil, fmt.Errorf("%s is not a dictionary", at)
	}
	if m == nil {
		m = data.NewMap()
	}
	return m, nil
}

func (r *reading) wrong(at, what string, err error) error {
	r.Log.Errorf("saltclass: %s %s: %s", at, what, err)
	return fmt.Errorf("%s %s; please see the master's log", at, what)
}

// paths returns the possible files of a class.
func (r *reading) paths(class string) (straight, below, initial string) {
	top := filepath.Join(r.Path, "classes")
	folders := strings.ReplaceAll(class, ".", string(filepath.Separator))
	return filepath.Join(top, class+".yml"), filepath.Join(top, folders+".yml"), filepath.Join(top,
		folders, "init.yml")
}

// class reads one class; a missing one is empty.
func (r *reading) class(ctx context.Context, name string) (*data.Map, error) {
	straight, below, initial := r.paths(name)
	for _, at := range []string{straight, below, initial} {
		if strings.Contains(name, "/") {
			break
		}
		if st, err := os.Stat(at); err == nil && !st.IsDir() {
			return r.file(ctx, at)
		}
	}
	r.Log.Warnf("%s: Class definition not found", name)
	return data.NewMap(), nil
}

// glob returns the names of the classes that match a name with wildcards.
func (r *reading) glob(name string) []string {
	if known, ok := r.globs[name]; ok {
		return known
	}
	var names []string
	straight, below, initial := r.paths(name)
	top := filepath.Join(r.Path, "classes") + string(filepath.Separator)
	for _, pattern := range []string{straight, below, initial} {
		if strings.Contains(name, "/") {
			break
		}
		for _, at := range shellglob.Paths(pattern) {
			found := strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(at, top), ".yml"),
				string(filepath.Separator), ".")
			names = append(names, strings.TrimSuffix(found, ".init"))
		}
	}
	if len(names) == 0 {
		r.Log.Warnf("%s: Class globbing did not yield any results", name)
	}
	r.globs[name] = names
	return names
}

// globAll is glob for several names, without duplicates.
func (r *reading) globAll(names []string) []string {
	var all []string
	seen := map[string]bool{}
	for _, name := range names {
		for _, found := range r.glob(name) {
			if !seen[found] {
				seen[found] = true
				all = append(all, found)
			}
		}
	}
	return all
}

// names parses a list of classes.
func names(m *data.Map) ([]string, error) {
	v, ok := m.Get("classes")
	if !ok {
		return nil, nil
	}
	l, ok := v.(*jinja.List)
	if !ok {
		return nil, errors.New("classes is not a list")
	}
	var out []string
	for _, c := range l.Items {
		s, ok := c.(string)
		if !ok {
			return nil, fmt.Errorf("classes contains %s, which is not a name", data.Repr(c))
		}
		out = append(out, s)
	}
	return out, nil
}

// order returns the dictionaries of all classes and the node, the names of the classes, and the
// states (expand_classes_in_order). As in Salt, lists of classes are inserted before the class that
// names them while the list is processed.
func (r *reading) order(
	ctx context.Context, node *data.Map, list []string,
) (dicts []*data.Map, ordered []string, states []any, err error) {
	if list, err = r.expand(ctx, node, list); err != nil {
		return nil, nil, nil, err
	}
	for _, name := range list {
		if !slices.Contains(ordered, name) {
			ordered = append(ordered, name)
		}
	}
	for _, name := range ordered {
		dicts = append(dicts, r.classes[name])
		more, err := statesOf(r.classes[name])
		if err != nil {
			return nil, nil, nil, fmt.Errorf("class %s: %w", name, err)
		}
		states = append(states, more...)
	}
	more, err := statesOf(node)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("node %s: %w", r.ID, err)
	}
	return append(dicts, node), ordered, append(states, more...), nil
}

// expand reads the classes of a list and the classes they name, and returns the extended list.
func (r *reading) expand(ctx context.Context, node *data.Map, list []string) ([]string, error) {
	var err error
	if len(list) == 0 {
		if list, err = names(node); err != nil {
			return nil, err
		}
	}
	list = r.globAll(list)
	for i := 0; i < len(list); i++ {
		name := list[i]
		if slices.Contains(r.seen, name) {
			continue
		}
		if r.seen = append(r.seen, name); len(r.seen) > maxClasses {
			return nil, fmt.Errorf("there are more than %d classes", maxClasses)
		}
		class, err := r.class(ctx, name)
		if err != nil {
			return nil, err
		}
		r.classes[name] = class
		if values, ok := class.Value("pillars").(*data.Map); ok {
			if err := merge(r.pillar, values); err != nil {
				return nil, err
			}
		}
		below, err := names(emptyAsNone(class))
		if err != nil {
			return nil, fmt.Errorf("class %s: %w", name, err)
		}
		list = slices.Insert(list, slices.Index(list, name), below...)
		if _, err := r.expand(ctx, node, list); err != nil {
			return nil, err
		}
	}
	return list, ctx.Err()
}

// emptyAsNone replaces a class without a list of classes by an empty one.
func emptyAsNone(class *data.Map) *data.Map {
	if v, ok := class.Get("classes"); ok && v == nil {
		return data.NewMap()
	}
	return class
}

// statesOf returns the states of a class or node; None counts as empty.
func statesOf(m *data.Map) ([]any, error) {
	switch v := m.Value("states").(type) {
	case nil:
		return nil, nil
	case *jinja.List:
		return v.Items, nil
	}
	return nil, errors.New("states is not a list")
}

package pillar

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/match"
	"github.com/brineproject/brine/render"
)

// FileTree is the external pillar file_tree (salt/pillar/file_tree.py). Its result is a tree of
// directories with the files' contents as bytes: the files below ROOT/nodegroups/GROUP for each
// node group of the minion, overridden by those below ROOT/hosts/ID. With template true the
// contents are rendered. An invalid root_dir is only logged. Its own renderer lists are rejected:
// renderer_whitelist and renderer_blacklist are options of the master.
type FileTree struct{}

// Name implements Source.
func (FileTree) Name() string { return "file_tree" }

// Pillar implements Source.
func (FileTree) Pillar(ctx context.Context, q Query) (*data.Map, error) {
	args, err := Bind(q.Argument, 0, "root_dir", "follow_dir_links", "debug", "keep_newline",
		"render_default", "renderer_blacklist", "renderer_whitelist", "template")
	if err != nil {
		return nil, err
	}
	t := &fileTree{query: &q, follow: data.Truth(args.Value("follow_dir_links")),
		template: args.Value("template") == true, pipe: args.Text("render_default"),
		keep: args.Value("keep_newline")}
	if err := t.check(args); err != nil {
		return nil, err
	}
	roots, err := q.treeRoots(args.Text("root_dir"))
	if err != nil {
		q.Log.Errorf("file_tree: %s", err)
		return nil, nil
	}
	out := data.NewMap()
	for _, root := range roots {
		if out, err = t.add(ctx, out, root); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// A fileTree reads directories with the arguments of one call of file_tree.
type fileTree struct {
	query    *Query
	follow   bool // follow links to directories
	template bool
	pipe     string // of renderers, with template
	// keep_newline: nil, a truth value, or globs of the paths that keep a final line break
	keep any
}

func (t *fileTree) check(args *data.Map) error {
	for _, name := range []string{"renderer_blacklist", "renderer_whitelist"} {
		if data.Truth(args.Value(name)) {
			return fmt.Errorf("%s of file_tree is not supported: set the master's option of that name", name)
		}
	}
	switch t.keep.(type) {
	case nil, bool, []any:
	default:
		return errors.New("keep_newline must be either True/False or a list of file globs")
	}
	if t.query.ID == "" || t.query.ID == "." || !filepath.IsLocal(t.query.ID) ||
		strings.ContainsAny(t.query.ID, `/\`) {
		return errors.New("the minion's id is not fit for the name of a directory")
	}
	return nil
}

// treeRoots returns the directories of root_dir; a relative one is below those of pillar_roots.
func (q *Query) treeRoots(root string) ([]string, error) {
	if root == "" {
		return nil, errors.New("no root_dir specified")
	}
	if filepath.IsAbs(root) {
		return []string{root}, nil
	}
	env := q.Opts.Text("pillarenv")
	if env == "" {
		return nil, errors.New("root_dir is relative but pillarenv is not set")
	}
	roots, _ := q.Opts.Value("pillar_roots").(*data.Map)
	var dirs []string
	for _, dir := range data.TextsOf(roots.Value(env)) {
		dirs = append(dirs, filepath.Join(dir, root))
	}
	if len(dirs) == 0 {
		return nil, fmt.Errorf("root_dir is relative but no pillar_roots are specified for pillarenv %s", env)
	}
	return slices.Compact(dirs), nil
}

// add merges the minion's data of one root over out.
func (t *fileTree) add(ctx context.Context, out *data.Map, root string) (*data.Map, error) {
	groups, _ := t.query.Opts.Value("nodegroups").(*data.Map)
	var dirs []string
	for name := range groups.All() {
		if s := data.Str(name); filepath.IsLocal(s) && t.query.inNodegroup(groups, name) {
			dirs = append(dirs, filepath.Join(root, "nodegroups", s))
		}
	}
	for _, dir := range append(dirs, filepath.Join(root, "hosts", t.query.ID)) {
		if st, err := os.Stat(dir); err != nil || !st.IsDir() {
			continue
		}
		tree, err := t.folder(ctx, dir, "", nil)
		if err != nil {
			return nil, err
		}
		out = mergeRecurse(out, tree, false)
	}
	return out, nil
}

// folder reads the directory name below top. A link to a directory that is not followed counts as
// empty.
func (t *fileTree) folder(
	ctx context.Context, top, name string, above []os.FileInfo,
) (*data.Map, error) {
	out := data.NewMap()
	at := filepath.Join(top, name)
	self, err := os.Stat(at)
	if err != nil || len(above) > maxDepth ||
		slices.ContainsFunc(above, func(a os.FileInfo) bool { return os.SameFile(a, self) }) {
		return out, err
	}
	entries, err := os.ReadDir(at)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		value, err := t.entry(ctx, top, filepath.Join(name, e.Name()),
			append(slices.Clip(above), self))
		if err != nil {
			return nil, err
		}
		if value != nil {
			out.Set(e.Name(), value)
		}
	}
	return out, ctx.Err()
}

func (t *fileTree) entry(ctx context.Context, top, name string, above []os.FileInfo) (any, error) {
	at := filepath.Join(top, name)
	link, err := os.Lstat(at)
	if err != nil {
		return nil, err
	}
	st, err := os.Stat(at)
	switch {
	case err != nil: // a broken link
		return nil, nil
	case st.IsDir() && link.Mode()&os.ModeSymlink != 0 && !t.follow:
		return data.NewMap(), nil
	case st.IsDir():
		return t.folder(ctx, top, name, above)
	case !st.Mode().IsRegular():
		return nil, nil
	}
	return t.file(ctx, at, name)
}

func (t *fileTree) file(ctx context.Context, at, name string) (any, error) {
	b, err := os.ReadFile(at)
	if err != nil {
		t.query.Log.Errorf("file_tree: %s", err)
		return nil, nil
	}
	if len(b) > 0 && b[len(b)-1] == '\n' && !t.keeps(name) {
		b = b[:len(b)-1]
	}
	if !t.template {
		return b, nil
	}
	v, err := t.query.Engine.Render(ctx,
		render.Input{Text: string(b), SaltEnv: "base", Default: t.pipe})
	if err != nil {
		return nil, fmt.Errorf("%s does not render", at)
	}
	return v, nil
}

// keeps reports whether a file keeps its final line break. For the globs, files at the top are in
// the directory ".".
func (t *fileTree) keeps(name string) bool {
	globs, ok := t.keep.([]any)
	if !ok {
		return t.keep == true
	}
	if !strings.Contains(name, string(filepath.Separator)) {
		name = "./" + name
	}
	return slices.ContainsFunc(globs,
		func(g any) bool { return match.CompileGlob(data.Str(g)).Match(name) })
}

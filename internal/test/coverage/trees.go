package main

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/brineproject/brine/jinja"
	"github.com/brineproject/brine/render/saltjinja"
)

// A tree is a directory of SLS files with what it names.
type tree struct {
	name      string
	files     int      // SLS files
	unread    []string // errors of the Jinja of files, which begin with their paths
	own       names    // what its own Python adds
	ships     bool     // has Python of its own
	missing   names    // what Salt has on Linux and Brine lacks
	elsewhere names    // what Salt has on other platforms only, and Brine lacks
	notInSalt names    // what neither has: typing errors, data, functions of newer or older versions
}

// A shelf is what trees are compared with.
type shelf struct {
	brine, salt names
	language    *jinja.Environment
}

// newShelf returns what Brine and Salt have.
func newShelf(root string, available *functionSet) (*shelf, error) {
	brine, err := brinesNames(available)
	if err != nil {
		return nil, err
	}
	salt, err := saltsNames(root)
	if err != nil {
		return nil, err
	}
	language, err := saltjinja.Language()
	return &shelf{brine, salt, language}, err
}

// readTrees reads the trees in the directories below dir; those without SLS files are left out.
func (s *shelf) readTrees(dir string) ([]*tree, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var trees []*tree
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		t, err := s.readTree(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		if t.files > 0 {
			trees = append(trees, t)
		}
	}
	if len(trees) == 0 {
		return nil, errors.New("there are no SLS files in the directories below " + dir)
	}
	return trees, nil
}

// readTree reads one tree: its own Python first, then all SLS files and templates.
func (s *shelf) readTree(dir string) (*tree, error) {
	t := &tree{name: filepath.Base(dir), own: names{}, missing: names{}, elsewhere: names{},
		notInSalt: names{}}
	if err := eachFile(dir, t.python); err != nil {
		return nil, err
	}
	found := names{}
	err := eachFile(dir, func(file, text string) { s.readFile(t, file, text, found) })
	for _, n := range found.sorted() {
		s.judge(t, n, found[n])
	}
	return t, err
}

// maxFile is the size of the largest file that is read.
const maxFile = 4 << 20

// eachFile calls do with the plain files below a directory, by their paths below it. It leaves out
// what is not an SLS file, a template or Python.
func eachFile(dir string, do func(file, text string)) error {
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && e.Name() == ".git" {
			return filepath.SkipDir
		}
		switch filepath.Ext(path) {
		case ".sls", ".jinja", ".jinja2", ".j2", ".py":
		default:
			return nil
		}
		if info, err := e.Info(); err != nil || !info.Mode().IsRegular() || info.Size() > maxFile {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file, err := filepath.Rel(dir, path)
		do(file, string(text))
		return err
	})
}

// judge puts a name where it belongs; one that Brine or the tree has is nowhere.
func (s *shelf) judge(t *tree, n name, file string) {
	module, _, _ := strings.Cut(n.text, ".")
	_, brines := s.brine[n]
	_, own := t.own[n]
	_, whole := t.own[name{n.kind, module}]
	platform, salts := s.salt[n]
	file = t.name + "/" + file
	switch {
	case brines || own || whole:
	case platform == "linux":
		t.missing[n] = file
	case salts:
		t.elsewhere[n] = platform
	default:
		t.notInSalt[n] = file
	}
}

var (
	saltCall  = regexp.MustCompile(`(?:__salt__|\bsalt)\[\s*['"]([a-z_]\w*\.\w+)['"]\s*\]`)
	firstLine = regexp.MustCompile(`^#!([\w|.\- ]+)`)
)

// readFile adds the names in an SLS file or a template.
func (s *shelf) readFile(t *tree, file, text string, found names) {
	switch filepath.Ext(file) {
	case ".py":
		return
	case ".sls":
		t.files++
	}
	pipe := []string{"jinja", "yaml"}
	if m := firstLine.FindStringSubmatch(text); m != nil && strings.HasSuffix(file, ".sls") {
		pipe = renderers(m[1])
		for _, r := range pipe {
			found.add(aRenderer, r, file)
		}
	}
	if slices.Contains(pipe, "jinja") {
		if err := s.readJinja(file, text, found); err != nil {
			first, _, _ := strings.Cut(err.Error(), "\n")
			t.unread = append(t.unread, first)
		}
	} else {
		for _, m := range saltCall.FindAllStringSubmatch(text, -1) {
			found.add(aFunction, m[1], file)
		}
		s.scanProgram(t, file, text, found)
	}
	if strings.HasSuffix(file, ".sls") && filepath.Base(file) != "top.sls" &&
		!slices.ContainsFunc(pipe, program) {
		scanStates(file, text, func(fun string) bool { return s.hasState(t, fun) }, found)
	}
}

// renderers returns the names in the first line of a file.
func renderers(line string) []string {
	var list []string
	for part := range strings.SplitSeq(line, "|") {
		if words := strings.Fields(part); len(words) > 0 && !strings.HasPrefix(words[0], "/") {
			list = append(list, words[0])
		}
	}
	return list
}

// program reports whether the files of a renderer are programs rather than data.
func program(renderer string) bool {
	return renderer == "py" || renderer == "pydsl" || renderer == "pyobjects"
}

func (s *shelf) hasState(t *tree, fun string) bool {
	n := name{aState, fun}
	module, _, _ := strings.Cut(fun, ".")
	_, brines := s.brine[n]
	_, salts := s.salt[n]
	_, own := t.own[name{aState, module}]
	return brines || salts || own
}

// readJinja adds the filters, tests and execution functions that Jinja names in a file.
func (s *shelf) readJinja(file, text string, found names) error {
	n, err := s.language.Names(file, text)
	if err != nil {
		return err
	}
	for _, f := range n.Filters {
		found.add(aFilter, f, file)
	}
	for _, f := range n.Tests {
		found.add(aTest, f, file)
	}
	for _, path := range n.Paths {
		if fun := calledFunction(path); fun != "" {
			found.add(aFunction, fun, file)
		}
	}
	return nil
}

// calledFunction returns the execution function of salt['a.b'] or salt.a.b, or "".
func calledFunction(path []string) string {
	if len(path) < 2 || path[0] != "salt" {
		return ""
	}
	fun := path[1]
	if len(path) > 2 && !strings.Contains(fun, ".") {
		fun += "." + path[2]
	}
	if !dotted.MatchString(fun) {
		return ""
	}
	return fun
}

var (
	pythonFilter = regexp.MustCompile(`jinja_(filter|test|global)\(\s*['"](\w+)['"]`)
	virtualName  = regexp.MustCompile(`(?m)^\s*(?:__virtualname__\s*=|return)\s*['"](\w+)['"]\s*$`)
)

// python adds what a Python file of a tree adds to Salt. A module counts as having all functions.
func (t *tree) python(file, text string) {
	if filepath.Ext(file) != ".py" {
		return
	}
	parts := strings.Split(filepath.ToSlash(filepath.Dir(file)), "/")
	at := slices.IndexFunc(parts, pythonDirectory)
	if at < 0 {
		return
	}
	t.ships = true
	kinds := map[string]kind{"_states": aState, "_modules": aFunction, "_renderers": aRenderer}
	if k := kinds[parts[at]]; k != "" {
		module := strings.TrimSuffix(filepath.Base(file), ".py")
		t.own.add(k, cmp.Or(strings.Join(parts[at+1:], "."), module), file)
		t.own.add(k, module, file)
		for _, m := range virtualName.FindAllStringSubmatch(text, -1) {
			t.own.add(k, m[1], file)
		}
	}
	for _, m := range pythonFilter.FindAllStringSubmatch(text, -1) {
		t.own.add(kind(m[1]), m[2], file)
	}
}

// pythonDirectory reports whether Salt loads the Python files of a directory of that name.
func pythonDirectory(dir string) bool {
	switch dir {
	case "_auth", "_beacons", "_cache", "_clouds", "_engines", "_executors", "_fileserver",
		"_grains", "_log_handlers", "_matchers", "_metaproxy", "_modules", "_netapi", "_output",
		"_outputters", "_pillar", "_proxy", "_queues", "_renderers", "_returners", "_roster",
		"_runners", "_sdb", "_serializers", "_states", "_thorium", "_tokens", "_tops", "_utils",
		"_wheel":
		return true
	}
	return false
}

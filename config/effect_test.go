package config

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A reading collects how the code of this module uses names that may be options.
type reading struct {
	fields   map[string]bool     // names of fields that are selected: cfg.PublishPort
	literals map[string]bool     // all texts
	prefixes map[string][]string // texts that end in _, with the texts of the same files: "gitfs_" + name
	options  map[string]string   // names in opts.Value("x") and the like, with the position of one use
}

// read parses all code that is compiled into programs, except for code generated from the table.
func read(t *testing.T) *reading {
	t.Helper()
	r := &reading{map[string]bool{}, map[string]bool{}, map[string][]string{}, map[string]string{}}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git" ||
			path == filepath.Join("..", "internal", "test")):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go"), strings.HasSuffix(path, "_test.go"),
			strings.HasSuffix(path, "_gen.go"):
			return nil
		}
		return r.file(path)
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *reading) file(path string) error {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	var prefixes, texts []string
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.SelectorExpr:
			r.fields[n.Sel.Name] = true
		case *ast.BasicLit:
			if s, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
				r.literals[s] = true
				texts = append(texts, s)
				if strings.HasSuffix(s, "_") {
					prefixes = append(prefixes, s)
				}
			}
		case *ast.CallExpr:
			if name, ok := optionRead(n); ok && f.Name.Name != "config" {
				r.options[name] = set.Position(n.Pos()).String()
			}
		}
		return true
	})
	for _, p := range prefixes {
		r.prefixes[p] = append(r.prefixes[p], texts...)
	}
	return nil
}

// optionRead returns the name in x.Option("name"), opts.Value("name"), x.Opts.Text("name") and the
// like.
func optionRead(call *ast.CallExpr) (string, bool) {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) != 1 {
		return "", false
	}
	lit, ok := call.Args[0].(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	name, err := strconv.Unquote(lit.Value)
	if err != nil || method.Sel.Name != "Option" &&
		!slices.Contains([]string{"Value", "Text", "Get", "Has"}, method.Sel.Name) {
		return "", false
	}
	return name, method.Sel.Name == "Option" || isOptions(method.X)
}

// isOptions recognizes opts, x.opts, x.Opts and x.Opts() by their names.
func isOptions(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name == "opts"
	case *ast.SelectorExpr:
		return strings.EqualFold(x.Sel.Name, "opts")
	case *ast.CallExpr:
		return isOptions(x.Fun)
	}
	return false
}

// composed are options whose names are built from a text in the code and a word from elsewhere: the
// kind of plug-ins in loader.Allowed, and the name of a back end in the master's tasks.
var composed = map[string]string{
	"disable_modules": "disable_", "disable_returners": "disable_", "whitelist_modules": "whitelist_",
	"minionfs_update_interval": "_update_interval", "roots_update_interval": "_update_interval",
}

// reads reports whether code reads an option with this field, or without one.
func (r *reading) reads(name, field string) bool {
	if field != "" && r.fields[field] || r.literals[name] {
		return true
	}
	for prefix, texts := range r.prefixes {
		if rest, ok := strings.CutPrefix(name, prefix); ok && slices.Contains(texts, rest) {
			return true
		}
	}
	part, ok := composed[name]
	return ok && r.literals[part]
}

// notOptions are names read from a variable called opts that is not the configuration, such as a
// program's command line or the arguments of a plug-in; cluster, which is also a value of syndic_mode;
// docker, which is also what grains call a kind of container; syndic_dir, which programs set; consul,
// which is also a driver of sdb; and names of modules and of arguments of external pillars. Names with a
// dot are settings of plug-ins.
var notOptions = []string{"token", "arg", "cert", "docker", "cluster", "consul", "inventory_base_uri",
	"logrotate", "napalm", "reclass_source_path", "slack_notify", "syndic_dir"}

// TestEffectsAreThoseOfTheCode checks three things: options with an effect are read, options
// without an effect are not, and every option that is read is in the table.
func TestEffectsAreThoseOfTheCode(t *testing.T) {
	src, err := os.ReadFile("options.yaml")
	if err != nil {
		t.Fatal(err)
	}
	list, _, err := readOptions(src)
	if err != nil {
		t.Fatal(err)
	}
	code := read(t)
	for _, e := range list {
		has := false
		for r, use := range e.roles {
			effect := effect(use.Text("effect"))
			has = has || effect != noEffect
			if effect != noEffect && !code.reads(e.name, use.Text("field")) {
				t.Errorf("%s of the %s says that it has an effect (%s), and nothing reads it",
					e.name, r, effect)
			}
		}
		if at, ok := code.options[e.name]; ok && !has && !slices.Contains(notOptions, e.name) {
			t.Errorf("%s says that it has no effect, and %s reads it", e.name, at)
		}
	}
	for name, at := range code.options {
		if _, ok := known().find(name); !ok && !strings.Contains(name, ".") &&
			!strings.HasSuffix(name, "_") && !strings.HasPrefix(name, "__") &&
			!slices.Contains(notOptions, name) {
			t.Errorf("%s: the option %s is not in options.yaml", at, name)
		}
	}
	for _, o := range known().options {
		if o.kinds == nil && o.why != "" && code.literals[o.name] && !slices.Contains(notOptions, o.name) {
			t.Errorf("%s stands among the options that nothing reads, and in the code", o.name)
		}
	}
}

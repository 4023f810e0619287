package main

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A test is a test function with the texts that it and the functions it calls in its package
// contain.
type test struct {
	name  string // package and function: master.TestVectorPublish
	words map[string]bool
}

// word matches names in a text.
var word = regexp.MustCompile(`[A-Za-z0-9_.]+`)

// tests returns the tests of the module, those of the vectors first, because Salt's own results are
// the strongest evidence.
func (s *source) tests(root string) []test {
	helpers := map[string]map[string][]string{} // texts in functions of test files, by package
	for _, f := range s.files {
		for _, d := range f.ast.Decls {
			if fun, ok := d.(*ast.FuncDecl); ok && f.test {
				if helpers[f.dir] == nil {
					helpers[f.dir] = map[string][]string{}
				}
				helpers[f.dir][fun.Name.Name] = append(literals(fun), calls(fun)...)
			}
		}
	}
	l := &library{root: root, words: map[string][]string{}}
	var out []test
	for dir, functions := range helpers {
		for name := range functions {
			if strings.HasPrefix(name, "Test") && name != "TestMain" {
				out = append(out, test{name: dir + "." + name,
					words: wordsOf(l, dir, functions, name)})
			}
		}
	}
	slices.SortFunc(out, func(a, b test) int { return strings.Compare(rank(a.name), rank(b.name)) })
	return out
}

func rank(name string) string {
	if strings.Contains(name, ".TestVector") {
		return "0" + name
	}
	return "1" + name
}

// calls returns the functions that a function mentions, so that texts of helpers count too.
func calls(fun *ast.FuncDecl) []string {
	var out []string
	ast.Inspect(fun, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			out = append(out, "\x00"+id.Name)
		}
		return true
	})
	return out
}

// wordsOf collects the words in a test, in its helpers and in theirs.
func wordsOf(l *library, dir string, functions map[string][]string, name string) map[string]bool {
	words, seen, queue := map[string]bool{}, map[string]bool{name: true}, []string{name}
	for len(queue) > 0 {
		current := queue[0]
		queue = queue[1:]
		for _, t := range functions[current] {
			callee, isCall := strings.CutPrefix(t, "\x00")
			switch {
			case isCall && !seen[callee] && functions[callee] != nil &&
				!strings.HasPrefix(callee, "Test"):
				seen[callee] = true
				queue = append(queue, callee)
			case !isCall:
				for _, w := range append(word.FindAllString(t, -1), l.read(dir, t)...) {
					words[w] = true
				}
			}
		}
	}
	return words
}

// A library holds the words in the files that tests read.
type library struct {
	root  string
	words map[string][]string // by file
}

// read returns the words of the file that a text names: a file of the vectors, one of the package
// or a directory of scripts.
func (l *library) read(dir, text string) []string {
	var files []string
	switch {
	case strings.HasSuffix(text, ".json") && !strings.Contains(text, "/"):
		files = []string{filepath.Join(l.root, "testdata", "vectors", text)}
	case strings.HasPrefix(text, "testdata/"):
		for _, kind := range []string{"*.txtar", "*.sh"} {
			// the pattern is a path without meta characters
			scripts, _ := filepath.Glob(filepath.Join(l.root, dir, text, kind))
			files = append(files, scripts...)
		}
		files = append(files, filepath.Join(l.root, dir, text))
	}
	var out []string
	for _, f := range files {
		if _, known := l.words[f]; !known {
			raw, _ := os.ReadFile(f) // most texts are no files
			l.words[f] = slices.Compact(slices.Sorted(slices.Values(word.FindAllString(string(raw),
				-1))))
		}
		out = append(out, l.words[f]...)
	}
	return out
}

// find returns the first test of packages below one of the directories that contains any of the
// words; "" if there is none.
func find(tests []test, folders []string, words ...string) string {
	for _, folder := range folders {
		for _, t := range tests {
			if folder != "" && !strings.HasPrefix(t.name, folder+".") &&
				!strings.HasPrefix(t.name, folder+"/") {
				continue
			}
			for _, w := range words {
				if t.words[w] {
					return t.name
				}
			}
		}
	}
	return ""
}

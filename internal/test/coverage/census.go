package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A census holds what users write in SLS files.
type census struct {
	Uses      int      `json:"uses"` // of state functions
	Functions []entry  `json:"functions"`
	Modules   []module `json:"modules"`
	Called    struct {
		Uses      int        `json:"uses"` // of execution functions
		Functions []function `json:"functions"`
	} `json:"called"`
}

// A function is an execution function that templates call. Salts are those that Salt has on Linux;
// the others are part of the trees themselves.
type function struct {
	entry
	Salts bool `json:"salts"`
}

// An entry is a function or a module with its uses.
type entry struct {
	Name  string `json:"name"`
	Uses  int    `json:"uses"`
	Trees int    `json:"trees"`
}

// A module is a module with its functions in Salt; none if Salt does not ship it.
type module struct {
	entry
	Functions []string `json:"functions"`
}

func readCensus(root string) (*census, error) {
	text, err := os.ReadFile(filepath.Join(root, "internal", "test", "coverage", "testdata",
		"census.json"))
	if err != nil {
		return nil, err
	}
	c := &census{}
	if err := json.Unmarshal(text, c); err != nil {
		return nil, fmt.Errorf("read the census: %w", err)
	}
	return c, nil
}

// rootFolder returns the root directory of the tree.
func rootFolder() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", fmt.Errorf("no go.mod in or above the working directory")
		}
		dir = up
	}
}

// A share is the covered part of something.
type share struct {
	name                   string
	uses, covered, unknown int
	missing                []entry // functions of the census
	minimum                float64 // per cent that must be covered; 0 means no minimum
}

func (s *share) percent() float64 { return 100 * float64(s.covered) / float64(max(s.uses, 1)) }

// Required minimums, in per cent.
const (
	leastInAll  = 92
	leastEach   = 99
	leastCalled = 99
)

// minTrees is the number of calling trees from which a missing Salt function is an error.
const minTrees = 3

// majorModules returns the modules for which leastEach applies.
func majorModules() []string {
	return []string{"file", "cmd", "pkg", "service", "user", "group", "cron", "test", "module"}
}

// A report is the comparison of a census with a registry.
type report struct {
	all    share
	each   []*share
	called share // Salt's execution functions that templates call
}

// count compares the census with the available functions.
func (c *census) count(available map[string]bool) *report {
	r := &report{all: share{name: "all", uses: c.Uses, minimum: leastInAll}}
	of := map[string]*share{}
	for _, m := range c.Modules {
		s := &share{name: m.Name, uses: m.Uses}
		of[m.Name] = s
		r.each = append(r.each, s)
	}
	for _, name := range majorModules() {
		of[name].minimum = leastEach
	}
	known := map[string]int{}
	for _, f := range c.Functions {
		name, _, _ := strings.Cut(f.Name, ".")
		known[name] += f.Uses
		for _, s := range []*share{&r.all, of[name]} {
			s.take(f, available[f.Name])
		}
	}
	for _, m := range c.Modules {
		rest := entry{Name: m.Name, Uses: m.Uses - known[m.Name]}
		whole := len(m.Functions) > 0 && len(m.missingFunctions(available)) == 0
		for _, s := range []*share{&r.all, of[m.Name]} {
			s.rest(rest.Uses, whole)
		}
		known[m.Name] = 0
	}
	r.all.unknown = c.Uses - r.all.covered - uses(r.all.missing)
	return r
}

// countCalled compares the calls of templates with the available execution functions.
func (c *census) countCalled(available map[string]bool) share {
	s := share{name: "called", minimum: leastCalled}
	for _, f := range c.Called.Functions {
		if f.Salts {
			s.uses += f.Uses
			s.take(f.entry, available[f.Name])
		}
	}
	return s
}

// missingFunctions returns the missing functions of Salt's module.
func (m module) missingFunctions(available map[string]bool) []string {
	var names []string
	for _, fun := range m.Functions {
		if !available[m.Name+"."+fun] {
			names = append(names, m.Name+"."+fun)
		}
	}
	return names
}

// take counts the uses of a function. A nil share is that of a module without a total.
func (s *share) take(f entry, available bool) {
	switch {
	case s == nil:
	case available:
		s.covered += f.Uses
	default:
		s.missing = append(s.missing, f)
	}
}

// rest counts uses in a module of which no function is known.
func (s *share) rest(uses int, whole bool) {
	if whole {
		s.covered += uses
	} else {
		s.unknown += uses
	}
}

func uses(list []entry) int {
	n := 0
	for _, e := range list {
		n += e.Uses
	}
	return n
}

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A census is what users write.
type census struct {
	Uses      int      `json:"uses"` // of state functions
	Functions []entry  `json:"functions"`
	Modules   []module `json:"modules"`
	Called    struct {
		Uses      int        `json:"uses"` // of execution functions
		Functions []function `json:"functions"`
	} `json:"called"`
}

// A function is an execution function that templates call; Salts are those that Salt has on Linux, the others are of the trees themselves.
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

// A module is one with the functions that Salt has in it; none where Salt does not ship it.
type module struct {
	entry
	Functions []string `json:"functions"`
}

func readCensus(root string) (*census, error) {
	text, err := os.ReadFile(filepath.Join(root, "internal", "test", "coverage", "testdata", "census.json"))
	if err != nil {
		return nil, err
	}
	c := &census{}
	if err := json.Unmarshal(text, c); err != nil {
		return nil, fmt.Errorf("read the census: %w", err)
	}
	return c, nil
}

// rootFolder returns the directory of the tree in which the program runs.
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
			return "", fmt.Errorf("there is no go.mod above the working directory")
		}
		dir = up
	}
}

// A share is how much of something is covered.
type share struct {
	name                   string
	uses, covered, unknown int
	missing                []entry // functions of the census
	least                  float64 // per cent that must be covered; 0 for no bound
}

func (s *share) percent() float64 { return 100 * float64(s.covered) / float64(max(s.uses, 1)) }

// Bounds that hold, in per cent.
const (
	leastInAll  = 92
	leastEach   = 99
	leastCalled = 99
)

// fewTrees is how many trees must call one of Salt's functions, so that it may not be missing.
const fewTrees = 3

// mattering are the modules for which leastEach holds.
func mattering() []string {
	return []string{"file", "cmd", "pkg", "service", "user", "group", "cron", "test", "module"}
}

// A report is what the census and a registry come to.
type report struct {
	all    share
	each   []*share
	called share // execution functions of Salt's that templates call
}

// count holds the census against the functions that are there.
func (c *census) count(there map[string]bool) *report {
	r := &report{all: share{name: "all", uses: c.Uses, least: leastInAll}}
	of := map[string]*share{}
	for _, m := range c.Modules {
		s := &share{name: m.Name, uses: m.Uses}
		of[m.Name] = s
		r.each = append(r.each, s)
	}
	for _, name := range mattering() {
		of[name].least = leastEach
	}
	known := map[string]int{}
	for _, f := range c.Functions {
		name, _, _ := strings.Cut(f.Name, ".")
		known[name] += f.Uses
		for _, s := range []*share{&r.all, of[name]} {
			s.take(f, there[f.Name])
		}
	}
	for _, m := range c.Modules {
		rest := entry{Name: m.Name, Uses: m.Uses - known[m.Name]}
		whole := len(m.Functions) > 0 && len(m.lacking(there)) == 0
		for _, s := range []*share{&r.all, of[m.Name]} {
			s.rest(rest.Uses, whole)
		}
		known[m.Name] = 0
	}
	r.all.unknown = c.Uses - r.all.covered - uses(r.all.missing)
	return r
}

// countCalled holds the calls of templates against the execution functions that are there.
func (c *census) countCalled(there map[string]bool) share {
	s := share{name: "called", least: leastCalled}
	for _, f := range c.Called.Functions {
		if f.Salts {
			s.uses += f.Uses
			s.take(f.entry, there[f.Name])
		}
	}
	return s
}

// lacking returns the functions of Salt's module that are not there.
func (m module) lacking(there map[string]bool) []string {
	var names []string
	for _, fun := range m.Functions {
		if !there[m.Name+"."+fun] {
			names = append(names, m.Name+"."+fun)
		}
	}
	return names
}

// take counts the uses of a function. A nil share is that of a module without a total.
func (s *share) take(f entry, there bool) {
	switch {
	case s == nil:
	case there:
		s.covered += f.Uses
	default:
		s.missing = append(s.missing, f)
	}
}

// rest counts uses of a module of which no function is known.
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

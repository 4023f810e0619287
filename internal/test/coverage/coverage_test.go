package main

import (
	"slices"
	"strings"
	"testing"
)

// TestUsersStatesAreThere checks the minimums for the current build.
func TestUsersStatesAreThere(t *testing.T) {
	root, err := rootFolder()
	if err != nil {
		t.Fatal(err)
	}
	c, err := readCensus(root)
	if err != nil {
		t.Fatal(err)
	}
	available, err := registered(root)
	if err != nil {
		t.Fatal(err)
	}
	r := c.count(available.states)
	r.called = c.countCalled(available.modules)
	if err := r.enough(); err != nil {
		t.Errorf("%v\n%s", err, r.text())
	}
}

// TestCensusIsConsistent compares the numbers with the census's own totals.
func TestCensusIsConsistent(t *testing.T) {
	root, err := rootFolder()
	if err != nil {
		t.Fatal(err)
	}
	c, err := readCensus(root)
	if err != nil {
		t.Fatal(err)
	}
	modules := 0
	for _, m := range c.Modules {
		modules += m.Uses
		if !slices.Contains(majorModules(), m.Name) {
			continue
		}
		if len(m.Functions) == 0 {
			t.Errorf("module %s has no functions of Salt's", m.Name)
		}
	}
	if len(c.Functions) != 130 || len(c.Modules) != 60 || c.Uses != 27738 ||
		uses(c.Functions) != 27337 || modules != 27450 {
		t.Errorf("%d functions with %d uses, %d modules with %d, of %d", len(c.Functions),
			uses(c.Functions), len(c.Modules), modules, c.Uses)
	}
	called, salts := 0, 0
	for _, f := range c.Called.Functions {
		called += f.Uses
		if f.Salts {
			salts += f.Uses
		}
	}
	if len(c.Called.Functions) != 110 || c.Called.Uses != 12602 || called != 11970 || salts != 10036 {
		t.Errorf("%d functions that are called, with %d uses, %d of Salt's, of %d",
			len(c.Called.Functions), called, salts, c.Called.Uses)
	}
}

// TestCounting counts a small census: available, missing and unknown functions.
func TestCounting(t *testing.T) {
	c := &census{Uses: 1000, Functions: []entry{{"file.managed", 500, 9}, {"file.line", 100, 5},
		{"pkg.installed", 200, 9}, {"odd.one", 20, 1}}}
	for _, name := range majorModules() {
		c.Modules = append(c.Modules, module{entry: entry{Name: name}, Functions: []string{"x"}})
	}
	c.Modules[0] = module{entry: entry{Name: "file", Uses: 610},
		Functions: []string{"managed", "line", "touch"}}
	c.Modules[2] = module{entry: entry{Name: "pkg", Uses: 230}, Functions: []string{"installed"}}
	r := c.count(map[string]bool{"file.managed": true, "pkg.installed": true})
	if r.all.covered != 730 || r.all.unknown != 1000-730-120 || len(r.all.missing) != 2 {
		t.Errorf("all: %+v", r.all)
	}
	if file, pkg := r.each[0], r.each[2]; file.covered != 500 || file.unknown != 10 ||
		pkg.covered != 230 || pkg.unknown != 0 {
		t.Errorf("file: %+v, pkg: %+v", file, pkg)
	}
	err := r.enough()
	if err == nil || !strings.HasPrefix(err.Error(),
		"all: 73.0 % of the uses are covered, and 92 % must be\nfile: 82.0 % of the uses are covered, and 99 % must be") {
		t.Errorf("bounds: %v", err)
	}
	if text := r.text(); !strings.Contains(text, "file.line") || !strings.Contains(text, "10 unknown") {
		t.Errorf("report:\n%s", text)
	}
}

// TestCountingCalls counts a small census of calls: functions that are not Salt's are ignored.
func TestCountingCalls(t *testing.T) {
	c := &census{}
	c.Called.Functions = []function{{entry{"pillar.get", 980, 9}, true},
		{entry{"own.thing", 500, 9}, false}, {entry{"mine.get", 15, 3}, true},
		{entry{"vault.read", 5, 2}, true}}
	r := &report{called: c.countCalled(map[string]bool{"pillar.get": true})}
	if r.called.uses != 1000 || r.called.covered != 980 || len(r.called.missing) != 2 {
		t.Errorf("called: %+v", r.called)
	}
	err := r.enough()
	if err == nil || err.Error() != "called: 98.0 % of the uses are covered, and 99 % must be\nthere is no mine.get, which 3 trees call" {
		t.Errorf("bounds: %v", err)
	}
	if text := r.text(); !strings.Contains(text, "980 are covered: 98.0 %") ||
		!strings.Contains(text, "vault.read") || strings.Contains(text, "own.thing") {
		t.Errorf("report:\n%s", text)
	}
}

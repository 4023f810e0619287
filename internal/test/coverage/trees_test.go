package main

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/brineproject/brine/render/saltjinja"
)

// testShelf returns a shelf in which Brine has some names of the trees in testdata, and Salt more.
func testShelf(t *testing.T) *shelf {
	t.Helper()
	language, err := saltjinja.Language()
	if err != nil {
		t.Fatal(err)
	}
	s := &shelf{brine: names{}, salt: names{}, language: language}
	fill := func(n names, k kind, platform, texts string) {
		for text := range strings.FieldsSeq(texts) {
			n.add(k, text, platform)
		}
	}
	fill(s.brine, aState, "linux", "file.managed module.run crane.installed horn.sounded")
	fill(s.brine, aFunction, "linux", "grains.filter_by pillar.get log.debug")
	fill(s.brine, aRenderer, "linux", "yaml py pyobjects pydsl")
	fill(s.salt, aState, "linux", "file.managed crane.moved berth.held gone.present knot.tied")
	fill(s.salt, aState, "linux", "flag.hoisted hull_plate.welded oar.pulled")
	fill(s.salt, aState, "windows", "pier.built")
	fill(s.salt, aFunction, "linux", "tide.reset tide.level tide.high lamp.light lamp.count sonar.depth")
	fill(s.salt, aFunction, "linux", "bell.ring crew.size keel.laid jobs.list_jobs wind.speed")
	fill(s.salt, aFilter, "linux", "anchor")
	fill(s.salt, aTest, "linux", "afloat")
	fill(s.salt, aRenderer, "linux", "mako")
	return s
}

// TestTrees reads the trees in testdata.
func TestTrees(t *testing.T) {
	trees, err := testShelf(t).readTrees(filepath.Join("testdata", "trees"))
	if err != nil {
		t.Fatal(err)
	}
	if len(trees) != 2 || trees[0].name != "harbour" || trees[1].name != "shipyard" {
		t.Fatalf("%d trees", len(trees))
	}
	for i, want := range []struct {
		files                         int
		ships                         bool
		unread, miss, elsewhere, none string
	}{
		{7, false, "quay/files/sign.j2: line 1: Expected an expression, got 'end of statement block'",
			"filter anchor, function bell.ring, function crew.size, function lamp.count, function lamp.light, " +
				"function sonar.depth, function tide.high, function tide.level, function tide.reset, " +
				"renderer mako, berth.held, crane.moved, flag.hoisted, hull_plate.welded, oar.pulled, test afloat",
			"pier.built", "filter sort_by_length, function buoy.lit, mast.raised"},
		{2, true, "", "function keel.laid", "", "winch.pulled"},
	} {
		got := trees[i]
		if got.files != want.files || got.ships != want.ships ||
			strings.Join(got.unread, " ") != want.unread {
			t.Errorf("%s: %d files, ships %v, unread %v", got.name, got.files, got.ships, got.unread)
		}
		for _, c := range []struct {
			what string
			got  names
			want string
		}{{"missing", got.missing, want.miss}, {"elsewhere", got.elsewhere, want.elsewhere},
			{"not in Salt", got.notInSalt, want.none}} {
			if text := list(c.got); text != c.want {
				t.Errorf("%s, %s:\n got %s\nwant %s", got.name, c.what, text, c.want)
			}
		}
	}
	if _, err := testShelf(t).readTrees(t.TempDir()); err == nil {
		t.Error("no error for a directory without trees")
	}
}

// TestTreeReport sums up trees; those with Python of their own do not count for the minimum.
func TestTreeReport(t *testing.T) {
	var trees []*tree
	for range 19 {
		trees = append(trees, &tree{name: "whole", files: 1})
	}
	gap := names{{aFunction, "vault.seal"}: "gap/a.sls", {aState, "vault.sealed"}: "gap/a.sls"}
	trees = append(trees, &tree{name: "gap", files: 2, missing: gap},
		&tree{name: "own", files: 3, missing: maps.Clone(gap), ships: true, unread: []string{"x"}})
	r := newTreeReport(trees)
	if err := r.enough(); r.plain != 20 || r.plainWhole != 19 || err != nil {
		t.Errorf("%d of %d, %v", r.plainWhole, r.plain, err)
	}
	text := r.text()
	for _, want := range []string{
		"Of 21 trees with 24 SLS files 19 have nothing missing. ",
		"Of the 20 that ship no Python of their own 19 have nothing missing: 95.0 %.\n",
		"function vault.seal, vault.sealed (1 file with errors in its Jinja)\n",
		"  2 in all, 1 without Python of their own; gap/a.sls\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	r = newTreeReport(slices.Concat(trees[:18], trees[19:]))
	if err := r.enough(); err == nil || !strings.HasPrefix(err.Error(), "94.7 % of the trees") {
		t.Errorf("18 of 19: %v", err)
	}
}

// TestSaltsNames reads the list of Salt's names and compares it with the census.
func TestSaltsNames(t *testing.T) {
	root, err := rootFolder()
	if err != nil {
		t.Fatal(err)
	}
	salt, err := saltsNames(root)
	if err != nil {
		t.Fatal(err)
	}
	for n, platform := range map[name]string{
		{aState, "file.managed"}: "linux", {aState, "file.shortcut"}: "windows",
		{aFunction, "pkg.install"}: "linux", {aFunction, "reg.read_value"}: "windows",
		{aFilter, "yaml_dquote"}: "linux", {aFilter, "upper"}: "linux", {aTest, "defined"}: "linux",
		{aRenderer, "mako"}: "linux", {aState, "macdefaults.write"}: "macos",
		{aState, "pkg.absent"}: "",
	} {
		if salt[n] != platform {
			t.Errorf("%v is of %q, want %q", n, salt[n], platform)
		}
	}
	c, err := readCensus(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range c.Called.Functions {
		if _, ok := salt[name{aFunction, f.Name}]; f.Salts && !ok {
			t.Errorf("function %s of the census is not in the list", f.Name)
		}
	}
	for _, m := range c.Modules {
		for _, fun := range m.Functions {
			n := name{aState, m.Name + "." + fun}
			if _, ok := salt[n]; !ok && !strings.HasPrefix(fun, "mod_") {
				t.Errorf("state %s of the census is not in the list", n)
			}
		}
	}
}

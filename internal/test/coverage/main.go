// The program coverage reports the share of what users write in SLS files that a Brine minion can
// run: of the uses in a census of 129 public trees, in total and for the most important modules. It
// reports the same for Salt's execution functions that templates call.
//
// The census (testdata/census.json) has the 130 most frequent functions with their uses, and the
// totals of the 60 most frequent modules. For a module's uses beyond those functions only the
// number is known. They count as covered if every function that Salt 3006.0 has in the module
// exists; otherwise they are unknown, and not covered. Uses that the census only has as a sum, for
// modules that are not among the 60, are unknown too. Functions are those of the registry of
// states; those of a module that cannot be loaded on this host, because a program is missing, are
// read from its source. Of execution functions the census has the 110 most frequent.
//
// With -trees it reports which trees of SLS files find everything that they name: state functions,
// execution functions, Jinja's filters and tests, and renderers. Each directory below the given one
// is a tree, such as a checkout of a formula. It fails if fewer than 95 % of the trees that ship no
// Python of their own have nothing missing on Linux. Names that a tree brings itself are not
// missing. Names that Salt 3006.18 (testdata/salt-names.txt) has on other platforms only, or not at
// all, are listed apart: typing errors, settings that look like states, functions of other versions.
//
// Files are not rendered, so every branch counts. Names in Jinja are those of the parsed templates;
// a name that a variable holds is not seen. State functions are found by indentation. Execution
// functions also count if module.run, salt.function, a requisite's "fun" or a reaction names them.
// Runners and wheel functions, and managed files whose names do not end in .jinja or .j2, do not.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	trees := flag.String("trees", "", "count the trees of SLS files in the directories below `DIR`")
	flag.Parse()
	if err := run(*trees); err != nil {
		fmt.Fprintln(os.Stderr, "coverage:", err)
		os.Exit(1)
	}
}

func run(trees string) error {
	root, err := rootFolder()
	if err != nil {
		return err
	}
	c, err := readCensus(root)
	if err != nil {
		return err
	}
	available, err := registered(root)
	if err != nil {
		return err
	}
	if trees != "" {
		return countTrees(root, trees, available)
	}
	r := c.count(available.states)
	r.called = c.countCalled(available.modules)
	fmt.Print(r.text())
	return r.enough()
}

// countTrees prints which trees of SLS files below a directory miss something.
func countTrees(root, dir string, available *functionSet) error {
	s, err := newShelf(root, available)
	if err != nil {
		return err
	}
	trees, err := s.readTrees(dir)
	if err != nil {
		return err
	}
	r := newTreeReport(trees)
	fmt.Print(r.text())
	return r.enough()
}

// The program coverage says which share of what users write in SLS files a minion of ours can run: of the uses in a census of 129 public
// trees, in all and for the modules that matter most. It says the same of the execution functions of Salt's that templates call.
//
// The census (testdata/census.json) has the 130 most frequent functions with their uses, and the totals of the 60 most frequent modules. Of
// a module's uses beyond those functions only the number is known: they count as covered when every function that Salt 3006.0 has in the
// module is there, and as unknown, which is not covered, when one is missing. What the census tells only as a sum, for modules that are
// not among the 60, is unknown too. Functions are those of the registry of states; a module that refuses to work on this host, for want
// of a program, is read from its source. Of execution functions the census has the 110 most frequent.
package main

import (
	"fmt"
	"os"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "coverage:", err)
		os.Exit(1)
	}
}

func run() error {
	root, err := rootFolder()
	if err != nil {
		return err
	}
	c, err := readCensus(root)
	if err != nil {
		return err
	}
	there, err := registered(root)
	if err != nil {
		return err
	}
	r := c.count(there.states)
	r.called = c.countCalled(there.modules)
	fmt.Print(r.text())
	return r.enough()
}

// Docgen writes the texts of sys.doc for plug-in functions, taken from their doc comments.
//
//	//go:generate go run github.com/brineproject/brine/internal/docgen core.go
//
// The argument is a file that imports the plug-ins to document; the output for core.go is core.txt.
// Each function registered with loader.F gets the doc comment of its Go function, in the format of
// loader.Docs. If the comment begins with the function's name, that word is dropped.
package main

import (
	"fmt"
	"os"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "docgen:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("usage: docgen LIST.go")
	}
	text, err := Generate(args[0])
	if err != nil {
		return err
	}
	return os.WriteFile(outputFor(args[0]), text, 0o644)
}

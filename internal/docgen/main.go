// Docgen writes the texts that sys.doc shows for the functions of a shelf, taken from their doc comments.
//
//	//go:generate go run github.com/brineproject/brine/internal/docgen core.go
//
// The argument is the file with a list of plug-ins, whose imports are documented; core.go gives core.txt. Each function that is
// registered by loader.F gets the doc comment of its Go function, in the form that loader.Docs reads. When the comment begins
// with the function's name, that word is dropped.
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

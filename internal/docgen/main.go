// Docgen writes doc_gen.go: the texts that sys.doc shows for the functions of a module, taken from their doc comments.
//
//	//go:generate go run github.com/brineproject/brine/internal/docgen
//
// It works on the package in the current folder. Every constant docXxx that the package uses and does not declare gets the doc
// comment of the function or method xxx, in the form of a Python docstring: a line feed, every line indented by four blanks, a
// last line of four blanks. When the comment begins with the function's name, that word is dropped. docPackage is the comment
// of the package.
package main

import (
	"fmt"
	"os"
)

func main() {
	if err := run("."); err != nil {
		fmt.Fprintln(os.Stderr, "docgen:", err)
		os.Exit(1)
	}
}

func run(dir string) error {
	src, err := Generate(dir)
	if err != nil {
		return err
	}
	return os.WriteFile(dir+"/"+fileName, src, 0o644)
}

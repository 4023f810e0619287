// Docgen writes the texts of sys.doc for plug-in functions, taken from their doc comments.
//
//	//go:generate go run github.com/brineproject/brine/internal/docgen core.go
//
// The argument is a file that imports the plug-ins to document; the output for core.go is core.txt, and
// core.txt.gz, which the programs contain. The files extra_*.go continue the list extra.go.
// Each function registered with loader.F gets the doc comment of its Go function, in the format of
// loader.Docs. If the comment begins with the function's name, that word is dropped.
package main

import (
	"bytes"
	"compress/gzip"
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
	if err := os.WriteFile(outputFor(args[0]), text, 0o644); err != nil {
		return err
	}
	small, err := compressed(text)
	if err != nil {
		return err
	}
	return os.WriteFile(outputFor(args[0])+".gz", small, 0o644)
}

// compressed returns a text compressed by gzip.
func compressed(text []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	err = w.Close()
	return b.Bytes(), err
}

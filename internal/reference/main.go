// Reference writes docs/reference.md: the commands, runners, wheel functions, execution functions
// and states, with their arguments. All of it is read from the source, so that the page matches the
// programs.
//
//	//go:generate go run github.com/brineproject/brine/internal/reference
//
// It works on the module that contains the working directory.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if err := run("."); err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}

// page is the path of the reference in the tree.
const page = "docs/reference.md"

func run(dir string) error {
	root, err := moduleRoot(dir)
	if err != nil {
		return err
	}
	text, err := Page(root)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, page), text, 0o644)
}

// moduleRoot returns the directory with go.mod that holds dir.
func moduleRoot(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("no go.mod in or above the directory")
		}
		dir = parent
	}
}

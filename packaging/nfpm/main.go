// Command nfpm writes a deb or rpm package from its description.
//
//	nfpm FORMAT DESCRIPTION FOLDER
//
// ${NAME} in the description is replaced by an environment variable, which must be set. The program
// prints the name of the written file.
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: nfpm FORMAT DESCRIPTION FOLDER")
		os.Exit(2)
	}
	file, err := write(os.Args[1], os.Args[2], os.Args[3])
	if err != nil {
		fmt.Fprintf(os.Stderr, "nfpm: %s: %v\n", os.Args[2], err)
		os.Exit(1)
	}
	fmt.Println(file)
}

// write writes a package and returns the name of its file.
func write(format, description, folder string) (string, error) {
	info, err := describe(format, description)
	if err != nil {
		return "", err
	}
	packager, err := nfpm.Get(format)
	if err != nil {
		return "", err
	}
	var body bytes.Buffer
	if err := packager.Package(info, &body); err != nil {
		return "", err
	}
	file := filepath.Join(folder, packager.ConventionalFileName(info))
	return file, os.WriteFile(file, body.Bytes(), 0o644)
}

// describe reads a description for a format.
func describe(format, description string) (*nfpm.Info, error) {
	text, err := os.ReadFile(description)
	if err != nil {
		return nil, err
	}
	var missing []string
	expanded := os.Expand(string(text), func(name string) string {
		value, ok := os.LookupEnv(name)
		if !ok {
			missing = append(missing, name)
		}
		return value
	})
	if len(missing) > 0 {
		return nil, fmt.Errorf("not set: %s", strings.Join(missing, ", "))
	}
	c, err := nfpm.Parse(strings.NewReader(expanded))
	if err != nil {
		return nil, err
	}
	info, err := c.Get(format)
	if err != nil {
		return nil, err
	}
	return nfpm.WithDefaults(info), nil
}

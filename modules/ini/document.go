package ini

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/loader"
)

// A document is an ini file with its parsed content.
type document struct {
	name, path string
	root       *section
}

// open reads a file. A missing file is an empty document.
func (m *module) open(name, separator string) (*document, error) {
	s, err := newSyntax(separator)
	if err != nil {
		return nil, err
	}
	d := &document{name: name, path: filepath.Join(m.env.Root, name), root: newSection("", s)}
	text, err := os.ReadFile(d.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return d, nil
	case err != nil:
		return nil, d.fault("open", err)
	}
	if _, err := loader.Text(text); err != nil {
		return nil, err
	}
	d.root, err = s.parse(string(text))
	return d, err
}

func (d *document) fault(doing string, err error) error {
	if number, ok := errors.AsType[syscall.Errno](err); ok {
		return loader.Execution("Unable to %s file '%s'. Exception: %s", doing, d.name,
			loader.OSErrorText(number, d.name))
	}
	return loader.Execution("Unable to %s file '%s'. Exception: %w", doing, d.name, err)
}

// save writes the file. It follows a link.
func (d *document) save() error {
	if err := atomicfile.Write(d.path, []byte(d.text()),
		atomicfile.Options{Follow: true, Mode: 0o644, Keep: true}); err != nil {
		return d.fault("write", err)
	}
	return nil
}

// text returns the file's content without leading empty lines.
func (d *document) text() string {
	var b strings.Builder
	d.root.writeBody(&b)
	return strings.TrimPrefix(b.String(), "\n")
}

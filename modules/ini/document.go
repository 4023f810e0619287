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
	charset    charset
	read       string // content of the file
}

// open reads a file. A missing file is an empty document.
func (m *module) open(name string, f format) (*document, error) {
	s, err := newSyntax(f.Separator)
	if err != nil {
		return nil, err
	}
	charset, err := charsetOf(f.Encoding)
	if err != nil {
		return nil, err
	}
	d := &document{name: name, path: filepath.Join(m.env.Root, name), root: newSection("", s),
		charset: charset}
	text, err := os.ReadFile(d.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return d, nil
	case err != nil:
		return nil, d.fault("open", err)
	}
	content, err := charset.decode(text)
	if err != nil {
		return nil, err
	}
	d.read = content
	d.root, err = s.parse(content)
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
	raw, err := d.charset.encode(d.text())
	if err != nil {
		return err
	}
	if err := atomicfile.Write(d.path, raw,
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

package reactor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/brineproject/brine/data"
)

// maxFile is the maximum size of a reaction file, in bytes.
const maxFile = 4 << 20

// load adds the reactions of a file, or of all files that match a glob. Files that fail are logged
// and skipped.
func (r *Reactor) load(ctx context.Context, high *High, ref string, about *data.Map) {
	files, err := r.read(ctx, ref)
	if len(files) == 0 {
		r.o.Log.Errorf("Can not render SLS %s for tag %s. File missing or not found.", ref,
			about.Text("tag"))
	}
	if err != nil {
		r.o.Log.WithError(err).Errorf("reactor: read %s", ref)
	}
	for _, f := range files {
		value, err := r.o.Render(ctx, f.path, f.text, about)
		if err == nil {
			err = high.Add(f.path, value)
		}
		if err != nil {
			r.o.Log.Errorf("Failed to render %q: %v", f.path, err)
		}
	}
}

// A source is a file that was read.
type source struct {
	path string
	text []byte
}

// read reads the files named by a rule. It returns those that could be read together with the error
// of the others.
func (r *Reactor) read(ctx context.Context, ref string) ([]source, error) {
	if path, ok := strings.CutPrefix(ref, "salt://"); ok {
		if r.o.Read == nil {
			return nil, errors.New("there is no file server")
		}
		text, err := r.o.Read(ctx, path)
		if err != nil {
			return nil, err
		}
		return []source{{ref, text}}, nil
	}
	paths, err := filepath.Glob(strings.ReplaceAll(ref, "[!", "[^"))
	if err != nil {
		return nil, err
	}
	var files []source
	var faults []error
	for _, path := range paths {
		if hidden(path, ref) {
			continue
		}
		text, err := readFile(path)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		files = append(files, source{path, text})
	}
	return files, errors.Join(faults...)
}

// hidden reports whether a file begins with a dot that its glob does not name. Python's glob omits
// such files.
func hidden(path, ref string) bool {
	return strings.HasPrefix(filepath.Base(path), ".") &&
		!strings.HasPrefix(filepath.Base(ref), ".")
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, fmt.Errorf("%s is no regular file", path))
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("%s is longer than %d bytes", path, maxFile)
	}
	return text, err
}

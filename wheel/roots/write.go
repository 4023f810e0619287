package roots

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/brineproject/brine/loader"
)

type writeArgs struct {
	Data    any
	Path    string
	Saltenv string `default:"'base'"`
	Index   int    `default:"0"`
}

// write writes a text to a file of an environment, in its first root or in the one with this index.
//
// CLI Example:
//
//	salt-call saltutil.wheel file_roots.write 'base: {}' top.sls
func (m *module) write(_ context.Context, a writeArgs) (any, error) {
	dirs, ok := m.roots(a.Saltenv)
	switch {
	case !ok:
		return fmt.Sprintf("Named environment %s is not present", a.Saltenv), nil
	case a.Index < 0 || len(dirs) <= a.Index:
		return fmt.Sprintf("Specified index %d in environment %s is not present", a.Index,
			a.Saltenv), nil
	case filepath.IsAbs(a.Path):
		return fmt.Sprintf("The path passed in %s is not relative to the environment %s", a.Path,
			a.Saltenv), nil
	}
	name, ok := inside(a.Path)
	if !ok {
		return m.invalid(a.Path), nil
	}
	text, ok := a.Data.(string)
	if raw, isBytes := a.Data.([]byte); isBytes {
		text, ok = string(raw), true
	}
	if !ok {
		return nil, loader.TypeError("expected str, bytearray, or bytes not %s",
			loader.TypeName(a.Data))
	}
	err := writeIn(dirs[a.Index], name, text)
	if errors.Is(err, errOutside) {
		return m.invalid(a.Path), nil
	}
	if err != nil {
		return nil, loader.Execution("%w", err)
	}
	return "Wrote data to file " + filepath.Join(dirs[a.Index], a.Path), nil
}

// invalid returns Salt's text for a path that leads out of the root; that of file_roots includes
// the path.
func (m *module) invalid(path string) string {
	if m.option == "file_roots" {
		return "Invalid path: " + path
	}
	return "Invalid path"
}

// errOutside is returned for a path that a link leads out of the root.
var errOutside = errors.New("the path leads out of the root")

// writeIn writes a file below a directory, and creates missing directories on the way. os.Root
// rejects paths that leave the directory; links within it are followed.
func writeIn(dir, name, text string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return asOutsideError(err)
	}
	return asOutsideError(root.WriteFile(name, []byte(text), 0o644))
}

// asOutsideError converts the error for a path that leads out of the root, for which os has no
// exported value.
func asOutsideError(err error) error {
	var wrong *os.PathError
	if errors.As(err, &wrong) && wrong.Err != nil &&
		wrong.Err.Error() == "path escapes from parent" {
		return fmt.Errorf("%w: %w", errOutside, err)
	}
	return err
}

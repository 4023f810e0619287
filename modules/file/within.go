package file

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// A spot is a name in an open directory. Operations stay below the directory, even if another user
// swaps in a link in the meantime.
type spot struct {
	*os.Root

	name string
}

// spotOf opens the directory within, or else the parent of path. The caller closes the spot.
func spotOf(within any, path string) (*spot, error) {
	dir, _ := within.(string)
	if dir == "" {
		dir = filepath.Dir(path)
	}
	dir = home(dir)
	name, err := filepath.Rel(dir, path)
	if err == nil && !filepath.IsLocal(name) {
		err = &fs.PathError{Op: "open", Path: path, Err: errors.New("is not below " + dir)}
	}
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &spot{root, name}, nil
}

// Package localfs stores a cache in files: key k of bank a/b is the file a/b/k.p below a directory.
package localfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/brineproject/brine/cache"
	"github.com/brineproject/brine/internal/atomicfile"
)

const ending = ".p"

// A Cache is a cache below one directory. Links cannot lead it out of the directory.
type Cache struct {
	root *os.Root
}

var _ cache.Bank = (*Cache)(nil)

// Open returns the cache below dir, which must exist. The caller closes it.
func Open(dir string) (*Cache, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open cache: %w", err)
	}
	return &Cache{root}, nil
}

// Close releases the directory.
func (c *Cache) Close() error { return c.root.Close() }

// Fetch returns the value of key.
func (c *Cache) Fetch(bank, key string) ([]byte, error) {
	file, err := name(bank, key)
	if err != nil {
		return nil, err
	}
	value, err := c.root.ReadFile(file)
	return value, wrap("read", bank, key, err)
}

// Store sets the value of key.
func (c *Cache) Store(bank, key string, value []byte) error {
	file, err := name(bank, key)
	if err != nil {
		return err
	}
	if err := c.root.MkdirAll(bank, 0o700); err != nil {
		return wrap("make directory for", bank, key, err)
	}
	return wrap("write", bank, key, atomicfile.WriteIn(c.root, file, value, atomicfile.Options{}))
}

// Flush removes key or the whole bank.
func (c *Cache) Flush(bank, key string) error {
	if key == "" {
		if err := checkBank(bank); err != nil {
			return err
		}
		return wrap("drop", bank, key, c.root.RemoveAll(bank))
	}
	file, err := name(bank, key)
	if err != nil {
		return err
	}
	if err := c.root.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return wrap("drop", bank, key, err)
	}
	return nil
}

// List returns keys and banks below bank.
func (c *Cache) List(bank string) ([]string, error) {
	if err := checkBank(bank); err != nil {
		return nil, err
	}
	entries, err := fs.ReadDir(c.root.FS(), bank)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, wrap("list", bank, "", err)
	}
	var names []string
	for _, e := range entries {
		if n, ok := strings.CutSuffix(e.Name(), ending); !strings.HasPrefix(n, ".") &&
			(ok || e.IsDir()) {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// Updated returns when key was last set.
func (c *Cache) Updated(bank, key string) (time.Time, error) {
	file, err := name(bank, key)
	if err != nil {
		return time.Time{}, err
	}
	info, err := c.root.Stat(file)
	if err != nil {
		return time.Time{}, wrap("stat", bank, key, err)
	}
	return info.ModTime(), nil
}

func wrap(doing, bank, key string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s cache entry %s/%s: %w", doing, bank, key, cache.ErrNotFound)
	}
	return fmt.Errorf("%s cache entry %s/%s: %w", doing, bank, key, err)
}

func name(bank, key string) (string, error) {
	if err := checkBank(bank); err != nil {
		return "", err
	}
	if !valid(key) {
		return "", fmt.Errorf("cache key %q is not valid", key)
	}
	return path.Join(bank, key+ending), nil
}

func checkBank(bank string) error {
	for part := range strings.SplitSeq(bank, "/") {
		if !valid(part) {
			return fmt.Errorf("cache bank %q is not valid", bank)
		}
	}
	return nil
}

func valid(part string) bool {
	return part != "" && part[0] != '.' && !strings.ContainsAny(part, "/\\\x00")
}

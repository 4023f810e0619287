package winrepo

import (
	"context"
	"crypto/sha1"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/brineproject/brine/fileserver/gitfs"
	"github.com/brineproject/brine/fileserver/gitfs/mirror"
	"github.com/brineproject/brine/internal/atomicfile"
)

// checkout makes the directory at have the files of a view, and no others. It writes only files
// that differ. Names in the repository never lead out of the directory.
func checkout(ctx context.Context, at string, m *mirror.Mirror, view *gitfs.View) error {
	wanted, err := contents(ctx, view)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(at, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(at)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := prune(root, wanted); err != nil {
		return err
	}
	for name, hash := range wanted {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := write(root, name, m, hash); err != nil {
			return err
		}
	}
	return nil
}

// contents returns the files of a view with the hashes of their contents, without those in
// directories named .git.
func contents(ctx context.Context, view *gitfs.View) (map[string]mirror.Hash, error) {
	names, err := view.Files(ctx)
	if err != nil {
		return nil, err
	}
	all := map[string]mirror.Hash{}
	for _, name := range names {
		if reserved(name) {
			continue
		}
		hash, ok, err := view.Find(name)
		if err != nil {
			return nil, err
		}
		if ok {
			all[name] = hash
		}
	}
	return all, nil
}

// reserved reports whether a path has a part that git could take for a repository.
func reserved(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if strings.EqualFold(part, ".git") {
			return true
		}
	}
	return false
}

// prune removes everything that is neither a wanted file nor a directory of one.
func prune(root *os.Root, wanted map[string]mirror.Hash) error {
	dirs := map[string]bool{".": true}
	for name := range wanted {
		for dir := path.Dir(name); !dirs[dir]; dir = path.Dir(dir) {
			dirs[dir] = true
		}
	}
	return fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		_, file := wanted[name]
		switch {
		case e.IsDir() && dirs[name], e.Type().IsRegular() && file:
			return nil
		}
		if err := root.RemoveAll(name); err != nil {
			return err
		}
		if e.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
}

// write writes a file that does not have the content yet.
func write(root *os.Root, name string, m *mirror.Mirror, hash mirror.Hash) error {
	if have, err := hashOf(root, name); err == nil && have == hash {
		return nil
	}
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	return atomicfile.FillIn(root, name, atomicfile.Options{Mode: 0o644},
		func(f *os.File) error { return m.Copy(f, hash) })
}

// hashOf returns the hash that git gives the content of a file.
func hashOf(root *os.Root, name string) (h mirror.Hash, err error) {
	f, err := root.Open(name)
	if err != nil {
		return h, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return h, err
	}
	sum := sha1.New()
	fmt.Fprintf(sum, "blob %d\x00", info.Size())
	if _, err := io.Copy(sum, f); err != nil {
		return h, err
	}
	return mirror.Hash(sum.Sum(nil)), nil
}

package s3

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/internal/s3"
)

// Names in the directory of an entry.
const (
	wholeFile = "whole"
	filesDir  = "files"
	etagsFile = "etags"
)

// keepOld is how long a copy that was replaced or given up stays: compilations may still read it.
const keepOld = 30 * time.Minute

// A version is a copy on the disk.
type version struct {
	name  string            // of its directory
	etags map[string]string // of its files, by their local paths
}

func (v *version) file(name string) string { return filepath.Join(v.name, filesDir, name) }

// has reports whether the version has a file as the bucket has it.
func (v *version) has(root *os.Root, name, etag string) bool {
	if v == nil || etag == "" || v.etags[name] != etag {
		return false
	}
	info, err := root.Lstat(v.file(name))
	return err == nil && info.Mode().IsRegular()
}

// A wanted is an object and the local path of its file.
type wanted struct {
	name string
	s3.Object
}

// local returns the objects that become files. Those of other directories, and directories, are left
// out.
func local(objects []s3.Object) []wanted {
	var all []wanted
	seen := map[string]bool{}
	for _, o := range objects {
		name := filepath.FromSlash(o.Key)
		if strings.HasSuffix(o.Key, "/") || hasDots(o.Key) || !filepath.IsLocal(name) ||
			path.Clean(o.Key) != o.Key || seen[name] {
			continue
		}
		seen[name] = true
		all = append(all, wanted{name, o})
	}
	return all
}

// update compares the last whole copy with the bucket, and replaces it if they differ.
func (c *copied) update(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, updateLimit)
	defer cancel()
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return fmt.Errorf("make the copy of a bucket: %w", err)
	}
	root, err := os.OpenRoot(c.dir)
	if err != nil {
		return fmt.Errorf("make the copy of a bucket: %w", err)
	}
	defer root.Close()
	prefix := c.entry.prefix
	if prefix != "" {
		prefix += "/"
	}
	objects, err := c.bucket.List(ctx, prefix)
	if err != nil {
		return err
	}
	all, old := local(objects), c.last(root)
	if !old.equals(root, all) {
		if err := c.replace(ctx, root, old, all); err != nil {
			return err
		}
	}
	return c.tidy(root)
}

// last returns the last whole copy; nil if there is none, or if nothing is known of its files.
func (c *copied) last(root *os.Root) *version {
	if c.files() == "" {
		return nil
	}
	v := &version{name: c.wholeName()}
	text, err := root.ReadFile(filepath.Join(v.name, etagsFile))
	if err != nil || json.Unmarshal(text, &v.etags) != nil {
		return nil
	}
	return v
}

// equals reports whether a version has exactly these files.
func (v *version) equals(root *os.Root, all []wanted) bool {
	if v == nil || len(v.etags) != len(all) {
		return false
	}
	for _, w := range all {
		if !v.has(root, w.name, w.ETag) {
			return false
		}
	}
	return true
}

// within reports whether all files of a version are wanted, with whatever content.
func (v *version) within(all []wanted) bool {
	known := map[string]bool{}
	for _, w := range all {
		known[w.name] = true
	}
	for name := range v.etags {
		if !known[name] {
			return false
		}
	}
	return true
}

// replace makes a new copy. Files that have not changed are linked from the old one, and those that
// an earlier attempt fetched are kept.
func (c *copied) replace(ctx context.Context, root *os.Root, old *version, all []wanted) error {
	v, err := c.stage(root, all)
	if err != nil {
		return fmt.Errorf("make the copy of a bucket: %w", err)
	}
	for _, w := range all {
		if v.has(root, w.name, w.ETag) {
			continue
		}
		if err := c.file(ctx, root, old, v, w); err != nil {
			return fmt.Errorf("copy %s of bucket %s: %w", w.Key, c.entry.config.Bucket, err)
		}
		v.etags[w.name] = w.ETag
	}
	if err := c.finish(root, v); err != nil {
		return fmt.Errorf("finish the copy of a bucket: %w", err)
	}
	c.staged = nil
	return nil
}

// stage returns the unfinished copy. If there is none, or if it has a file that is not wanted any more,
// that is a new one without files.
func (c *copied) stage(root *os.Root, all []wanted) (*version, error) {
	if v := c.staged; v != nil && v.within(all) && c.touch(root, v.name) == nil {
		return v, nil
	}
	var id [8]byte
	if _, err := rand.Read(id[:]); err != nil {
		return nil, err
	}
	v := &version{name: "copy-" + hex.EncodeToString(id[:]), etags: map[string]string{}}
	if err := root.MkdirAll(filepath.Join(v.name, filesDir), 0o700); err != nil {
		return nil, err
	}
	c.staged = v
	return v, c.touch(root, v.name)
}

// touch makes the age of a version begin now.
func (c *copied) touch(root *os.Root, name string) error { return root.Chtimes(name, c.now(), c.now()) }

// file puts one file into a new version.
func (c *copied) file(ctx context.Context, root *os.Root, old, v *version, w wanted) error {
	at := v.file(w.name)
	if err := root.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		return err
	}
	if old.has(root, w.name, w.ETag) {
		_ = root.Remove(at)
		if root.Link(old.file(w.name), at) == nil {
			return nil
		} // the file system has no links: fetch it
	}
	var content bytes.Buffer
	if err := c.bucket.Get(ctx, w.Key, &content); err != nil {
		return err
	}
	return atomicfile.WriteIn(root, at, content.Bytes(), atomicfile.Options{Sync: true})
}

// finish makes a version the last whole one.
func (c *copied) finish(root *os.Root, v *version) error {
	etags, err := json.Marshal(v.etags)
	if err != nil {
		return err
	}
	safe := atomicfile.Options{Sync: true, SyncDir: true}
	if err := atomicfile.WriteIn(root, filepath.Join(v.name, etagsFile), etags, safe); err != nil {
		return err
	}
	if was := c.wholeName(); was != "" {
		_ = c.touch(root, was) // it stays for the compilations that read it
	}
	return atomicfile.WriteIn(root, wholeFile, []byte(v.name), safe)
}

// tidy removes the versions that nothing has used for a time.
func (c *copied) tidy(root *os.Root) error {
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return fmt.Errorf("remove old copies of a bucket: %w", err)
	}
	whole := c.wholeName()
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !versionName.MatchString(e.Name()) || e.Name() == whole ||
			c.staged != nil && e.Name() == c.staged.name || c.now().Sub(info.ModTime()) < keepOld {
			continue
		}
		if err := root.RemoveAll(e.Name()); err != nil {
			return fmt.Errorf("remove old copies of a bucket: %w", err)
		}
	}
	return nil
}

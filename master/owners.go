package master

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/job"
)

// owners remember which minion has sent a job: the file publish_auth/JID in the cachedir holds its id
// (salt/daemons/masterapi.py, minion_pub and pub_ret).
type owners struct{ dir string }

// ownersLife is how long it is known who sent a job where jobs are kept for ever.
const ownersLife = 30 * 24 * time.Hour

func newOwners(cacheDir string) *owners { return &owners{filepath.Join(cacheDir, "publish_auth")} }

// set notes that a minion has sent a job. It is known whole or not at all.
func (o *owners) set(jid job.ID, minion string) (err error) {
	if _, err := job.ParseID(string(jid)); err != nil {
		return fmt.Errorf("note who sent job %s: %w", jid, err)
	}
	if err := os.MkdirAll(o.dir, 0o700); err != nil {
		return fmt.Errorf("note who sent job %s: %w", jid, err)
	}
	if err := atomicfile.Write(filepath.Join(o.dir, string(jid)), []byte(minion), atomicfile.Options{}); err != nil {
		return fmt.Errorf("note who sent job %s: %w", jid, err)
	}
	return nil
}

// maxOwner is more than an id has, in bytes.
const maxOwner = 1024

// of returns the minion that has sent a job. Only a regular file is opened: what else could lie there may never end
// (CVE-2025-22242).
func (o *owners) of(jid job.ID) (string, error) {
	if _, err := job.ParseID(string(jid)); err != nil {
		return "", fmt.Errorf("who sent the job: %w", err)
	}
	root, err := os.OpenRoot(o.dir)
	if err != nil {
		return "", fmt.Errorf("who sent job %s: %w", jid, err)
	}
	defer root.Close()
	info, err := root.Lstat(string(jid))
	switch {
	case err != nil:
		return "", fmt.Errorf("who sent job %s: %w", jid, err)
	case !info.Mode().IsRegular() || info.Size() > maxOwner:
		return "", fmt.Errorf("who sent job %s: %s is no file with an id", jid, info.Name())
	}
	text, err := root.ReadFile(string(jid))
	if err != nil {
		return "", fmt.Errorf("who sent job %s: %w", jid, err)
	}
	return string(text), nil
}

// clean forgets who sent the jobs of before a time.
func (o *owners) clean(before time.Time) error {
	root, err := os.OpenRoot(o.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("forget who sent old jobs: %w", err)
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	errs := []error{err}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && info.ModTime().Before(before) {
			errs = append(errs, root.Remove(e.Name()))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("forget who sent old jobs: %w", err)
	}
	return nil
}

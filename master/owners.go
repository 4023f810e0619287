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

// owners record which minion sent a job: the file publish_auth/JID in the cachedir holds its id
// (salt/daemons/masterapi.py, minion_pub and pub_ret).
type owners struct{ dir string }

// ownersLife is how long owners are kept if jobs are kept for ever.
const ownersLife = 30 * 24 * time.Hour

func newOwners(cacheDir string) *owners { return &owners{filepath.Join(cacheDir, "publish_auth")} }

// set records the minion that sent a job. The write is atomic.
func (o *owners) set(jid job.ID, minion string) (err error) {
	if _, err := job.ParseID(string(jid)); err != nil {
		return fmt.Errorf("record owner of job %s: %w", jid, err)
	}
	if err := os.MkdirAll(o.dir, 0o700); err != nil {
		return fmt.Errorf("record owner of job %s: %w", jid, err)
	}
	if err := atomicfile.Write(filepath.Join(o.dir, string(jid)), []byte(minion),
		atomicfile.Options{}); err != nil {
		return fmt.Errorf("record owner of job %s: %w", jid, err)
	}
	return nil
}

// maxOwner is the maximum size of the file in bytes. Ids are shorter.
const maxOwner = 1024

// of returns the minion that sent a job. It opens regular files only, since reading anything else
// may block forever (CVE-2025-22242).
func (o *owners) of(jid job.ID) (string, error) {
	if _, err := job.ParseID(string(jid)); err != nil {
		return "", fmt.Errorf("find owner of the job: %w", err)
	}
	root, err := os.OpenRoot(o.dir)
	if err != nil {
		return "", fmt.Errorf("find owner of job %s: %w", jid, err)
	}
	defer root.Close()
	info, err := root.Lstat(string(jid))
	switch {
	case err != nil:
		return "", fmt.Errorf("find owner of job %s: %w", jid, err)
	case !info.Mode().IsRegular() || info.Size() > maxOwner:
		return "", fmt.Errorf("find owner of job %s: %s is not a file with an id", jid, info.Name())
	}
	text, err := root.ReadFile(string(jid))
	if err != nil {
		return "", fmt.Errorf("find owner of job %s: %w", jid, err)
	}
	return string(text), nil
}

// clean drops the owners of jobs from before a time.
func (o *owners) clean(before time.Time) error {
	root, err := os.OpenRoot(o.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("drop owners of old jobs: %w", err)
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	errs := []error{err}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() &&
			info.ModTime().Before(before) {
			errs = append(errs, root.Remove(e.Name()))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("drop owners of old jobs: %w", err)
	}
	return nil
}

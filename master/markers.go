package master

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/returners/localcache"
)

// markerLife is how long the marker of a job stays. Clients look for it once, when their wait begins.
const markerLife = time.Hour

// mirrorMark is the file in the directory of a job that says that its returns are this master's, and go with it.
const mirrorMark = ".brine.mirror"

// markers show young jobs to Salt's own command line, which does not wait for a job that it cannot find in the job cache
// of Salt (salt/client/__init__.py, get_iter_returns): a directory jobs/HH/REST in the cachedir with the files jid and
// .load.p (salt/returners/local_cache.py). They are for other programs only; this master never reads them. With returns
// they are the mirror of jobs, which local_cache_hours bounds, and Salt's runners find results in them.
type markers struct {
	dir     string // CACHEDIR/jobs
	hash    string // hash_type
	off     bool   // the job cache keeps Salt's tree itself: nothing in it is touched
	returns bool   // they hold returns, too
	life    time.Duration
	now     func() time.Time

	cleaned time.Time // when the tree was looked through last; of the goroutine of clean
}

// add marks a job. Nothing depends on it but those programs, so it is not made durable.
func (m *markers) add(id job.ID, j *returners.Job) error {
	if m.off {
		return nil
	}
	name, err := id.Dir(m.hash)
	if err != nil {
		return fmt.Errorf("marker of job %s: %w", id, err)
	}
	folder := filepath.Join(m.dir, filepath.FromSlash(name))
	minions, err := payload.MarshalBin(data.Values(j.Minions))
	if err != nil {
		return fmt.Errorf("marker of job %s: %w", id, err)
	}
	err = errors.Join(os.MkdirAll(folder, 0o700),
		os.WriteFile(filepath.Join(folder, ".minions.p"), minions, 0o600),
		os.WriteFile(filepath.Join(folder, ".load.p"), j.Load, 0o600),
		os.WriteFile(filepath.Join(folder, "jid"), []byte(id), 0o600))
	if err == nil && m.returns {
		err = os.WriteFile(filepath.Join(folder, mirrorMark), nil, 0o600)
	}
	if err != nil {
		return fmt.Errorf("marker of job %s: %w", id, err)
	}
	return nil
}

// returned adds a return to the marker of a job. found is false where there is no marker.
func (m *markers) returned(id job.ID, minion string, load data.Raw) (found bool, err error) {
	name, err := id.Dir(m.hash)
	if err != nil {
		return false, fmt.Errorf("mirror of job %s: %w", id, err)
	}
	own, ok := localcache.FolderOf(minion)
	body, out := localcache.SaltFields(load)
	if !ok || body == nil {
		return true, nil // Salt could not keep it either
	}
	job := filepath.Join(m.dir, filepath.FromSlash(name))
	if _, err := os.Lstat(filepath.Join(job, "jid")); err != nil {
		return false, nil //nolint:nilerr // it was not marked, or is dropped
	}
	folder := filepath.Join(job, own)
	if err := os.Mkdir(folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return true, fmt.Errorf("mirror of job %s: %w", id, err)
	}
	err = atomicfile.Write(filepath.Join(folder, "return.p"), body, atomicfile.Options{})
	if err == nil && out != nil {
		err = atomicfile.Write(filepath.Join(folder, "out.p"), out, atomicfile.Options{})
	}
	if err != nil {
		return true, fmt.Errorf("mirror of job %s: %w", id, err)
	}
	return true, nil
}

// share lets every user of the host read the marker of a job that a user other than the master's ordered, as their command line looks
// for it. What the job was called with is not in it then.
func (m *markers) share(id job.ID, load *data.Map) error {
	if m.off {
		return nil
	}
	name, err := id.Dir(m.hash)
	if err != nil {
		return fmt.Errorf("marker of job %s: %w", id, err)
	}
	shown := data.NewMap()
	copyFields(shown, load, "cmd", "tgt", "tgt_type", "fun", "jid", "user", "ret")
	raw, err := payload.MarshalBin(shown)
	if err != nil {
		return fmt.Errorf("marker of job %s: %w", id, err)
	}
	folder := filepath.Join(m.dir, filepath.FromSlash(name))
	file := filepath.Join(folder, ".load.p")
	err = errors.Join(os.WriteFile(file, raw, 0o600), os.Chmod(file, 0o644), os.Chmod(filepath.Join(folder, ".minions.p"), 0o644),
		os.Chmod(folder, 0o711), os.Chmod(filepath.Dir(folder), 0o711)) // names of directories are no secrets, and cannot be listed
	if err != nil {
		return fmt.Errorf("marker of job %s: %w", id, err)
	}
	return nil
}

// clean removes old markers, and never a directory of Salt's own that holds returns.
func (m *markers) clean() error {
	if m.off || m.now().Sub(m.cleaned).Abs() < m.life/24 {
		return nil
	}
	m.cleaned = m.now()
	old, err := filepath.Glob(filepath.Join(m.dir, "??", "*", "jid"))
	if err != nil {
		return fmt.Errorf("drop markers of jobs: %w", err)
	}
	var errs []error
	for _, file := range old {
		if info, err := os.Lstat(file); err == nil && m.now().Sub(info.ModTime()) > m.life {
			errs = append(errs, removeMarker(filepath.Dir(file)))
		}
	}
	return errors.Join(errs...)
}

func removeMarker(folder string) error {
	if _, err := os.Lstat(filepath.Join(folder, mirrorMark)); err == nil {
		if err := os.RemoveAll(folder); err != nil {
			return fmt.Errorf("drop mirror of job: %w", err)
		}
		_ = os.Remove(filepath.Dir(folder)) // not empty where it holds other jobs
		return nil
	}
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) > 3 {
		return nil // gone meanwhile, or not one of ours
	}
	for _, name := range []string{".minions.p", ".load.p", "jid"} {
		if err := os.Remove(filepath.Join(folder, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("drop marker %s: %w", path.Base(folder), err)
		}
	}
	_ = os.Remove(folder)               // not empty where it holds returns
	_ = os.Remove(filepath.Dir(folder)) // not empty where it holds other jobs
	return nil
}

package master

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/returners/localcache"
)

// markerLife is how long the marker of a job is kept. Clients look for it once, when they begin to
// wait.
const markerLife = time.Hour

// mirrorMark is the file in a job's directory that marks its returns as this master's: they are
// removed with the marker.
const mirrorMark = ".brine.mirror"

// markers show recent jobs to Salt's own command line, which does not wait for a job that it cannot
// find in Salt's job cache (salt/client/__init__.py, get_iter_returns). A marker is a directory
// jobs/HH/REST in the cachedir with the files jid and .load.p (salt/returners/local_cache.py). Only
// other programs read them. If withReturns is set they also mirror the returns for
// local_cache_hours, and Salt's runners find results there.
type markers struct {
	dir         string // CACHEDIR/jobs
	hash        string // hash_type
	disabled    bool   // the job cache itself uses Salt's layout: nothing is written
	withReturns bool   // markers include returns
	life        time.Duration
	now         func() time.Time

	cleaned time.Time // last run of clean
}

// A treeKeeper is a job cache that maintains Salt's tree of jobs itself, as that of package
// returners/localcache does. The master then writes no markers.
type treeKeeper interface {
	KeepsTree()
}

func newMarkers(cfg *config.Master, jobs returners.JobCache, now func() time.Time) *markers {
	_, tree := jobs.(treeKeeper)
	m := &markers{
		dir:      filepath.Join(cfg.CacheDir, "jobs"),
		hash:     cfg.HashType,
		disabled: tree,
		life:     markerLife,
		now:      now,
	}
	if hours := mirrorHours(cfg); hours > 0 && !tree {
		m.withReturns, m.life = true, max(markerLife, time.Duration(hours)*time.Hour)
	}
	return m
}

// add writes the marker of a job. Only other programs depend on it, so it is not synced to disk.
func (m *markers) add(id job.ID, j *returners.Job) error {
	if m.disabled {
		return nil
	}
	name, err := id.Dir(m.hash)
	if err != nil {
		return fmt.Errorf("write marker of job %s: %w", id, err)
	}
	dir := filepath.Join(m.dir, filepath.FromSlash(name))
	minions, err := payload.MarshalBin(data.Values(j.Minions))
	if err != nil {
		return fmt.Errorf("write marker of job %s: %w", id, err)
	}
	err = errors.Join(os.MkdirAll(dir, 0o700),
		os.WriteFile(filepath.Join(dir, ".minions.p"), minions, 0o600),
		os.WriteFile(filepath.Join(dir, ".load.p"), j.Load, 0o600),
		os.WriteFile(filepath.Join(dir, "jid"), []byte(id), 0o600))
	if err == nil && m.withReturns {
		err = os.WriteFile(filepath.Join(dir, mirrorMark), nil, 0o600)
	}
	if err != nil {
		return fmt.Errorf("write marker of job %s: %w", id, err)
	}
	return nil
}

// addReturn adds a return to the marker of a job. found is false if there is no marker.
func (m *markers) addReturn(id job.ID, minion string, load data.Raw) (found bool, err error) {
	name, err := id.Dir(m.hash)
	if err != nil {
		return false, fmt.Errorf("mirror return of job %s: %w", id, err)
	}
	own, ok := localcache.DirOf(minion)
	body, out := localcache.SaltFields(load)
	if !ok || body == nil {
		return true, nil // Salt could not store it either
	}
	job := filepath.Join(m.dir, filepath.FromSlash(name))
	if _, err := os.Lstat(filepath.Join(job, "jid")); err != nil {
		return false, nil //nolint:nilerr // the job has no marker
	}
	dir := filepath.Join(job, own)
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return true, fmt.Errorf("mirror return of job %s: %w", id, err)
	}
	err = atomicfile.Write(filepath.Join(dir, "return.p"), body, atomicfile.Options{})
	if err == nil && out != nil {
		err = atomicfile.Write(filepath.Join(dir, "out.p"), out, atomicfile.Options{})
	}
	if err != nil {
		return true, fmt.Errorf("mirror return of job %s: %w", id, err)
	}
	return true, nil
}

// share makes a job's marker world-readable if a user other than the master's submitted it, since
// their command line looks for it. The readable load omits the arguments.
func (m *markers) share(id job.ID, load *data.Map) error {
	if m.disabled {
		return nil
	}
	name, err := id.Dir(m.hash)
	if err != nil {
		return fmt.Errorf("share marker of job %s: %w", id, err)
	}
	shown := data.NewMap()
	copyFields(shown, load, "cmd", "tgt", "tgt_type", "fun", "jid", "user", "ret")
	raw, err := payload.MarshalBin(shown)
	if err != nil {
		return fmt.Errorf("share marker of job %s: %w", id, err)
	}
	dir := filepath.Join(m.dir, filepath.FromSlash(name))
	file := filepath.Join(dir, ".load.p")
	err = errors.Join(os.WriteFile(file, raw, 0o600), os.Chmod(file, 0o644),
		os.Chmod(filepath.Join(dir, ".minions.p"), 0o644), os.Chmod(dir, 0o711),
		os.Chmod(filepath.Dir(dir), 0o711)) // directory names are not secret, and cannot be listed
	if err != nil {
		return fmt.Errorf("share marker of job %s: %w", id, err)
	}
	return nil
}

// clean removes old markers. It never removes a directory of Salt's own that has returns.
func (m *markers) clean() error {
	if m.disabled || m.now().Sub(m.cleaned).Abs() < m.life/24 {
		return nil
	}
	m.cleaned = m.now()
	old, err := filepath.Glob(filepath.Join(m.dir, "??", "*", "jid"))
	if err != nil {
		return fmt.Errorf("list markers: %w", err)
	}
	var errs []error
	for _, file := range old {
		if info, err := os.Lstat(file); err == nil && m.now().Sub(info.ModTime()) > m.life {
			errs = append(errs, removeMarker(filepath.Dir(file)))
		}
	}
	return errors.Join(errs...)
}

func removeMarker(dir string) error {
	if _, err := os.Lstat(filepath.Join(dir, mirrorMark)); err == nil {
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("drop mirrored job %s: %w", path.Base(dir), err)
		}
		_ = os.Remove(filepath.Dir(dir)) // fails if it has other jobs
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) > 3 {
		return nil // removed meanwhile, or not a marker
	}
	for _, name := range []string{".minions.p", ".load.p", "jid"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil &&
			!errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("drop marker %s: %w", path.Base(dir), err)
		}
	}
	_ = os.Remove(dir)               // fails if it has returns
	_ = os.Remove(filepath.Dir(dir)) // fails if it has other jobs
	return nil
}

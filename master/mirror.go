package master

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/daemon"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/loglimit"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/returners"
)

// Limits of the mirror queue.
const (
	mirrorQueue = 4096
	mirrorBytes = 64 << 20
)

// saltHours is how long jobs are mirrored if Salt is installed and local_cache_hours is not set.
const saltHours = 24

// saltPaths are where packages and installers put Salt.
var saltPaths = []string{
	"/usr/lib/python3*/*-packages/salt/runners/jobs.py",
	"/usr/lib64/python3*/*-packages/salt/runners/jobs.py",
	"/usr/local/lib/python3*/*-packages/salt/runners/jobs.py",
	"/opt/saltstack/salt/lib/python3*/*-packages/salt/runners/jobs.py",
}

// mirrorHours returns for how many hours jobs are mirrored; 0 means not at all.
func mirrorHours(cfg *config.Master) int {
	if cfg.LocalCacheHours >= 0 {
		return cfg.LocalCacheHours
	}
	for _, place := range saltPaths {
		if found, _ := filepath.Glob(place); len(found) > 0 {
			return saltHours
		}
	}
	if slices.ContainsFunc(filepath.SplitList(os.Getenv("PATH")), hasSaltRun) {
		return saltHours
	}
	return 0
}

// hasSaltRun reports whether a directory has Salt's salt-run, a Python script, as pipx and virtual
// environments install it.
func hasSaltRun(dir string) bool {
	f, err := os.Open(filepath.Join(dir, "salt-run"))
	if err != nil {
		return false
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, 512))
	return err == nil && bytes.HasPrefix(head, []byte("#!")) &&
		bytes.Contains(head, []byte("python"))
}

// A mirror also writes jobs and returns to the files of Salt's local_cache. Salt's own runners on
// this host look there: salt-run jobs.list_jobs, jobs.lookup_jid and others
// (salt/returners/local_cache.py). No return waits for it. A return that does not fit into the
// queue is stored in the job cache only, and the log says so.
type mirror struct {
	markers *markers
	jobs    returners.JobReader
	queue   chan mirrored
	bytes   atomic.Int64 // of waiting returns
	quiet   *loglimit.Limiter
	log     logrus.FieldLogger
}

// A mirrored is a return that waits to be written.
type mirrored struct {
	id     job.ID
	minion string
	load   data.Raw
}

// newMirror returns nil, which ignores returns, if jobs are not mirrored.
func newMirror(m *markers, jobs returners.JobReader, b base) *mirror {
	if !m.withReturns {
		return nil
	}
	return &mirror{markers: m, jobs: jobs, queue: make(chan mirrored, mirrorQueue),
		quiet: b.quiet, log: b.log}
}

// add queues a return, which must not be changed afterwards.
func (m *mirror) add(id job.ID, minion string, load data.Raw) {
	if m == nil {
		return
	}
	size := int64(len(load))
	if m.bytes.Add(size) <= mirrorBytes || size > mirrorBytes && len(m.queue) == 0 {
		select {
		case m.queue <- mirrored{id, minion, load}:
			return
		default:
		}
	}
	m.bytes.Add(-size)
	m.quiet.Warnf(m.log, "mirror of jobs",
		"Return of minion %s for job %s is not mirrored to %s, which does not keep up",
		minion, id, m.markers.dir)
}

func (m *mirror) part() daemon.Part {
	return daemon.Part{Name: "mirror of jobs", Run: daemon.Always(m.run)}
}

// run writes returns until ctx ends, and then the waiting ones.
func (m *mirror) run(ctx context.Context) error {
	for {
		select {
		case r := <-m.queue:
			m.write(context.WithoutCancel(ctx), r)
		case <-ctx.Done():
			for len(m.queue) > 0 {
				m.write(context.WithoutCancel(ctx), <-m.queue)
			}
			return ctx.Err()
		}
	}
}

func (m *mirror) write(ctx context.Context, r mirrored) {
	m.bytes.Add(-int64(len(r.load)))
	found, err := m.markers.addReturn(r.id, r.minion, r.load)
	// not published by this run: a job of a runner or a schedule, or from before the start
	if err == nil && !found {
		err = m.mark(ctx, r)
	}
	if err != nil {
		m.quiet.Warnf(m.log.WithError(err), "mirror of jobs",
			"Return of minion %s is not mirrored", r.minion)
	}
}

// mark writes the marker of a return's job, and adds the return.
func (m *mirror) mark(ctx context.Context, r mirrored) error {
	j, err := m.jobs.Job(ctx, r.id)
	if errors.Is(err, returners.ErrUnknownJob) {
		return nil
	}
	if err == nil {
		err = m.markers.add(r.id, j)
	}
	if err == nil {
		_, err = m.markers.addReturn(r.id, r.minion, r.load)
	}
	return err
}

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

// Bounds on what waits to be mirrored.
const (
	mirrorQueue = 4096
	mirrorBytes = 64 << 20
)

// saltHours is how long jobs are mirrored where Salt is installed and local_cache_hours does not say.
const saltHours = 24

// saltPlaces are where packages and installers put Salt.
var saltPlaces = []string{
	"/usr/lib/python3*/*-packages/salt/runners/jobs.py",
	"/usr/lib64/python3*/*-packages/salt/runners/jobs.py",
	"/usr/local/lib/python3*/*-packages/salt/runners/jobs.py",
	"/opt/saltstack/salt/lib/python3*/*-packages/salt/runners/jobs.py",
}

// mirrorHours returns how many hours jobs are mirrored; 0 is not at all.
func mirrorHours(cfg *config.Master) int {
	if cfg.LocalCacheHours >= 0 {
		return cfg.LocalCacheHours
	}
	for _, place := range saltPlaces {
		if found, _ := filepath.Glob(place); len(found) > 0 {
			return saltHours
		}
	}
	if slices.ContainsFunc(filepath.SplitList(os.Getenv("PATH")), hasSaltRun) {
		return saltHours
	}
	return 0
}

// hasSaltRun reports whether a directory holds Salt's salt-run, which Python runs, as pipx and virtual environments leave it there.
func hasSaltRun(dir string) bool {
	f, err := os.Open(filepath.Join(dir, "salt-run"))
	if err != nil {
		return false
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, 512))
	return err == nil && bytes.HasPrefix(head, []byte("#!")) && bytes.Contains(head, []byte("python"))
}

// A mirror writes jobs and returns into the files of Salt's local_cache besides, where Salt's own runners on this host look
// for them: salt-run jobs.list_jobs, jobs.lookup_jid and others (salt/returners/local_cache.py). No return waits for it; what
// does not fit into its queue is in the job cache alone, and the log says so.
type mirror struct {
	markers *markers
	jobs    returners.JobReader
	queue   chan mirrored
	bytes   atomic.Int64 // of what waits
	quiet   *loglimit.Limiter
	log     logrus.FieldLogger
}

// A mirrored return waits for its turn.
type mirrored struct {
	id     job.ID
	minion string
	load   data.Raw
}

// newMirror returns nil, which takes nothing, where nothing is to be mirrored.
func newMirror(p *parts) *mirror {
	m := p.markers()
	if !m.returns {
		return nil
	}
	return &mirror{markers: m, jobs: p.jobs, queue: make(chan mirrored, mirrorQueue), quiet: p.quiet, log: p.o.Log}
}

// add takes a return, which must not be changed any more.
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
	if more, ok := m.quiet.Allow("mirror of jobs"); ok {
		m.log.Warnf("return of minion %s for job %s is not mirrored to %s, which does not keep up (%d more since the last warning)",
			minion, id, m.markers.dir, more)
	}
}

func (m *mirror) part() daemon.Part {
	return daemon.Part{Name: "mirror of jobs", Run: daemon.Always(m.run)}
}

// run writes returns until ctx ends, and then what waits still.
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
	found, err := m.markers.returned(r.id, r.minion, r.load)
	if err == nil && !found { // a job that no publication brought: of a runner, a schedule, or before the last start
		err = m.mark(ctx, r)
	}
	if err != nil {
		if more, ok := m.quiet.Allow("mirror of jobs"); ok {
			m.log.WithError(err).Warnf("return of minion %s is in the job cache alone (%d more since the last warning)", r.minion, more)
		}
	}
}

// mark marks the job of a return and adds the return.
func (m *mirror) mark(ctx context.Context, r mirrored) error {
	j, err := m.jobs.Job(ctx, r.id)
	if errors.Is(err, returners.ErrUnknownJob) {
		return nil
	}
	if err == nil {
		err = m.markers.add(r.id, j)
	}
	if err == nil {
		_, err = m.markers.returned(r.id, r.minion, r.load)
	}
	return err
}

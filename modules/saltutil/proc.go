package saltutil

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/payload"
)

const (
	maxProcFile = 100 << 20       // a load is at most what a message can be
	young       = 5 * time.Second // a damaged file of that age may be about to be written
)

// A task is a job under way.
type task struct {
	load *data.Map // as functions show it
	own  bool      // of the daemon that this code runs in
	part bool      // not a process of its own
}

func (t task) jid() string { return data.Str(t.load.Value("jid")) }
func (t task) pid() int64 {
	pid, _ := loader.Int(t.load.Value("pid"))
	return pid
}

// tasks returns the jobs that run on this host, except the calling one: those of our own daemon,
// and those with files in proc (salt/utils/minion.py, running).
func (m jobs) tasks(ctx context.Context) []task {
	var all []task
	if m.env.Host.Jobs != nil {
		asks := data.Str(loader.JobOf(ctx).Value("jid"))
		for _, load := range m.env.Host.Jobs.Running() {
			if t := (task{load: load, own: true}); t.jid() != asks {
				all = append(all, t)
			}
		}
	}
	return append(all, m.filed()...)
}

// filed returns the jobs of other processes with files in proc, and removes the files of ended
// jobs.
func (m jobs) filed() []task {
	dir := cached(m.env, "proc")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // the first job creates the directory
	}
	var all []task
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if !e.Type().IsRegular() {
			continue
		}
		t, err := readTask(path)
		switch {
		case err == nil && t.pid() == int64(os.Getpid()):
		case err == nil && alive(t.pid()):
			all = append(all, t)
		default:
			m.discard(path, err)
		}
	}
	return all
}

// discard removes the file of an ended job. It keeps a damaged file for a while, as another process
// may still be writing it.
func (m jobs) discard(path string, damage error) {
	info, err := os.Lstat(path)
	if err != nil || damage != nil && time.Since(info.ModTime()) < young {
		return
	}
	if err := os.Remove(path); err != nil {
		m.env.Log.Debugf("Unable to remove proc file %s.", path)
	}
}

// readTask reads the file of a job: its load with the process id, as MessagePack.
func readTask(path string) (task, error) {
	f, err := os.Open(path)
	if err != nil {
		return task{}, err
	}
	defer f.Close()
	body, err := io.ReadAll(io.LimitReader(f, maxProcFile))
	if err != nil {
		return task{}, err
	}
	return parseTask(body)
}

// parseTask parses the content of a job file.
func parseTask(body []byte) (task, error) {
	v, err := payload.Unmarshal(body, payload.WireLimits())
	if err != nil {
		return task{}, fmt.Errorf("decode job file: %w", err)
	}
	load, ok := v.(*data.Map)
	if !ok || !load.Has("jid") {
		return task{}, fmt.Errorf("job file contains %s instead of a job", loader.TypeName(v))
	}
	t := task{load: load, part: load.Value("multiprocessing") == false}
	load.Delete("multiprocessing")
	if t.pid() <= 0 {
		return task{}, fmt.Errorf("job file of %s has no process id", t.jid())
	}
	return t, nil
}

// cached returns a path below the minion's cache.
func cached(env *loader.Env, elem ...string) string {
	return filepath.Join(append([]string{cmp.Or(env.Opts.Text("cachedir"),
		"/var/cache/salt/minion")}, elem...)...)
}

// shared reports whether a process is the minion itself, by the option pidfile. Then its jobs are
// not processes of their own.
func (m jobs) shared(pid int64) bool {
	body, err := os.ReadFile(m.env.Opts.Text("pidfile"))
	if err != nil {
		return false
	}
	n, err := loader.Int(string(body))
	return err == nil && n == pid
}

package minion

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
)

// procDir is the directory of files that show other programs on the host, including Salt's own
// tools, which jobs are running. Each file holds the load of a publication and a process id
// (salt/minion.py, _thread_return; salt/utils/minion.py, running). After a crash they show which
// jobs were running.
type procDir struct {
	dir         string
	multiMaster bool // several masters: files name the master
}

// masterField is the field that names the master of a job.
const masterField = "master_uri"

// sharedField is the field whose value false means that the process is the minion itself, which
// must not be signaled in place of the job (modules/saltutil).
const sharedField = "multiprocessing"

// add writes the file of a publication.
func (p procDir) add(pub *job.Publication, master string) error {
	load := pub.Map()
	load.Set("pid", int64(os.Getpid()))
	load.Set(sharedField, false)
	if p.multiMaster {
		load.Set(masterField, master)
	}
	return p.write(string(pub.JID), load)
}

// write writes load to the file of a job.
func (p procDir) write(jid string, load *data.Map) error {
	body, err := payload.Marshal(load)
	if err == nil {
		err = os.WriteFile(p.file(jid), body, 0o600)
	}
	if err != nil {
		_ = p.remove(jid) // a truncated file is useless
		return fmt.Errorf("write file of job %s: %w", jid, err)
	}
	return nil
}

// sync flushes the file of a job to disk. A missing file is not an error: the job has ended.
func (p procDir) sync(jid string) error {
	if err := syncFile(p.file(jid)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("flush file of job %s: %w", jid, err)
	}
	return nil
}

// remove removes the file of a job.
func (p procDir) remove(jid string) error {
	if err := os.Remove(p.file(jid)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove file of job %s: %w", jid, err)
	}
	return nil
}

func (p procDir) file(jid string) string { return filepath.Join(p.dir, jid) }

// interrupted is a job that was running when the minion ended.
type interrupted struct {
	ret    *job.Return
	master string // "" if unknown
}

// unfinished returns the jobs that an earlier run did not finish. It keeps files of jobs that other
// live programs run, and removes files that such programs have left behind.
func (p procDir) unfinished(id string) ([]interrupted, error) {
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		return nil, fmt.Errorf("read records of earlier jobs: %w", err)
	}
	var jobs []interrupted
	var errs []error
	for _, e := range entries {
		jid := job.ID(e.Name())
		if !job.ValidID(jid) || !e.Type().IsRegular() {
			continue
		}
		load, err := p.read(e.Name())
		switch {
		case err != nil && !isStamp(jid): // not necessarily the file of a job
		case err == nil && runsElsewhere(load):
		case err == nil && (load.Text("tgt") == "salt-call" || load.Has("schedule")):
			errs = append(errs, p.remove(e.Name()))
		default:
			jobs = append(jobs, interrupted{interruptedReturn(id, jid, load),
				load.Text(masterField)})
		}
	}
	return jobs, errors.Join(errs...)
}

// isStamp reports whether an id is a timestamp, as most are. A caller may have chosen another one.
func isStamp(id job.ID) bool {
	_, err := job.ParseID(string(id))
	return err == nil
}

func (p procDir) read(name string) (*data.Map, error) {
	info, err := os.Stat(p.file(name))
	if err != nil {
		return nil, err
	}
	if info.Size() > maxReturn {
		return nil, fmt.Errorf("%d bytes", info.Size())
	}
	body, err := os.ReadFile(p.file(name))
	if err != nil {
		return nil, err
	}
	v, err := payload.Unmarshal(body, payload.WireLimits())
	load, ok := v.(*data.Map)
	if err != nil || !ok {
		return nil, errors.Join(err, errors.New("no job"))
	}
	return load, nil
}

// runsElsewhere reports whether a job runs in another live process of a Salt program.
func runsElsewhere(load *data.Map) bool {
	pid, ok := load.Value("pid").(int64)
	return ok && pid > 0 && int(pid) != os.Getpid() && isSalt(int(pid)) && !load.Has("tgt_type")
}

// interruptedReturn returns the return of a job that was running when the minion ended.
func interruptedReturn(id string, jid job.ID, load *data.Map) *job.Return {
	ret := &job.Return{ID: id, JID: jid, Value: textInterrupted, Retcode: int64(1), Success: false,
		Out: "nested"}
	if load == nil {
		return ret
	}
	ret.Fun, ret.FunArgs = load.Value("fun"), load.Value("arg")
	ret.User, ret.MasterID = load.Text("user"), load.Text("master_id")
	if meta, ok := load.Value("metadata").(*data.Map); ok {
		ret.Metadata = meta
	}
	return ret
}

// report ends programs left by an earlier run, sends returns for the jobs that it did not finish,
// and removes their files.
func (j *jobs) report() {
	j.programs.end()
	left, err := j.proc.unfinished(j.id)
	if err != nil {
		j.log.WithError(err).Error("find jobs interrupted by the end of the minion")
	}
	for _, lost := range left {
		jid := string(lost.ret.JID)
		if err := j.seen.add(jid); err != nil {
			j.log.WithError(err).Warnf("record id of job %s", jid)
		}
		j.log.Warnf("job %s was running when the minion ended", jid)
		if to := j.m.courierOf(lost.master); to != nil && j.settings.config().PubRet &&
			!to.spool.has(jid) {
			to.deliver(lost.ret)
		}
		if err := j.proc.remove(jid); err != nil {
			j.log.WithError(err).Errorf("job %s: remove proc file", jid)
		}
	}
}

// courierOf returns the courier for the master with that address, or for the first master. It is
// nil without masters.
func (m *Minion) courierOf(master string) *courier {
	if len(m.links) == 0 {
		return nil
	}
	i := slices.IndexFunc(m.links, func(l *link) bool { return l.address.text == master })
	return m.links[max(i, 0)].courier
}

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

// procDir is the directory of files that tell others on the host, Salt's own tools among them, which jobs run: each holds
// the load of a publication and a process id (salt/minion.py, _thread_return; salt/utils/minion.py, running). After an
// end without warning they tell which jobs were running then.
type procDir struct {
	dir  string
	many bool // several masters: the files name the master
}

// masterField is the field by which a file names the master of its job.
const masterField = "master_uri"

// sharedField is the field by which a file says, with the value false, that the process is that of the minion, which must
// not be signalled in place of the job (modules/saltutil).
const sharedField = "multiprocessing"

// enter writes the file of a job.
func (p procDir) enter(pub *job.Publication, master string) error {
	load := pub.Map()
	load.Set("pid", int64(os.Getpid()))
	load.Set(sharedField, false)
	if p.many {
		load.Set(masterField, master)
	}
	return p.write(string(pub.JID), load)
}

// write writes the file of a job whose load is given.
func (p procDir) write(jid string, load *data.Map) error {
	body, err := payload.Marshal(load)
	if err == nil {
		err = os.WriteFile(p.file(jid), body, 0o600)
	}
	if err != nil {
		_ = p.leave(jid) // a file cut short would be of no use
		return fmt.Errorf("file of job %s: %w", jid, err)
	}
	return nil
}

// sync has the file of a job on disk, if the job has not ended.
func (p procDir) sync(jid string) error {
	if err := syncFile(p.file(jid)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("file of job %s: %w", jid, err)
	}
	return nil
}

// leave removes the file of a job.
func (p procDir) leave(jid string) error {
	if err := os.Remove(p.file(jid)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("file of job %s: %w", jid, err)
	}
	return nil
}

func (p procDir) file(jid string) string { return filepath.Join(p.dir, jid) }

// interrupted is a job that was running when the minion ended.
type interrupted struct {
	ret    *job.Return
	master string // "" where it is not known
}

// left returns the jobs of an earlier run that did not end. The files of jobs that other programs run are left alone,
// those that they left behind are removed.
func (p procDir) left(id string) ([]interrupted, error) {
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		return nil, fmt.Errorf("jobs of earlier: %w", err)
	}
	var jobs []interrupted
	var errs []error
	for _, e := range entries {
		jid, err := job.ParseID(e.Name())
		if err != nil || !e.Type().IsRegular() {
			continue
		}
		load, err := p.read(e.Name())
		switch {
		case err == nil && elsewhere(load):
		case err == nil && (load.Text("tgt") == "salt-call" || load.Has("schedule")):
			errs = append(errs, p.leave(e.Name()))
		default:
			jobs = append(jobs, interrupted{interruptedReturn(id, jid, load), load.Text(masterField)})
		}
	}
	return jobs, errors.Join(errs...)
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

// elsewhere reports whether a job runs in another process that lives and is one of Salt's programs.
func elsewhere(load *data.Map) bool {
	pid, ok := load.Value("pid").(int64)
	return ok && pid > 0 && int(pid) != os.Getpid() && isSalt(int(pid)) && !load.Has("tgt_type")
}

// interruptedReturn is what the master is told of a job that the minion did not live to end.
func interruptedReturn(id string, jid job.ID, load *data.Map) *job.Return {
	ret := &job.Return{ID: id, JID: jid, Value: textInterrupted, Retcode: int64(1), Success: false, Out: "nested"}
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

// report ends what programs an earlier run has left, gives the masters the jobs that it did not end, and removes their
// files.
func (j *jobs) report() {
	j.left.end()
	left, err := j.proc.left(j.m.cfg.ID)
	if err != nil {
		j.log.WithError(err).Error("jobs that were running when the minion ended cannot be looked for")
	}
	for _, lost := range left {
		jid := string(lost.ret.JID)
		if err := j.seen.add(jid); err != nil {
			j.log.WithError(err).Warnf("job %s cannot be noted as one that was run", jid)
		}
		j.log.Warnf("job %s was running when the minion ended", jid)
		if to := j.m.courierOf(lost.master); to != nil && j.m.settings.now().PubRet && !to.spool.has(jid) {
			to.deliver(lost.ret)
		}
		if err := j.proc.leave(jid); err != nil {
			j.log.WithError(err).Errorf("job %s: its file in proc cannot be removed", jid)
		}
	}
}

// courierOf returns the courier to the master of that address, or to the first; nil where there is none.
func (m *Minion) courierOf(master string) *courier {
	if len(m.links) == 0 {
		return nil
	}
	i := slices.IndexFunc(m.links, func(l *link) bool { return l.address.text == master })
	return m.links[max(i, 0)].courier
}

package state

import (
	"context"
	"errors"
	"io/fs"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

const (
	pauseDir = "state_pause" // in the minion's cache: one file a job, state ID → what to do there
	everyID  = "__all__"     // stands for the next state
)

type pausesArgs struct {
	Jid any `default:"None"`
}

// getPauses returns where each job that runs states will pause or end, as a dictionary of IDs. It
// removes the entries of finished jobs.
//
// jid
//
//	One job, or a list of them. Default: all.
//
// CLI Example:
//
//	salt '*' state.get_pauses
func (m *module) getPauses(ctx context.Context, a pausesArgs) (any, error) {
	active, err := m.active(ctx)
	if err != nil {
		return nil, err
	}
	jids, err := m.pausedJobs(a.Jid)
	if err != nil {
		return nil, err
	}
	found := data.NewMap()
	for _, jid := range jids {
		if !runs(active, jid) {
			if err := m.forget(jid); err != nil {
				return nil, err
			}
			continue
		}
		kept, err := m.pauses(jid)
		if err != nil {
			return nil, err
		}
		found.Set(jid, kept)
	}
	return found, nil
}

func runs(active []*data.Map, jid string) bool {
	for _, load := range active {
		if data.Equal(load.Value("jid"), jid) {
			return true
		}
	}
	return false
}

// pausedJobs returns the given jobs, or all jobs with stored pauses.
func (m *module) pausedJobs(jid any) ([]string, error) {
	switch jid := jid.(type) {
	case nil:
		return m.pauseFiles()
	case []any:
		var jids []string
		for _, v := range jid {
			jids = append(jids, data.Str(v))
		}
		return jids, nil
	}
	return []string{data.Str(jid)}, nil
}

func (m *module) pauseFiles() ([]string, error) {
	dir, err := m.cacheDir(pauseDir)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	entries, err := fs.ReadDir(dir.FS(), ".")
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

// pauses returns the stored pauses of a job.
func (m *module) pauses(jid string) (*data.Map, error) {
	kept, err := m.readCached(jid, pauseDir)
	return orEmpty(kept), err
}

// forget removes the stored pauses of a job.
func (m *module) forget(jid string) error {
	dir, err := m.cacheDir(pauseDir)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := dir.Remove(jid); err != nil && !errors.Is(err, fs.ErrNotExist) {
		m.env.Log.Errorf("Unable to remove the pauses of job %s: %v", jid, err)
	}
	return nil
}

type stateArgs struct {
	Jid     any
	StateID any `default:"None"`
}

type pauseArgs struct {
	Jid      any
	StateID  any `default:"None"`
	Duration any `default:"None"`
}

// softKill ends a job that runs states before the state with an ID.
//
// jid
//
//	The job.
//
// state_id
//
//	The ID. Default: that of the next state.
//
// CLI Example:
//
//	salt '*' state.soft_kill 20171130110407769519
//	salt '*' state.soft_kill 20171130110407769519 vim
func (m *module) softKill(_ context.Context, a stateArgs) (any, error) {
	return nil, m.mark(a.Jid, a.StateID, data.NewMap("kill", true))
}

// pause makes a job that runs states wait before the state with an ID.
//
// jid
//
//	The job.
//
// state_id
//
//	The ID. Default: that of the next state.
//
// duration
//
//	How long to wait, in seconds. Default: until state.resume.
//
// CLI Example:
//
//	salt '*' state.pause 20171130110407769519
//	salt '*' state.pause 20171130110407769519 vim
//	salt '*' state.pause 20171130110407769519 vim 20
func (m *module) pause(_ context.Context, a pauseArgs) (any, error) {
	mark := data.NewMap()
	if data.Truth(a.Duration) {
		seconds, err := loader.Int(a.Duration)
		if err != nil {
			return nil, err
		}
		mark.Set("duration", seconds)
	}
	return nil, m.mark(a.Jid, a.StateID, mark)
}

// resume continues a job that state.pause stopped.
//
// jid
//
//	The job.
//
// state_id
//
//	The ID of the state before which the job waits. Default: all pauses of the job are removed.
//
// CLI Example:
//
//	salt '*' state.resume 20171130110407769519
//	salt '*' state.resume 20171130110407769519 vim
func (m *module) resume(_ context.Context, a stateArgs) (any, error) {
	jid := data.Str(a.Jid)
	kept, err := m.pauses(jid)
	if err != nil {
		return nil, err
	}
	if a.StateID == nil || a.StateID == everyID {
		kept = data.NewMap()
	}
	kept.Delete(a.StateID)
	return nil, m.writeCached(jid, kept, pauseDir)
}

// mark adds to the stored pause of a job for an ID.
func (m *module) mark(job, id any, mark *data.Map) error {
	if id == nil {
		id = everyID
	}
	jid := data.Str(job)
	kept, err := m.pauses(jid)
	if err != nil {
		return err
	}
	at, _ := kept.Value(id).(*data.Map)
	at = orEmpty(at)
	at.Update(mark)
	kept.Set(id, at)
	return m.writeCached(jid, kept, pauseDir)
}

package schedule

import (
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
)

// A Call is one firing of a job, as a Run gets it. Its maps and lists are copies.
type Call struct {
	Name         string
	Fun          string // "" when the job names none
	Args         []any
	Kwargs       *data.Map // nil for none
	Metadata     *data.Map // nil for none; see Stamp
	Returners    []string  // without those of the option schedule_returner
	ReturnConfig any
	ReturnKwargs any
	ReturnJob    bool      // tell the master of the result
	NoCache      bool      // the master shall not store it
	JIDInclude   bool      // count among the running jobs
	MaxRunning   int       // how many firings may run at once; held by the scheduler already
	Due          time.Time // when it should have run, splay included; zero for run_job
	Raw          *data.Map // the job as it was written
}

// ReturnID returns the job id under which the result goes to the master: jid when a returner got the result, and else Salt's word
// for a return without a job.
func (c Call) ReturnID(jid job.ID, returned bool) job.ID {
	switch {
	case returned || len(c.Returners) > 0:
		return jid
	case c.NoCache:
		return job.NoCache
	}
	return job.Req
}

// Stamp returns the metadata with the times that Salt adds; nil without metadata. offset is the minion's time zone, as +0100.
func (c Call) Stamp(now time.Time, offset string) *data.Map {
	if c.Metadata == nil {
		return nil
	}
	m := c.Metadata.Clone()
	m.Set("_TOS", offset)
	m.Set("_TS", now.Format(time.ANSIC))
	m.Set("_TT", now.UTC().Format("2006 January 02 Mon 15 01"))
	return m
}

package schedule

import (
	"fmt"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/loader"
)

// A Call is one firing of a job, as passed to a Run. Its maps and lists are copies.
type Call struct {
	Name         string
	Fun          string // "" if the job names none
	Args         []any
	Kwargs       *data.Map // nil if there are none
	Metadata     *data.Map // nil if there is none; see Stamp
	Returners    []string  // without those of the option schedule_returner
	ReturnConfig any
	ReturnKwargs any
	ReturnJob    bool      // send the result to the master
	NoCache      bool      // the master must not store it
	JIDInclude   bool      // list it among the running jobs
	MaxRunning   int       // maximum of concurrent firings; enforced by the scheduler
	Due          time.Time // intended time, including splay; zero for run_job
	Raw          *data.Map // the job as configured
}

// ReturnID returns the job id for the return to the master: jid if a returner received the result,
// else Salt's id for a return without a job.
func (c Call) ReturnID(jid job.ID, returned bool) job.ID {
	switch {
	case returned || len(c.Returners) > 0:
		return jid
	case c.NoCache:
		return job.NoCache
	}
	return job.Req
}

// Stamp returns the metadata with the times that Salt adds, or nil if there is none. offset is the
// minion's UTC offset, such as +0100.
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

// readCall parses the function, its arguments and the options of a job.
func readCall(name string, raw *data.Map) Call {
	c := Call{Name: name, Fun: function(raw), JIDInclude: true, MaxRunning: 1,
		ReturnJob: true, Raw: raw}
	if text := raw.Text("name"); text != "" {
		c.Name = text
	}
	c.Args = data.ListOf(first(raw, "args", "job_args"))
	c.Kwargs, _ = first(raw, "kwargs", "job_kwargs").(*data.Map)
	c.Metadata, _ = raw.Value("metadata").(*data.Map)
	for _, r := range data.ListOf(raw.Value("returner")) {
		c.Returners = append(c.Returners, data.Str(r))
	}
	c.ReturnConfig, c.ReturnKwargs = raw.Value("return_config"), raw.Value("return_kwargs")
	if v, ok := raw.Get("return_job"); ok {
		c.ReturnJob, c.NoCache = data.Truth(v), v == "nocache"
	}
	if v, ok := raw.Get("jid_include"); ok {
		c.JIDInclude = data.Truth(v)
	}
	if n, err := loader.Int(raw.Value("maxrunning")); raw.Has("maxrunning") && err == nil {
		c.MaxRunning = int(n)
	}
	return c
}

func function(raw *data.Map) string {
	for _, key := range []string{"function", "func", "fun"} {
		if v, ok := raw.Get(key); ok {
			return data.Str(v)
		}
	}
	return ""
}

func first(raw *data.Map, keys ...string) any {
	for _, key := range keys {
		if v, ok := raw.Get(key); ok {
			return v
		}
	}
	return nil
}

// copied returns c with copies of its maps and lists.
func (c Call) copied() Call {
	c.Raw, _ = data.Clone(c.Raw).(*data.Map)
	c.Args, _ = data.Clone(c.Args).([]any)
	if c.Kwargs != nil {
		c.Kwargs, _ = data.Clone(c.Kwargs).(*data.Map)
	}
	if c.Metadata != nil {
		c.Metadata, _ = data.Clone(c.Metadata).(*data.Map)
	}
	c.ReturnConfig, c.ReturnKwargs = data.Clone(c.ReturnConfig), data.Clone(c.ReturnKwargs)
	c.Returners = append([]string(nil), c.Returners...)
	return c
}

// Outcome returns the reported result of a firing (salt/utils/schedule.py, handle_func). A function
// that ran counts as successful, whatever its return code; its error is only logged.
func Outcome(fun string, out loader.Result) (value any, retcode int, success bool) {
	switch {
	case out.Err == nil:
		return out.Value, out.Retcode, true
	case out.Kind() == loader.KindMissing:
		return fmt.Sprintf("'%s' is not available.", fun), failed, false
	}
	return "Unhandled exception running " + fun, failed, false
}

// failed is the return code of a scheduled job that failed.
const failed = 254

package batch

import (
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
)

// A Return is a minion's return.
type Return struct {
	Job     job.ID
	Minion  string
	Retcode int // the highest one if several functions were called
	// the value is a non-empty map: as an answer to saltutil.find_job, the job is running
	Running bool
	Load    data.Raw // the whole return
}

// ReturnOf decodes the event of a return; ok is false for other events.
func ReturnOf(e eventbus.Event) (r Return, ok bool) {
	jid, what, _ := strings.Cut(strings.TrimPrefix(e.Tag, "salt/job/"), "/")
	id, ok := strings.CutPrefix(what, "ret/")
	if !ok {
		return Return{}, false
	}
	return ParseReturn(job.ID(jid), id, e.Data)
}

// ParseReturn decodes the fields of a return that a batch needs, but not the value. ok is false if
// raw is not a map.
func ParseReturn(id job.ID, minion string, raw data.Raw) (r Return, ok bool) {
	load, err := payload.ParseFields(raw, payload.WireLimits())
	if err != nil {
		return Return{}, false
	}
	running, _ := payload.HasEntries(load.Raw("return"))
	return Return{
		Job:     id,
		Minion:  minion,
		Retcode: Retcode(load.Value("retcode")),
		Running: running,
		Load:    raw,
	}, true
}

// Retcode returns the highest code of a return, which has one, or those of several functions in a
// map or list.
func Retcode(v any) int {
	switch v := v.(type) {
	case int64:
		return int(v)
	case bool:
		if v {
			return 1
		}
	case *data.Map:
		code := 0
		for _, c := range v.All() {
			code = max(code, Retcode(c))
		}
		return code
	case []any:
		code := 0
		for _, c := range v {
			code = max(code, Retcode(c))
		}
		return code
	}
	return 0
}

package batch

import (
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
)

// A Return is what a minion returned.
type Return struct {
	Job     job.ID
	Minion  string
	Retcode int      // the highest, where several functions were called
	Running bool     // the value is a map with something in it: to saltutil.find_job, that the job runs
	Load    data.Raw // the whole return, for who shows it
}

// ReturnOf reads the event of a return; ok is false for other events.
func ReturnOf(e eventbus.Event) (r Return, ok bool) {
	jid, what, _ := strings.Cut(strings.TrimPrefix(e.Tag, "salt/job/"), "/")
	id, ok := strings.CutPrefix(what, "ret/")
	if !ok {
		return Return{}, false
	}
	return ParseReturn(job.ID(jid), id, e.Data)
}

// ParseReturn reads of a return what a batch decides by; the value itself is not decoded. ok is false for what is no map.
func ParseReturn(id job.ID, minion string, raw data.Raw) (r Return, ok bool) {
	load, err := payload.ParseFields(raw, payload.WireLimits())
	if err != nil {
		return Return{}, false
	}
	return Return{Job: id, Minion: minion, Retcode: Retcode(load.Value("retcode")), Running: full(load.Raw("return")), Load: raw}, true
}

// Retcode returns the highest of the codes of a return: one, or those of several functions in a map or list.
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

// full reports whether a value in MessagePack is a map with something in it.
func full(raw data.Raw) bool {
	return len(raw) > 0 && (raw[0] > 0x80 && raw[0] <= 0x8f || raw[0] == 0xde || raw[0] == 0xdf)
}

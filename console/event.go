package console

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/netapi/stream"
)

// What the page of events shows at first, and how much of the data of events it has, in bytes of JSON.
// The script goes on from there.
const (
	eventRows  = 100
	eventsRead = 1000 // of which lookups are left out
	eventBytes = 512 << 10
)

// An eventPage is the page of events.
type eventPage struct {
	Tag, Job string
	All      bool // also events of what pages and programs only look up
	Tabs     []eventTab
	Rows     []eventRow // the newest first
	Lookups  string     // the functions that only look something up, for the script
	Follow   string     // address of the stream that goes on behind the rows
	Runner   string     // the command that shows the same events
	Curl     string
}

// An eventTab is a filter that is often wanted.
type eventTab struct {
	Name, Href string
	Here       bool
}

// An eventRow is an event in one line. The script makes the same rows; see events in script.js.
type eventRow struct {
	At, Time    string // in UTC: for programs, and for people
	Tag         string
	Minion, Fun string
	Job, JobRef string // the job and its page
	Note, Class string // what happened, and the look of its badge
	Data        *data.Map
	Quiet       bool // it only looks something up, as pages do
	Size        int  // of data that is too much for the page, in KiB
}

// eventList shows the last events, and follows them.
func eventList(q *request) error {
	query := q.r.URL.Query()
	p := &eventPage{Tag: strings.TrimSpace(query.Get("tag")), Job: strings.TrimSpace(query.Get("job")), All: query.Get("all") != ""}
	items, after := q.Hub.Recent(stream.Filter{Tag: p.Tag, Job: p.Job, May: q.streams().May(q.caller)}, eventsRead)
	left := eventBytes
	for _, i := range slices.Backward(items) {
		row := newEventRow(q, i)
		if row.Quiet && !p.All && p.Job == "" {
			continue
		}
		if len(p.Rows) == eventRows {
			break
		}
		size := len(i.JSON())
		if left -= size; left < 0 {
			row.Data, row.Size = nil, (size+1023)>>10
		}
		p.Rows = append(p.Rows, row)
	}
	p.Follow = q.href("/stream", "tag", p.Tag, "job", p.Job, "after", after)
	p.Tabs, p.Lookups = p.tabs(q), strings.Join(questions(), " ")
	p.Runner, p.Curl = eventCommands(p.Tag, p.Job)
	return q.render(http.StatusOK, "events", "Events", p)
}

func (p *eventPage) tabs(q *request) []eventTab {
	var tabs []eventTab
	for _, t := range [][2]string{{"All", ""}, {"Returns", "salt/job/*/ret/*"}, {"New jobs", "salt/job/*/new"}, {"Minions", "salt/minion/*"},
		{"Keys", "salt/key"}, {"Authentication", "salt/auth"}, {"Runners", "salt/run/*"}} {
		tabs = append(tabs, eventTab{Name: t[0], Href: q.href("/events", "tag", t[1]), Here: p.Tag == t[1] && p.Job == ""})
	}
	return tabs
}

// eventCommands returns how the events of a filter are followed without the page.
func eventCommands(tag, job string) (runner, curl string) {
	glob := tag
	if !strings.ContainsAny(tag, "*?[") {
		glob += "*" // the filter is a prefix
	}
	if tag == "" && job != "" {
		glob = "*/" + job + "/*"
	}
	query := url.Values{}
	if tag != "" {
		query.Set("tag", tag)
	}
	if job != "" {
		query.Set("job", job)
	}
	address := "https://MASTER:8000/events"
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	return "salt-run state.event " + shellQuote(glob) + " pretty=True", `curl -N -H "X-Auth-Token: $TOKEN" ` + shellQuote(address)
}

// shellQuote returns a text as one word of a shell.
func shellQuote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

func newEventRow(q *request, i stream.Item) eventRow {
	m, err := i.Data()
	if err != nil {
		m = data.NewMap("_error", err.Error())
	}
	row := eventRow{Tag: i.Tag(), Data: m, Minion: m.Text("id"), Job: m.Text("jid"), Quiet: m.Value("nocache") == true}
	stored := !row.Quiet
	row.At, row.Time = eventTime(m.Text("_stamp"), q.Now().UTC().Format("2006-01-02"))
	switch fun := m.Value("fun").(type) {
	case string:
		row.Fun = fun
	case []any:
		row.Fun = strings.Join(data.Texts(fun), ", ")
	}
	row.Quiet = row.Quiet || isQuestion(row.Fun) || isBareJob(row.Tag)
	if row.Job != "" && stored {
		row.JobRef = q.jobHref(row.Job, row.Fun)
	}
	row.Note, row.Class = eventNote(row.Tag, m)
	return row
}

// isBareJob reports whether a tag is the id of a job alone. Salt's master fires such an event for each job,
// with less than the event salt/job/<jid>/new says.
func isBareJob(tag string) bool {
	_, err := job.ParseID(tag)
	return err == nil
}

// jobHref returns the page of a job: that of an orchestration is another one.
func (q *request) jobHref(jid, fun string) string {
	if isOrchestration(fun) {
		return q.href("/orchestrations/" + url.PathEscape(jid))
	}
	return q.href(jobPath(jid))
}

// eventTime returns the time of an event for programs, and for people: without the date if it is today's.
func eventTime(stamp, today string) (at, shown string) {
	day, clock, ok := strings.Cut(stamp, "T")
	if !ok {
		return "", ""
	}
	short := clock[:min(len(clock), len("15:04:05.000"))]
	if day == today {
		return stamp + "Z", short
	}
	return stamp + "Z", day + " " + short
}

// eventNote says in a word or two what has happened, and how that looks.
func eventNote(tag string, m *data.Map) (note, look string) {
	parts := strings.Split(tag, "/")
	last := parts[len(parts)-1]
	ret := len(parts) > 3 && parts[3] == "ret"
	switch {
	case ret && failed(m):
		return "failed", "bad"
	case ret:
		return "returned", "good"
	case tag == "salt/auth" || tag == "salt/key":
		return m.Text("act"), ""
	case strings.HasPrefix(tag, "salt/job/") && last == "new":
		list, _ := m.Value("minions").([]any)
		if len(list) == 1 {
			return "to 1 minion", ""
		}
		return fmt.Sprintf("to %d minions", len(list)), ""
	case tag == stream.LostTag:
		return "events missed", "change"
	}
	return "", ""
}

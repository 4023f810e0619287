package console

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/netapi"
)

const (
	scheduleRows  = 200 // jobs of one schedule that are shown
	scheduleAsked = 20  // jobs whose next run is asked for
	scheduleNames = 200 // minions that the field offers
)

// A schedulePage shows the schedule of a minion, or that of the master.
type schedulePage struct {
	Minion  string
	Minions []string // some that the field can offer
	Fault   string   // why the minion's schedule is not shown
	Off     bool     // the schedule as a whole is disabled
	Jobs    []scheduledJob
	Cut     int // jobs that are left out
	// of the master, without a minion
	Master      []scheduledJob
	MasterFault string
}

// A scheduledJob is a job of a schedule.
type scheduledJob struct {
	Name, Fun string
	Rhythm    string
	Next      string
	Enabled   bool
	Own       bool // the minion's own, such as __mine_interval
	Options   *data.Map
}

// schedules shows the schedule of the minion that the query names.
func schedules(q *request) error {
	p := &schedulePage{Minion: strings.TrimSpace(q.r.URL.Query().Get("minion"))}
	p.Minions = q.minions.names()
	if p.Minion == "" {
		p.masterSchedule(q.ask)
		return q.render(http.StatusOK, "schedules", "Schedules", p)
	}
	words := data.NewMap(kwargMark, true, "show_all", true, "return_yaml", false)
	v, err := q.ask.call(p.Minion, "schedule.list", words)
	jobs, ok := v.(*data.Map)
	f := netapi.FaultOf(err)
	switch {
	case err == nil && !ok:
		p.Fault = "The minion answers: " + clip(data.Str(v), 500)
	case refused(err):
		p.Fault = f.Text
	case err != nil && f.Status == http.StatusGatewayTimeout:
		p.Fault = f.Text + " Either it is not connected, or there is no such minion."
	case err != nil:
		return err
	default:
		p.Off = jobs.Value("enabled") == false
		p.Jobs, p.Cut = scheduledJobs(jobs)
		p.nextRuns(q.ask)
	}
	return q.render(http.StatusOK, "schedules", "Schedule of "+p.Minion, p)
}

// masterSchedule sets the jobs of the master's own configuration.
func (p *schedulePage) masterSchedule(ask *asker) {
	v, err := ask.runner("config.get", "key", "schedule")
	jobs, ok := v.(*data.Map)
	switch {
	case err != nil:
		p.MasterFault = netapi.FaultOf(err).Text
	case ok:
		p.Master, _ = scheduledJobs(jobs)
	}
}

// scheduledJobs returns the jobs of a schedule by name, the minion's own ones last, and how many more
// there are.
func scheduledJobs(jobs *data.Map) (list []scheduledJob, cut int) {
	for name, v := range jobs.All() {
		m, ok := v.(*data.Map)
		if !ok {
			continue // a setting of the schedule, such as enabled
		}
		enabled, said := m.Get("enabled")
		one := scheduledJob{Name: data.Str(name), Fun: strings.Join(data.TextsOf(m.Value("function")), ", "), Rhythm: rhythm(m),
			Enabled: !said || data.Truth(enabled), Own: strings.HasPrefix(data.Str(name), "__"), Options: m}
		list = append(list, one)
	}
	slices.SortFunc(list, func(a, b scheduledJob) int {
		switch {
		case a.Own && !b.Own:
			return 1
		case b.Own && !a.Own:
			return -1
		}
		return strings.Compare(a.Name, b.Name)
	})
	shown := list[:min(len(list), scheduleRows)]
	return shown, len(list) - len(shown)
}

// rhythm says when a job runs, in the words of its options.
func rhythm(job *data.Map) string {
	var parts, every []string
	for _, unit := range []string{"days", "hours", "minutes", "seconds"} {
		if n := job.Value(unit); n != nil {
			word := unit
			if data.Str(n) == "1" {
				word = strings.TrimSuffix(unit, "s")
			}
			every = append(every, data.Str(n)+" "+word)
		}
	}
	if len(every) > 0 {
		parts = append(parts, "every "+strings.Join(every, " "))
	}
	for _, option := range []string{"cron", "when", "once", "after", "until", "range", "splay"} {
		if v := job.Value(option); v != nil {
			parts = append(parts, option+" "+optionText(v))
		}
	}
	if data.Truth(job.Value("run_on_start")) {
		parts = append(parts, "at the start")
	}
	return strings.Join(parts, ", ")
}

// optionText returns the value of an option: a list or dictionary in one line.
func optionText(v any) string {
	switch v := v.(type) {
	case []any:
		return strings.Join(data.Texts(v), ", ")
	case *data.Map:
		var parts []string
		for k, e := range v.All() {
			parts = append(parts, data.Str(k)+" "+data.Str(e))
		}
		return strings.Join(parts, " ")
	}
	return data.Str(v)
}

// nextRuns asks the minion when its first jobs run next. What it does not answer stays empty.
func (p *schedulePage) nextRuns(ask *asker) {
	var all sync.WaitGroup
	for i := range p.Jobs[:min(len(p.Jobs), scheduleAsked)] {
		job := &p.Jobs[i]
		if !job.Enabled || job.Own || p.Off {
			continue
		}
		all.Go(func() {
			v, err := ask.call(p.Minion, "schedule.show_next_fire_time", job.Name)
			m, _ := v.(*data.Map)
			if err == nil && m.Value("next_fire_time") != nil {
				job.Next = strings.Replace(data.Str(m.Value("next_fire_time")), "T", " ", 1)
			}
		})
	}
	all.Wait()
}

// changeSchedule enables, disables or runs a job of a minion.
func changeSchedule(q *request) error {
	form := q.r.PostForm
	minion, name, do := form.Get("minion"), form.Get("job"), form.Get("do")
	if !slices.Contains([]string{"enable_job", "disable_job", "run_job", "enable"}, do) {
		return &netapi.Fault{Status: http.StatusBadRequest, Text: "There is no such action on a schedule: " + clip(do, 100)}
	}
	if minion == "" || name == "" && do != "enable" {
		return &netapi.Fault{Status: http.StatusBadRequest, Text: "The form names no minion, or no job."}
	}
	var args []any
	if name != "" {
		args = append(args, name)
	}
	v, err := q.ask.change(minion, "schedule."+do, args...)
	if err != nil {
		return err
	}
	m, ok := v.(*data.Map)
	comment := data.Str(m.Value("comment"))
	if list, isList := m.Value("comment").([]any); isList {
		comment = strings.Join(data.Texts(list), " ")
	}
	if !ok || !data.Truth(m.Value("result")) {
		return &netapi.Fault{Status: http.StatusBadRequest, Text: minion + " refuses: " + clip(cmp.Or(comment, data.Str(v)), 500)}
	}
	q.notify(minion + ": " + comment)
	return q.redirect("/schedules", "minion", minion)
}

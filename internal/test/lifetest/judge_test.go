//go:build linux

package lifetest

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/returners/jobstore"
)

// interruptedText begins the return of a job that was interrupted by the end of its minion.
const interruptedText = "ERROR: The minion ended"

// A judge compares the master's records with the minions'.
type judge struct {
	orders  map[string]*order
	started map[answer]int // jobs that a minion began, by its log
	counted map[answer]int // jobs that ran, by the counter that they write themselves
	acked   map[answer]int // returns that a minion was told the master has
	stopped []answer       // jobs that ran when a minion was killed
	kept    map[answer][]*data.Map
	events  map[answer]int

	faults      map[string][]string
	interrupted int
}

// newJudge reads all records. The daemons must have ended.
func newJudge(t *testing.T, s *site, l *load, heard *events, stopped []answer) *judge {
	t.Helper()
	j := &judge{orders: map[string]*order{}, started: map[answer]int{}, counted: map[answer]int{},
		acked: map[answer]int{}, stopped: stopped, events: heard.rets, faults: map[string][]string{}}
	for _, o := range l.orders {
		j.orders[o.jid] = o
	}
	begun := regexp.MustCompile(`Starting a new job (\S+) with PID`)
	acked := regexp.MustCompile(`the master has acknowledged the return of job (\S+)`)
	for _, m := range s.minions {
		eachLine(t, s.logFile(m.id), func(line string) {
			if found := begun.FindStringSubmatch(line); found != nil {
				j.started[answer{found[1], m.id}]++
			}
			if found := acked.FindStringSubmatch(line); found != nil {
				j.acked[answer{found[1], m.id}]++
			}
		})
		eachLine(t, m.counter, func(line string) { j.counted[answer{line, m.id}]++ })
	}
	j.readCache(t, s)
	return j
}

func eachLine(t *testing.T, file string, do func(line string)) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		do(lines.Text())
	}
	if err := lines.Err(); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// jids returns the submitted jobs, and those that minions recorded: the master sends some itself.
func (j *judge) jids() map[string]bool {
	all := map[string]bool{}
	for jid := range j.orders {
		all[jid] = true
	}
	for _, known := range []map[answer]int{j.started, j.acked} {
		for a := range known {
			all[a.jid] = true
		}
	}
	return all
}

// readCache reads the returns of all jobs, and finds jobs that are not recorded.
func (j *judge) readCache(t *testing.T, s *site) {
	t.Helper()
	cache, err := jobstore.OpenReadOnly(context.Background(),
		filepath.Join(s.masterCfg.CacheDir, "jobs.db"), jobstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer cache.Close()
	j.kept = map[answer][]*data.Map{}
	for jid := range j.jids() {
		o := j.orders[jid]
		if _, err := cache.Job(t.Context(), job.ID(jid)); o != nil && o.confirmed && err != nil {
			j.fault("lost", "job %s: %v", jid, err)
		}
		returns, err := cache.Returns(t.Context(), job.ID(jid))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range returns {
			v, err := payload.UnmarshalText(r.Load, payload.WireLimits())
			load, ok := v.(*data.Map)
			if err != nil || !ok {
				t.Fatalf("return of %s for job %s: %v", r.Minion, jid, err)
			}
			j.kept[answer{jid, r.Minion}] = append(j.kept[answer{jid, r.Minion}], load)
		}
	}
}

func (j *judge) fault(name, format string, args ...any) {
	j.faults[name] = append(j.faults[name], fmt.Sprintf(format, args...))
}

// verdict fails the test for each fault.
func (j *judge) verdict(t *testing.T) {
	t.Helper()
	for a := range j.acked {
		if len(j.kept[a]) == 0 {
			j.fault("lost", "job %s was acknowledged to %s", a.jid, a.minion)
		}
	}
	ran := maps.Clone(j.started)
	maps.Copy(ran, j.counted)
	for a := range ran {
		j.checkRun(a)
	}
	for _, a := range j.stopped {
		if len(j.kept[a]) == 0 {
			j.fault("missing", "job %s ran on %s when that was killed", a.jid, a.minion)
		}
	}
	for a, n := range j.events {
		if n > 1 {
			j.fault("dup", "job %s of %s was announced %d times", a.jid, a.minion, n)
		}
	}
	for a, loads := range j.kept {
		if len(loads) > 1 {
			j.fault("dup", "job %s of %s was recorded %d times", a.jid, a.minion, len(loads))
		}
		j.checkContent(a, loads[0])
	}
	t.Logf("%d jobs asked for, %d begun, %d recorded, %d of them as interrupted; acknowledged: %d",
		len(j.orders), len(ran), len(j.kept), j.interrupted, len(j.acked))
	for _, name := range []string{"lost", "missing", "twice", "dup", "wrong"} {
		list := j.faults[name]
		t.Logf("%s = %d", name, len(list))
		if len(list) > 0 {
			slices.Sort(list)
			t.Errorf("%s:\n%s", name, strings.Join(list[:min(len(list), 20)], "\n"))
		}
	}
}

// checkRun checks a job that ran.
func (j *judge) checkRun(a answer) {
	switch {
	case len(j.kept[a]) == 0:
		j.fault("missing", "job %s ran on %s", a.jid, a.minion)
	case j.counted[a] > 1 || j.started[a] > 1:
		j.fault("twice", "job %s ran %d times on %s, which began it %d times", a.jid, j.counted[a],
			a.minion, j.started[a])
	}
}

// checkContent checks the recorded returns.
func (j *judge) checkContent(a answer, ret *data.Map) {
	o, value := j.orders[a.jid], ret.Value("return")
	if strings.HasPrefix(data.Str(value), interruptedText) {
		j.interrupted++
		if ret.Value("success") != false || ret.Value("retcode") != int64(1) {
			j.fault("wrong", "job %s of %s was interrupted and is no failure: %s", a.jid, a.minion,
				data.Repr(ret))
		}
		return
	}
	if o == nil { // of the master itself
		return
	}
	if ret.Text("id") != a.minion || ret.Text("jid") != a.jid || ret.Value("success") != true ||
		!o.right(value) {
		j.fault("wrong", "%s job %s of %s: %.300s", o.kind, a.jid, a.minion, data.Repr(ret))
	}
	if o.counts && j.counted[a] == 0 {
		j.fault("wrong", "job %s of %s has a return and did not run", a.jid, a.minion)
	}
	if o.kind == "long" {
		j.fault("wrong", "job %s of %s cannot have ended by itself", a.jid, a.minion)
	}
}

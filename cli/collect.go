package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/logging"
	"github.com/brineproject/brine/master/batch"
	"github.com/brineproject/brine/output"
)

// collect prints returns as they arrive, then the summary.
func (s *saltRun) collect(ctx context.Context, job *client.Job) int {
	t := &tally{}
	conns := &connections{opts: s.opts}
	defer conns.close()
	for r, err := range s.local.Results(ctx, job, s.wait(s.o.ShowTimeout || s.o.Verbose)) {
		if err != nil {
			return s.interrupted(ctx, job, err)
		}
		a := answerOf(r, job, conns)
		t.worst = max(t.worst, a.code)
		if err := s.out.Print(data.NewMap(r.ID, a.value), a.out, a.code); errors.Is(err,
			output.ErrKey) {
			continue // Salt does not count it either
		} else if err != nil {
			return exitGeneric
		}
		t.add(a)
		s.notices(r.ID, r.Notices)
		_ = s.out.Flush() // show each return at once; errors surface when the run ends
	}
	if s.o.Summary && s.o.Output == "" {
		s.summary(t)
	}
	if t.worst == 0 {
		return exitOK
	}
	s.out.PrintErr("ERROR: Minions returned with non-zero exit code\n")
	return exitGeneric
}

// collectProgress draws a bar on standard error while minions return, then prints the summary, for
// --progress. As in Salt, results are not printed and the exit code is 0. Unlike Salt it also works
// if the first result is a missing one; Salt ends there without output.
func (s *saltRun) collectProgress(ctx context.Context, job *client.Job) int {
	t := &tally{}
	conns := &connections{opts: s.opts}
	defer conns.close()
	bar := output.NewProgress(s.out.stderr, len(job.Minions), s.out.columns(s.in.Env))
	var returned []client.Result
	for r, err := range s.local.Results(ctx, job, s.wait(s.o.ShowTimeout)) {
		if err != nil {
			return s.interrupted(ctx, job, err)
		}
		t.add(answerOf(r, job, conns))
		if !r.Missing {
			bar.Update(t.returned)
		}
		returned = append(returned, client.Result{ID: r.ID, Notices: r.Notices})
	}
	s.summary(t)
	if s.o.Summary && s.o.Output == "" {
		s.summary(t) // Salt prints it twice in this case
	}
	for _, r := range returned {
		s.notices(r.ID, r.Notices)
	}
	return exitOK
}

// notices prints a minion's warnings to standard error, unless log_level hides warnings. Standard
// output carries results only.
func (s *saltRun) notices(id string, texts []string) {
	if level, err := logging.ParseLevel(s.opts.Text("log_level")); err == nil &&
		level > logging.Warning {
		return
	}
	for _, text := range texts {
		s.out.Log("WARNING", id+": "+text)
	}
}

// interrupted ends a run that was interrupted while waiting; the job goes on (salt/scripts.py,
// _handle_signals).
func (s *saltRun) interrupted(ctx context.Context, job *client.Job, err error) int {
	if ctx.Err() == nil {
		return s.fail(err)
	}
	s.out.PrintErr("\nExiting gracefully on Ctrl-c\nThis job's jid is: %[1]s\n"+
		"The minions may not have all finished running and any remaining "+
		"minions will return upon completion. To look up the return data for this job later, run the following command:\n\n"+
		"salt-run jobs.lookup_jid %[1]s\n", job.ID)
	return s.hardCrash()
}

// hardCrash returns the exit code of an interrupted run.
func (s *saltRun) hardCrash() int {
	if s.o.HardCrash {
		return exitGeneric
	}
	return exitOK
}

// An answer is the printed form of one minion's result.
type answer struct {
	id     string
	value  any
	out    string // outputter
	code   int
	silent silence
}

// A silence is the way in which a minion failed to return.
type silence int

const (
	answered silence = iota
	notConnected
	noResponse
	atWork
	queued
)

// Additions to Salt's text for a minion that did not respond, used if more is known.
const (
	textAtWork     = "\nThe minion has taken the job and is at work on it, as far as is known."
	textMissed     = "Minion did not return. [Missed]\n"
	textNotRunning = "\nThe minion says that it does not run this job."
	textNoKey      = "\nNo such minion: the master has no accepted key of this id."
)

// answerOf returns the printed form of a result. conns reports whether a silent minion is still
// connected.
func answerOf(r client.Result, job *client.Job, conns *connections) answer {
	if !r.Missing {
		return answer{id: r.ID, value: r.Value, out: r.Out, code: batch.Retcode(r.Retcode)}
	}
	a := answer{id: r.ID, out: "no_return", code: 1}
	switch {
	case r.Reason == client.Queued:
		a.value, a.silent, a.code = queuedText(job.Expires), queued, 0
	case r.Reason == client.Undelivered:
		a.value, a.silent = textMissed+r.Why, noResponse
	case r.Reason == client.NotConnected, !r.Below && conns.lost(r.ID, job.Told && r.Reason != client.NoKey):
		a.value, a.silent = "Minion did not return. [Not connected]", notConnected
		if r.Why != "" && len(job.Away) > 0 {
			a.value = "Minion did not return. [Not connected]\n" + r.Why
		}
	default:
		a.value, a.silent = noResponseText(r.Reason, string(job.ID)), noResponse
		if r.Reason == client.AtWork {
			a.silent = atWork
		}
	}
	return a
}

func queuedText(until time.Time) string {
	return "Minion is not connected. The job is queued for it until " +
		until.UTC().Format("2006-01-02 15:04:05") + " UTC."
}

func noResponseText(why client.Reason, jid string) string {
	text := "Minion did not return. [No response]\nThe minions may not have all finished running and any remaining minions will " +
		"return upon completion. To look up the return data for this job later, run the following command:\n\nsalt-run jobs.lookup_jid " + jid
	switch why {
	case client.AtWork:
		text += textAtWork
	case client.NotRunning:
		text += textNotRunning
	case client.NoKey:
		text += textNoKey
	}
	return text
}

// A tally counts the outcomes of a run's minions.
type tally struct {
	returned                           int
	failed, unconnected, silentMinions []string
	working, queued                    []string
	worst                              int
}

func (t *tally) add(a answer) {
	switch {
	case a.silent == notConnected:
		t.unconnected = append(t.unconnected, a.id)
	case a.silent == noResponse:
		t.silentMinions = append(t.silentMinions, a.id)
	case a.silent == atWork:
		t.working = append(t.working, a.id)
	case a.silent == queued:
		t.queued = append(t.queued, a.id)
	default:
		t.returned++
		if a.code != 0 {
			t.failed = append(t.failed, a.id)
		}
	}
}

// summary prints the totals of the run, for --summary.
func (s *saltRun) summary(t *tally) {
	line := strings.Repeat("-", 43)
	silent := len(t.unconnected) + len(t.silentMinions) + len(t.working) + len(t.queued)
	s.out.Printf("\n\n%[1]s\nSummary\n%[1]s\n# of minions targeted: %[2]d\n# of minions returned: %[3]d\n"+
		"# of minions that did not return: %[4]d\n# of minions with errors: %[5]d\n", line,
		t.returned+silent, t.returned, silent, len(t.failed))
	if s.o.Verbose {
		s.list("Minions not connected", t.unconnected)
		s.list("Minions not responding", t.silentMinions)
		s.list("Minions still running", t.working)
		s.list("Minions with the job queued", t.queued)
		s.list("Minions with failures", t.failed)
	}
	s.out.Printf("%s\n", line)
}

func (s *saltRun) list(title string, ids []string) {
	if len(ids) > 0 {
		s.out.Printf("%s: %s\n", title, strings.Join(ids, " "))
	}
}

// static runs the job on the minions that answer a ping and prints all results at once: --static is
// a batch of all minions (salt/cli/batch.py). The exit code does not reflect failures.
func (s *saltRun) static(ctx context.Context, r client.Request) int {
	ping := r
	ping.Fun, ping.Arg, ping.Ret = "test.ping", nil, ""
	up, err := s.gather(ctx, ping)
	var noMinions *client.NoMinionsError
	switch {
	case errors.As(err, &noMinions):
		return s.noMinions(noMinions, ping)
	case err != nil:
		return s.fail(err)
	case up.Len() == 0:
		return s.nothing(data.NewMap())
	}
	r.Target, r.Kind = up.Keys(), "list"
	all, err := s.gather(ctx, r)
	if errors.As(err, &noMinions) && noMinions.NotRecorded() {
		return s.notRecorded(noMinions)
	}
	if err != nil {
		return s.fail(err)
	}
	for _, id := range up.Keys() {
		if !all.Has(id) {
			all.Set(id, data.NewMap()) // it answered the ping but not the job
		}
	}
	if s.docs() {
		return s.printDocs(all)
	}
	if s.out.Print(all, "", 0) != nil {
		return exitGeneric
	}
	return exitOK
}

// gather runs a job and returns all results by minion.
func (s *saltRun) gather(ctx context.Context, r client.Request) (*data.Map, error) {
	job, err := s.local.Publish(ctx, r)
	if err != nil {
		return nil, err
	}
	all := data.NewMap()
	for res, err := range s.local.Results(ctx, job, s.wait(false)) {
		if err != nil {
			return nil, fmt.Errorf("job %s: %w", job.ID, err)
		}
		if !res.Missing {
			all.Set(res.ID, res.Value)
			s.notices(res.ID, res.Notices)
		}
	}
	return all, nil
}

// docs reports whether the run prints documentation.
func (s *saltRun) docs() bool { return !s.o.Multi && s.fun() == "sys.doc" }

// collectDocs waits for the documentation of all minions and prints it.
func (s *saltRun) collectDocs(ctx context.Context, job *client.Job) int {
	all := data.NewMap()
	for r, err := range s.local.Results(ctx, job, s.wait(false)) {
		if err != nil {
			return s.interrupted(ctx, job, err)
		}
		if !r.Missing {
			all.Set(r.ID, r.Value)
		}
	}
	return s.printDocs(all)
}

func (s *saltRun) noDocs() int {
	s.out.PrintErr("No minions found to gather docs from\n")
	return exitNoReturn
}

// printDocs prints the documentation that minions returned, each function once (salt/cli/salt.py,
// _print_docs).
func (s *saltRun) printDocs(all *data.Map) int {
	if all.Len() == 0 {
		return s.noDocs()
	}
	docs := map[string]any{}
	for _, v := range all.All() {
		m, _ := v.(*data.Map)
		for fun, doc := range m.All() {
			if name, ok := fun.(string); ok && docs[name] == nil && data.Truth(doc) {
				docs[name] = doc
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(docs)) {
		if s.o.Output == "" {
			s.out.Printf("%s:\n%s\n\n", name, data.Str(docs[name]))
		} else if s.out.Print(data.NewMap(name, docs[name]), "nested", 0) != nil {
			return exitGeneric
		}
	}
	return exitOK
}

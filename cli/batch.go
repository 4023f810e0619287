package cli

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/master/batch"
	"github.com/brineproject/brine/payload"
)

// batch runs the job on a limited number of minions at a time (salt/cli/batch.py). A Brine master
// runs the batch itself and continues if this program is killed; with Salt's master this program
// drives it. The exit code is 1 if a minion got the job and did not answer; Salt returns 0.
func (s *saltRun) batch(ctx context.Context, r client.Request) int {
	plan, err := s.plan()
	if err != nil {
		return s.fail(err)
	}
	ordered := r
	ordered.Kwargs = r.Kwargs.Clone()
	ordered.Kwargs.Update(data.NewMap("batch", s.o.Batch, "batch_wait", s.o.BatchWait,
		"failhard", s.o.Failhard, "timeout", plan.Timeout.Seconds(), "gather_job_timeout",
		plan.Gather.Seconds()))
	j, err := s.local.PublishBatch(ctx, ordered)
	var noMinions *client.NoMinionsError
	switch {
	case errors.Is(err, client.ErrNoBatches):
		return s.driveBatch(ctx, r, plan)
	case errors.As(err, &noMinions):
		return s.noMinionsInBatch(noMinions, r)
	case err != nil:
		return s.fail(err)
	case s.o.Async:
		s.out.Printf("Executed command with job ID: %s\n", j.ID)
		return exitOK
	}
	return s.followBatch(ctx, ordered, j)
}

// plan returns the batch settings of the command line.
func (s *saltRun) plan() (batch.Plan, error) {
	size, err := batch.ParseSize(s.o.Batch)
	return batch.Plan{Size: size, Wait: time.Duration(s.o.BatchWait * float64(time.Second)),
		Failhard: s.o.Failhard, Timeout: s.timeout(), Gather: s.seconds("gather_job_timeout")}, err
}

// noMinionsInBatch ends a batch whose target matches no minion.
func (s *saltRun) noMinionsInBatch(cause *client.NoMinionsError, r client.Request) int {
	s.out.Printf("No minions matched the target. No command was sent, no jid was assigned.\nNo minions matched the target.\n")
	s.reason(cause, r)
	return exitOK
}

// followBatch prints the progress of a batch that the master runs. An interrupt stops the batch.
func (s *saltRun) followBatch(ctx context.Context, r client.Request, j *client.Job) int {
	p := s.batchPrinter(j.ID)
	end, err := s.local.FollowBatch(ctx, j, p, p.enough)
	if err != nil {
		return s.stopBatch(ctx, r, j, err)
	}
	if end != nil && end.Error != "" {
		s.out.Log("ERROR", "batch "+string(j.ID)+": "+end.Error)
		return exitGeneric
	}
	p.missed(end)
	return p.end()
}

// stopBatch asks the master to start no further minions.
func (s *saltRun) stopBatch(ctx context.Context, r client.Request, j *client.Job, cause error) int {
	if ctx.Err() == nil {
		return s.fail(cause)
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if _, err := s.local.StopBatch(late, r, j.ID); err != nil {
		s.out.Log("ERROR", "batch "+string(j.ID)+" was not stopped: "+err.Error())
	} else {
		s.out.PrintErr("\nThe batch was stopped: no further minions get the job.")
	}
	return s.interrupted(ctx, j, cause)
}

// driveBatch runs the batch from this program.
func (s *saltRun) driveBatch(ctx context.Context, r client.Request, plan batch.Plan) int {
	if s.o.Async {
		s.out.Log("WARNING", "this master runs no batches: --async is ignored, and the batch ends with this program")
	}
	p := s.batchPrinter("")
	e := batch.NewEngine(batch.Options{Plan: plan, Host: s.local.BatchHost(r), Observer: p})
	err := e.Gather(ctx, r.Target, r.Kind)
	if err == nil {
		err = e.Work(ctx, false)
	}
	switch {
	case errors.Is(err, batch.ErrNobody):
		return s.noMinionsInBatch(&client.NoMinionsError{Text: client.NobodyMatched}, r)
	case err != nil:
		return s.fail(err)
	}
	return p.end()
}

// batchPrinter returns what prints a batch. id is the job id of all its publications, "" if they differ.
func (s *saltRun) batchPrinter(id job.ID) *batchPrinter {
	p := &batchPrinter{s: s, jid: id}
	if s.o.Static {
		p.all = data.NewMap()
	}
	return p
}

// A batchPrinter prints the progress of a batch.
type batchPrinter struct {
	s     *saltRun
	jid   job.ID // the batch's, if all its publications share one
	code  int
	bad   bool            // a minion failed
	shown map[string]bool // minions whose returns were printed
	all   *data.Map       // the returns so far, if they are printed together at the end (--static), else nil
}

var _ batch.Observer = (*batchPrinter)(nil)

// enough reports whether failhard ends the run. As in Salt, running minions are not waited for.
func (p *batchPrinter) enough() bool { return p.s.o.Failhard && p.bad }

// Down names the minions that get no job because they are not connected.
func (p *batchPrinter) Down(ids []string) {
	if p.all != nil {
		return
	}
	for _, id := range ids {
		p.s.out.Printf("Minion %s did not respond. No job will be sent.\n", id)
	}
	_ = p.s.out.Flush() // show each line at once; errors surface when the run ends
}

// Starting names the minions that get the job now.
func (p *batchPrinter) Starting(ids []string) error {
	if p.all != nil {
		return nil
	}
	ids = slices.Sorted(slices.Values(ids))
	p.s.out.Printf("\nExecuting run on ['%s']\n\n", strings.Join(ids, "', '"))
	return p.s.out.Flush()
}

// Answered prints a minion's return with its return code and job ID.
func (p *batchPrinter) Answered(r batch.Return) {
	if p.shown[r.Minion] {
		return
	}
	v, err := payload.UnmarshalText(r.Load, payload.WireLimits())
	load, ok := v.(*data.Map)
	if err != nil || !ok {
		p.s.out.Log("ERROR", "cannot decode the return of minion "+r.Minion)
		p.failed(exitGeneric)
		return
	}
	p.note(r.Minion)
	if r.Retcode != 0 {
		p.failed(r.Retcode)
	}
	if p.all != nil {
		p.all.Set(r.Minion, load.Value("return"))
		return
	}
	result := data.NewMap("retcode", int64(r.Retcode), "jid", string(r.Job), r.Minion,
		load.Value("return"))
	if err := p.s.out.Print(result, load.Text("out"), r.Retcode); err != nil {
		p.failed(exitGeneric)
	}
	p.s.notices(r.Minion, job.Notices(load))
	if p.enough() {
		p.s.out.Log("ERROR", "Minion "+r.Minion+
			" returned with non-zero exit code. Batch run stopped due to failhard")
	}
	_ = p.s.out.Flush()
}

func (p *batchPrinter) note(id string) {
	if p.shown == nil {
		p.shown = map[string]bool{}
	}
	p.shown[id] = true
}

func (p *batchPrinter) failed(code int) {
	p.bad = true
	p.code = max(p.code, code)
}

// Silent names a minion that got the job and has not answered.
func (p *batchPrinter) Silent(id string) {
	if p.all != nil {
		p.all.Set(id, data.NewMap())
		return
	}
	p.s.out.Printf("Minion '%s' failed to respond to job sent\n", id)
	p.failed(exitGeneric)
	_ = p.s.out.Flush()
}

// end prints what was kept for the end, and returns the exit code. With --static that is 0 whatever the
// minions returned, as in Salt.
func (p *batchPrinter) end() int {
	switch {
	case p.all == nil:
		return p.code
	case p.s.docs():
		return p.s.printDocs(p.all)
	case p.s.out.Print(p.all, "", 0) != nil:
		return exitGeneric
	}
	return exitOK
}

// missed reports how many returns were not printed because the connection to the master was lost.
func (p *batchPrinter) missed(end *client.BatchEnd) {
	if end == nil {
		return
	}
	n := 0
	for _, id := range end.Done {
		if !p.shown[id] {
			n++
		}
	}
	if n > 0 {
		p.s.out.PrintErr("%d minions answered, and their returns could not be read. "+
			"To look up all answers, run the following command:\n\n"+
			"salt-run jobs.lookup_jid %s\n", n, p.jid)
	}
	if n := len(end.NotStarted); n > 0 {
		p.s.out.PrintErr("The batch was stopped: %d minions did not get the job\n", n)
	}
}

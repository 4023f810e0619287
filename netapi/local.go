package netapi

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/master/batch"
	"github.com/brineproject/brine/match"
	"github.com/brineproject/brine/payload"
)

// request returns the job of a chunk (salt/client/__init__.py, run_job). Salt passes all further
// fields of a chunk to the master; here it is those that the master knows.
func (o *order) request() (client.Request, error) {
	r := client.Request{Target: o.low.Value("tgt"), Kind: "glob", Fun: o.low.Value("fun"), Ret: data.Str(orText(o.low.Value("ret"))),
		JID: data.Str(orText(o.low.Value("jid")))}
	switch target := r.Target.(type) {
	case string, []any:
	case int64, float64, bool:
		r.Target = data.Str(target)
	default:
		return r, fault(http.StatusBadRequest, "The field tgt must be a target: a text, or a list of minions")
	}
	switch fun := r.Fun.(type) {
	case string, []any:
		if !data.Truth(fun) {
			return r, fault(http.StatusBadRequest, "The field fun must name a function")
		}
	default:
		return r, fault(http.StatusBadRequest, "The field fun must be the name of a function, or a list of them")
	}
	if kind := o.low.Value("tgt_type"); data.Truth(kind) {
		r.Kind = data.Str(kind)
	}
	if !knownKind(r.Kind) {
		return r, fault(http.StatusBadRequest, "There is no kind of target '%s'", clip(r.Kind))
	}
	if err := o.expand(&r); err != nil {
		return r, err
	}
	var err error
	if r.Timeout, err = o.seconds("timeout", o.o.Timeout); err != nil {
		return r, err
	}
	r.Arg = slices.Clone(listIn(o.low.Value("arg")))
	if words, ok := o.low.Value("kwarg").(*data.Map); ok && words.Len() > 0 {
		given := data.NewMap("__kwarg__", true)
		given.Update(words)
		r.Arg = append(r.Arg, given)
	}
	r.Kwargs = data.NewMap()
	for _, name := range []string{"delimiter", "metadata", "ret_config", "ret_kwargs", "module_executors", "executor_opts",
		"nocache"} {
		if v, ok := o.low.Get(name); ok {
			r.Kwargs.Set(name, v)
		}
	}
	return r, o.queue(r.Kwargs)
}

// expand replaces each node group in a target by the target that the group stands for.
func (o *order) expand(r *client.Request) error {
	text, ok := r.Target.(string)
	if !ok {
		return nil
	}
	expanded, kind, err := match.ExpandTarget(text, r.Kind, o.o.Nodegroups)
	if err != nil {
		return because(http.StatusBadRequest, nil, "The target cannot be used: "+err.Error())
	}
	r.Target, r.Kind = expanded, kind
	return nil
}

// queue adds for how many seconds the master keeps a job for absent minions, if a chunk asks for that.
func (o *order) queue(kwargs *data.Map) error {
	text := data.Str(o.low.Value("queue"))
	switch strings.ToLower(text) {
	case "none", "false", "":
		return nil
	case "true":
		text = "" // the usual time
	}
	life, err := client.QueueTime(text)
	if err != nil {
		return because(http.StatusBadRequest, nil, "The field queue must be true or a time: "+err.Error())
	}
	kwargs.Set("queue", int64(life/time.Second))
	return nil
}

func orText(v any) any {
	if v == nil {
		return ""
	}
	if list, ok := v.([]any); ok {
		return strings.Join(data.Texts(list), ",")
	}
	return v
}

func listIn(v any) []any {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		return v
	case data.Tuple:
		return v
	}
	return []any{v}
}

func knownKind(kind string) bool {
	return slices.Contains([]string{"glob", "pcre", "list", "grain", "grain_pcre", "pillar", "pillar_pcre", "pillar_exact",
		"nodegroup", "range", "compound", "compound_pillar_exact", "ipcidr", "node"}, kind)
}

func (o *order) wait(timeout time.Duration) (client.Wait, error) {
	gather, err := o.seconds("gather_job_timeout", o.o.Gather)
	return client.Wait{Timeout: timeout, Gather: gather, ShowSilent: true}, err
}

// local sends a job and waits for its returns (salt/client/__init__.py, cmd). Minions that did not
// return have the value false.
func (o *order) local(ctx context.Context) (*Answer, error) {
	r, err := o.request()
	if err != nil {
		return nil, err
	}
	return o.returns(ctx, r)
}

// returns sends a job and waits for its returns.
func (o *order) returns(ctx context.Context, r client.Request) (*Answer, error) {
	w, err := o.wait(r.Timeout)
	if err != nil {
		return nil, err
	}
	w.Encoded = o.encoded
	j, err := o.client.Publish(ctx, r)
	if err != nil {
		answer, err := nobody(err)
		if answer != nil {
			answer.Missing = someOf(keyless(r))
		}
		return answer, err
	}
	o.proved = true
	full := data.Truth(o.low.Value("full_return"))
	values, missing := data.NewMap(), data.NewMap()
	for result, err := range o.client.Results(ctx, j, w) {
		switch {
		case err != nil:
			return nil, err
		case result.Missing && result.Reason == client.NoKey:
			missing.Set(result.ID, reasonText(result))
		case result.Missing:
			values.Set(result.ID, false)
			missing.Set(result.ID, reasonText(result))
		case full:
			values.Set(result.ID, fullReturn(j, result))
		default:
			values.Set(result.ID, result.Value)
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return &Answer{Items: []any{values}, Missing: someOf(missing)}, nil
}

// nobody returns the empty answer if a target has matched no minion, else err.
func nobody(err error) (*Answer, error) {
	var none *client.NoMinionsError
	switch {
	case !errors.As(err, &none):
		return nil, err
	case none.NotRecorded():
		return nil, because(http.StatusServiceUnavailable, err, none.Text)
	}
	return &Answer{Items: []any{data.NewMap()}}, nil
}

// keyless returns the minions that a list names, with the reason why none of them has got the job.
func keyless(r client.Request) *data.Map {
	m := data.NewMap()
	for _, id := range r.Named() {
		m.Set(id, reasonText(client.Result{Reason: client.NoKey}))
	}
	return m
}

func someOf(m *data.Map) *data.Map {
	if m.Len() == 0 {
		return nil
	}
	return m
}

// reasonText says why a minion has not returned.
func reasonText(r client.Result) string {
	switch r.Reason {
	case client.NoKey:
		return "it has no accepted key"
	case client.NotConnected:
		if r.Why != "" {
			return "it is not connected: " + r.Why
		}
		return "it is not connected"
	case client.Queued:
		return "it is not connected; the master sends the job when it is"
	case client.AtWork:
		return "it still runs the job"
	case client.NotRunning:
		return "it does not run the job"
	case client.Undelivered:
		return "the master could not deliver the job: " + r.Why
	}
	return "it does not answer"
}

// fullReturn returns the form of a return with full_return (salt/client/__init__.py,
// get_iter_returns).
func fullReturn(j *client.Job, r client.Result) *data.Map {
	m := data.NewMap("ret", r.Value)
	if r.Out != "" {
		m.Set("out", r.Out)
	}
	if r.Retcode != nil {
		m.Set("retcode", r.Retcode)
	}
	m.Set("jid", string(j.ID))
	return m
}

// async sends a job, or begins a batch.
func (o *order) async(ctx context.Context) (*Answer, error) {
	r, err := o.request()
	if err == nil {
		err = o.stopBatch(ctx, r)
	}
	if err != nil {
		return nil, err
	}
	publish := o.client.Publish
	if data.Truth(o.low.Value("batch")) {
		p, err := o.plan(r)
		if err != nil {
			return nil, err
		}
		r.Kwargs.Update(p.options())
		publish = o.client.PublishBatch
	}
	j, err := publish(ctx, r)
	if errors.Is(err, client.ErrNoBatches) {
		return nil, because(http.StatusBadRequest, err, "This master does not run batches by itself; order local_batch")
	}
	if err != nil {
		return nobody(err)
	}
	sent := data.NewMap("jid", string(j.ID), "minions", data.Values(j.Minions))
	if r.Kwargs.Has("queue") && j.Told { // Salt's master keeps no jobs, and says nothing of it
		sent.Set("queued", data.Values(j.Queued))
	}
	return &Answer{Items: []any{sent}}, nil
}

// subset sends a job to some minions, chosen by chance, that have its function
// (salt/client/__init__.py, cmd_subset).
func (o *order) subset(ctx context.Context) (*Answer, error) {
	r, err := o.request()
	if err != nil {
		return nil, err
	}
	fun, err := o.fun()
	if err != nil {
		return nil, err
	}
	n := int64(3)
	for _, field := range []string{"subset", "sub"} {
		if v := o.low.Value(field); v != nil {
			if n, err = loader.Int(v); err != nil || n < 1 {
				return nil, fault(http.StatusBadRequest, "The field %s must be a number of minions", field)
			}
		}
	}
	able, err := o.able(ctx, r, fun)
	if err != nil {
		return nil, err
	}
	rand.Shuffle(len(able), func(i, j int) { able[i], able[j] = able[j], able[i] })
	r.Target, r.Kind = data.Values(able[:min(len(able), int(min(n, 1<<30)))]), "list"
	if len(able) == 0 {
		return &Answer{Items: []any{data.NewMap()}}, nil
	}
	return o.returns(ctx, r)
}

// able returns the minions of a target that say that they have a function. Those that are silent are
// left out; Salt fails then.
func (o *order) able(ctx context.Context, r client.Request, fun string) ([]string, error) {
	r.Fun, r.Arg, r.Ret, r.JID = "sys.list_functions", []any{fun}, "", ""
	w, err := o.wait(r.Timeout)
	if err != nil {
		return nil, err
	}
	w.ShowSilent = false
	j, err := o.client.Publish(ctx, r)
	if err != nil {
		_, err = nobody(err)
		return nil, err
	}
	var able []string
	for result, err := range o.client.Results(ctx, j, w) {
		if err != nil {
			return nil, err
		}
		if list, ok := result.Value.([]any); ok && slices.Contains(list, any(fun)) {
			able = append(able, result.ID)
		}
	}
	return able, nil
}

// stopBatch ends a batch of the master, so that no further minions begin, if a chunk that stops its job
// asks for that.
func (o *order) stopBatch(ctx context.Context, r client.Request) error {
	if !data.Truth(o.low.Value("stop_batch")) {
		return nil
	}
	if r.Fun != "saltutil.term_job" && r.Fun != "saltutil.kill_job" || len(r.Arg) == 0 {
		return fault(http.StatusBadRequest, "The field stop_batch is for saltutil.term_job and saltutil.kill_job")
	}
	_, err := o.client.StopBatch(ctx, r, job.ID(data.Str(r.Arg[0])))
	return err
}

// A batchPlan is a batch as a chunk describes it.
type batchPlan struct {
	batch.Plan
	size string // as written
}

// options are those by which a master runs the batch itself.
func (p batchPlan) options() *data.Map {
	return data.NewMap("batch", p.size, "batch_wait", p.Wait.Seconds(), "failhard", p.Failhard, "timeout", p.Timeout.Seconds(),
		"gather_job_timeout", p.Gather.Seconds())
}

func (o *order) plan(r client.Request) (batchPlan, error) {
	p := batchPlan{size: "50%"}
	if v := o.low.Value("batch"); data.Truth(v) {
		p.size = data.Str(v)
	}
	w, err := o.wait(r.Timeout)
	if err != nil {
		return p, err
	}
	pause, err := o.seconds("batch_wait", 0)
	if err != nil {
		return p, err
	}
	parsed, err := batch.ParseSize(p.size)
	if err != nil {
		return p, because(http.StatusBadRequest, nil, "The field batch must be a number of minions or a percentage: "+err.Error())
	}
	if r.Kwargs.Has("queue") {
		return p, fault(http.StatusBadRequest, "A batch is not queued for absent minions: leave out the field queue or batch")
	}
	p.Plan = batch.Plan{Size: parsed, Wait: pause, Failhard: data.Truth(o.low.Value("failhard")), Timeout: w.Timeout, Gather: w.Gather}
	return p, nil
}

// batch sends a job to a limited number of minions at a time (salt/client/__init__.py, cmd_batch).
// The answer has an item for each minion, in the order of their returns; silent ones are left out.
func (o *order) batch(ctx context.Context) (*Answer, error) {
	r, err := o.request()
	if err != nil {
		return nil, err
	}
	plan, err := o.plan(r)
	if err != nil {
		return nil, err
	}
	t := &batchTaker{missing: data.NewMap(), known: map[string]bool{}, failhard: plan.Failhard}
	t.whole = func(r batch.Return, v any) any { return o.client.Whole(ctx, r.Job, r.Minion, v) }
	without, err := o.client.RunBatch(ctx, r, plan.size, plan.Plan, t, func() bool { return t.over })
	if err != nil {
		answer, err := nobody(err)
		if answer != nil {
			answer.Items, answer.Missing = []any{}, someOf(keyless(r))
		}
		return answer, err
	}
	t.keyless(without)
	return &Answer{Items: t.items, Missing: someOf(t.missing)}, nil
}

// A batchTaker collects the returns of a batch.
type batchTaker struct {
	whole    func(r batch.Return, value any) any // reads what the event bus has trimmed; may be nil
	items    []any
	missing  *data.Map
	known    map[string]bool // minions with a key
	failhard bool
	over     bool
}

var _ batch.Observer = (*batchTaker)(nil)

// Down notes minions that have not answered before the batch.
func (t *batchTaker) Down(ids []string) {
	for _, id := range ids {
		t.Silent(id)
	}
}

// Starting lets minions start.
func (t *batchTaker) Starting([]string) error { return nil }

// Answered takes a return.
func (t *batchTaker) Answered(r batch.Return) {
	v, err := payload.UnmarshalText(r.Load, payload.WireLimits())
	load, ok := v.(*data.Map)
	if err != nil || !ok {
		t.Silent(r.Minion)
		return
	}
	value := load.Value("return")
	if t.whole != nil {
		value = t.whole(r, value)
	}
	t.items = append(t.items, data.NewMap(r.Minion, value))
	t.known[r.Minion] = true
	t.missing.Delete(r.Minion) // it was late
	t.over = t.over || t.failhard && r.Retcode != 0
}

// keyless notes minions without a key. A Salt master does not say which those are: it is the whole list of
// the target.
func (t *batchTaker) keyless(ids []string) {
	for _, id := range ids {
		if !t.known[id] {
			t.missing.Set(id, reasonText(client.Result{Reason: client.NoKey}))
		}
	}
}

// Silent notes a minion that has not answered.
func (t *batchTaker) Silent(id string) {
	t.known[id] = true
	t.missing.Set(id, reasonText(client.Result{Reason: client.NoResponse}))
}

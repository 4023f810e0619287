package syndic

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/clock"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/returners"
)

const (
	orderers   = 4        // orders that are given to the lower master at once
	maxOrders  = 1000     // publications that wait for that
	orderBytes = 64 << 20 // bytes of them
)

// An order is a publication of an upper master.
type order struct {
	from *upper
	pub  *job.Publication
	size int // bytes of the publication
}

// orders order publications of upper masters on the lower master. It is safe for concurrent use.
type orders struct {
	s       *Syndic
	waiting chan order
	bytes   atomic.Int64 // size of the orders in waiting
}

func newOrders(s *Syndic) *orders {
	return &orders{s: s, waiting: make(chan order, maxOrders)}
}

// accept takes a publication, unless it originates from the lower master itself (salt/minion.py,
// Syndic._handle_decoded_payload) or is for the upper master's own minions only. It does not order jobs whose
// returns the upper master would refuse. It reports that, so that clients above learn the reason.
func (o *orders) accept(ord order) {
	jid := ord.pub.JID
	switch {
	case o.s.masterID != "" && ord.pub.MasterID == o.s.masterID:
		return
	case ord.pub.Extra.Value(job.OwnMinions) == true:
		ord.from.log.Debugf("job %s is for the master's own minions", jid)
		return
	case !job.ValidID(jid):
		ord.from.log.Warnf("publication of the master dropped: %.100q is not a job id", jid)
		return
	}
	if why := ord.from.barredBy(); why != "" {
		ord.from.log.Warnf("job %s is not ordered: the master would refuse its returns: %.200s", jid, why)
		ord.from.report(jid, report{problem: "the master refuses the returns of this syndic"})
		return
	}
	if o.bytes.Add(int64(ord.size)) <= orderBytes {
		select {
		case o.waiting <- ord:
			return
		default:
		}
	}
	o.bytes.Add(int64(-ord.size))
	ord.from.log.Errorf("job %s is not ordered: too many jobs wait for the lower master", jid)
	ord.from.report(jid, report{problem: "the syndic has too many jobs that wait for its master"})
}

// run orders the accepted publications until ctx ends.
func (o *orders) run(ctx context.Context) error {
	var all sync.WaitGroup
	for range orderers {
		all.Go(func() { o.work(ctx) })
	}
	all.Wait()
	return ctx.Err()
}

// work takes one order after the other until ctx ends.
func (o *orders) work(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case ord := <-o.waiting:
			o.bytes.Add(int64(-ord.size))
			o.give(ctx, ord)
		}
	}
}

// give orders a job, unless the same order was given before: the steps of a batch of the upper master have
// one id, but different targets. If no minion matches it reports this to the upper master; otherwise the
// lower master fires an event with the minions.
func (o *orders) give(ctx context.Context, ord order) {
	jid := ord.pub.JID
	d, err := digestOf(ord.pub)
	fresh := false
	if err == nil {
		fresh, err = o.s.journal.order(jid, ord.from.address.dir(), d)
	}
	if err == nil && !fresh {
		ord.from.log.Debugf("job %s was ordered before", jid)
		return
	}
	var below *client.Job
	elsewhere := false
	if err == nil {
		below, elsewhere, err = o.place(ctx, ord.pub)
	}
	what := given // also if ctx has ended or no answer came: the job may run
	var silent *client.NoMinionsError
	switch {
	case elsewhere:
		ord.from.log.Infof("Job %s was ordered by another syndic of this master", jid)
	case err == nil:
		ord.from.log.Infof("Ordered job %s", jid)
		if len(below.Absent) > 0 {
			ord.from.report(jid, report{minions: below.Minions, absent: below.Absent})
		}
	case ctx.Err() != nil:
	case errors.As(err, &silent) && isNobody(silent, ord.pub):
		what = nobody
		ord.from.report(jid, report{})
	default:
		if !errors.Is(err, client.ErrTimeout) {
			what = refusal
		}
		ord.from.log.WithError(err).Errorf("order job %s on the lower master", jid)
		ord.from.report(jid, report{problem: err.Error()})
	}
	if fresh {
		o.s.journal.ended(jid, d, what)
	}
}

// place orders a job on the lower master. elsewhere reports that another syndic has ordered it: if the lower
// master is a cluster, each member has a syndic, and all of them get the job.
func (o *orders) place(
	ctx context.Context, pub *job.Publication,
) (below *client.Job, elsewhere bool, err error) {
	below, err = o.publish(ctx, pub)
	end := time.Now().Add(takenTime)
	for pause := takenPause; isTaken(err); pause *= 2 {
		switch o.look(ctx, pub) {
		case placed:
			return nil, true, nil
		case foreign:
			return nil, false, err
		case further: // the master did not know the job when it refused this step
			if below, err = o.publish(ctx, pub); !isTaken(err) {
				return below, false, err
			}
		case unseen:
		}
		if time.Until(end) < pause || clock.Sleep(ctx, pause) != nil {
			break
		}
	}
	return below, false, err
}

const (
	takenTime  = 2 * time.Second       // how far the job cache may be behind the lower master
	takenPause = 20 * time.Millisecond // before the second look there, doubled with each further one
)

// isTaken reports whether the lower master has refused a job because another one has its id.
func isTaken(err error) bool {
	var refused *client.NoMinionsError
	return errors.As(err, &refused) && refused.Taken()
}

// A sight is the state of a job in the job cache of the lower master.
type sight int

const (
	unseen  sight = iota // nothing yet
	placed               // the order
	further              // another step of the same batch
	foreign              // another job
)

// look reads the job with the id of an order from the job cache of the lower master.
func (o *orders) look(ctx context.Context, pub *job.Publication) sight {
	cache := o.s.jobs()
	if cache == nil {
		return foreign
	}
	known, err := cache.Job(ctx, pub.JID)
	if errors.Is(err, returners.ErrUnknownJob) {
		return unseen
	}
	if err != nil {
		o.s.quiet.Warnf(o.s.log, "look", "look up job %s in the job cache: %v", pub.JID, err)
		return unseen
	}
	stored, err := payload.UnmarshalText(known.Load, payload.WireLimits())
	load, ok := stored.(*data.Map)
	if err != nil || !ok {
		return foreign
	}
	r := o.request(pub)
	kwargs, _ := load.Value("kwargs").(*data.Map)
	switch {
	case !data.Equal(load.Value("fun"), r.Fun), !data.Equal(load.Value("arg"), argOf(r)),
		!data.Equal(kwargs.Value("user"), r.Kwargs.Value("user")),
		!data.Equal(kwargs.Value("auth_list"), r.Kwargs.Value("auth_list")):
		return foreign
	case data.Equal(load.Value("tgt"), r.Target) && load.Text("tgt_type") == r.Kind, o.reached(known, pub):
		return placed
	case pub.TargetType == "list": // as each step has
		return further
	}
	return foreign
}

// argOf returns the arguments of a request as a master stores them.
func argOf(r client.Request) []any {
	if r.Arg == nil {
		return []any{}
	}
	return r.Arg
}

// reached reports whether a job includes all minions of the lower master that the target of a step lists. The
// record of a job has the target of the first step and the minions of all steps.
func (o *orders) reached(known *returners.Job, pub *job.Publication) bool {
	ids, isList := pub.Target.([]any)
	below := o.s.inventory.Load()
	if !isList || pub.TargetType != "list" || below == nil {
		return false
	}
	has := map[string]bool{}
	for _, id := range known.Minions {
		has[id] = true
	}
	for _, id := range data.TextsOf(ids) {
		if below.has(id) && !has[id] {
			return false
		}
	}
	return true
}

// publish orders a job on the lower master. It opens a client for each job, since a client that waits
// would have to read the events that it subscribes to.
func (o *orders) publish(ctx context.Context, pub *job.Publication) (*client.Job, error) {
	out, err := o.s.opts.Order(ctx)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	return out.Publish(ctx, o.request(pub))
}

// isNobody reports whether the lower master has refused a job only because no minion matches.
func isNobody(e *client.NoMinionsError, pub *job.Publication) bool {
	return e.Text == client.NobodyMatched ||
		strings.TrimSpace(e.Text) == "Master could not resolve minions for target "+data.Str(pub.Target)
}

// request returns the request for the lower master (salt/minion.py, Syndic.syndic_cmd). It has options
// that Salt's syndic loses.
func (o *orders) request(pub *job.Publication) client.Request {
	kwargs := data.NewMap("auth_list", pub.AuthList)
	if pub.AuthList == nil {
		kwargs.Set("auth_list", []any{})
	}
	for _, f := range []struct {
		name  string
		value any
	}{
		{"master_id", pub.MasterID}, {"user", pub.User}, {"delimiter", pub.Delimiter},
		{"metadata", pub.Metadata}, {"ret_config", pub.RetConfig}, {"ret_kwargs", pub.RetKwargs},
		{"module_executors", pub.ModuleExecutors}, {"executor_opts", pub.ExecutorOpts},
	} {
		if f.value != nil && f.value != "" {
			kwargs.Set(f.name, f.value)
		}
	}
	r := client.Request{Target: pub.Target, Kind: pub.TargetType, Fun: funOf(pub), Arg: pub.Arg, Ret: pub.Ret,
		JID: string(pub.JID), Kwargs: kwargs, Timeout: o.timeout(pub)}
	if r.Kind == "" {
		r.Kind = "glob"
	}
	return r
}

// timeout returns how long the client of the lower master waits for returns: a second less than that of the
// upper master.
func (o *orders) timeout(pub *job.Publication) time.Duration {
	given := o.s.timeout
	if pub.To > 0 {
		given = time.Duration(min(pub.To, 1<<30)) * time.Second
	}
	return max(given-time.Second, time.Second)
}

func funOf(pub *job.Publication) any {
	if !pub.Multi && len(pub.Fun) == 1 {
		return pub.Fun[0]
	}
	return data.Values(pub.Fun)
}

// A report is information about a job that an upper master does not get from events of the lower master.
type report struct {
	minions []string // that the job reaches
	absent  []string // those of them that are not connected
	problem string   // why the lower master did not take the job
}

// report tells the upper master about a job, with the event that otherwise announces its minions.
func (u *upper) report(jid job.ID, r report) {
	about := data.NewMap("minions", data.Values(r.minions))
	if len(r.absent) > 0 {
		about.Set("absent", data.Values(r.absent))
	}
	if r.problem != "" {
		about.Set("problem", r.problem)
	}
	body, err := payload.MarshalBin(about)
	if err == nil {
		var event data.Raw
		if event, err = newEvent(string(jid), body); err == nil {
			u.queue.addEvent(event, math.MaxInt)
			return
		}
	}
	u.log.WithError(fmt.Errorf("report job %s: %w", jid, err)).Error("encode event")
}

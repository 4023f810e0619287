package master

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/cache"
	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/cluster"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/master/batch"
	"github.com/brineproject/brine/master/queue"
)

// batches handles the commands publish_batch, stop_batch and batch_state: batches that run within the
// master. They continue when the client disconnects, and resume after a restart of the master. Salt's
// master has a publish_batch that cannot be called, so the reply shows clients which kind of master
// they use.
type batches struct {
	base
	pub     *publishing
	senders senders
	bank    cache.Bank
	begin   chan *batchJob
	lead    *leadership // nil without a cluster

	mu      sync.Mutex
	running map[job.ID]*batchJob
	resumed bool // running has the batches of an earlier master too
	// interrupted are the batches that a fault of this master ended. They go on when it starts again.
	interrupted map[job.ID]interruptedBatch
	unread      chan struct{} // has an element after a record could not be read

	endsMu sync.Mutex // held while old ends are dropped
}

// An interruptedBatch is a batch that a fault ended, and the body of its event done.
type interruptedBatch struct {
	job *batchJob
	end *data.Map
}

const (
	// batchDir is the directory in the cachedir with the records of batches. The runner cache
	// cannot name it.
	batchDir  = ".batches"
	batchBank = "orders"
	// stopBank has the ids of batches that are to be stopped.
	stopBank = "stops"
	// maxBatches is how many batches run at one time. maxOwned is how many of them may belong to
	// one user without full rights.
	maxBatches = 256
	maxOwned   = 16
)

// errQueuedBatch is the reply to a request for both a batch and the queue.
var errQueuedBatch = errors.New(
	"a batch is not queued for minions that are away: leave out --queue or --batch")

// batchTag returns the tag of an event about a batch.
func batchTag(id job.ID, what string) string { return "salt/batch/" + string(id) + "/" + what }

// A batchJob is a running batch.
type batchJob struct {
	id      job.ID
	load    *data.Map // the publish load, without secrets
	plan    batch.Plan
	run     *batch.Run      // nil until the minions are known
	target  []string        // until then, those it may have; only in a cluster
	owner   queue.Owner     // who ordered the batch
	by      initiator       // the same, for the filter of the bus
	refused error           // why the owner may not continue it, or nil
	halt    context.Context // ends when the batch is stopped
	stop    context.CancelFunc
}

func newBatchJob(id job.ID, load *data.Map, plan batch.Plan, owner queue.Owner) *batchJob {
	j := &batchJob{id: id, load: load, plan: plan, owner: owner, by: initiator{uid: eventbus.NoUser}}
	j.halt, j.stop = context.WithCancel(context.Background())
	return j
}

func newBatches(b base, records cache.Bank, pub *publishing) *batches {
	return &batches{
		base:    b,
		pub:     pub,
		senders: senders{pub.gate},
		bank:    records,
		begin:   make(chan *batchJob),
		running: map[job.ID]*batchJob{},

		interrupted: map[job.ID]interruptedBatch{},
		unread:      make(chan struct{}, 1),
	}
}

// batchCommands returns the commands about batches.
func batchCommands(b *batches) map[string]command {
	return map[string]command{"publish_batch": {do: b.publish}, "stop_batch": {do: b.stop},
		"batch_state": {do: b.state}}
}

// publish starts a batch. The fields are those of publish; kwargs has batch, and may have
// batch_wait, failhard, timeout and gather_job_timeout. The reply is sent before the first job, and
// lists the minions of the target. It is empty if the user's rights come with their password and
// cannot be looked up again at each step. The client then drives the batch itself and logs in for
// each step, as it does with a master that runs no batches.
func (b *batches) publish(ctx context.Context, c *channel.Command) (any, error) {
	who, load, kwargs, err := b.pub.publisherOf(ctx, c)
	if err != nil {
		return refusedPublish(err), nil
	}
	plan, err := planOf(load, kwargs)
	if err != nil {
		return refusal("SaltInvocationError", err.Error()), nil
	}
	ids, missing, err := b.pub.fleet.resolve(load.Value("tgt"), load.Text("tgt_type"),
		kwargs.Text("delimiter"))
	if !b.pub.mayPublish(who, load, ids, c.Caller.Remote) {
		return refusedPublish(auth.ErrNotAuthorized), nil
	}
	if len(ids) == 0 && (!b.pub.orderMasters || err != nil) {
		return b.pub.unmatched(load, err), nil
	}
	id, ok := b.pub.jid(ctx, load.Text("jid"))
	if !ok {
		return clearReply(data.NewMap("error", "Master failed to assign jid")), nil
	}
	owner, err := b.senders.owner(ctx, load, kwargs)
	if err != nil {
		return refusedPublish(err), nil
	}
	if b.senders.authorize(ctx, owner, load, ids) != nil {
		return clearReply(data.NewMap()), nil
	}
	load.Set("jid", string(id))
	j := newBatchJob(id, withoutSecrets(load, kwargs), plan, owner)
	j.by = b.pub.watchers.recordInitiator(id, who, c.Caller.Remote)
	if b.lead != nil {
		j.target = ids
	}
	if err := b.add(ctx, j); err != nil {
		return refusal("SaltClientError", err.Error()), nil
	}
	return clearReply(
		data.NewMap("jid", string(id), "minions", data.Values(ids), "missing", data.Values(missing),
			"batch", true),
	), nil
}

// planOf reads the batch options of a load.
func planOf(load, kwargs *data.Map) (batch.Plan, error) {
	for _, field := range []string{"tgt", "tgt_type", "fun", "user"} {
		if load.Value(field) == nil {
			return batch.Plan{}, fmt.Errorf("%w: %s is missing", errIncomplete, field)
		}
	}
	if data.Truth(kwargs.Value("queue")) {
		return batch.Plan{}, errQueuedBatch
	}
	size, err := batch.ParseSize(data.Str(kwargs.Value("batch")))
	if err != nil {
		return batch.Plan{}, err
	}
	const day = 24 * time.Hour
	return batch.Plan{
		Size:     size,
		Wait:     batch.Seconds(kwargs.Value("batch_wait"), 0, day),
		Failhard: data.Truth(kwargs.Value("failhard")),
		Timeout:  batch.Seconds(kwargs.Value("timeout"), 5*time.Second, day),
		Gather:   batch.Seconds(kwargs.Value("gather_job_timeout"), 10*time.Second, day),
	}, nil
}

// add records a batch on disk and passes it to serve.
func (b *batches) add(ctx context.Context, j *batchJob) error {
	shared, err := b.shared(!j.owner.Full)
	if err != nil {
		return fmt.Errorf("count the batches of the cluster: %w", err)
	}
	b.mu.Lock()
	_, twice := b.running[j.id]
	_, interrupted := b.interrupted[j.id]
	twice = twice || interrupted
	for id, k := range b.running {
		shared[id] = k.owner.Name
	}
	for id, k := range b.interrupted {
		shared[id] = k.job.owner.Name
	}
	full := len(shared) >= maxBatches || !j.owner.Full && owned(shared, j.owner.Name) >= maxOwned
	if !twice && !full {
		b.running[j.id] = j
	}
	b.mu.Unlock()
	switch {
	case twice:
		return fmt.Errorf("batch %s is already running", j.id)
	case full:
		return fmt.Errorf("too many batches are running: the limit is %d, or %d for one user",
			maxBatches, maxOwned)
	}
	if err := b.save(j); err != nil {
		b.drop(j)
		return fmt.Errorf("the batch was not started because it cannot be recorded: %w", err)
	}
	if b.lead != nil { // the leader learns of the record
		b.drop(j)                  // a lead that begins now finds it
		b.changed(batchBank, j.id) // this member may lead already
		return nil
	}
	select {
	case b.begin <- j:
		return nil
	case <-ctx.Done():
		b.forget(j)
		return ctx.Err()
	}
}

// changed heeds a record that a master of the cluster has written, if this one leads: it starts or
// stops the batch.
func (b *batches) changed(bank string, id job.ID) {
	if !b.lead.leads() {
		return
	}
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), arriveTime)
		defer cancel()
		switch bank {
		case batchBank:
			b.arrive(ctx, id)
		case stopBank:
			b.heed(id)
		}
	}()
}

// heed stops a batch that runs here if it is marked. A mark without a batch is removed.
func (b *batches) heed(id job.ID) {
	if !b.marked(id) {
		return
	}
	b.mu.Lock()
	j := b.running[id]
	b.mu.Unlock()
	if j != nil {
		j.stop()
	} else if _, err := b.bank.Fetch(batchBank, string(id)); errors.Is(err, cache.ErrNotFound) {
		b.unmark(id)
	}
}

// mark notes on disk, and on all masters of a cluster, that a batch is to be stopped. The note lasts until
// the batch has ended, whoever runs it.
func (b *batches) mark(id job.ID) error {
	if err := b.bank.Store(stopBank, string(id), []byte("stop")); err != nil {
		return fmt.Errorf("note that batch %s is to be stopped: %w", id, err)
	}
	return nil
}

// marked reports whether a batch is to be stopped.
func (b *batches) marked(id job.ID) bool {
	_, err := b.bank.Fetch(stopBank, string(id))
	if err != nil && !errors.Is(err, cache.ErrNotFound) {
		b.log.WithError(err).Errorf("look whether batch %s is to be stopped", id)
	}
	return err == nil
}

// unmark removes the note that a batch is to be stopped, if there is one.
func (b *batches) unmark(id job.ID) {
	if !b.marked(id) {
		return
	}
	if err := b.bank.Flush(stopBank, string(id)); err != nil {
		b.log.WithError(err).Errorf("drop the note that batch %s is to be stopped", id)
	}
}

// arriveTime is how long a batch waits until this master runs batches.
const arriveTime = 10 * time.Second

// arrive starts a batch that another master of the cluster has taken, if this one leads.
func (b *batches) arrive(ctx context.Context, id job.ID) {
	j, err := b.read(id)
	if err != nil {
		if !errors.Is(err, cache.ErrNotFound) {
			b.log.WithError(err).Errorf("batch %s is not started", id)
			b.tryAgain()
		}
		return
	}
	b.mu.Lock()
	_, interrupted := b.interrupted[id]
	twice := b.running[id] != nil || interrupted
	if !twice {
		b.running[id] = j
	}
	b.mu.Unlock()
	if twice {
		return
	}
	b.admitReader(j)
	select {
	case b.begin <- j:
	case <-ctx.Done():
		b.drop(j)
		b.changed(batchBank, id)
	}
}

// admitReader lets the user who ordered a batch of an earlier master read its events. In a cluster that is
// known of users with a key file alone: a uid is that of the host of one member.
func (b *batches) admitReader(j *batchJob) {
	by := j.by
	if b.lead != nil {
		by.uid = eventbus.NoUser
	}
	if by.name != "" || by.uid != eventbus.NoUser {
		b.pub.watchers.remember(j.id, by)
	}
}

// has reports whether the batch id is running, on this master or on another one of its cluster.
func (b *batches) has(id job.ID) bool { return b.find(id) != nil }

// count returns how many batches are running.
func (b *batches) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.running)
}

// shared returns the batches that the masters of a cluster have recorded, none without a cluster: with
// their owners, or without if they do not matter.
func (b *batches) shared(owners bool) (map[job.ID]string, error) {
	all := map[job.ID]string{}
	if b.lead == nil {
		return all, nil
	}
	ids, err := b.bank.List(batchBank)
	if err != nil {
		return nil, err
	}
	for _, text := range ids {
		id := job.ID(text)
		all[id] = ""
		if !owners {
			continue
		}
		if j, err := b.read(id); err == nil { // the leader drops one that cannot be read
			all[id] = j.owner.Name
		}
	}
	return all, nil
}

// owned returns how many batches belong to a user.
func owned(all map[job.ID]string, owner string) int {
	n := 0
	for _, name := range all {
		if name == owner {
			n++
		}
	}
	return n
}

func (b *batches) drop(j *batchJob) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.running[j.id] == j {
		delete(b.running, j.id)
	}
}

// runsHere reports whether this master runs a batch, or is about to.
func (b *batches) runsHere(j *batchJob) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.running[j.id] == j
}

// forget removes the record of a batch, then the note that it is to be stopped, and drops it.
func (b *batches) forget(j *batchJob) {
	defer b.drop(j)
	if err := b.erase(j.id); err != nil {
		b.log.WithError(err).Error("forget a batch")
	}
}

// erase removes the record of a batch, and then the note that it is to be stopped.
func (b *batches) erase(id job.ID) error {
	if err := b.bank.Flush(batchBank, string(id)); err != nil {
		return fmt.Errorf("drop record of batch %s: %w", id, err)
	}
	b.unmark(id)
	return nil
}

// stop stops a batch: no further minions start, and those at work finish. Only the owner of the
// batch and users with full rights may stop it. With look in kwargs it only reports whether the
// batch is running.
func (b *batches) stop(ctx context.Context, c *channel.Command) (any, error) {
	if err := c.Load.Set("fun", "saltutil.kill_job"); err != nil {
		return nil, err
	}
	who, load, kwargs, err := b.pub.publisherOf(ctx, c)
	if err != nil {
		return refusedPublish(err), nil
	}
	j := b.find(job.ID(load.Text("jid")))
	if j != nil && !who.All() {
		if owner, err := b.senders.owner(ctx, load, kwargs); err != nil || owner.Full ||
			owner.Name != j.owner.Name {
			return refusedPublish(auth.ErrNotAuthorized), nil
		}
	}
	if j != nil && !data.Truth(kwargs.Value("look")) {
		// another master may run it, now or later: one of the cluster, or this one after a restart
		err := b.mark(j.id)
		if err != nil && (b.lead != nil || !b.runsHere(j)) {
			return refusal("SaltClientError", err.Error()), nil
		}
		if err != nil {
			b.log.WithError(err).Error("A batch is stopped, but may go on if this master ends before the batch does")
		}
		j.stop()
		b.heed(j.id)
	}
	return clearReply(data.NewMap("jid", load.Text("jid"), "stopped", j != nil)), nil
}

// find returns a batch that runs on this master, or on another one of its cluster, or nil. A batch that is
// recorded and not resumed yet counts as running, and one that a fault of this master has interrupted.
func (b *batches) find(id job.ID) *batchJob {
	j, err := b.look(id)
	if err != nil {
		b.log.WithError(err).Errorf("look whether batch %s is running", id)
	}
	return j
}

// look is find for callers that heed errors.
func (b *batches) look(id job.ID) (*batchJob, error) {
	b.mu.Lock()
	j, all := b.running[id], b.lead == nil && b.resumed
	if j == nil {
		j = b.interrupted[id].job
	}
	b.mu.Unlock()
	if j != nil || all || !job.ValidID(id) {
		return j, nil
	}
	j, err := b.read(id)
	if errors.Is(err, cache.ErrNotFound) {
		return nil, nil
	}
	return j, err
}

// serve runs batches until ctx ends. It resumes those of an earlier master first, and those whose records
// cannot be read as soon as they can.
func (b *batches) serve(ctx context.Context) error {
	defer b.forgetInterrupted() // whoever serves next goes on with them
	var work sync.WaitGroup
	defer work.Wait()
	begin := func(j *batchJob) { work.Go(func() { b.drive(ctx, j) }) }
	defer b.setResumed(false)
	var again <-chan time.Time // nil if all records were read
	resume := func() {
		again = nil
		found, whole := b.resume()
		for _, j := range found {
			begin(j)
		}
		if !whole {
			again = time.After(rereadPause)
		}
	}
	resume()
	for {
		select {
		case j := <-b.begin:
			begin(j)
		case <-again:
			resume()
		case <-b.unread:
			if again == nil {
				again = time.After(rereadPause)
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// rereadPause is the wait before records that could not be read are read again.
const rereadPause = 10 * time.Second

// tryAgain has serve read the records again after a pause.
func (b *batches) tryAgain() {
	select {
	case b.unread <- struct{}{}:
	default: // it will
	}
}

func (b *batches) setResumed(is bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.resumed = is
}

// resume returns the recorded batches that do not run yet: those that were running when the master ended. A
// record that cannot be read is logged, and dropped if it is damaged. whole reports whether all were read.
func (b *batches) resume() (found []*batchJob, whole bool) {
	marks, err := b.bank.List(stopBank) // before the records: a mark is younger than the record
	if err != nil {
		b.log.WithError(err).Error("list the batches that are to be stopped")
	}
	ids, err := b.bank.List(batchBank)
	if err != nil {
		b.log.WithError(err).Error("list the batches of an earlier master")
	}
	whole = err == nil
	for _, id := range ids {
		if b.knows(job.ID(id)) { // one that ends now has no record when it is not known any more
			continue
		}
		j, err := b.read(job.ID(id))
		if errors.Is(err, cache.ErrNotFound) { // it has ended meanwhile
			continue
		}
		if err != nil {
			b.log.WithError(err).Errorf("batch %s is not resumed", id)
			if errors.Is(err, batch.ErrRecord) {
				b.forget(&batchJob{id: job.ID(id)})
			} else {
				whole = false
			}
			continue
		}
		b.admitReader(j)
		b.mu.Lock()
		if b.running[j.id] == nil {
			b.running[j.id] = j
			found = append(found, j)
		}
		b.mu.Unlock()
	}
	b.setResumed(whole)
	for _, id := range marks {
		b.heed(job.ID(id))
	}
	return found, whole
}

// knows reports whether a batch runs here, or was interrupted by a fault of this master.
func (b *batches) knows(id job.ID) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, interrupted := b.interrupted[id]
	return interrupted || b.running[id] != nil
}

// interrupt notes and announces that a fault of this master has ended a batch.
func (b *batches) interrupt(host *batchHost) {
	end := host.end(errPanic)
	kept := end.Clone()
	kept.Delete("metadata")
	b.mu.Lock()
	b.interrupted[host.job.id] = interruptedBatch{host.job, kept}
	b.mu.Unlock()
	host.fire("done", end)
}

// interruption returns the end of a batch that a fault of this master has ended, or nil.
func (b *batches) interruption(id job.ID) *data.Map {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.interrupted[id].end
}

func (b *batches) forgetInterrupted() {
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.interrupted)
}

// drive runs one batch. If the master or its lead ends first, the record stays on disk: for the next
// start, or for the next leader.
func (b *batches) drive(ctx context.Context, j *batchJob) {
	defer b.drop(j)
	defer j.stop()
	host := &batchHost{b: b, job: j} // until there is one that works
	defer func() {
		if p := recover(); p != nil {
			b.log.Errorf("batch %s: panic: %v\n%s", j.id, p, debug.Stack())
			b.interrupt(host)
		}
	}()
	if !b.refresh(j) {
		return
	}
	if b.marked(j.id) {
		j.stop()
	}
	host = newBatchHost(b, j)
	defer host.Close()
	err := host.work(ctx)
	err = errors.Join(err, j.refused)
	if !deposed(err) {
		err = errors.Join(err, host.mayEnd())
	}
	switch {
	case ctx.Err() != nil, deposed(err):
		return
	case err != nil && !errors.Is(err, batch.ErrStop):
		b.log.WithError(err).Errorf("batch %s ended early", j.id)
	}
	b.finish(ctx, host, host.end(err))
}

// errPanic is in the event done of a batch that is interrupted by a fault of the master.
var errPanic = errors.New("an internal error of the master, which is in its log, interrupted the batch; " +
	"the batch goes on when the master starts again")

// finish keeps the end of a batch, removes its record and announces the end, in this order: a client that
// asks finds either the record or the end. In a cluster it tries until the cluster answers; if the lead ends
// meanwhile, the next leader finishes the batch.
func (b *batches) finish(ctx context.Context, host *batchHost, end *data.Map) {
	kept := host.insist(func() error { return b.keepEnd(host.job, end) })
	if ctx.Err() != nil {
		return
	}
	erased := host.insist(func() error { return b.erase(host.job.id) })
	if ctx.Err() != nil && erased != nil {
		return
	}
	if err := errors.Join(kept, erased); err != nil {
		b.log.WithError(err).Errorf("keep the end of batch %s and remove its record", host.job.id)
	}
	b.drop(host.job)
	host.fire("done", end)
}

// refresh brings a batch to the state of its record: since it was read the batch may have gone on,
// here or on another master of the cluster. It reports false if the batch has ended.
func (b *batches) refresh(j *batchJob) bool {
	if b.lead == nil {
		return true
	}
	is, err := b.read(j.id)
	if err != nil {
		if !errors.Is(err, cache.ErrNotFound) {
			b.log.WithError(err).Errorf("batch %s is not started", j.id)
			b.tryAgain()
		}
		return false
	}
	j.run, j.refused = is.run, is.refused
	return true
}

// deposed reports whether an error says that a later leader of the cluster is at work. It may come
// before the context of the lead ends, as on a virtual machine that was suspended.
func deposed(err error) bool {
	return errors.Is(err, cluster.ErrStale) || errors.Is(err, errNotLeading)
}

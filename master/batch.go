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
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/master/batch"
	"github.com/brineproject/brine/master/queue"
)

// batches handles the commands publish_batch and stop_batch: batches that run within the master.
// They continue when the client disconnects, and resume after a restart of the master. Salt's
// master has a publish_batch that cannot be called, so the reply shows clients which kind of master
// they use.
type batches struct {
	base
	pub     *publishing
	senders senders
	bank    cache.Bank
	begin   chan *batchJob

	mu      sync.Mutex
	running map[job.ID]*batchJob
}

const (
	// batchDir is the directory in the cachedir with the records of batches. The runner cache
	// cannot name it.
	batchDir  = ".batches"
	batchBank = "orders"
	// maxBatches is how many batches run at one time. maxOwned is how many of them may belong to
	// one user without full rights.
	maxBatches = 256
	maxOwned   = 16
)

// errQueuedBatch is the reply to a request for both a batch and the queue.
var errQueuedBatch = errors.New("a batch is not queued for minions that are away: leave out --queue or --batch")

// batchTag returns the tag of an event about a batch.
func batchTag(id job.ID, what string) string { return "salt/batch/" + string(id) + "/" + what }

// A batchJob is a running batch.
type batchJob struct {
	id      job.ID
	load    *data.Map // the publish load, without secrets
	plan    batch.Plan
	run     *batch.Run      // nil until the minions are known
	owner   queue.Owner     // who ordered the batch
	refused error           // why the owner may not continue it, or nil
	halt    context.Context // ends when the batch is stopped
	stop    context.CancelFunc
}

func newBatchJob(id job.ID, load *data.Map, plan batch.Plan, owner queue.Owner) *batchJob {
	j := &batchJob{id: id, load: load, plan: plan, owner: owner}
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
	}
}

// batchCommands returns the commands about batches.
func batchCommands(b *batches) map[string]command {
	return map[string]command{"publish_batch": {do: b.publish}, "stop_batch": {do: b.stop}}
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
	if len(ids) == 0 {
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
	b.pub.watchers.recordInitiator(id, who, c.Caller.Remote)
	j := newBatchJob(id, withoutSecrets(load, kwargs), plan, owner)
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
	b.mu.Lock()
	_, twice := b.running[j.id]
	full := len(b.running) >= maxBatches || !j.owner.Full && b.owned(j.owner.Name) >= maxOwned
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
	select {
	case b.begin <- j:
		return nil
	case <-ctx.Done():
		b.forget(j)
		return ctx.Err()
	}
}

// has reports whether the batch id is running.
func (b *batches) has(id job.ID) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.running[id] != nil
}

// count returns how many batches are running.
func (b *batches) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.running)
}

// owned returns how many batches of a user are running. The caller holds mu.
func (b *batches) owned(owner string) int {
	n := 0
	for _, j := range b.running {
		if j.owner.Name == owner {
			n++
		}
	}
	return n
}

func (b *batches) drop(j *batchJob) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.running, j.id)
}

// forget drops a batch and its record.
func (b *batches) forget(j *batchJob) {
	b.drop(j)
	if err := b.bank.Flush(batchBank, string(j.id)); err != nil {
		b.log.WithError(err).Errorf("drop record of batch %s", j.id)
	}
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
	b.mu.Lock()
	j := b.running[job.ID(load.Text("jid"))]
	b.mu.Unlock()
	if j != nil && !who.All() {
		if owner, err := b.senders.owner(ctx, load, kwargs); err != nil || owner.Full ||
			owner.Name != j.owner.Name {
			return refusedPublish(auth.ErrNotAuthorized), nil
		}
	}
	if j != nil && !data.Truth(kwargs.Value("look")) {
		j.stop()
	}
	return clearReply(data.NewMap("jid", load.Text("jid"), "stopped", j != nil)), nil
}

// serve runs batches until ctx ends. It resumes those of an earlier master first.
func (b *batches) serve(ctx context.Context) error {
	var work sync.WaitGroup
	defer work.Wait()
	begin := func(j *batchJob) { work.Go(func() { b.drive(ctx, j) }) }
	for _, j := range b.resume() {
		begin(j)
	}
	for {
		select {
		case j := <-b.begin:
			begin(j)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// resume reads the batches that were running when the master ended. A record that cannot be read is
// logged and dropped.
func (b *batches) resume() []*batchJob {
	ids, err := b.bank.List(batchBank)
	if err != nil {
		b.log.WithError(err).Error("list the batches of an earlier master")
	}
	var found []*batchJob
	for _, id := range ids {
		j, err := b.read(job.ID(id))
		if err != nil {
			b.log.WithError(err).Errorf("batch %s is not resumed", id)
			b.forget(&batchJob{id: job.ID(id)})
			continue
		}
		b.mu.Lock()
		if b.running[j.id] == nil {
			b.running[j.id] = j
			found = append(found, j)
		}
		b.mu.Unlock()
	}
	return found
}

// drive runs one batch. If the master ends first, its record stays on disk for the next start.
func (b *batches) drive(ctx context.Context, j *batchJob) {
	defer func() {
		if p := recover(); p != nil {
			b.log.Errorf("batch %s: panic: %v\n%s", j.id, p, debug.Stack())
			b.drop(j)
		}
	}()
	defer j.stop()
	host := newBatchHost(b, j)
	defer host.Close()
	err := errors.Join(host.work(ctx), j.refused)
	switch {
	case ctx.Err() != nil:
		b.drop(j)
		return
	case err != nil && !errors.Is(err, batch.ErrStop):
		b.log.WithError(err).Errorf("batch %s ended early", j.id)
	}
	b.forget(j)
	host.done(err)
}

package master

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/cache"
	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/master/batch"
	"github.com/brineproject/brine/master/queue"
)

// batches does the commands publish_batch and stop_batch: batches that run within the master. They outlast who ordered them, and
// are taken up again when the master was restarted. Salt's master has a command of the first name that cannot be called, so a
// client knows by the answer which master it speaks to.
type batches struct {
	pub     *publishing
	senders senders
	bank    cache.Bank
	begin   chan *batchJob
	now     func() time.Time
	log     logrus.FieldLogger

	mu      sync.Mutex
	running map[job.ID]*batchJob
}

const (
	// batchFolder is where the records of batches lie in the cachedir. The runner cache cannot name it.
	batchFolder = ".batches"
	batchBank   = "orders"
	// maxBatches is how many batches run at one time, and maxOwned how many of one user who may not do everything.
	maxBatches = 256
	maxOwned   = 16
)

// errQueuedBatch is the answer to who asks for a batch and for the queue.
var errQueuedBatch = errors.New("a batch is not queued for minions that are away: leave out --queue or --batch")

// batchTag is the tag of an event about a batch.
func batchTag(id job.ID, what string) string { return "salt/batch/" + string(id) + "/" + what }

// A batchJob is one batch that is under way.
type batchJob struct {
	id      job.ID
	load    *data.Map // of the publish, without secrets
	plan    batch.Plan
	run     *batch.Run      // nil when it has not begun
	owner   queue.Owner     // who ordered it
	refused error           // why who ordered it may not go on with it
	halt    context.Context // ends when the batch is to be stopped
	stop    context.CancelFunc
}

func newBatchJob(id job.ID, load *data.Map, plan batch.Plan, owner queue.Owner) *batchJob {
	j := &batchJob{id: id, load: load, plan: plan, owner: owner}
	j.halt, j.stop = context.WithCancel(context.Background())
	return j
}

func newBatches(p *parts, pub *publishing) *batches {
	return &batches{pub: pub, senders: senders{p.gate}, bank: p.batches, begin: make(chan *batchJob), now: p.o.Now, log: p.o.Log, running: map[job.ID]*batchJob{}}
}

// batchCommands are the commands about batches.
func batchCommands(b *batches) map[string]command {
	return map[string]command{"publish_batch": {do: b.publish}, "stop_batch": {do: b.stop}}
}

// publish takes an order for a batch. The fields are those of publish; kwargs has batch, and may have batch_wait, failhard, timeout
// and gather_job_timeout. The reply comes before anything is sent, with the minions that the target names. It is empty for a
// user whose rights come with their password alone and cannot be looked up at each step: as beside a master that runs no batches, their
// client drives the batch and logs in for each.
func (b *batches) publish(ctx context.Context, c *channel.Command) (any, error) {
	who, load, kwargs, err := b.pub.publisherOf(ctx, c)
	if err != nil {
		return refusedPublish(err), nil
	}
	plan, err := planOf(load, kwargs)
	if err != nil {
		return refusal("SaltInvocationError", err.Error()), nil
	}
	ids, missing, err := b.pub.fleet.resolve(load.Value("tgt"), load.Text("tgt_type"), kwargs.Text("delimiter"))
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
	owner, err := b.senders.of(ctx, load, kwargs)
	if err != nil {
		return refusedPublish(err), nil
	}
	if b.senders.may(ctx, owner, load, ids) != nil {
		return clearReply(data.NewMap()), nil
	}
	load.Set("jid", string(id))
	b.pub.watchers.note(id, who, c.Caller.Remote)
	j := newBatchJob(id, withoutSecrets(load, kwargs), plan, owner)
	if err := b.add(ctx, j); err != nil {
		return refusal("SaltClientError", err.Error()), nil
	}
	return clearReply(data.NewMap("jid", string(id), "minions", data.Values(ids), "missing", data.Values(missing), "batch", true)), nil
}

// planOf reads what a load says of its batch.
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
	return batch.Plan{Size: size, Wait: span(kwargs.Value("batch_wait"), 0), Failhard: data.Truth(kwargs.Value("failhard")),
		Timeout: span(kwargs.Value("timeout"), 5*time.Second), Gather: span(kwargs.Value("gather_job_timeout"), 10*time.Second)}, nil
}

// span returns a number of seconds, no more than a day.
func span(v any, otherwise time.Duration) time.Duration {
	var s float64
	switch v := v.(type) {
	case int64:
		s = float64(v)
	case float64:
		s = v
	}
	if !(s > 0) {
		return otherwise
	}
	return time.Duration(math.Min(s, 24*3600) * float64(time.Second))
}

// add writes a batch down and hands it to the part that runs batches.
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
		return fmt.Errorf("batch %s is under way", j.id)
	case full:
		return fmt.Errorf("as many batches are under way as can be: %d, or %d of one user", maxBatches, maxOwned)
	}
	if err := b.save(j); err != nil {
		b.drop(j)
		return fmt.Errorf("the batch was not begun since it cannot be recorded: %w", err)
	}
	select {
	case b.begin <- j:
		return nil
	case <-ctx.Done():
		b.forget(j)
		return ctx.Err()
	}
}

// has reports whether a batch with an id is under way.
func (b *batches) has(id job.ID) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.running[id] != nil
}

// count returns how many batches are under way.
func (b *batches) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.running)
}

// owned counts the batches of a user. The caller holds mu.
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

// stop lets a batch start no further minions. Those at work end theirs. Only who ordered a batch, and who may do everything, may stop it.
// With look among the kwargs it only tells whether the batch is under way.
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
		if owner, err := b.senders.of(ctx, load, kwargs); err != nil || owner.Full || owner.Name != j.owner.Name {
			return refusedPublish(auth.ErrNotAuthorized), nil
		}
	}
	if look := data.Truth(kwargs.Value("look")); j != nil && !look {
		j.stop()
	}
	return clearReply(data.NewMap("jid", load.Text("jid"), "stopped", j != nil)), nil
}

// serve runs batches until ctx ends, those first that an earlier master began.
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

// resume reads the batches that were under way when the master ended. A record that cannot be read is dropped, with a line in the log.
func (b *batches) resume() []*batchJob {
	ids, err := b.bank.List(batchBank)
	if err != nil {
		b.log.WithError(err).Error("batches that were under way cannot be looked for")
	}
	var found []*batchJob
	for _, id := range ids {
		j, err := b.read(job.ID(id))
		if err != nil {
			b.log.WithError(err).Errorf("batch %s is not taken up again", id)
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

// drive runs one batch. What is not done when the master ends stays on disk, for its next start.
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
		b.log.WithError(err).Errorf("batch %s ended before its time", j.id)
	}
	b.forget(j)
	host.done(err)
}

package master

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/cache"
	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/master/batch"
	"github.com/brineproject/brine/master/queue"
	"github.com/brineproject/brine/payload"
)

// endBank has the ends of the latest batches, for clients that have missed the event done.
const endBank = "ends"

// maxEnds is how many ends are kept.
const maxEnds = maxBatches

// keepEnd records how a batch ended, without the user's metadata, and drops the oldest such record if there
// are too many.
func (b *batches) keepEnd(j *batchJob, end *data.Map) error {
	end = end.Clone()
	end.Delete("metadata")
	raw, err := payload.MarshalBin(data.NewMap("owner", j.owner.Name, "full", j.owner.Full, "end", end))
	if err == nil {
		err = b.bank.Store(endBank, string(j.id), raw)
	}
	if err != nil {
		return fmt.Errorf("record the end of batch %s: %w", j.id, err)
	}
	return b.dropOldEnd()
}

// dropOldEnd drops the record that was written first if more than maxEnds are kept.
func (b *batches) dropOldEnd() error {
	ids, err := b.bank.List(endBank)
	if err != nil || len(ids) <= maxEnds {
		return err
	}
	var oldest string
	var first time.Time
	for _, id := range ids {
		at, err := b.bank.Updated(endBank, id)
		if err != nil {
			continue // another batch has dropped it
		}
		if oldest == "" || at.Before(first) {
			oldest, first = id, at
		}
	}
	if oldest == "" {
		return nil
	}
	if err := b.bank.Flush(endBank, oldest); err != nil {
		return fmt.Errorf("drop the end of batch %s: %w", oldest, err)
	}
	return nil
}

// readEnd returns how a batch ended, and who owned it. The end is nil if it is not known.
func (b *batches) readEnd(id job.ID) (end *data.Map, owner queue.Owner, err error) {
	raw, err := b.bank.Fetch(endBank, string(id))
	switch {
	case errors.Is(err, cache.ErrNotFound):
		return nil, owner, nil
	case err != nil:
		return nil, owner, fmt.Errorf("read the end of batch %s: %w", id, err)
	}
	v, err := payload.UnmarshalText(raw, payload.WireLimits())
	m, ok := v.(*data.Map)
	if err == nil && !ok {
		err = batch.ErrRecord
	}
	if err != nil {
		return nil, owner, fmt.Errorf("read the end of batch %s: %w", id, err)
	}
	end, _ = m.Value("end").(*data.Map)
	return end, queue.Owner{Name: m.Text("owner"), Full: m.Value("full") == true}, nil
}

// state handles the command batch_state, which Salt does not have: a client that may have missed events asks
// whether the batch `jid` still runs. `running` says so, and `end` is the body of the event done if the
// master still knows it. Users who may read the job's events get the answer, and the owner of the batch.
func (b *batches) state(ctx context.Context, c *channel.Command) (any, error) {
	claim, err := credentialsOf(c)
	var who *auth.Identity
	if err == nil {
		who, err = b.pub.gate.Identify(ctx, claim)
	}
	text, _ := c.Load.Text("jid")
	id := job.ID(text)
	var running bool
	var end *data.Map
	if err == nil {
		running, end, err = b.stateFor(ctx, c, id, who)
	}
	switch {
	case errors.Is(err, auth.ErrNotAuthenticated), errors.Is(err, auth.ErrNotAuthorized):
		b.pub.gate.logRefusal("batch_state", claim.Kind, c.Caller.Remote)
		return refusedPublish(err), nil
	case err != nil:
		return refusal("SaltClientError", err.Error()), nil
	}
	reply := data.NewMap("jid", text, "running", running)
	if end != nil {
		reply.Set("end", end)
	}
	return clearReply(reply), nil
}

// stateFor returns the state of a batch for a user. A batch that has ended has no record, and one whose
// record could not be removed has ended too.
func (b *batches) stateFor(
	ctx context.Context, c *channel.Command, id job.ID, who *auth.Identity,
) (running bool, end *data.Map, err error) {
	var j *batchJob
	var owner queue.Owner
	if job.ValidID(id) {
		j, err = b.look(id)
	}
	if err == nil && job.ValidID(id) {
		end, owner, err = b.readEnd(id)
	}
	if j != nil {
		owner = j.owner
	}
	if !b.pub.watchers.mayRead(id, who, c.Caller.Remote) && !b.owns(ctx, c, owner) {
		return false, nil, auth.ErrNotAuthorized
	}
	return j != nil && end == nil, end, err
}

// owns reports whether the sender of a request is the owner of a batch. Its owner may have ordered it with
// a login, of which nothing but the owner's name outlasts a restart of the master.
func (b *batches) owns(ctx context.Context, c *channel.Command, owner queue.Owner) bool {
	if owner.Full || owner.Name == "" {
		return false
	}
	load := loadMap(c.Load)
	asking, err := b.senders.owner(ctx, load, kwargsOf(load))
	return err == nil && !asking.Full && asking.Name == owner.Name
}

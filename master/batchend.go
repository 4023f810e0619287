package master

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
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

// keepEnd records how a batch ended, without the user's metadata, and drops the oldest such records if there
// are too many. It names each minion once, as the record of the batch did, so that it fits where that did.
func (b *batches) keepEnd(j *batchJob, end *data.Map) error {
	end = briefEnd(end)
	end.Delete("metadata")
	raw, err := payload.MarshalBin(data.NewMap("owner", j.owner.Name, "full", j.owner.Full, "end", end))
	if err == nil {
		err = b.bank.Store(endBank, string(j.id), raw)
	}
	if err != nil {
		return fmt.Errorf("record the end of batch %s: %w", j.id, err)
	}
	return b.dropOldEnds(j.id)
}

// briefEnd returns the end of a batch with each minion in one list. Those in available_minions alone are in
// unfinished_minions.
func briefEnd(end *data.Map) *data.Map {
	end = end.Clone()
	failed := data.TextsOf(end.Value("failed_minions"))
	done := missingFrom(data.TextsOf(end.Value("done_minions")), failed)
	unfinished := missingFrom(data.TextsOf(end.Value("available_minions")), done, failed,
		data.TextsOf(end.Value("timedout_minions")), data.TextsOf(end.Value("not_started")))
	end.Delete("available_minions")
	end.Set("done_minions", data.Values(done))
	end.Set("unfinished_minions", data.Values(unfinished))
	return end
}

// wholeEnd makes of what briefEnd returned what it was made of. Ends of earlier versions are whole.
func wholeEnd(end *data.Map) {
	if !end.Has("unfinished_minions") {
		return
	}
	done := slices.Concat(data.TextsOf(end.Value("done_minions")), data.TextsOf(end.Value("failed_minions")))
	end.Set("done_minions", data.Values(done))
	end.Set("available_minions", data.Values(slices.Concat(done, data.TextsOf(end.Value("timedout_minions")),
		data.TextsOf(end.Value("unfinished_minions")), data.TextsOf(end.Value("not_started")))))
	end.Delete("unfinished_minions")
}

// missingFrom returns those of ids that are in none of the other lists.
func missingFrom(ids []string, others ...[]string) []string {
	drop := map[string]bool{}
	for _, id := range slices.Concat(others...) {
		drop[id] = true
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return drop[id] })
}

// dropOldEnds drops the records that were written first until maxEnds are left. The record of latest stays.
func (b *batches) dropOldEnds(latest job.ID) error {
	b.endsMu.Lock()
	defer b.endsMu.Unlock()
	ids, err := b.bank.List(endBank)
	if err != nil || len(ids) <= maxEnds {
		return err
	}
	written := map[string]time.Time{}
	for _, id := range ids {
		at, err := b.bank.Updated(endBank, id)
		if err == nil && id != string(latest) { // else a former leader of the cluster has dropped it
			written[id] = at
		}
	}
	old := slices.SortedStableFunc(maps.Keys(written), func(x, y string) int {
		return cmp.Or(written[x].Compare(written[y]), cmp.Compare(x, y))
	})
	for _, id := range old[:min(len(ids)-maxEnds, len(old))] {
		if err := b.bank.Flush(endBank, id); err != nil {
			return fmt.Errorf("drop the end of batch %s: %w", id, err)
		}
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
	if end, _ = m.Value("end").(*data.Map); end != nil {
		wholeEnd(end)
	}
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

// stateFor returns the state of a batch for a user. The owner of a batch can read its events from then on: a
// restart may have made the master forget who ordered it.
func (b *batches) stateFor(
	ctx context.Context, c *channel.Command, id job.ID, who *auth.Identity,
) (running bool, end *data.Map, err error) {
	running, end, owner, err := b.stateOf(id)
	if b.pub.watchers.mayRead(id, who, c.Caller.Remote) {
		return running, end, err
	}
	if !b.owns(ctx, c, owner) {
		return false, nil, auth.ErrNotAuthorized
	}
	b.pub.watchers.recordOwner(id, who, c.Caller.Remote)
	running, end, _, err = b.stateOf(id) // an event done from before was not for the owner's eyes
	return running, end, err
}

// stateOf returns the state of a batch and its owner. A batch that has ended has no record, and one whose
// record could not be removed has ended too.
func (b *batches) stateOf(id job.ID) (running bool, end *data.Map, owner queue.Owner, err error) {
	if !job.ValidID(id) {
		return false, nil, owner, nil
	}
	j, err := b.look(id)
	if err == nil {
		end, owner, err = b.readEnd(id)
	}
	if j != nil {
		owner = j.owner
	}
	if interrupted := b.interruption(id); interrupted != nil {
		end = interrupted
	}
	return j != nil && end == nil, end, owner, err
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

package master

import (
	"errors"
	"fmt"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/cluster"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/master/batch"
	"github.com/brineproject/brine/master/queue"
)

// save records the state of a batch on disk, and in the cluster. The first record has all minions of the
// target, so that a batch whose records are too large for the cluster is refused before it begins.
func (b *batches) save(j *batchJob) error {
	run := j.run
	if run == nil {
		run = batch.NewRun(j.plan, j.target)
	}
	order := data.NewMap("load", j.load, "owner", j.owner.Name, "full", j.owner.Full,
		"rights", j.owner.Rights, "gathered", j.run != nil,
		"reader", data.NewMap("name", j.by.name, "uid", int64(j.by.uid)))
	if j.refused != nil {
		order.Set("refused", j.refused.Error())
	}
	raw, err := run.Marshal(order)
	if err != nil {
		return fmt.Errorf("record batch %s: %w", j.id, err)
	}
	err = b.bank.Store(batchBank, string(j.id), raw)
	if errors.Is(err, cluster.ErrTooLarge) {
		return fmt.Errorf("a batch for %d minions is too large for the cluster: order it in parts, "+
			"or raise max_payload of the NATS servers: %w", minionsOf(run), err)
	}
	return err
}

// minionsOf returns how many minions a run has.
func minionsOf(run *batch.Run) int {
	n := len(run.Waiting()) + len(run.Active())
	for _, how := range []batch.Ending{batch.Answered, batch.Failed, batch.Silent} {
		n += len(run.Ended(how))
	}
	return n
}

// read returns a batch as save recorded it.
func (b *batches) read(id job.ID) (*batchJob, error) {
	raw, err := b.bank.Fetch(batchBank, string(id))
	if err != nil {
		return nil, err
	}
	run, order, err := batch.Unmarshal(raw)
	if err != nil {
		return nil, err
	}
	load, ok := order.Value("load").(*data.Map)
	if !ok {
		return nil, fmt.Errorf("%w: it has no load", batch.ErrRecord)
	}
	owner, err := b.ownerIn(order, load)
	if err != nil {
		return nil, fmt.Errorf("%w: its owner: %w", batch.ErrRecord, err)
	}
	j := newBatchJob(id, load, run.Plan(), owner)
	if text := order.Text("refused"); text != "" {
		j.refused = errors.New(text)
	}
	if reader, ok := order.Value("reader").(*data.Map); ok {
		j.by.name = reader.Text("name")
		if uid, ok := reader.Value("uid").(int64); ok {
			j.by.uid = int(uid)
		}
	}
	if data.Truth(order.Value("gathered")) {
		j.run = run
	}
	return j, nil
}

// ownerIn returns the owner in a record. Older records have only a name: the owner then has the
// current rights of that name, or full rights for the master's user.
func (b *batches) ownerIn(order, load *data.Map) (queue.Owner, error) {
	name := order.Text("owner")
	if order.Has("full") {
		rights, _ := order.Value("rights").([]byte)
		return queue.Owner{Name: name, Full: order.Value("full") == true, Rights: rights}, nil
	}
	kwargs := kwargsOf(load)
	standing := auth.Standing{Name: name, Kind: auth.ByKey}
	if system := kwargs.Text("eauth"); system != "" {
		standing.Kind, standing.System = auth.ByEauth, system
	} else if name == b.pub.fleet.settings.config().User {
		return queue.Owner{Name: name, Full: true}, nil
	}
	return ownerOf(standing)
}

package master

import (
	"context"
	"errors"
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/master/queue"
	"github.com/brineproject/brine/returners"
)

// republish publishes a job again, for some of its minions.
func (p *publishing) republish(
	ctx context.Context, item queue.Item, load *data.Map, minions ...string,
) error {
	pub, err := p.prepare(ctx, item, load, minions...)
	if err != nil {
		return err
	}
	return p.sendAgain(ctx, pub, minions, false)
}

// sendAgain sends a publication of an earlier job to minions. queued says that it comes from the
// queue, which sends a job to a Salt minion once.
func (p *publishing) sendAgain(
	ctx context.Context, pub *job.Publication, minions []string, queued bool,
) error {
	if p.cluster != nil {
		return p.cluster.again(ctx, pub, minions, queued)
	}
	return p.publisher.Publish(pub, minions, 0)
}

// sendNew sends a job under a new id.
func (p *publishing) sendNew(ctx context.Context, load, kwargs *data.Map, to recipients) error {
	for {
		load.Set("jid", string(p.ids.Next()))
		_, err := p.send(ctx, load, kwargs, to)
		if !errors.Is(err, errTaken) {
			return err
		}
	}
}

// prepare returns the publication of a job for some of its minions. If its record was dropped
// meanwhile, prepare makes a new one for the returns.
func (p *publishing) prepare(
	ctx context.Context, item queue.Item, load *data.Map, minions ...string,
) (*job.Publication, error) {
	kwargs := kwargsOf(load).Clone()
	kwargs.Delete("delimiter") // the target is a list
	load.Set("tgt", data.Values(minions))
	load.Set("tgt_type", "list")
	pub, err := p.publication(load, kwargs, nil)
	if err != nil {
		return nil, err
	}
	if p.orderMasters {
		keepOwn(pub)
	}
	if _, err := p.jobs.Job(ctx, item.ID); errors.Is(err, returners.ErrUnknownJob) {
		err = p.jobs.SaveJob(
			ctx,
			&returners.Job{ID: item.ID, Load: item.Load, Minions: item.Minions,
				NoCache: !p.keepJobs,
				Started: p.now()},
		)
		if err != nil {
			return nil, err
		}
	}
	return pub, nil
}

// ping pings minions so that those that are back sign in.
func (p *publishing) ping(ctx context.Context, minions []string) {
	load := data.NewMap("cmd", "publish", "tgt", data.Values(minions), "fun", "test.ping",
		"arg", []any{}, "tgt_type", "list", "ret", "", "user", p.fleet.settings.config().User)
	if err := p.sendNew(ctx, load, nil, recipients{ids: minions, own: true}); err != nil {
		p.log.WithError(err).Error("ping minions with queued jobs")
	}
}

// pingConnected pings minions so that they notice a new session key (salt/utils/master.py,
// ping_all_connected_minions). With known, only connected minions are pinged.
func (p *publishing) pingConnected(ctx context.Context, who *presence, known bool) {
	load := data.NewMap("cmd", "publish", "tgt", "*", "fun", "test.ping", "arg", []any{},
		"tgt_type", "glob", "ret", "", "user", p.fleet.settings.config().User)
	if known {
		load.Set("tgt", data.Values(who.Connected()))
		load.Set("tgt_type", "list")
	}
	ids, missing, err := p.fleet.resolve(load.Value("tgt"), load.Text("tgt_type"), "")
	if err == nil && len(ids) > 0 {
		err = p.sendNew(ctx, load, nil, recipients{ids: ids, missing: missing, own: true})
	}
	if err != nil {
		p.log.WithError(err).Error("ping minions after rotating the session key")
	}
}

// ask asks minions whether they run a job.
func (p *publishing) ask(ctx context.Context, about job.ID, minions []string) error {
	load := data.NewMap("cmd", "publish", "tgt", data.Values(minions), "fun", "saltutil.find_job",
		"arg", []any{string(about)}, "tgt_type", "list", "ret", "", "user",
		p.fleet.settings.config().User)
	if err := p.sendNew(ctx, load, nil, recipients{ids: minions, own: true}); err != nil {
		return fmt.Errorf("ask who runs job %s: %w", about, err)
	}
	return nil
}

// announceMissed fires the event that a minion missed a job, for clients that wait for it.
func (p *publishing) announceMissed(id job.ID, minion, why string) {
	news := data.NewMap("id", minion, "jid", string(id), "reason", why)
	if err := p.bus.Fire(eventbus.Tagify("job", string(id), "missed", minion), news); err != nil {
		p.log.WithError(err).Errorf("announce that minion %s missed job %s", minion, id)
	}
}

package cli

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// An Order gives an order to a master on this host, as loader.Host says.
type Order func(ctx context.Context, order *data.Map, yield func(id string, answer *data.Map) bool) error

// OrderOf returns how functions of a minion give orders to the master whose configuration lies beside the minion's
// (salt/modules/saltutil.py, cmd). The error of an order is client.ErrNoMaster where no master runs.
func OrderOf(minion *config.Minion, env func(string) string) Order {
	return orderBy(func() (*config.Master, error) {
		cfg, _, err := config.LoadMaster(filepath.Dir(minion.ConfFile), env)
		return cfg, err
	}, env)
}

// MasterOrder returns how runners give orders to the master with this configuration.
func MasterOrder(cfg *config.Master, env func(string) string) Order {
	return orderBy(func() (*config.Master, error) { return cfg, nil }, env)
}

func orderBy(load func() (*config.Master, error), env func(string) string) Order {
	return func(ctx context.Context, order *data.Map, yield func(id string, answer *data.Map) bool) error {
		cfg, err := load()
		if err != nil {
			return err
		}
		s := &saltRun{o: &SaltOptions{Target: order.Value("tgt"), TargetKind: order.Text("tgt_type")}, cfg: cfg, opts: cfg.Map().Clone(), in: Invocation{Env: env}}
		if gather := order.Value("gather_job_timeout"); gather != nil {
			s.opts.Set("gather_job_timeout", gather)
		}
		if order.Value("timeout") != nil {
			seconds, err := loader.Int(order.Value("timeout"))
			if err != nil {
				return err
			}
			s.o.Timeout = min(max(seconds, 1), 1<<30)
		}
		if kind := order.Text("client"); kind != "" {
			return s.control(ctx, kind, order, yield)
		}
		return s.order(ctx, order, yield)
	}
}

// control has the master call one of its own functions, and hands on the job.
func (s *saltRun) control(ctx context.Context, kind string, order *data.Map, yield func(id string, answer *data.Map) bool) error {
	wire, err := HostWire(s.opts)
	if err != nil {
		return err
	}
	requester := wire.Request(s.dialMaster())
	defer requester.Close()
	local, err := client.Open(ctx, s.clientOptions(requester))
	if err != nil {
		return err
	}
	defer local.Close()
	arg, _ := order.Value("arg").([]any)
	kwarg, _ := order.Value("kwarg").(*data.Map)
	job, err := local.Control(ctx, kind, order.Text("fun"), arg, kwarg)
	if err == nil {
		yield("", job)
	}
	return err
}

// order publishes an order and hands on the answers.
func (s *saltRun) order(ctx context.Context, order *data.Map, yield func(id string, answer *data.Map) bool) error {
	arg, _ := order.Value("arg").([]any)
	r := client.Request{Fun: order.Value("fun"), Arg: arg, Ret: order.Text("ret"), JID: order.Text("jid"), Timeout: s.timeout()}
	var err error
	if r.Target, r.Kind, err = s.target(); err != nil {
		return err
	}
	wire, err := HostWire(s.opts)
	if err != nil {
		return err
	}
	requester := wire.Request(s.dialMaster())
	defer requester.Close()
	local, err := client.Open(ctx, s.clientOptions(requester))
	if err != nil {
		return err
	}
	defer local.Close()
	job, err := local.Publish(ctx, r)
	var nobody *client.NoMinionsError
	if errors.As(err, &nobody) {
		return nil
	}
	if err != nil {
		return err
	}
	silent := order.Value("silent") == true
	for result, err := range local.Results(ctx, job, s.wait(silent)) {
		switch {
		case err != nil:
			return err
		case result.Missing && (!silent || result.Reason == client.NoKey):
		case !yield(result.ID, orderAnswer(job, result)):
			return nil
		}
	}
	return nil
}

// orderAnswer returns an answer in the form of Salt's clients (salt/client/__init__.py, get_iter_returns).
func orderAnswer(job *client.Job, r client.Result) *data.Map {
	if r.Missing {
		return nil
	}
	m := data.NewMap("ret", r.Value)
	if r.Out != "" {
		m.Set("out", r.Out)
	}
	if r.Retcode != nil {
		m.Set("retcode", r.Retcode)
	}
	m.Set("jid", string(job.ID))
	return m
}

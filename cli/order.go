package cli

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/runners"
)

// An Order gives an order to a master on this host, as loader.Host says.
type Order func(ctx context.Context, order *data.Map, yield func(id string, answer *data.Map) bool) error

// OrderOf returns how functions of a minion give orders to the master whose configuration lies beside the minion's
// (salt/modules/saltutil.py, cmd). The error of an order is client.ErrNoMaster where no master runs.
func OrderOf(minion *config.Minion, env func(string) string) Order {
	return orderBy(func() (*config.Master, error) {
		cfg, _, err := config.LoadMaster(filepath.Dir(minion.ConfFile), env)
		return cfg, err
	}, env, func(string) {})
}

// MasterOrder returns how runners give orders to the master with this configuration. Where no master runs, the error is a
// runners.UnableError with the text of client.ErrNoMaster, and with the socket where that is not for this user.
func MasterOrder(cfg *config.Master, env func(string) string) Order {
	return TellingOrder(cfg, env, func(string) {})
}

// TellingOrder is MasterOrder for a program with a terminal: tell prints there that the target of an orchestration's order names nobody.
func TellingOrder(cfg *config.Master, env func(string) string, tell func(text string)) Order {
	order := orderBy(func() (*config.Master, error) { return cfg, nil }, env, tell)
	return func(ctx context.Context, load *data.Map, yield func(id string, answer *data.Map) bool) error {
		err := order(ctx, load, yield)
		if errors.Is(err, client.ErrNoMaster) {
			text := client.ErrNoMaster.Error()
			if why := noEntry(err, cfg.Map()); why != "" {
				text += "\n" + why
			}
			return &runners.UnableError{Text: text}
		}
		return err
	}
}

func orderBy(load func() (*config.Master, error), env func(string) string, tell func(text string)) Order {
	return func(ctx context.Context, order *data.Map, yield func(id string, answer *data.Map) bool) error {
		cfg, err := load()
		if err != nil {
			return err
		}
		s := &saltRun{tell: tell, o: &SaltOptions{Target: order.Value("tgt"), TargetKind: order.Text("tgt_type")}, cfg: cfg, opts: cfg.Map().Clone(), in: Invocation{Env: env}}
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
	r := client.Request{Fun: order.Value("fun"), Arg: arg, Ret: returnersIn(order.Value("ret")), JID: order.Text("jid"), Kwargs: returning(order), Timeout: s.timeout()}
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
	if data.Truth(order.Value("batch")) {
		s.local = local
		return s.orderBatch(ctx, r, order, yield)
	}
	job, err := local.Publish(ctx, r)
	var nobody *client.NoMinionsError
	if errors.As(err, &nobody) {
		s.nobodyAnswers(order)
		return nil
	}
	if err != nil {
		return err
	}
	missing := missingOf(order)
	for result, err := range local.Results(ctx, job, s.wait(missing.silent)) {
		if err != nil {
			return err
		}
		answer := orderAnswer(job, result)
		if result.Missing {
			var told bool
			if answer, told = missing.answer(result.Reason); !told {
				continue
			}
		}
		if !yield(result.ID, answer) {
			return nil
		}
	}
	return nil
}

// nobodyAnswers tells of an order of an orchestration whose target names nobody (salt/client/__init__.py, _check_pub_data).
func (s *saltRun) nobodyAnswers(order *data.Map) {
	if order.Has("expect_minions") && s.tell != nil {
		s.tell("No minions matched the target. No command was sent, no jid was assigned.\n")
	}
}

// returnersIn returns the returners of an order as one text.
func returnersIn(v any) string {
	list, ok := v.([]any)
	if !ok && v != nil {
		return data.Str(v)
	}
	names := make([]string, len(list))
	for i, name := range list {
		names[i] = data.Str(name)
	}
	return strings.Join(names, ",")
}

// returning returns the options of the publication that say how minions return.
func returning(order *data.Map) *data.Map {
	kwargs := data.NewMap()
	for _, name := range []string{"ret_config", "ret_kwargs"} {
		if v := order.Value(name); data.Truth(v) {
			kwargs.Set(name, v)
		}
	}
	return kwargs
}

// A missing says what the caller of an order wants to hear of minions that did not answer.
type missing struct {
	silent bool // that they did not
	keys   bool // that they have no accepted key
	failed bool // that they have failed, where they are named with a nil answer otherwise
}

// missingOf reads the fields silent and expect_minions of an order.
func missingOf(order *data.Map) missing {
	expect, given := order.Get("expect_minions")
	if !given {
		return missing{silent: order.Value("silent") == true}
	}
	return missing{silent: data.Truth(expect), keys: true, failed: true}
}

// answer returns what stands for the answer of a minion that gave none; told is false where the caller does not want to hear of it.
func (m missing) answer(why client.Reason) (answer *data.Map, told bool) {
	if why == client.NoKey && !m.keys || why != client.NoKey && !m.silent {
		return nil, false
	}
	if m.failed {
		answer = data.NewMap("failed", true)
	}
	return answer, true
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

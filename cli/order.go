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

// An Order submits an order to a master on this host, as described in loader.Host.
type Order func(ctx context.Context, order *data.Map, yield func(id string, answer *data.Map) bool) error

// OrderOf returns the Order by which a minion's functions use the master whose configuration lies
// beside the minion's (salt/modules/saltutil.py, cmd). The error is client.ErrNoMaster if no master
// runs.
func OrderOf(minion *config.Minion, env func(string) string) Order {
	return orderBy(func() (*config.Master, error) {
		cfg, _, err := config.LoadMaster(filepath.Dir(minion.ConfFile), env)
		return cfg, err
	}, env, func(string) {})
}

// MasterOrder returns the Order by which runners use the master with this configuration. If no
// master runs, the error is a runners.UnableError with the text of client.ErrNoMaster. It names the
// socket if the user may not open it.
func MasterOrder(cfg *config.Master, env func(string) string) Order {
	return ReportingOrder(cfg, env, func(string) {})
}

// ReportingOrder is MasterOrder for a program with a terminal: notify prints there that the target
// of an orchestration's order matches no minion.
func ReportingOrder(cfg *config.Master, env func(string) string, notify func(text string)) Order {
	order := orderBy(func() (*config.Master, error) { return cfg, nil }, env, notify)
	return func(ctx context.Context, load *data.Map, yield func(id string, answer *data.Map) bool) error {
		err := order(ctx, load, yield)
		if errors.Is(err, client.ErrNoMaster) {
			text := client.ErrNoMaster.Error()
			if why := deniedSocket(err, cfg.Map()); why != "" {
				text += "\n" + why
			}
			return &runners.UnableError{Text: text}
		}
		return err
	}
}

func orderBy(
	load func() (*config.Master, error), env func(string) string, notify func(text string),
) Order {
	return func(ctx context.Context, order *data.Map, yield func(id string, answer *data.Map) bool) error {
		cfg, err := load()
		if err != nil {
			return err
		}
		s := &saltRun{notify: notify, o: &SaltOptions{Target: order.Value("tgt"),
			TargetKind: order.Text("tgt_type")}, cfg: cfg, opts: cfg.Map().Clone(),
			in: Invocation{Env: env}}
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

// control calls one of the master's own functions and yields the job.
func (s *saltRun) control(
	ctx context.Context, kind string, order *data.Map, yield func(id string, answer *data.Map) bool,
) error {
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
	call := local.Control
	if data.Truth(order.Value("async")) {
		call = local.Begin
	}
	job, err := call(ctx, kind, order.Text("fun"), arg, kwarg)
	if err == nil {
		yield("", job)
	}
	return err
}

// order publishes an order and yields the returns.
func (s *saltRun) order(
	ctx context.Context, order *data.Map, yield func(id string, answer *data.Map) bool,
) error {
	arg, _ := order.Value("arg").([]any)
	r := client.Request{Fun: order.Value("fun"), Arg: arg, Ret: returnersIn(order.Value("ret")),
		JID: order.Text("jid"), Kwargs: returning(order), Timeout: s.timeout()}
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
	var noMinions *client.NoMinionsError
	if errors.As(err, &noMinions) {
		s.reportNoMinions(order)
		return nil
	}
	if err != nil {
		return err
	}
	if data.Truth(order.Value("async")) {
		yield("", data.NewMap("jid", string(job.ID), "minions", data.Values(job.Minions)))
		return nil
	}
	missing := missingOf(order)
	wait := s.wait(missing.silent)
	wait.Connected = order.Value("connected") == true
	for result, err := range local.Results(ctx, job, wait) {
		if err != nil {
			return err
		}
		answer := orderAnswer(job, result)
		if result.Missing {
			var wanted bool
			if answer, wanted = missing.answer(result.Reason); !wanted {
				continue
			}
		}
		if !yield(result.ID, answer) {
			return nil
		}
	}
	return nil
}

// reportNoMinions reports that the target of an orchestration's order matches no minion
// (salt/client/__init__.py, _check_pub_data).
func (s *saltRun) reportNoMinions(order *data.Map) {
	if order.Has("expect_minions") && s.notify != nil {
		s.notify("No minions matched the target. No command was sent, no jid was assigned.\n")
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

// returning returns the publication's options for returners, and those that minions read.
func returning(order *data.Map) *data.Map {
	kwargs := data.NewMap()
	for _, name := range []string{"ret_config", "ret_kwargs", "metadata", "module_executors"} {
		if v := order.Value(name); data.Truth(v) {
			kwargs.Set(name, v)
		}
	}
	return kwargs
}

// A missing says which minions without a return the caller of an order wants to hear about.
type missing struct {
	silent bool // minions that did not answer
	keys   bool // minions without an accepted key
	failed bool // report them as failed; they have a nil answer otherwise
}

// missingOf reads the fields silent and expect_minions of an order.
func missingOf(order *data.Map) missing {
	expect, given := order.Get("expect_minions")
	if !given {
		return missing{silent: order.Value("silent") == true}
	}
	return missing{silent: data.Truth(expect), keys: true, failed: true}
}

// answer returns the substitute for a missing return. wanted is false if the caller does not want
// it.
func (m missing) answer(why client.Reason) (answer *data.Map, wanted bool) {
	if why == client.NoKey && !m.keys || why != client.NoKey && !m.silent {
		return nil, false
	}
	if m.failed {
		answer = data.NewMap("failed", true)
	}
	return answer, true
}

// orderAnswer returns an answer in the form of Salt's clients (salt/client/__init__.py,
// get_iter_returns).
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

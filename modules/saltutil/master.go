package saltutil

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/loader"
)

// notOnMaster is Salt's error if there is no master on the host.
const notOnMaster = "This command can only be executed on a minion that is located on the master."

type cmdArgs struct {
	Tgt     any
	Fun     any
	Arg     any       `default:"()"`
	Timeout any       `default:"None"`
	TgtType any       `default:"'glob'"`
	Ret     any       `default:"''"`
	Kwarg   any       `default:"None"`
	SSH     bool      `name:"ssh" default:"False"`
	Options *data.Map `kwargs:"kwargs"`
}

// An answer is the return of one minion.
type answer struct {
	id  string
	ret *data.Map
}

// cmd sends a command to the minions of the master on this host, like the program salt, and returns
// their answers by minion. It is an error if there is no master.
//
// batch
//
//	How many minions work at a time, as a number or a percentage such as 10%.
//
// subset
//
//	How many minions, chosen at random from those that have the function, get the command.
//
// CLI Example:
//
//	salt master_minion saltutil.cmd '*' test.ping
func (m orders) cmd(ctx context.Context, a cmdArgs) (any, error) {
	if err := m.canOrder(a); err != nil {
		return nil, err
	}
	batch, subset := a.Options.Value("batch"), a.Options.Value("subset")
	switch {
	case data.Truth(batch):
		return m.inBatches(ctx, a)
	case data.Truth(subset):
		some, err := m.some(ctx, a, subset)
		if err != nil {
			return nil, err
		}
		a.Tgt, a.TgtType = some, "list"
	}
	answers, err := m.answers(ctx, a)
	if err != nil {
		return nil, err
	}
	all := data.NewMap()
	for _, one := range answers {
		all.Set(one.id, one.ret)
	}
	return all, nil
}

// cmdIter does the same as saltutil.cmd, and reports each answer as progress when it arrives.
//
// CLI Example:
//
//	salt master_minion saltutil.cmd_iter '*' test.ping
func (m orders) cmdIter(ctx context.Context, a cmdArgs) (any, error) {
	if err := m.canOrder(a); err != nil {
		return nil, err
	}
	return loader.Steps(func(yield func(any, error) bool) {
		more := true
		err := m.env.Host.Order(ctx, order(a), func(id string, ret *data.Map) bool {
			more = yield(data.NewMap(id, ret), nil)
			return more
		})
		if err != nil && more {
			yield(nil, loader.Exception("salt.exceptions.SaltClientError", "%w", err))
		}
	}), nil
}

func (m orders) canOrder(a cmdArgs) error {
	switch {
	case a.SSH:
		return loader.Execution("saltutil.cmd with ssh=True needs salt-ssh, which is not there")
	case m.env.Host.Order == nil:
		return loader.Exception("salt.exceptions.SaltClientError",
			"The salt master could not be contacted. Is master running?")
	}
	return nil
}

// order returns the argument of Host.Order.
func order(a cmdArgs) *data.Map {
	kwarg, _ := a.Kwarg.(*data.Map)
	args, more := loader.ParseInput(data.ListOf(a.Arg))
	words := kwarg.Clone()
	words.Update(more)
	tgt := a.Tgt
	if text, ok := tgt.(string); ok && a.TgtType == "list" {
		tgt = data.Values(loader.SplitInput(text))
	}
	o := data.NewMap("tgt", tgt, "tgt_type", a.TgtType, "fun", a.Fun,
		"arg", loader.ConditionInput(args, words), "ret", a.Ret, "timeout", a.Timeout)
	for _, name := range []string{
		"gather_job_timeout", "ret_config", "ret_kwargs", "batch", "batch_wait", "failhard",
		"expect_minions",
	} {
		if v, ok := a.Options.Get(name); ok && v != nil {
			o.Set(name, v)
		}
	}
	return o
}

// answers sends a command and returns all answers. With a list of minions it stops when all of them
// have answered.
func (m orders) answers(ctx context.Context, a cmdArgs) ([]answer, error) {
	var all []answer
	o := order(a)
	named, _ := o.Value("tgt").([]any)
	if a.TgtType == "list" && len(named) == 0 {
		return nil, nil
	}
	err := m.env.Host.Order(ctx, o, func(id string, ret *data.Map) bool {
		all = append(all, answer{id, ret})
		return a.TgtType != "list" || len(all) < len(named)
	})
	if err != nil {
		return nil, loader.Exception("salt.exceptions.SaltClientError", "%w", err)
	}
	return all, nil
}

// some returns up to subset minions, chosen at random, that have the function
// (salt/client/__init__.py, cmd_subset).
func (m orders) some(ctx context.Context, a cmdArgs, subset any) ([]any, error) {
	n, err := loader.Int(subset)
	if err != nil {
		return nil, err
	}
	fun := a.Fun
	a.Fun, a.Arg, a.Kwarg, a.Ret, a.Options = "sys.list_functions", nil, nil, "", nil
	found, err := m.answers(ctx, a)
	if err != nil {
		return nil, err
	}
	var ids []any
	for _, i := range rand.Perm(len(found)) {
		functions, _ := found[i].ret.Value("ret").([]any)
		if int64(len(ids)) < n && slices.Contains(functions, fun) {
			ids = append(ids, found[i].id)
		}
	}
	return ids, nil
}

// inBatches sends a command to a few minions at a time (salt/cli/batch.py). For salt.function each
// answer also has its return code and job.
func (m orders) inBatches(ctx context.Context, a cmdArgs) (any, error) {
	answers, err := m.answers(ctx, a)
	if err != nil {
		return nil, err
	}
	all := data.NewMap()
	for _, one := range answers {
		if failed, ok := one.ret.Get("failed"); ok {
			all.Set(one.id, data.NewMap("failed", failed))
			continue
		}
		ret := data.NewMap("out", outputter(one.ret.Value("ret")), "ret", one.ret.Value("ret"))
		if data.Truth(a.Options.Value("_cmd_meta")) {
			ret.Update(data.NewMap("retcode", one.ret.Value("retcode"),
				"jid", one.ret.Value("jid")))
		}
		all.Set(one.id, ret)
	}
	return all, nil
}

// outputter returns the key out of a return that is a map, and highstate for others, like
// saltutil.cmd of Salt.
func outputter(ret any) any {
	if m, ok := ret.(*data.Map); ok {
		if out, ok := m.Get("out"); ok {
			return out
		}
	}
	return "highstate"
}

type runnerArgs struct {
	Name       string
	Arg        any       `default:"None"`
	Kwarg      *data.Map `default:"None"`
	FullReturn bool      `default:"False"`
	Saltenv    any       `default:"'base'"`
	Jid        any       `default:"None"`
	Options    *data.Map `kwargs:"kwargs"`
}

// runner runs a runner function. It needs a minion on the host of a master.
//
// name
//
//	The function. Other keyword arguments are passed to it.
//
// CLI Example:
//
//	salt master_minion saltutil.runner jobs.list_jobs
//	salt master_minion saltutil.runner test.arg arg="['baz']" kwarg="{'foo': 'bar'}"
func (m masters) runner(ctx context.Context, a runnerArgs) (any, error) {
	shelf := m.env.Registry("runners")
	words, pub := parted(a.Options)
	kwarg := a.Kwarg.Clone()
	kwarg.Update(words)
	jid, saltenv := a.Jid, a.Saltenv
	if v, ok := pub.Get("__orchestration_jid__"); ok {
		jid = v
	}
	if v, ok := pub.Get("__env__"); ok {
		saltenv = v
	}
	pub.Set("__orchestration_jid__", jid)
	if takes(shelf, a.Name, "saltenv") {
		kwarg.Set("saltenv", saltenv)
	}
	switch a.Name {
	case "state.orchestrate", "state.orch", "state.sls":
		kwarg.Set("orchestration_jid", jid)
	}
	full, err := m.low(ctx, "runner", shelf, a.Name, data.ListOf(a.Arg), kwarg, pub)
	if err != nil || a.FullReturn {
		return full, err
	}
	return full.Value("return"), nil
}

type wheelArgs struct {
	Name    string
	Args    []any     `args:"args"`
	Options *data.Map `kwargs:"kwargs"`
}

// wheel runs a wheel function and returns its result with status. It needs a minion on the host of
// a master.
//
// name
//
//	The function. Other arguments are passed to it.
//
// CLI Example:
//
//	salt master_minion saltutil.wheel key.accept jerry
//	salt master_minion saltutil.wheel minions.connected
func (m masters) wheel(ctx context.Context, a wheelArgs) (any, error) {
	shelf := m.env.Registry("wheel")
	kwarg, pub := parted(a.Options)
	if takes(shelf, a.Name, "saltenv") {
		saltenv, ok := pub.Get("__env__")
		if !ok {
			saltenv = "base"
		}
		kwarg.Set("saltenv", saltenv)
	}
	full, err := m.low(ctx, "wheel", shelf, a.Name, a.Args, kwarg, pub)
	if err != nil {
		return nil, err
	}
	return full, nil
}

// parted splits keyword arguments into those for a function and those that the engine adds.
func parted(all *data.Map) (words, internal *data.Map) {
	words, internal = data.NewMap(), data.NewMap()
	for k, v := range all.All() {
		if strings.HasPrefix(data.Str(k), "__") {
			internal.Set(k, v)
		} else {
			words.Set(k, v)
		}
	}
	return words, internal
}

func takes(shelf *loader.Registry, fun, param string) bool {
	f, ok := shelf.Func(fun)
	return ok && f.Spec().Has(param)
}

// ordered lets the master on this host call a function, if this process has no shelf with it. A
// minion has no functions of masters, so the master runs them, with the rights that the minion's
// user has there.
func (m masters) ordered(
	ctx context.Context, client, fun string, arg []any, kwarg *data.Map,
) (job *data.Map, err error) {
	args, words := loader.ParseInput(arg)
	words.Update(kwarg)
	order := data.NewMap("client", client, "fun", fun, "arg", args, "kwarg", words)
	begun := time.Now()
	err = m.env.Host.Order(ctx, order, func(_ string, answer *data.Map) bool {
		job = saltsFields(answer, args, words, begun)
		return false
	})
	if err != nil {
		return nil, loader.Execution("%s (%w)", notOnMaster, err)
	}
	return job, nil
}

// saltsFields adds the fields of a call within one process to the answer of a master
// (salt/client/mixins.py, low).
func saltsFields(answer *data.Map, args []any, words *data.Map, begun time.Time) *data.Map {
	funArgs := slices.Clone(args)
	if words.Len() > 0 {
		funArgs = append(funArgs, words)
	}
	job := data.NewMap()
	for name, v := range answer.All() {
		switch name {
		case "tag", "fun_args", "_stamp":
		case "return":
			job.Set("fun_args", append([]any{}, funArgs...))
			job.Set("_stamp", begun.UTC().Format("2006-01-02T15:04:05.000000"))
			fallthrough
		default:
			job.Set(name, v)
		}
	}
	return job
}

// low calls a function of the master's shelves and returns its job as a map (salt/client/mixins.py,
// low).
func (m masters) low(
	ctx context.Context, client string, shelf *loader.Registry, fun string, arg []any, kwarg,
	pub *data.Map,
) (*data.Map, error) {
	switch {
	case shelf == nil && m.env.Host.Order != nil:
		return m.ordered(ctx, client, fun, arg, kwarg)
	case shelf == nil:
		return nil, loader.Execution(notOnMaster)
	}
	args, words := loader.ParseInput(arg)
	words.Update(kwarg)
	user, ok := pub.Get("__pub_user")
	if !ok {
		user = "UNKNOWN"
	}
	m.fireArgs(ctx, client, fun, arg, words, pub)
	// Only RunnerClient gets the user as publish data (salt/minion.py, load_args_and_kwargs).
	if f, ok := shelf.Func(fun); ok && f.Spec().Kwargs != "" && client == "runner" {
		words.Set("__pub_user", user)
	}
	if m.env.Host.Control != nil {
		return m.env.Host.Control(ctx, client, loader.MasterCall{Fun: fun, Args: args, Kwargs: words,
			User: data.Str(user)}), nil
	}
	f, ok := shelf.Func(fun)
	if !ok {
		return nil, loader.Exception("KeyError", "%s", data.Repr(fun))
	}
	funArgs := slices.Clone(args)
	if words.Len() > 0 {
		funArgs = append(funArgs, words)
	}
	job := data.NewMap("fun", client+"."+fun, "jid", loader.JobOf(ctx).Value("jid"), "user", user,
		"fun_args", funArgs)
	v, err := shelf.Invoke(ctx, fun, args, words)
	switch {
	case loader.KindOf(err) == loader.KindType:
		job.Set("return", "\nPassed invalid arguments: "+err.Error()+"\n\nUsage:\n"+
			f.Spec().Docstring())
	case err != nil:
		job.Set("return", "Exception occurred in "+client+" "+fun+": "+loader.Traceback(err))
	default:
		job.Set("return", v)
	}
	code, _ := loader.ContextOf(ctx).Get("retcode")
	job.Set("success", (err == nil || loader.KindOf(err) == loader.KindType) && !data.Truth(code))
	return job, nil
}

// fireArgs fires the event with the arguments of an orchestration step (salt/utils/event.py,
// fire_args).
func (m masters) fireArgs(
	ctx context.Context, client, fun string, arg []any, words, pub *data.Map,
) {
	jid := pub.Value("__orchestration_jid__")
	if !data.Truth(jid) || m.env.Host.FireMaster == nil {
		return
	}
	body := data.NewMap("type", client, "name", fun, "args", words)
	if client == "runner" {
		body = data.NewMap("type", client, "name", fun, "args", append([]any{}, arg...),
			"kwargs", words)
	}
	tag := eventbus.Tagify("run", jid, "args")
	if err := m.env.Host.FireMaster(ctx, tag, body); err != nil {
		m.env.Log.Warnf("Failed to fire args event %s with data %s: %v", tag, data.Repr(body), err)
	}
}

type mmoduleArgs struct {
	Saltenv string
	Fun     string
	Args    []any     `args:"args"`
	Options *data.Map `kwargs:"kwargs"`
}

// mmodule calls a function of the minion, for pillars that need a function of one environment. It
// is an error if file_roots does not have the environment.
//
// CLI Example:
//
//	salt '*' saltutil.mmodule base test.ping
func (m functions) mmodule(ctx context.Context, a mmoduleArgs) (any, error) {
	roots, _ := m.env.Option("file_roots").(*data.Map)
	if !roots.Has(a.Saltenv) {
		return nil, loader.Exception("KeyError", "%s", data.Repr(a.Saltenv))
	}
	words, _ := parted(a.Options)
	return m.env.Call(ctx, a.Fun, a.Args, words)
}

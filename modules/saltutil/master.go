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

// notOnMaster is what Salt says when there is no master on the host.
const notOnMaster = "This command can only be executed on a minion that is located on the master."

func (m *module) masterFuncs() []loader.Func {
	return []loader.Func{
		loader.F("cmd", m.cmd),
		loader.F("cmd_iter", m.cmdIter),
		loader.F("runner", m.runner),
		loader.F("wheel", m.wheel),
		loader.F("mmodule", m.mmodule),
	}
}

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

// An answer is what one minion returned.
type answer struct {
	id  string
	ret *data.Map
}

// cmd gives an order to the minions of the master on this host, as the program salt does, and returns their answers by minion.
// It is an error where there is no master.
//
// batch
//
//	How many minions work at a time, as a number or a share such as 10%.
//
// subset
//
//	How many minions, chosen at random of those that have the function, get the order.
//
// CLI Example:
//
//	salt master_minion saltutil.cmd '*' test.ping
func (m *module) cmd(ctx context.Context, a cmdArgs) (any, error) {
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

// cmdIter does what saltutil.cmd does, and reports each answer as progress when it comes.
//
// CLI Example:
//
//	salt master_minion saltutil.cmd_iter '*' test.ping
func (m *module) cmdIter(ctx context.Context, a cmdArgs) (any, error) {
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

func (m *module) canOrder(a cmdArgs) error {
	switch {
	case a.SSH:
		return loader.Execution("saltutil.cmd with ssh=True needs salt-ssh, which is not there")
	case m.env.Host.Order == nil:
		return loader.Exception("salt.exceptions.SaltClientError", "The salt master could not be contacted. Is master running?")
	}
	return nil
}

// order returns what Host.Order takes.
func order(a cmdArgs) *data.Map {
	kwarg, _ := a.Kwarg.(*data.Map)
	args, more := loader.ParseInput(listOf(a.Arg))
	words := kwarg.Clone()
	words.Update(more)
	tgt := a.Tgt
	if text, ok := tgt.(string); ok && a.TgtType == "list" {
		tgt = listOf(loader.SplitInput(text))
	}
	o := data.NewMap("tgt", tgt, "tgt_type", a.TgtType, "fun", a.Fun, "arg", loader.ConditionInput(args, words),
		"ret", a.Ret, "timeout", a.Timeout)
	for _, name := range []string{"gather_job_timeout", "ret_config", "ret_kwargs", "batch", "batch_wait", "failhard", "expect_minions"} {
		if v, ok := a.Options.Get(name); ok && v != nil {
			o.Set(name, v)
		}
	}
	return o
}

func listOf(v any) []any {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		return v
	case data.Tuple:
		return v
	case []string:
		list := make([]any, len(v))
		for i, s := range v {
			list[i] = s
		}
		return list
	}
	return []any{v}
}

// answers gives an order and waits for all answers; of minions that are named one by one for as many as there are.
func (m *module) answers(ctx context.Context, a cmdArgs) ([]answer, error) {
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

// some returns as many minions, chosen at random, that have the function (salt/client/__init__.py, cmd_subset).
func (m *module) some(ctx context.Context, a cmdArgs, subset any) ([]any, error) {
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

// inBatches gives an order to a few minions at a time (salt/cli/batch.py). Where salt.function asks, each answer has its return code
// and job, too.
func (m *module) inBatches(ctx context.Context, a cmdArgs) (any, error) {
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
			ret.Update(data.NewMap("retcode", one.ret.Value("retcode"), "jid", one.ret.Value("jid")))
		}
		all.Set(one.id, ret)
	}
	return all, nil
}

// outputter returns the key out of a return that is a map, and highstate for others, as saltutil.cmd of Salt.
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

// runner runs a function of a runner. It is for a minion on the host of a master.
//
// name
//
//	The function. Further keyword arguments are for it.
//
// CLI Example:
//
//	salt master_minion saltutil.runner jobs.list_jobs
//	salt master_minion saltutil.runner test.arg arg="['baz']" kwarg="{'foo': 'bar'}"
func (m *module) runner(ctx context.Context, a runnerArgs) (any, error) {
	shelf := m.env.Shelf("runners")
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
	full, err := m.low(ctx, "runner", shelf, a.Name, listOf(a.Arg), kwarg, pub)
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

// wheel runs a function of a wheel module and returns how that went. It is for a minion on the host of a master.
//
// name
//
//	The function. Further arguments are for it.
//
// CLI Example:
//
//	salt master_minion saltutil.wheel key.accept jerry
//	salt master_minion saltutil.wheel minions.connected
func (m *module) wheel(ctx context.Context, a wheelArgs) (any, error) {
	shelf := m.env.Shelf("wheel")
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

// parted parts keyword arguments into those for a function and those that the engine adds.
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

// ordered has the master on this host call a function, where it does not lie on a shelf of this process. A minion carries no
// functions of masters, so the master does it, with the rights of the minion's user there.
func (m *module) ordered(ctx context.Context, client, fun string, arg []any, kwarg *data.Map) (job *data.Map, err error) {
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

// saltsFields gives the answer of a master the fields that a call within one process has (salt/client/mixins.py, low).
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

// low calls a function of the master's shelves and returns its job as a map (salt/client/mixins.py, low).
func (m *module) low(ctx context.Context, client string, shelf *loader.Registry, fun string, arg []any, kwarg, pub *data.Map) (*data.Map, error) {
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
	m.tell(ctx, client, fun, arg, words, pub)
	if m.env.Host.Control != nil {
		return m.env.Host.Control(ctx, client, loader.Control{Fun: fun, Args: args, Kwargs: words, User: data.Str(user)}), nil
	}
	f, ok := shelf.Func(fun)
	if !ok {
		return nil, loader.Exception("KeyError", "%s", data.Repr(fun))
	}
	funArgs := slices.Clone(args)
	if words.Len() > 0 {
		funArgs = append(funArgs, words)
	}
	job := data.NewMap("fun", client+"."+fun, "jid", loader.JobOf(ctx).Value("jid"), "user", user, "fun_args", funArgs)
	v, err := shelf.Invoke(ctx, fun, args, words)
	switch {
	case loader.KindOf(err) == loader.KindType:
		job.Set("return", "\nPassed invalid arguments: "+err.Error()+"\n\nUsage:\n"+f.Spec().Docstring())
	case err != nil:
		job.Set("return", "Exception occurred in "+client+" "+fun+": "+loader.Traceback(err))
	default:
		job.Set("return", v)
	}
	code, _ := loader.ContextOf(ctx).Get("retcode")
	job.Set("success", (err == nil || loader.KindOf(err) == loader.KindType) && !data.Truth(code))
	return job, nil
}

// tell fires the event of the arguments of a step of an orchestration (salt/utils/event.py, fire_args).
func (m *module) tell(ctx context.Context, client, fun string, arg []any, words, pub *data.Map) {
	jid := pub.Value("__orchestration_jid__")
	if !data.Truth(jid) || m.env.Host.FireMaster == nil {
		return
	}
	body := data.NewMap("type", client, "name", fun, "args", words)
	if client == "runner" {
		body = data.NewMap("type", client, "name", fun, "args", append([]any{}, arg...), "kwargs", words)
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

// mmodule calls a function of the minion, as pillars do that need one of an environment. It is an error when file_roots does not
// have the environment.
//
// CLI Example:
//
//	salt '*' saltutil.mmodule base test.ping
func (m *module) mmodule(ctx context.Context, a mmoduleArgs) (any, error) {
	roots, _ := m.env.Option("file_roots").(*data.Map)
	if !roots.Has(a.Saltenv) {
		return nil, loader.Exception("KeyError", "%s", data.Repr(a.Saltenv))
	}
	words, _ := parted(a.Options)
	return m.env.Call(ctx, a.Fun, a.Args, words)
}

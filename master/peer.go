package master

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/internal/loglimit"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/match"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/runners"
	"github.com/brineproject/brine/transport"
)

// peers handles requests of minions to other minions, as the option peer allows, and to runners, as
// peer_run allows (salt/daemons/masterapi.py, RemoteFuncs.minion_pub and its neighbours).
//
// Differences from Salt on purpose: an expression matches a whole id or name, not just a prefix.
// Each of several functions must be allowed, and none may belong to the module publish. The
// arguments that are checked are those that are sent. If the target is a node group, the master
// waits for its minions.
type peers struct {
	base
	pub     *publishing
	gate    *gatekeeper
	owners  *owners
	run     func(ctx context.Context, c runners.Call) *data.Map // runs a runner
	peer    *peerOption
	peerRun *peerOption
	waits   *waitSlots    // requests that wait for runners or other minions
	longest time.Duration // maximum duration of a runner
}

const (
	maxWaits    = 64 // requests of minions that may wait at one time
	maxOwnWaits = 4  // of one minion
	// maxPeerRun is how long a runner that a minion calls may take before it is cancelled.
	maxPeerRun = 10 * time.Minute
)

// waitSlots limit how many requests wait. The zero value is ready to use.
type waitSlots struct {
	mu    sync.Mutex
	taken int
	of    map[string]int // by minion
}

// enter takes a slot for a minion, and reports whether one was free.
func (p *waitSlots) enter(minion string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken >= maxWaits || p.of[minion] >= maxOwnWaits {
		return false
	}
	if p.of == nil {
		p.of = map[string]int{}
	}
	p.taken++
	p.of[minion]++
	return true
}

func (p *waitSlots) leave(minion string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken--
	if p.of[minion]--; p.of[minion] == 0 {
		delete(p.of, minion)
	}
}

// newPeers lets minions publish through pub and run runners with run.
func newPeers(
	b base, pub *publishing, own *owners, run func(context.Context, runners.Call) *data.Map,
) *peers {
	return &peers{
		base:    b,
		pub:     pub,
		gate:    pub.gate,
		owners:  own,
		run:     run,
		peer:    &peerOption{name: "peer", quiet: b.quiet, log: b.log},
		peerRun: &peerOption{name: "peer_run", quiet: b.quiet, log: b.log},
		waits:   &waitSlots{},
		longest: maxPeerRun,
	}
}

// peerCommands returns the commands by which minions give orders.
func peerCommands(p *peers) map[string]command {
	return map[string]command{
		"minion_pub":     {do: p.publish, proof: true, effect: true},
		"minion_publish": {do: p.publishAndWait, proof: true, effect: true},
		"pub_ret":        {do: p.returns, proof: true},
		"minion_runner":  {do: p.runRunner, proof: true, effect: true},
	}
}

// A peerOption caches the parsed form of one of the options peer, peer_run and mine_get.
type peerOption struct {
	name  string
	quiet *loglimit.Limiter
	log   logrus.FieldLogger

	mu    sync.Mutex
	from  *data.Map
	rules *auth.Peers
}

// read returns the rules of an option. It parses the option again only when it has changed.
func (o *peerOption) read(option *data.Map) *auth.Peers {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.rules == nil || o.from != option {
		var err error
		if o.rules, err = auth.ReadPeers(option); err != nil {
			o.log.WithError(err).Warnf("option %s: entries that cannot be parsed allow nothing",
				o.name)
		}
		o.from = option
	}
	return o.rules
}

// A peerJob is a job that a minion wants to send.
type peerJob struct {
	id      job.ID
	load    *data.Map
	kwargs  *data.Map
	ids     []string
	missing []string
	limited bool // the minion may send it to ids, but not to every minion
}

// publish sends a job for a minion. The reply has its id and the minions of its target.
func (p *peers) publish(ctx context.Context, c *channel.Command) (any, error) {
	j, ok := p.allowed(c)
	if !ok {
		return data.NewMap(), nil
	}
	if len(j.ids) == 0 && !p.pub.orderMasters {
		return data.NewMap("jid", int64(0), "minions", []any{}), nil
	}
	if err := p.send(ctx, c.Caller.ID, j); err != nil {
		return nil, err
	}
	return data.NewMap("jid", string(j.id), "minions", data.Values(j.ids)), nil
}

// send records the owner of the job and publishes it.
func (p *peers) send(ctx context.Context, minion string, j *peerJob) error {
	if err := p.owners.set(j.id, minion); err != nil {
		return err
	}
	p.log.Infof("Minion %s publishes %s", minion, data.Str(j.load.Value("fun")))
	send := p.pub.send
	if j.limited {
		send = p.pub.sendTo
	}
	_, err := send(ctx, j.load, j.kwargs, recipients{ids: j.ids, missing: j.missing, own: j.limited})
	return err
}

// allowed parses a job, and reports whether the minion may send it.
func (p *peers) allowed(c *channel.Command) (*peerJob, bool) {
	cfg := p.settings.config()
	if cfg.Peer.Len() == 0 {
		return nil, false
	}
	j, ok := p.read(c)
	if !ok {
		return nil, false
	}
	tgt, kind := j.load.Value("tgt"), j.load.Text("tgt_type")
	var err error
	if j.ids, j.missing, err = p.pub.fleet.resolve(tgt, kind, ""); err != nil {
		p.log.WithError(err).Debugf("target of minion %s", c.Caller.ID)
	}
	arg, _ := j.load.Value("arg").([]any)
	fun := j.load.Value("fun")
	rules, order := p.peer.read(cfg.Peer), auth.Publication{Fun: fun, Arg: arg, Minions: j.ids}
	may := p.gate.PeerMayPublish(rules, c.Caller.ID, order) && !p.gate.Blocked(cfg.User, fun) &&
		p.exact(tgt, kind, j.ids)
	order.Minions = nil
	j.limited = may && !p.gate.PeerMayPublish(rules, c.Caller.ID, order)
	if !may {
		p.refuse(c, "publish "+data.Str(fun), "peer")
	}
	return j, may
}

// refuse logs, with a rate limit, that an option does not allow a request of a minion.
func (p *peers) refuse(c *channel.Command, what, option string) {
	p.quiet.Warnf(p.log, option+" "+c.Caller.ID,
		"Minion %s may not %s: %s does not allow it; its expressions match whole ids and "+
			"names", c.Caller.ID, strconv.QuoteToGraphic(clipText(what, 100)), option)
}

// read makes a publish load from a request. It reports false if a field is missing or has the wrong
// type.
func (p *peers) read(c *channel.Command) (*peerJob, bool) {
	fun, hasFun := c.Load.Text("fun")
	in, hasArg := c.Load.Value("arg").([]any)
	ret, hasRet := c.Load.Text("ret")
	tgt, kind, hasTgt := p.target(c)
	if !hasFun || !hasArg || !hasRet || !hasTgt || publishesAny(fun) {
		return nil, false
	}
	funs, arg := jobArguments(fun, in, noParse(c.Load))
	j := &peerJob{id: p.pub.ids.Next(), kwargs: data.NewMap("id", c.Caller.ID)}
	j.load = data.NewMap("cmd", "publish", "tgt", tgt, "fun", funs, "arg", arg, "tgt_type", kind,
		"ret", ret, "jid", string(j.id), "user", p.settings.config().User, "kwargs", j.kwargs)
	return j, true
}

// publishesAny reports whether one of the functions in a text would send further jobs.
func publishesAny(fun string) bool {
	return slices.ContainsFunc(strings.Split(fun, ","),
		func(f string) bool { return strings.HasPrefix(strings.TrimSpace(f), "publish.") })
}

// jobArguments returns the functions and arguments of a job as they are published. Several
// functions are separated by commas; each argument is then a text of words (salt/master.py,
// __verify_minion_publish).
func jobArguments(fun string, in []any, noParse []string) (funs any, arg []any) {
	if !strings.Contains(fun, ",") {
		args, kwargs := loader.ParseInput(in, noParse...)
		return fun, loader.ConditionInput(args, kwargs)
	}
	list := []any{}
	for f := range strings.SplitSeq(fun, ",") {
		list = append(list, f)
	}
	arg = []any{}
	for _, a := range in {
		words := []any{}
		for w := range strings.FieldsSeq(data.Str(a)) {
			words = append(words, w)
		}
		arg = append(arg, words)
	}
	return list, arg
}

func noParse(load payload.Fields) []string {
	var names []string
	list, _ := load.Value("no_parse").([]any)
	for _, v := range list {
		names = append(names, data.Str(v))
	}
	return names
}

// target returns the target of a request. A node group is replaced by its definition.
func (p *peers) target(c *channel.Command) (tgt any, kind string, ok bool) {
	tgt, kind = c.Load.Value("tgt"), "glob"
	if c.Load.Has("tgt_type") {
		if kind, ok = c.Load.Text("tgt_type"); !ok {
			return nil, "", false
		}
	}
	switch tgt.(type) {
	case string, []any:
	default:
		return nil, "", false
	}
	if !strings.HasPrefix(kind, "node") {
		return tgt, kind, true
	}
	group, _ := tgt.(string)
	words, err := match.ExpandNodegroup(group, p.settings.config().Nodegroups)
	if err != nil {
		return nil, "", false
	}
	return strings.Join(words, " "), "compound", true
}

// exact reports whether a target that asks for pillar names no more minions than it does when
// values are compared whole. With patterns a minion could find out the pillar of others.
func (p *peers) exact(tgt any, kind string, ids []string) bool {
	var whole string
	switch strings.ToLower(kind) {
	case "pillar", "pillar_pcre":
		whole = "pillar_exact"
	case "compound":
		whole = "compound_pillar_exact"
	default:
		return true
	}
	named, _, err := p.pub.fleet.resolve(tgt, whole, "")
	return err == nil && !slices.ContainsFunc(ids,
		func(id string) bool { return !slices.Contains(named, id) })
}

// maxPeerWait is how long the master may wait for other minions on behalf of a minion.
const maxPeerWait = time.Minute

// publishAndWait sends a job for a minion and replies with the returns that arrive in time. Salt's
// master fails here after it has sent the job.
func (p *peers) publishAndWait(ctx context.Context, c *channel.Command) (any, error) {
	limit, ok := p.timeout(c.Load)
	if !ok {
		return data.NewMap(), nil
	}
	j, ok := p.allowed(c)
	if !ok || len(j.ids) == 0 || !p.enter(c) {
		return data.NewMap(), nil
	}
	defer p.leave(c)
	events := p.pub.bus.Subscribe(eventbus.SubscribeOptions{
		Name:     "minion_publish of " + c.Caller.ID,
		Prefixes: []string{eventbus.Tagify("job", string(j.id), "ret") + "/"},
	})
	defer events.Close()
	if err := p.send(ctx, c.Caller.ID, j); err != nil {
		return nil, err
	}
	full, _ := c.Load.Text("form")
	var found *data.Map
	transport.Aside(ctx, func() { found = collect(ctx, events, len(j.ids), limit, full == "full") })
	if full == "full" {
		found.Set("__jid__", string(j.id))
	}
	return found, nil
}

// timeout returns how long a minion wants to wait, at most maxPeerWait.
func (p *peers) timeout(load payload.Fields) (time.Duration, bool) {
	limit := p.settings.config().Timeout
	for _, name := range []string{"tmo", "timeout"} {
		if !load.Has(name) {
			continue
		}
		seconds, err := loader.Int(load.Value(name))
		if err != nil {
			return 0, false
		}
		limit = time.Duration(min(max(seconds, 0), int64(maxPeerWait/time.Second))) * time.Second
	}
	return min(limit, maxPeerWait), true
}

// collect waits for the returns of the given number of minions, and returns those that arrive
// within the limit.
func collect(
	ctx context.Context, events *eventbus.Subscription, minions int, limit time.Duration, full bool,
) *data.Map {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	found := data.NewMap()
	for found.Len() < minions {
		e, err := events.Next(ctx)
		if err != nil {
			return found
		}
		load, err := e.Map()
		if err != nil || load.Text("id") == "" {
			continue
		}
		value := load.Value("return")
		if full {
			load.Delete("return")
			load.Set("ret", value)
			value = load
		}
		found.Set(load.Text("id"), value)
	}
	return found
}

// enter takes a slot for a waiting request, and logs if there is none.
func (p *peers) enter(c *channel.Command) bool {
	if p.waits.enter(c.Caller.ID) {
		return true
	}
	p.quiet.Warnf(p.log, "waits "+c.Caller.ID,
		"Too many requests wait for runners and other minions (limit %d, or %d of one "+
			"minion): that of %s is refused", maxWaits, maxOwnWaits, c.Caller.ID)
	return false
}

func (p *peers) leave(c *channel.Command) { p.waits.leave(c.Caller.ID) }

// returns replies with the returns of a job, to the minion that sent the job.
func (p *peers) returns(ctx context.Context, c *channel.Command) (any, error) {
	if !c.Load.Has("jid") {
		return data.NewMap(), nil
	}
	text, _ := c.Load.Text("jid")
	owner, err := p.owners.of(job.ID(text))
	switch {
	case err != nil:
		p.log.WithError(err).Debugf("minion %s asks for returns", c.Caller.ID)
		return "", nil // Salt's reply to an exception, which it raises here
	case owner != c.Caller.ID:
		p.quiet.Warnf(p.log, "pub_ret "+c.Caller.ID,
			"Minion %s asks for the returns of a job of minion %s",
			c.Caller.ID, strconv.QuoteToGraphic(owner))
		return data.NewMap(), nil
	}
	found, err := p.pub.jobs.Returns(ctx, job.ID(text))
	if err != nil {
		return nil, err
	}
	return cacheReturns(found)
}

// cacheReturns converts returns to the form of LocalClient.get_cache_returns
// (salt/client/__init__.py).
func cacheReturns(found []returners.Return) (any, error) {
	reply := data.NewMap()
	for _, r := range found {
		load, err := payload.ParseFields(r.Load, payload.WireLimits())
		if err != nil {
			return nil, err
		}
		one := data.NewMap()
		for _, f := range [][2]string{{"return", "ret"}, {"out", "out"}} {
			raw := load.Raw(f[0])
			if raw == nil {
				continue
			}
			wire, err := payload.Rewrite(raw, false)
			if err != nil {
				return nil, err
			}
			one.Set(f[1], wire)
		}
		reply.Set(r.Minion, one)
	}
	return reply, nil
}

// runRunner runs a runner for a minion, and replies with its result.
func (p *peers) runRunner(ctx context.Context, c *channel.Command) (any, error) {
	fun, hasFun := c.Load.Text("fun")
	in, hasArg := c.Load.Value("arg").([]any)
	option := p.settings.config().PeerRun
	if !hasFun || !hasArg || option.Len() == 0 {
		return data.NewMap(), nil
	}
	if !p.peerRun.read(option).MayRun(c.Caller.ID, fun) {
		p.refuse(c, "run "+fun, "peer_run")
		return data.NewMap(), nil
	}
	if !p.enter(c) {
		return data.NewMap(), nil
	}
	defer p.leave(c)
	args, kwargs := loader.ParseInput(in, noParse(c.Load)...)
	p.log.Infof("Minion %s runs runner %s", c.Caller.ID, fun)
	var done *data.Map
	ctx, cancel := context.WithTimeout(ctx, p.longest)
	defer cancel()
	transport.Aside(ctx, func() {
		done = p.run(ctx,
			runners.Call{Fun: fun, Args: args, Kwargs: kwargs, JID: p.pub.ids.Next(),
				User: p.settings.config().User})
	})
	return done.Value("return"), nil
}

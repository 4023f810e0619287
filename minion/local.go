package minion

import (
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/sirupsen/logrus"
	"golang.org/x/sync/errgroup"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
)

// Limits of requests by programs on the host: how many run in parallel, and the timeout of each.
const (
	maxReactions    = 16
	reactionTimeout = 3 * time.Minute
)

// local handles requests that functions of the minion and programs on its host make with events on
// its bus (salt/minion.py, handle_event).
type local struct {
	m         *Minion
	sub       *eventbus.Subscription
	log       logrus.FieldLogger
	reactions []reaction
}

// A reaction handles the events whose tag begins with prefix.
type reaction struct {
	prefix     string
	do         func(ctx context.Context, tag string, load *data.Map) error
	concurrent bool // contacts masters; runs concurrently with other events
}

// newLocal subscribes to the requests. The caller must call close.
func newLocal(m *Minion) *local {
	l := &local{m: m, log: m.log}
	l.reactions = []reaction{
		{"module_refresh", l.refreshModules, false},
		{"pillar_refresh", l.refreshPillar, true},
		{"grains_refresh", l.refreshGrains, true},
		{"matchers_refresh", l.nothing, false},
		{"manage_schedule", l.manageSchedule, false},
		{"manage_beacons", l.manageBeacons, true},
		{"beacons_refresh", l.refreshBeacons, false},
		{"job_signal", l.signalJob, false},
		{"environ_setenv", l.setEnvironment, false},
		{"_minion_mine", l.mine, true},
		{"fire_master", l.fireMaster, true},
		{"_salt_error", l.forward, true},
		{"__master_req_channel_payload/", l.request, true},
		{"__master_disconnected", l.checkMaster, false},
		{"__master_failback", l.returnToFirst, false},
	}
	prefixes := make([]string, len(l.reactions))
	for i, r := range l.reactions {
		prefixes[i] = r.prefix
	}
	l.sub = m.bus.Subscribe(eventbus.SubscribeOptions{Name: "minion", Prefixes: prefixes})
	return l
}

func (l *local) close() { l.sub.Close() }

// run handles events until ctx ends. It may be called again after a panic, and then goes on with
// the next event.
func (l *local) run(ctx context.Context) error {
	var aside errgroup.Group
	aside.SetLimit(maxReactions)
	defer aside.Wait()
	for {
		event, err := l.sub.Next(ctx)
		if err != nil {
			return err
		}
		v, err := payload.UnmarshalText(event.Data, payload.WireLimits())
		load, ok := v.(*data.Map)
		if err != nil || !ok {
			continue
		}
		react := l.reaction(event.Tag)
		if react.concurrent {
			aside.Go(func() error { l.react(ctx, react, event.Tag, load); return nil })
			continue
		}
		l.react(ctx, react, event.Tag, load)
	}
}

func (l *local) reaction(tag string) reaction {
	for _, r := range l.reactions {
		if strings.HasPrefix(tag, r.prefix) {
			return r
		}
	}
	return reaction{do: l.nothing}
}

func (l *local) react(ctx context.Context, r reaction, tag string, load *data.Map) {
	ctx, cancel := context.WithTimeout(ctx, reactionTimeout)
	defer cancel()
	if err := r.do(ctx, tag, load); err != nil && !errors.Is(err, context.Canceled) {
		l.log.WithError(err).Errorf("event %s", tag)
	}
}

// checkMaster makes a failover look after its master, which status.master has found disconnected.
func (l *local) checkMaster(_ context.Context, _ string, load *data.Map) error {
	f := l.m.failover
	if f != nil && load.Text("master") == f.current.Load().address.text {
		signal(f.check)
	}
	return nil
}

// returnToFirst makes a failover try the first master, which status.ping_master has found.
func (l *local) returnToFirst(_ context.Context, _ string, load *data.Map) error {
	f := l.m.failover
	if f != nil && load.Text("master") == f.links[0].address.text {
		signal(f.back)
	}
	return nil
}

// signal sends to a channel that keeps one signal, unless it has one.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (l *local) nothing(context.Context, string, *data.Map) error { return nil }

// refreshModules collects the grains and reloads the functions (salt/minion.py, module_refresh).
func (l *local) refreshModules(ctx context.Context, _ string, load *data.Map) error {
	_, err := l.m.facts.refresh(ctx)
	l.m.reload()
	if data.Truth(load.Value("notify")) {
		err = errors.Join(err, l.m.bus.Fire("/salt/minion/minion_mod_refresh_complete",
			data.NewMap("complete", true)))
	}
	return err
}

// refreshPillar collects the grains, fetches or compiles the pillar and reloads the functions.
func (l *local) refreshPillar(ctx context.Context, _ string, load *data.Map) error {
	_, err := l.m.facts.refresh(ctx)
	return errors.Join(err, l.renewPillar(ctx, data.Truth(load.Value("clean_cache"))))
}

// renewPillar fetches or compiles the pillar and reloads the functions. It updates the mine if the
// pillar changes mine_functions.
func (l *local) renewPillar(ctx context.Context, clean bool) error {
	mined := l.m.pillarMineFunctions()
	err := l.m.renewPillar(ctx, clean)
	l.m.reload()
	err = errors.Join(err, l.m.bus.Fire("/salt/minion/minion_pillar_refresh_complete",
		data.NewMap("complete", true)))
	return errors.Join(err, l.m.updateMineIfChanged(ctx, mined))
}

func (l *local) refreshGrains(ctx context.Context, _ string, load *data.Map) error {
	changed, err := l.m.facts.refresh(ctx)
	if err != nil {
		return err
	}
	if changed || data.Truth(load.Value("force_refresh")) {
		return l.renewPillar(ctx, false)
	}
	return nil
}

// signalJob signals a job on behalf of salt-call, which cannot do so itself because jobs are not
// processes. It fires an event that reports whether the job is running. Only modules/saltutil fires
// the request.
func (l *local) signalJob(_ context.Context, _ string, load *data.Map) error {
	jid := load.Text("jid")
	sig, ok := load.Value("signal").(int64)
	if !ok || !job.ValidID(job.ID(jid)) {
		return errors.New("signal without a number or a job")
	}
	running := l.m.Signal(jid, syscall.Signal(sig), data.Truth(load.Value("ends")))
	return l.m.bus.Fire("/salt/minion/job_signal_complete/"+jid, data.NewMap("running", running))
}

// setEnvironment changes the environment variables of the minion (salt/minion.py, environ_setenv;
// salt/modules/environ.py, setenv).
func (l *local) setEnvironment(_ context.Context, _ string, load *data.Map) error {
	environ, _ := load.Value("environ").(*data.Map)
	if data.Truth(load.Value("clear_all")) {
		for _, pair := range os.Environ() {
			if name, _, _ := strings.Cut(pair, "="); name != "" && !environ.Has(name) {
				if err := os.Unsetenv(name); err != nil {
					return err
				}
			}
		}
	}
	for name, value := range environ.All() {
		text, isText := value.(string)
		var err error
		switch {
		case isText:
			err = os.Setenv(data.Str(name), text)
		case value == false && data.Truth(load.Value("false_unsets")):
			err = os.Unsetenv(data.Str(name))
		case value == false:
			err = os.Setenv(data.Str(name), "")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// mine sends mine data to the masters.
func (l *local) mine(ctx context.Context, _ string, load *data.Map) error {
	load = stripped(load)
	switch load.Text("cmd") {
	case "_mine", "_mine_delete", "_mine_flush":
	default:
		return errors.New("mine data without a command")
	}
	load.Set("id", l.m.cfg.ID)
	return l.m.each(func(link *link) error { _, err := link.call(ctx, load); return err })
}

// fireMaster sends an event to the masters.
func (l *local) fireMaster(ctx context.Context, _ string, load *data.Map) error {
	e := masterEvent{tag: load.Text("tag"), body: load.Value("data"), several: load.Value("events"),
		pretag: load.Value("pretag")}
	return l.m.each(func(link *link) error { return link.send(ctx, e) })
}

// forward sends an event to the masters unchanged.
func (l *local) forward(ctx context.Context, tag string, load *data.Map) error {
	return l.m.each(func(link *link) error { return link.fire(ctx, tag, stripped(load)) })
}

// request sends a request to a master for another process of this minion, and fires the reply. The
// tag ends with a request id, followed by the master's address in some versions of Salt.
func (l *local) request(ctx context.Context, tag string, load *data.Map) error {
	_, rest, _ := strings.Cut(tag, "/")
	id, _, _ := strings.Cut(rest, "/")
	load = stripped(load)
	load.Set("id", l.m.cfg.ID)
	reply, err := linkedMasters{l.m}.Request(ctx, load)
	if err != nil {
		return err
	}
	return l.m.bus.Fire("__master_req_channel_return/"+id, data.NewMap("ret", reply))
}

// stripped returns the data of an event without the field that the bus adds.
func stripped(load *data.Map) *data.Map {
	load = load.Clone()
	load.Delete("_stamp")
	return load
}

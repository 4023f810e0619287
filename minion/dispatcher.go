package minion

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/payload"
)

// Limits of returner queues.
const (
	returnerTimeout = time.Minute // timeout of one return
	maxPerReturner  = 4           // concurrent calls of one returner
	maxQueued       = 10000       // returns waiting for one returner
	maxQueuedBytes  = 32 << 20    // total size of waiting returns, in bytes
	dispatcherDrain = 2 * time.Second
)

// dispatcher sends returns to returners other than the master (salt/minion.py, _thread_return). It
// never delays a job or its return to the master. Each returner has its own queue, so a server that
// hangs delays no other returner. A return that does not fit into the queue, or times out, is
// dropped with an error in the log.
type dispatcher struct {
	returners *loader.Registry
	log       logrus.FieldLogger
	ctx       context.Context // ends when the minion must not wait any longer
	cancel    context.CancelFunc

	mu    sync.Mutex
	lanes map[string]*lane // by returner name
}

func newDispatcher(returners *loader.Registry, log logrus.FieldLogger) *dispatcher {
	g := &dispatcher{returners: returners, log: log, lanes: map[string]*lane{}}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	return g
}

// check logs a warning for each name that is not an available returner. The minion works all the
// same: its returns go to the master.
func (g *dispatcher) check(option string, names ...string) {
	for _, name := range names {
		if name == "" || name == "None" || g.returners.Has(name+".returner") {
			continue
		}
		g.log.Warnf("%s: there is no returner %s: %s; there are %s", option, data.Repr(name),
			g.returners.MissingText(name+".returner"),
			strings.Join(g.returners.Modules(), ", "))
	}
}

// dispatch queues a return for the named returners and returns at once. ret must not be modified
// afterwards.
func (g *dispatcher) dispatch(names []string, ret *data.Map) {
	size := -1
	for _, name := range names {
		if name == "" {
			continue
		}
		if fun := name + ".returner"; !g.returners.Has(fun) {
			g.log.Errorf("Returner %s could not be loaded: %s", fun, g.returners.MissingText(fun))
			continue
		}
		if size < 0 {
			size = sizeOf(ret)
		}
		if _, ok := g.lane(name).add(func() { g.deliver(name, ret) }, size); !ok {
			g.log.Errorf("The return failed for job %s: returner %s has too many returns waiting",
				data.Str(ret.Value("jid")), name)
		}
	}
}

// sizeOf returns the approximate size of a return in bytes.
func sizeOf(ret *data.Map) int {
	b, err := payload.Marshal(ret)
	if err != nil {
		return 1 << 10
	}
	return len(b)
}

func (g *dispatcher) lane(name string) *lane {
	g.mu.Lock()
	defer g.mu.Unlock()
	l, ok := g.lanes[name]
	if !ok {
		l = &lane{parallel: maxPerReturner, maxWaiting: maxQueued,
			maxBytes: maxQueuedBytes, log: g.log}
		g.lanes[name] = l
	}
	return l
}

// deliver calls one returner with one return.
func (g *dispatcher) deliver(name string, ret *data.Map) {
	ctx, cancel := context.WithTimeoutCause(g.ctx, returnerTimeout,
		fmt.Errorf("not taken within %v", returnerTimeout))
	defer cancel()
	_, err := g.returners.Invoke(ctx, name+".returner", []any{ret.Clone()}, nil)
	if err == nil {
		return
	}
	if cause := context.Cause(ctx); cause != nil {
		err = errors.Join(cause, err)
	}
	g.log.WithError(err).Errorf("The return failed for job %s: returner %s",
		data.Str(ret.Value("jid")), name)
}

// close waits dispatcherDrain for queued returns and then cancels the rest.
func (g *dispatcher) close() {
	defer g.cancel()
	g.mu.Lock()
	lanes := slices.Collect(maps.Values(g.lanes))
	g.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, l := range lanes {
			l.done.Wait()
		}
	}()
	if within(done, dispatcherDrain) {
		return
	}
	g.cancel()
	if !within(done, dispatcherDrain) {
		g.log.Warn("returners did not end in time")
	}
}

// dispatchReturn sends a return to the returners named by the publication and by the option return.
func (j *jobs) dispatchReturn(r *running, ret *job.Return) {
	var names []string
	for _, name := range append(strings.Split(r.pub.Ret, ","), j.settings.config().Return...) {
		if name = strings.TrimSpace(name); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return
	}
	m := onHost(ret)
	if r.pub.RetConfig != nil {
		m.Set("ret_config", r.pub.RetConfig)
	}
	if r.pub.RetKwargs != nil {
		m.Set("ret_kwargs", r.pub.RetKwargs)
	}
	j.returners.dispatch(names, m)
}

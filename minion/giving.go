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

// Bounds on what is given to returners.
const (
	givingTime  = time.Minute // for one return
	atOnceGiven = 4           // of one returner
	mostGiven   = 10000       // returns that wait for one returner
	bytesGiven  = 32 << 20    // of them together
	lastGiven   = 2 * time.Second
)

// giving hands returns to returners, beside the master (salt/minion.py, _thread_return). It never keeps a job, or the
// return to the master, waiting. Each returner has a queue of its own, so that one whose server hangs delays no other; what
// does not fit into its queue, or is not taken in time, is given up with a line in the log.
type giving struct {
	returners *loader.Registry
	log       logrus.FieldLogger
	ctx       context.Context // ends when the minion has no more time
	cancel    context.CancelFunc

	mu    sync.Mutex
	lanes map[string]*lane // by name of a returner
}

func newGiving(returners *loader.Registry, log logrus.FieldLogger) *giving {
	g := &giving{returners: returners, log: log, lanes: map[string]*lane{}}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	return g
}

// check warns of names in an option that are no returners here. The minion works all the same: its returns go to the master.
func (g *giving) check(option string, names ...string) {
	for _, name := range names {
		if name == "" || name == "None" || g.returners.Has(name+".returner") {
			continue
		}
		g.log.Warnf("%s: there is no returner %s: %s; there are %s", option, data.Repr(name), g.returners.MissingText(name+".returner"),
			strings.Join(g.returners.Modules(), ", "))
	}
}

// give takes a return for the returners of some names, and comes back at once. ret must not be changed any more.
func (g *giving) give(names []string, ret *data.Map) {
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
			g.log.Errorf("The return failed for job %s: returner %s has too many returns waiting", data.Str(ret.Value("jid")), name)
		}
	}
}

// sizeOf returns about how many bytes a return takes.
func sizeOf(ret *data.Map) int {
	b, err := payload.Marshal(ret)
	if err != nil {
		return 1 << 10
	}
	return len(b)
}

func (g *giving) lane(name string) *lane {
	g.mu.Lock()
	defer g.mu.Unlock()
	l, ok := g.lanes[name]
	if !ok {
		l = &lane{most: atOnceGiven, room: mostGiven, bytes: bytesGiven, log: g.log}
		g.lanes[name] = l
	}
	return l
}

// deliver gives one return to one returner.
func (g *giving) deliver(name string, ret *data.Map) {
	ctx, cancel := context.WithTimeoutCause(g.ctx, givingTime, fmt.Errorf("not taken within %v", givingTime))
	defer cancel()
	_, err := g.returners.Invoke(ctx, name+".returner", []any{ret.Clone()}, nil)
	if err == nil {
		return
	}
	if cause := context.Cause(ctx); cause != nil {
		err = errors.Join(cause, err)
	}
	g.log.WithError(err).Errorf("The return failed for job %s: returner %s", data.Str(ret.Value("jid")), name)
}

// close gives what waits a moment, and ends the rest.
func (g *giving) close() {
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
	if within(done, lastGiven) {
		return
	}
	g.cancel()
	if !within(done, lastGiven) {
		g.log.Warn("returners do not end")
	}
}

// giveReturners hands a return to the returners that the publication and the option return name.
func (j *jobs) giveReturners(r *running, ret *job.Return) {
	var names []string
	for _, name := range append(strings.Split(r.pub.Ret, ","), j.m.settings.now().Return...) {
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
	j.giving.give(names, m)
}

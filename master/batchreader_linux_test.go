package master

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
)

// asOwner sends a request from a connection of a user of this host, with the login of fred.
func (b *bench) asOwner(t *testing.T, conn net.Conn, cmd string, fields ...any) *data.Map {
	t.Helper()
	load := fredLoad(b)
	load.Update(data.NewMap("cmd", cmd, "tgt", "*", "tgt_type", "glob", "fun", "test.echo",
		"arg", []any{"x"}))
	load.Update(data.NewMap(fields...))
	kwargs, _ := load.Value("kwargs").(*data.Map)
	kwargs.Update(data.NewMap("eauth", "auto", "username", "fred", "password", "x"))
	raw, err := payload.MarshalBin(load)
	must(t, err)
	sent, err := payload.ParseFields(raw, payload.WireLimits())
	must(t, err)
	reply, err := b.requests.clear[cmd].do(t.Context(),
		&channel.Command{Load: sent, Caller: channel.Caller{Remote: conn.LocalAddr()}})
	must(t, err)
	m, _ := reply.(*data.Map)
	inner, _ := m.Value("load").(*data.Map)
	return inner
}

// TestOwnerOfABatchReadsItAfterARestart orders a batch with a login from the shell of a user without rights,
// restarts the master and reads on: the events until the end, and the recorded returns. Of a record
// that does not say who reads the events the owner does so once they have asked.
func TestOwnerOfABatchReadsItAfterARestart(t *testing.T) {
	need.Root(t, "to become another user")
	for _, told := range []bool{true, false} {
		t.Run(map[bool]string{true: "from the record", false: "by asking"}[told], func(t *testing.T) {
			b := newBench(t, func(c *config.Master) {
				c.ExternalAuth = data.NewMap("auto", data.NewMap("fred", []any{"test.*"}))
			}, "a", "b")
			must(t, os.Chmod(filepath.Dir(filepath.Dir(b.cfg.SockDir)), 0o755))
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			l, err := net.Listen("tcp", "127.0.0.1:0")
			must(t, err)
			defer l.Close()
			b.parts.watchers.port = l.Addr().(*net.TCPAddr).Port
			var conn net.Conn
			as(t, "daemon", func() { conn, err = net.Dial("tcp", l.Addr().String()) })
			must(t, err)
			defer conn.Close()

			steps := b.bus.Subscribe(eventbus.SubscribeOptions{Name: "test", Prefixes: []string{"salt/batch/"}})
			defer steps.Close()
			crewOf(ctx, b, map[string]time.Duration{"a": 10 * time.Millisecond, "b": time.Second}, nil)
			end := b.runBatches(t)
			id := b.asOwner(t, conn, "publish_batch", "kwargs", batchOptions("batch", "1")).Text("jid")
			until(t, steps, "step")
			end()
			w := b.parts.watchers
			w.mu.Lock()
			clear(w.initiators)
			clear(w.jobs)
			w.mu.Unlock()
			if !told {
				dropReader(t, b, id)
				w.remember(job.ID(id), initiator{uid: eventbus.NoUser}) // as somebody who is not known
			}

			busEnded, ready := make(chan error, 1), make(chan struct{})
			busCtx, endBus := context.WithCancel(ctx)
			go func() { busEnded <- b.serveBus(busCtx, func() { close(ready) }) }()
			defer func() { endBus(); must(t, <-busEnded) }()
			<-ready
			var events *eventbus.Client
			as(t, "daemon", func() {
				events, err = eventbus.Dial(ctx, eventbus.MasterSockets(b.cfg.SockDir), eventbus.ClientOptions{})
			})
			must(t, err)
			defer events.Close()
			if !told {
				if r := b.asOwner(t, conn, "batch_state", "jid", id); r.Value("running") != true {
					t.Fatalf("state %s", data.Repr(r))
				}
			}
			defer b.runBatches(t)()
			returned := []string{}
			for {
				e, err := events.Next(ctx)
				if err != nil {
					t.Fatalf("%q returned, and then: %v", returned, err)
				}
				if strings.HasPrefix(e.Tag, "salt/job/"+id+"/ret/") {
					returned = append(returned, e.Tag[strings.LastIndexByte(e.Tag, '/')+1:])
				}
				if e.Tag == "salt/batch/"+id+"/done" {
					break
				}
			}
			if !slices.Contains(returned, "b") {
				t.Errorf("returns %q", returned)
			}
			r := b.asOwner(t, conn, "job_returns", "jid", id, "tgt", []any{"a", "b"})
			list, _ := r.Value("returns").([]any)
			same(t, "recorded returns", len(list), 2)
		})
	}
}

// dropReader makes the record of a batch one of an earlier version.
func dropReader(t *testing.T, b *bench, id string) {
	t.Helper()
	raw, err := b.batches.bank.Fetch(batchBank, id)
	must(t, err)
	v, err := payload.UnmarshalText(raw, payload.WireLimits())
	must(t, err)
	order, _ := v.(*data.Map).Value("order").(*data.Map)
	order.Delete("reader")
	raw, err = payload.MarshalBin(v)
	must(t, err)
	must(t, b.batches.bank.Store(batchBank, id, raw))
}

package minion

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/loader"
)

// returnersOf returns a registry of functions.
func returnersOf(
	t *testing.T, all map[string]func(ctx context.Context, ret *data.Map) error,
) *loader.Registry {
	t.Helper()
	var plugins []loader.Plugin
	for name, do := range all {
		plugins = append(plugins, loader.Plugin{Name: name, New: func(*loader.Env) (*loader.Module, error) {
			type args struct{ Ret *data.Map }
			return &loader.Module{Funcs: []loader.Func{loader.F("returner",
				func(ctx context.Context, a args) (any, error) { return nil, do(ctx, a.Ret) })}}, nil
		}})
	}
	r, err := loader.NewRegistry(&loader.Env{}, plugins)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestAReturnerThatHangsDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, hook := logtest.NewNullLogger()
		var taken, hanging atomic.Int64
		g := newDispatcher(returnersOf(t, map[string]func(context.Context, *data.Map) error{
			"good": func(context.Context, *data.Map) error { taken.Add(1); return nil },
			"dead": func(ctx context.Context, _ *data.Map) error {
				hanging.Add(1)
				defer hanging.Add(-1)
				<-ctx.Done()
				return ctx.Err()
			},
		}), log)
		begin := time.Now()
		for n := range 20 {
			g.dispatch([]string{"dead", "good", "", "unknown"}, data.NewMap("jid", fmt.Sprint(n)))
		}
		synctest.Wait()
		if taken.Load() != 20 || hanging.Load() != maxPerReturner || time.Since(begin) != 0 {
			t.Errorf("%d taken, %d hang after %v", taken.Load(), hanging.Load(), time.Since(begin))
		}
		time.Sleep(returnerTimeout + time.Second)
		if e := failures(hook, "dead"); e != maxPerReturner {
			t.Errorf("%d returns were given up after the time for one", e)
		}
		if n := failures(hook, "unknown.returner could not be loaded: 'unknown.returner' is not available."); n != 20 {
			t.Errorf("an unknown returner is told of %d times", n)
		}
		begin = time.Now()
		g.close()
		synctest.Wait()
		if time.Since(begin) > 2*dispatcherDrain || hanging.Load() != 0 {
			t.Errorf("the end took %v, %d hang", time.Since(begin), hanging.Load())
		}
	})
}

func TestUnknownReturnersAreToldOfAtTheStart(t *testing.T) {
	log, hook := logtest.NewNullLogger()
	g := newDispatcher(returnersOf(t,
		map[string]func(context.Context, *data.Map) error{"good": nil, "fine": nil}), log)
	g.check("return", "good", "elasticsearch", "")
	if e := hook.AllEntries(); len(e) != 1 ||
		e[0].Message != "return: there is no returner 'elasticsearch': 'elasticsearch.returner' is not available.; there are fine, good" {
		t.Errorf("the log says %v", e)
	}
}

func failures(hook *logtest.Hook, text string) (n int) {
	for _, e := range hook.AllEntries() {
		if e.Level == logrus.ErrorLevel && strings.Contains(e.Message, text) {
			n++
		}
	}
	return n
}

func TestWhatDoesNotFitIsToldOf(t *testing.T) {
	log, hook := logtest.NewNullLogger()
	hold := make(chan struct{})
	var taken atomic.Int64
	g := newDispatcher(returnersOf(t, map[string]func(context.Context, *data.Map) error{
		"slow": func(context.Context, *data.Map) error { <-hold; taken.Add(1); return nil },
	}), log)
	for n := range maxPerReturner + maxQueued + 3 {
		g.dispatch([]string{"slow"}, data.NewMap("jid", int64(n)))
	}
	close(hold)
	g.close()
	if lost := failures(hook, "has too many returns waiting"); lost != 3 ||
		taken.Load() != maxPerReturner+maxQueued {
		t.Errorf("%d lost, %d taken", lost, taken.Load())
	}
}

// TestTheMasterDoesNotWaitForReturners also has the master's return without the fields for
// returners.
func TestTheMasterDoesNotWaitForReturners(t *testing.T) {
	w := newWorkshop(t, &config.Minion{MinionPaths: config.MinionPaths{CacheDir: t.TempDir()},
		MinionJobs: config.MinionJobs{ProcessCountMax: 1, Return: []string{"always"}}})
	given := make(chan *data.Map, 10)
	w.jobs.returners = newDispatcher(returnersOf(t, map[string]func(context.Context, *data.Map) error{
		"named":  func(ctx context.Context, _ *data.Map) error { <-ctx.Done(); return ctx.Err() },
		"always": func(_ context.Context, ret *data.Map) error { given <- ret; return nil },
	}), w.log)
	for n := range 3 {
		w.jobs.start(t.Context(), &job.Publication{JID: job.ID(fmt.Sprintf("%020d", n)),
			Fun: []string{"test.count"}, Target: "*", Ret: "named,always",
			RetConfig: "alternative", RetKwargs: data.NewMap("db", "x")}, w.link, 100)
	}
	w.wait() // with one job at once, the second needs the end of the first
	deliverAll(t, w.link.courier)
	if _, got := w.master.state(); len(got) != 3 {
		t.Errorf("%d returns at the master", len(got))
	}
	ret := <-given
	if ret.Text("ret_config") != "alternative" || ret.Has("cmd") || ret.Text("id") != "web1" ||
		ret.Text("jid") == "" {
		t.Errorf("the returner got %s", data.Repr(ret))
	}
	w.jobs.returners.cancel()
	w.jobs.returners.close()
}

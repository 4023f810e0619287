package master

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
)

func TestMasterRunsRunnersByItsSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		item := data.NewMap("function", "test.arg", "args", []any{int64(1)}, "kwargs",
			data.NewMap("a", "b"), "minutes", int64(10), "metadata", data.NewMap("team", "web"))
		b := newBench(t, func(c *config.Master) {
			c.Schedule = data.NewMap("beat", item, "quiet",
				data.NewMap("function", "test.arg", "minutes", int64(10), "return_job", false))
		})
		sub := b.bus.Subscribe(eventbus.SubscribeOptions{Name: "test", Prefixes: []string{scheduleTag}})
		defer sub.Close()
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- b.schedule.Run(ctx) }()
		time.Sleep(25 * time.Minute)
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		for n := range 2 {
			e, err := sub.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			load, err := e.Map()
			if err != nil {
				t.Fatal(err)
			}
			if load.Text("schedule") != "beat" || load.Text("jid") != "req" ||
				data.Repr(load.Value("fun_args")) != "[1, {'a': 'b'}]" ||
				data.Repr(load.Value("return")) != "{'args': [1], 'kwargs': {'a': 'b'}}" ||
				load.Value("success") != true {
				t.Errorf("return %d: %s", n, data.Repr(load))
			}
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if e, err := sub.Next(ended); err == nil {
			t.Errorf("one more return: %s", e.Tag)
		}
	})
}

func TestRenewReplacesTheSchedule(t *testing.T) {
	b := newBench(t, func(c *config.Master) {
		c.Schedule = data.NewMap("old", data.NewMap("function", "test.arg", "hours", int64(1)))
	})
	next := config.DefaultMaster()
	next.Schedule = data.NewMap("new", data.NewMap("function", "test.arg", "hours", int64(1)))
	renewed, change := b.cfg.Renew(next)
	if len(change.Applied) != 1 || change.Applied[0] != "schedule" {
		t.Errorf("applied %v", change.Applied)
	}
	b.Renew(renewed)
	_, body, err := b.schedule.Manage(t.Context(), data.NewMap("func", "list"))
	if err != nil {
		t.Fatal(err)
	}
	if list, _ := body.Value("schedule").(*data.Map); list.Has("old") || !list.Has("new") {
		t.Errorf("schedule = %s", data.Repr(body))
	}
}

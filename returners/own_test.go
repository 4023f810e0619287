package returners

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/payload"
)

// ownFunctions returns the functions of the returner mine, which note their arguments, and those of
// the returner sour, which fail.
func ownFunctions(t *testing.T, calls *[]string) func() *loader.Registry {
	t.Helper()
	note := func(name string, args ...any) { *calls = append(*calls, name+data.Repr(args)) }
	mine := loader.Module{Funcs: []loader.Func{
		loader.F("prep_jid", func(_ context.Context, a struct{ Nocache, PassedJid any }) (any, error) {
			note("prep_jid", a.Nocache, a.PassedJid)
			return "another", nil
		}),
		loader.F("save_load", func(_ context.Context, a struct {
			Jid, Load any
			Minions   any `default:"None"`
		}) (any, error) {
			note("save_load", a.Jid, a.Load, a.Minions)
			return nil, nil
		}),
		loader.F("returner", func(_ context.Context, a struct{ Ret any }) (any, error) {
			note("returner", a.Ret)
			return nil, nil
		}),
		loader.F("event_return", func(_ context.Context, a struct{ Events any }) (any, error) {
			note("event_return", a.Events)
			return nil, nil
		}),
		loader.F("get_load", func(_ context.Context, a struct{ Jid string }) (any, error) {
			if a.Jid != "20240101000000000000" {
				return data.NewMap(), nil
			}
			return data.NewMap("fun", "test.ping", "Minions", []any{"m1"}), nil
		}),
		loader.F("get_jid", func(context.Context, struct{ Jid any }) (any, error) {
			return data.NewMap("m1", data.NewMap("return", "from mine")), nil
		}),
	}}
	sour := loader.Module{Funcs: []loader.Func{
		loader.F("event_return", func(context.Context, struct{ Events any }) (any, error) {
			return nil, loader.Exception("ValueError", "no")
		}),
		loader.F("get_jid", func(context.Context, struct{ Jid any }) (any, error) {
			return nil, errors.New("away")
		}),
	}}
	r, err := loader.NewRegistry(&loader.Env{}, []loader.Plugin{
		{Name: "mine", New: func(*loader.Env) (*loader.Module, error) { return &mine, nil }},
		{Name: "sour", New: func(*loader.Env) (*loader.Module, error) { return &sour, nil }},
	})
	if err != nil {
		t.Fatal(err)
	}
	return func() *loader.Registry { return r }
}

// oneJob is a cache with one job and its return.
type oneJob struct{ job *Job }

func (o oneJob) Job(_ context.Context, id job.ID) (*Job, error) {
	if id != o.job.ID {
		return nil, ErrUnknownJob
	}
	return o.job, nil
}

func (o oneJob) Returns(context.Context, job.ID) ([]Return, error) {
	return []Return{{Minion: "kept"}}, nil
}

func (o oneJob) Jobs(context.Context, Filter) ([]Job, error) { return []Job{*o.job}, nil }

func encoded(t *testing.T, pairs ...any) data.Raw {
	t.Helper()
	raw, err := payload.MarshalBin(data.NewMap(pairs...))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestOwnReturnerGetsJobs(t *testing.T) {
	var calls []string
	log, _ := logtest.NewNullLogger()
	o := NewOwn("mine", ownFunctions(t, &calls), log)
	defer o.Close()
	j := &Job{ID: "20260301120000123456", Load: encoded(t, "fun", "test.ping"), Minions: []string{"web1"}}
	err := errors.Join(o.Prepare(t.Context(), j), o.SaveJob(t.Context(), j),
		o.SaveJob(t.Context(), &Job{ID: "20260301120000123457", Load: encoded(t, "fun", "runner.x")}),
		o.SaveReturn(t.Context(), j.ID, &Return{Minion: "web1", Load: encoded(t, "return", true),
			Received: time.Now()}, true),
		o.ReturnEvents(t.Context(), []Event{{Tag: "a/b", Data: data.NewMap("k", 1)}}))
	want := "prep_jid[False, '20260301120000123456']\n" +
		"save_load['20260301120000123456', {'fun': 'test.ping'}, ['web1']]\n" +
		"save_load['20260301120000123457', {'fun': 'runner.x'}, None]\n" +
		"returner[{'return': True}]\nevent_return[[{'tag': 'a/b', 'data': {'k': 1}}]]"
	if got := strings.Join(calls, "\n"); err != nil || got != want {
		t.Errorf("%v: got\n%s\nwant\n%s", err, got, want)
	}
}

func TestOwnReaderAsksTheReturnerFirst(t *testing.T) {
	var calls []string
	log, _ := logtest.NewNullLogger()
	functions := ownFunctions(t, &calls)
	known := oneJob{&Job{ID: "20260301120000123456"}}
	for _, c := range []struct{ name, want string }{{"mine", "m1"}, {"sour", "kept"}} {
		r := NewOwnReader(NewOwn(c.name, functions, log), known)
		found, err := r.Returns(t.Context(), known.job.ID)
		if err != nil || len(found) != 1 || found[0].Minion != c.want {
			t.Errorf("%s: %v, %v", c.name, found, err)
		}
	}
	r := NewOwnReader(NewOwn("mine", functions, log), known)
	if j, err := r.Job(t.Context(), known.job.ID); j != known.job || err != nil {
		t.Errorf("a job of the master: %v, %v", j, err)
	}
	j, err := r.Job(t.Context(), "20240101000000000000")
	if err != nil || fmt.Sprint(j.Minions) != "[m1]" {
		t.Errorf("a job of the returner: %v, %v", j, err)
	}
	if _, err := r.Job(t.Context(), "20240101000000000001"); !errors.Is(err, ErrUnknownJob) {
		t.Errorf("a job of neither: %v", err)
	}
}

func TestEventsThatAnOwnReturnerRefusesAreLogged(t *testing.T) {
	var calls []string
	log, hook := logtest.NewNullLogger()
	for name, want := range map[string]string{
		"sour": "Could not store events - returner 'sour.event_return' raised exception: function event_return of sour: Traceback (most recent call last):\nValueError: no\n",
		"none": "Could not store return for event(s) - returner 'none.event_return' not found: 'none.event_return' is not available.",
	} {
		hook.Reset()
		o := NewOwn(name, ownFunctions(t, &calls), log)
		if err := o.ReturnEvents(t.Context(), []Event{{Tag: "a"}}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if e := hook.LastEntry(); e == nil || e.Level != logrus.ErrorLevel || e.Message != want {
			t.Errorf("%s: logged %+v\nwant %s", name, e, want)
		}
	}
}

package schedule

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brineproject/brine/data"
)

// TestJobThatComesBackFromItsFileKeepsItsPace gives a scheduler a job by a request, and then the
// same job as the file has it, where its entries are in another order.
func TestJobThatComesBackFromItsFileKeepsItsPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int64
		s, err := New(Options{Run: func(context.Context, Call) error { runs.Add(1); return nil }})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- s.Run(ctx) }()
		synctest.Wait()
		item := data.NewMap("function", "test.ping", "run_on_start", true, "seconds", int64(60),
			"args", []any{"a"}, "maxrunning", int64(1))
		if _, _, err := s.Manage(ctx, data.NewMap("func", "add", "name", "beat",
			"schedule", data.NewMap("beat", item))); err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Second)
		before := runs.Load()
		s.SetConfig(data.NewMap("beat",
			data.NewMap("args", []any{"a"}, "function", "test.ping", "maxrunning", int64(1), "name",
				"beat", "run_on_start", true, "seconds", int64(60))), nil)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if runs.Load() != before {
			t.Errorf("run_on_start ran again: %d runs, had %d", runs.Load(), before)
		}
		time.Sleep(6 * time.Second)
		synctest.Wait()
		if runs.Load() != before+1 {
			t.Errorf("%d runs after a minute, want %d: the job has lost its pace", runs.Load(), before+1)
		}
		stop()
		<-done
	})
}

// operators is the path of a file of jobs beside the one that the scheduler writes.
const operators = "/etc/salt/minion.d/jobs.conf"

// reread gives the scheduler its configuration again: what its own file holds now, and the jobs of
// an operator's file over it.
func (b *bench) reread(file, jobs string) {
	b.t.Helper()
	all, files := data.NewMap(), Files{operators: parsed(b.t, jobs)}
	if saved, err := os.ReadFile(file); err == nil {
		files[file], _ = parsed(b.t, string(saved)).Value("schedule").(*data.Map)
		all.Update(ownMap(files[file]))
	}
	all.Update(files[operators])
	b.SetConfig(all, files)
}

// has compares the names of the jobs.
func (b *bench) has(want string) {
	b.t.Helper()
	b.Scheduler.mu.Lock()
	defer b.Scheduler.mu.Unlock()
	if got := keysOf(data.NewMap("schedule", b.list("opts"))); got != want {
		b.t.Errorf("the schedule has %q, want %q", got, want)
	}
}

// TestOwnWriteIsNoEdit changes a schedule by requests, saved and not, and then reads the
// configuration with the file that the requests wrote.
func TestOwnWriteIsNoEdit(t *testing.T) {
	const base = "a: {function: test.ping, hours: 1}\nb: {function: test.ping, hours: 1}\n"
	file := filepath.Join(t.TempDir(), "minion.d", "_schedule.conf")
	added := func(name string) *data.Map { return parsed(t, name+": {function: test.fib, hours: 9, args: [1]}") }
	inBubble(t, "2017-11-29T15:00:00", base,
		Options{File: file, Files: Files{operators: parsed(t, base)}}, func(b *bench) {
			b.ask("func", "add", "name", "pp", "schedule", added("pp"), "persist", true)
			b.ask("func", "delete", "name", "pp", "persist", false)
			b.ask("func", "add", "name", "temporary", "schedule", added("temporary"), "persist", false)
			b.ask("func", "skip_job", "name", "a", "time", "2017-11-29T16:00:00")
			b.ask("func", "postpone_job", "name", "b", "time", "2017-11-29T16:00:00", "new_time",
				"2017-11-29T16:30:00")
			b.reread(file, base)
			b.has("a b temporary")
			b.pass(59 * time.Minute)
			b.reread(file, base)
			b.pass(2 * time.Minute)
			b.expect()
			b.pass(30 * time.Minute)
			b.expect("b 1129T16:30:00")

			b.reread(file, "a: {function: test.ping, minutes: 10}\nb: {function: test.ping, hours: 1}\nc: {function: test.ping, hours: 7}\n")
			b.has("a b temporary c")
			b.pass(20 * time.Minute)
			b.expect("a 1129T16:41:00", "a 1129T16:51:00")
			b.reread(file, "b: {function: test.ping, hours: 1}\nc: {function: test.ping, hours: 7}\n")
			b.has("a b temporary c") // the saved file has a still
			b.ask("func", "delete", "name", "a", "persist", true)
			b.reread(file, "b: {function: test.ping, hours: 1}\nc: {function: test.ping, hours: 7}\n")
			b.has("b temporary c")
			b.reread(file, "b: {function: test.ping, hours: 1}\n")
			b.has("b temporary c") // what was saved has it too
		})
}

// TestSavedScheduleThatBreaksChangesNothing gives a scheduler a saved file that cannot be read, and
// then one that can.
func TestSavedScheduleThatBreaksChangesNothing(t *testing.T) {
	const file = "/etc/salt/minion.d/_schedule.conf"
	jobs := "a: {function: test.ping, hours: 1}"
	inBubble(t, "2017-11-29T15:00:00", jobs, Options{Files: Files{file: parsed(t, jobs)}}, func(b *bench) {
		b.SetConfig(nil, Files{file: nil})
		b.has("a")
		b.SetConfig(parsed(t, jobs), Files{file: parsed(t, jobs)})
		b.pass(time.Hour)
		b.expect("a 1129T16:00:00")
		b.SetConfig(nil, Files{})
		b.has("")
	})
}

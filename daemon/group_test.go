package daemon

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/sirupsen/logrus/hooks/test"
)

// A diary notes what happens in order; several goroutines may write.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) note(line string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, line)
}

func (d *diary) read() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.lines)
}

func newTestGroup() (*Group, *test.Hook) {
	log, hook := test.NewNullLogger()
	return NewGroup(GroupOptions{Name: "the test", Stop: 9 * time.Second, Log: log}), hook
}

// part returns one that runs until its context ends.
func (d *diary) part(name string) Part {
	return Part{Name: name, Run: func(ctx context.Context, ready func()) error {
		d.note(name + " starts")
		ready()
		<-ctx.Done()
		d.note(name + " stops")
		return ctx.Err()
	}}
}

// run runs a group in the background and returns its end.
func run(ctx context.Context, g *Group, ready func(), parts ...Part) <-chan error {
	done := make(chan error, 1)
	go func() { done <- g.Run(ctx, ready, parts...) }()
	return done
}

func TestGroupStartsInOrderAndStopsInReverse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := newTestGroup()
		var d diary
		ctx, stop := context.WithCancel(t.Context())
		done := run(ctx, g, func() { d.note("ready") }, d.part("bus"), d.part("jobs"), d.part("port"))
		synctest.Wait()
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		want := []string{"bus starts", "jobs starts", "port starts", "ready", "port stops",
			"jobs stops", "bus stops"}
		if got := d.read(); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestPartThatFailsIsStartedAgainAndTheOthersStay(t *testing.T) {
	for name, fail := range map[string]func() error{
		"error": func() error { return errors.New("disk full") },
		"panic": func() error { panic("index out of range") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, hook := newTestGroup()
				var d diary
				starts := 0
				flaky := Part{Name: "flaky", Run: func(ctx context.Context, ready func()) error {
					starts++
					ready()
					if starts <= 2 {
						return fail()
					}
					<-ctx.Done()
					return ctx.Err()
				}}
				ctx, stop := context.WithCancel(t.Context())
				done := run(ctx, g, func() {}, d.part("steady"), flaky)
				time.Sleep(2 * restartPause)
				synctest.Wait()
				if starts != 3 {
					t.Errorf("started %d times, want 3", starts)
				}
				if got := d.read(); !slices.Equal(got, []string{"steady starts"}) {
					t.Errorf("the other part: %q", got)
				}
				if n := len(hook.AllEntries()); n != 2 {
					t.Errorf("%d log lines, want one for each failure", n)
				}
				state := g.Parts()[1]
				if !state.Running || state.Restarts != 2 || state.LastErr == "" {
					t.Errorf("state %+v", state)
				}
				if !strings.Contains(g.Dump(), "restarts 2") || g.Trouble() != "" {
					t.Errorf("dump %q, trouble %q", g.Dump(), g.Trouble())
				}
				stop()
				if err := <-done; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestPartThatFailsForEverIsRestartedWithPausesAndToldOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, hook := newTestGroup()
		starts := 0
		bad := Part{Name: "bad", Run: func(_ context.Context, ready func()) error { starts++; ready(); return errors.New("no") }}
		ctx, stop := context.WithCancel(t.Context())
		done := run(ctx, g, func() {}, bad)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if starts < 100 || starts > 1202 {
			t.Errorf("started %d times in ten minutes, want two a second at most", starts)
		}
		if n := len(hook.AllEntries()); n < 10 || n > 20 {
			t.Errorf("%d log lines in ten minutes, want the first and one a minute", n)
		}
		if !strings.Contains(hook.LastEntry().Message, "times before since this was told") {
			t.Errorf("last line: %s", hook.LastEntry().Message)
		}
		if got := g.Trouble(); !strings.Contains(got, "bad failed") {
			t.Errorf("trouble %q", got)
		}
		stop()
		<-done
	})
}

func TestGroupEndsWith(t *testing.T) {
	fault := errors.New("port closed")
	for _, tt := range []struct {
		name string
		part Part
	}{
		{"a vital part", Part{Vital: true, Run: Always(func(context.Context) error { return fault })}},
		{"a vital part that panics", Part{Vital: true,
			Run: Always(func(context.Context) error { panic(fault.Error()) })}},
		{"a part that fails before it is ready",
			Part{Run: func(context.Context, func()) error { return fault }}},
		{"a fatal error of any part", Part{Run: Always(func(context.Context) error { return Fatal(fault) })}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, _ := newTestGroup()
				var d diary
				tt.part.Name = "vital"
				err := <-run(t.Context(), g, func() {}, d.part("bus"), tt.part)
				if err == nil || !strings.Contains(err.Error(), "vital: ") ||
					!strings.Contains(err.Error(), fault.Error()) {
					t.Errorf("err = %v", err)
				}
				if got := d.read(); !slices.Equal(got, []string{"bus starts", "bus stops"}) {
					t.Errorf("the other part: %q", got)
				}
			})
		})
	}
}

func TestPartThatDoesNotEndIsLeft(t *testing.T) {
	log, hook := test.NewNullLogger()
	g := NewGroup(GroupOptions{Name: "the test", Stop: 10 * time.Millisecond, Log: log})
	release := make(chan struct{})
	defer close(release)
	stuck := Part{Name: "stuck", Run: Always(func(context.Context) error { <-release; return nil })}
	ctx, stop := context.WithCancel(t.Context())
	done := run(ctx, g, stop, stuck)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if e := hook.LastEntry(); e == nil || e.Level != logrus.WarnLevel ||
		!strings.Contains(e.Message, "stuck of the test does not end in time") {
		t.Errorf("log: %v", e)
	}
}

package schedule

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	_ "time/tzdata" // the zones of the tests, wherever they run

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/yaml"
)

// A bench is a scheduler in a bubble of virtual time, with a wall clock that can be set.
type bench struct {
	*Scheduler
	t      *testing.T
	mu     sync.Mutex
	shift  time.Duration
	fired  []string
	looks  int           // how often the wall clock was read
	lasts  time.Duration // how long a job takes
	calls  []Call
	active map[string]int
	most   map[string]int
	log    bytes.Buffer
}

// inBubble runs f with a scheduler whose wall clock starts at a time in UTC.
func inBubble(t *testing.T, at, jobs string, o Options, f func(b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, at, jobs, o)
		done := make(chan error)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { done <- b.Run(ctx) }()
		synctest.Wait()
		f(b)
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run gives %v", err)
		}
	})
}

func newBench(t *testing.T, at, jobs string, o Options) *bench {
	t.Helper()
	b := &bench{t: t, active: map[string]int{}, most: map[string]int{}}
	b.set(at)
	logger := logrus.New()
	logger.SetOutput(&b.log)
	o.Run, o.Now, o.Log, o.Jobs = b.run, b.now, logger, parsed(t, jobs)
	if o.Location == nil {
		o.Location = time.UTC
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	b.Scheduler = s
	return b
}

func parsed(t *testing.T, text string) *data.Map {
	t.Helper()
	v, err := yaml.Load([]byte(text), yaml.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m, _ := v.(*data.Map)
	return m
}

func (b *bench) now() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.looks++
	return time.Now().Add(b.shift)
}

// set sets the wall clock, to a time in UTC.
func (b *bench) set(at string) { b.setTo(civilTime(b.t, at)) }

func (b *bench) setTo(at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.shift = at.Sub(time.Now())
}

// jump moves the wall clock.
func (b *bench) jump(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.shift += d
}

func (b *bench) run(ctx context.Context, c Call) error {
	now := b.now()
	b.mu.Lock()
	b.fired = append(b.fired, c.Name+" "+civil(now, b.o.Location).Format("0102T15:04:05"))
	b.calls = append(b.calls, c)
	b.active[c.Name]++
	b.most[c.Name] = max(b.most[c.Name], b.active[c.Name])
	lasts := b.lasts
	b.mu.Unlock()
	select {
	case <-time.After(lasts):
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.active[c.Name]--
	return nil
}

// pass lets time pass.
func (b *bench) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// expect compares what has fired since the last time.
func (b *bench) expect(want ...string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if strings.Join(b.fired, ", ") != strings.Join(want, ", ") {
		b.t.Errorf("fired\n%s\nwant\n%s", strings.Join(b.fired, ", "), strings.Join(want, ", "))
	}
	b.fired = nil
}

// count returns how often jobs have fired since the last time.
func (b *bench) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := len(b.fired)
	b.fired = nil
	return n
}

// field returns a field of a job's status in Python's form.
func (b *bench) field(job, field string) string {
	b.t.Helper()
	_, body := b.ask("func", "job_status", "name", job, "fire_event", true)
	m, ok := body.Value("data").(*data.Map)
	if !ok {
		b.t.Fatalf("status of %s is %s", job, data.Repr(body))
	}
	v, ok := m.Get(field)
	if t, isTime := v.(time.Time); isTime {
		return FormatTime(t, TimeFormat)
	}
	if !ok {
		return "missing"
	}
	return data.Str(v)
}

func (b *bench) is(job, field, want string) {
	b.t.Helper()
	if got := b.field(job, field); got != want {
		b.t.Errorf("%s of %s is %s, want %s", field, job, got, want)
	}
}

// ask sends a request and lets what follows from it happen.
func (b *bench) ask(pairs ...any) (string, *data.Map) {
	b.t.Helper()
	tag, body, err := b.Manage(b.t.Context(), data.NewMap(pairs...))
	if err != nil {
		b.t.Errorf("Manage(%s): %v", data.Repr(data.NewMap(pairs...)), err)
	}
	synctest.Wait()
	return tag, body
}

// sortFired puts jobs that fired at one time in order.
func (b *bench) sortFired() {
	b.mu.Lock()
	defer b.mu.Unlock()
	slices.SortStableFunc(b.fired, func(x, y string) int {
		nameX, atX, _ := strings.Cut(x, " ")
		nameY, atY, _ := strings.Cut(y, " ")
		if atX != atY {
			return 0
		}
		return strings.Compare(nameX, nameY)
	})
}

func mapOf(m *data.Map) func() *data.Map { return func() *data.Map { return m } }

// fuzzed returns what is in a text, nil when it is no map.
func fuzzed(text string) *data.Map {
	v, _ := yaml.Load([]byte(text), yaml.Options{})
	m, _ := v.(*data.Map)
	return m
}

// called returns all firings from the start.
func (b *bench) called() []Call {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.calls)
}

// looked returns how often the wall clock was read.
func (b *bench) looked() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.looks
}

// last has each job take so long from now on.
func (b *bench) last(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lasts = d
}

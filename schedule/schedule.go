// Package schedule runs jobs at their times: Salt's scheduler (salt/utils/schedule.py) for a minion
// or a master.
//
// A Scheduler takes the jobs of the option schedule and of the pillar, and calls the function
// Options.Run for each firing. Manage handles the requests of the event protocol manage_schedule.
//
//	s, err := schedule.New(schedule.Options{Jobs: jobs, Pillar: pillar, File: file, Run: run})
//	err = s.Run(ctx)
//
// Jobs use one of two clocks. Jobs with seconds, minutes, hours or days use the monotonic clock and
// keep their pace when the wall clock is set. Jobs with cron, when or once, and all windows (range,
// after, until, skips), use the wall clock in Options.Location. Each wall-clock moment fires once:
// if the clock is set back, moments already covered do not fire again. If it is set forward, the
// last missed moment is made up if it is at most three hours old. A moment in an hour skipped by
// daylight saving time fires at the end of the gap. A moment in an hour that occurs twice fires
// only the first time.
//
// The scheduler sleeps until the next moment. While wall-clock jobs have future moments, it checks
// every minute whether the clock was set. A wall-clock job without future moments is only checked
// together with other jobs.
//
// As in Salt, an interval counts from the last run, including splay. An interval job that is due
// outside of its range runs when the range begins, while a wall-clock job is skipped. A job due
// because of run_on_start ignores its windows. If seconds, minutes, hours or days are combined with
// when, cron or once, the interval wins.
//
// Differences from Salt: An invalid job does not stop other jobs. All windows of a job must be
// open, whereas in Salt the last one checked decides. skip_explicit skips exactly the given times,
// whereas Salt runs nothing until they have passed. Jobs that do not change when the pillar is
// refreshed keep their pace. Tasks of the program itself continue when the schedule is disabled,
// and are not saved. The scheduler's own fields of a job (name, run, maxrunning …) are shown but
// not saved. The reason of a skip is shown until the next run, with the number of skips as
// _skip_count.
package schedule

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/logging"
)

// A Run executes one firing of a job and returns when it has ended. It must be safe for concurrent
// use.
type Run func(ctx context.Context, c Call) error

// Options configure a Scheduler. Except for Run, the functions must not call the Scheduler.
type Options struct {
	Jobs   *data.Map        // the option schedule: jobs by name, and global settings; may be nil
	Files  Files            // source of Jobs; nil if unknown
	Pillar *data.Map        // schedule of the pillar; Jobs take precedence
	Whens  func() *data.Map // named times, from the key whens of pillar or grains; may be nil
	// path of _schedule.conf, to which changes are saved; "" disables saving
	File string

	Location *time.Location      // for wall-clock times; nil means time.Local
	Now      func() time.Time    // wall clock; nil means time.Now
	Rand     func(n int64) int64 // returns a number from 0 to n-1; nil means math/rand/v2.Int64N
	Run      Run                 // required
	// number of running firings of a job, including other processes; may be nil
	Running func(name string) int
	Known   func(fun string) bool // reports whether a function exists; nil accepts all
	Log     logrus.FieldLogger    // nil means no log
}

// A Scheduler runs jobs at their times. It is safe for concurrent use.
type Scheduler struct {
	o    Options
	wake chan struct{} // capacity 1
	wg   sync.WaitGroup

	mu      sync.Mutex
	ctx     context.Context // of Run; nil if it is not running
	conf    *data.Map
	files   Files // configuration as last read, updated when saved
	pillar  *data.Map
	globals globals
	works   []*work // jobs in schedule order
	tasks   []*work
	running map[string]int // running firings by name
}

const mostExplicit = 100 // maximum of times kept in skip_explicit and run_explicit of a job

// ErrNoRun is returned by New if Options.Run is not set.
var ErrNoRun = errors.New("no function to run jobs")

// New returns a scheduler of the jobs, which count from now on. Invalid jobs are logged.
func New(o Options) (*Scheduler, error) {
	if o.Run == nil {
		return nil, ErrNoRun
	}
	if o.Log == nil {
		o.Log = logging.Discard()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Location == nil {
		o.Location = time.Local
	}
	if o.Rand == nil {
		o.Rand = rand.Int64N
	}
	s := &Scheduler{o: o, wake: make(chan struct{}, 1), conf: ownMap(o.Jobs),
		files: filesOf(o.Jobs, o.Files), pillar: ownMap(o.Pillar), running: map[string]int{}}
	s.build()
	return s, nil
}

func ownMap(m *data.Map) *data.Map {
	if m == nil {
		return data.NewMap()
	}
	own, _ := data.Clone(m).(*data.Map)
	return own
}

// SetPillar replaces the jobs of the pillar and refreshes the named times. Unchanged jobs keep
// their pace.
func (s *Scheduler) SetPillar(jobs *data.Map) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pillar = ownMap(jobs)
	s.build()
}

// merged returns the jobs of pillar and configuration. The latter take precedence.
func (s *Scheduler) merged() *data.Map {
	all := s.pillar.Clone()
	all.Update(s.conf)
	return all
}

func (s *Scheduler) read() reading {
	return reading{mono: time.Now(), wall: s.o.Now().Round(0)}
}

// stir wakes Run.
func (s *Scheduler) stir() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

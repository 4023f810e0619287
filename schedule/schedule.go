// Package schedule runs jobs at their times: Salt's scheduler (salt/utils/schedule.py) for a minion or a master.
//
// A Scheduler is given the jobs of the option schedule and those of the pillar, and calls the function that its role lends for each
// firing. Requests of the event protocol manage_schedule are answered by Manage.
//
//	s, err := schedule.New(schedule.Options{Jobs: jobs, Pillar: pillar, File: file, Run: run})
//	err = s.Run(ctx)
//
// There are two clocks. Jobs with seconds, minutes, hours or days run on the monotonic clock: they keep their pace whatever is done
// to the wall clock. Jobs with cron, when or once, and all windows (range, after, until, skips), go by the wall clock in
// Options.Location. There a moment fires once: when the clock is put back, moments that have been lived through do not fire again;
// when it is put forward, the last moment that was jumped over is made up for, if it is at most three hours ago. A moment in an hour
// that daylight saving leaves out fires as soon as that hour would have been over; in an hour that comes twice it fires the first
// time only.
//
// The scheduler sleeps until the next moment. While jobs of the wall clock have moments to come, it looks every minute whether that
// clock was set; without such jobs it does not. One whose moments are all over is looked at only when another job is.
//
// What is odd, and as in Salt: an interval counts from the last run, splay included. A job with an interval that comes due outside of
// its range runs as soon as the range begins, while one of the wall clock is left out. A job that is due at the start by
// run_on_start runs whatever its windows say. When seconds, minutes, hours or days stand beside when, cron or once, the interval
// wins.
//
// What differs from Salt: a job that cannot be understood stops no other job. All windows of a job must be open, where in Salt the
// last one that is looked at decides. A time in skip_explicit leaves out that time alone, where Salt runs nothing until it
// has passed. Jobs that stay the same when the pillar is read anew keep their pace. Tasks of the program itself do not stop when
// the schedule is disabled, and are not written to the file. What the scheduler learns of a job (name, run, maxrunning …) is shown,
// and not written either. The reason of a skip is shown until the next run, with the number of skips as _skip_count.
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

// A Run executes one firing of a job, and returns when that has ended. Several may be under way at once.
type Run func(ctx context.Context, c Call) error

// Options are what a Scheduler works with. Its functions must not call the Scheduler, but for Run.
type Options struct {
	Jobs   *data.Map        // the option schedule, jobs by name and the settings for all; nil for none
	Files  Files            // from which Jobs was made; nil when that is not known
	Pillar *data.Map        // schedule of the pillar; Jobs go before it
	Whens  func() *data.Map // times by name, from the key whens of pillar or grains; nil for none
	File   string           // path of _schedule.conf, to which changes are saved; "" saves nothing

	Location *time.Location        // of wall-clock times; nil means time.Local
	Now      func() time.Time      // the wall clock; nil means time.Now
	Rand     func(n int64) int64   // a number from 0 to n-1; nil means math/rand/v2.Int64N
	Run      Run                   // must be set
	Running  func(name string) int // how many firings of a job run now, those of other processes too; nil for none
	Known    func(fun string) bool // whether there is such a function; nil knows all
	Log      logrus.FieldLogger    // nil logs nothing
}

// A Scheduler runs jobs at their times. Several goroutines may use it.
type Scheduler struct {
	o    Options
	wake chan struct{} // of size 1
	wg   sync.WaitGroup

	mu      sync.Mutex
	ctx     context.Context // of Run; nil when it is not running
	conf    *data.Map
	files   Files // of the configuration as last read, with what was saved since
	pillar  *data.Map
	globals globals
	works   []*work // jobs in the order of the schedule
	tasks   []*work
	running map[string]int // firings under way by name
}

const mostExplicit = 100 // times that are kept in skip_explicit and run_explicit of a job

// ErrNoRun is returned by New when Options.Run is not set.
var ErrNoRun = errors.New("no function to run jobs")

// New returns a scheduler of the jobs; they begin to count from here. A job that cannot be understood is logged.
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
	s := &Scheduler{o: o, wake: make(chan struct{}, 1), conf: ownMap(o.Jobs), files: filesOf(o.Jobs, o.Files),
		pillar: ownMap(o.Pillar), running: map[string]int{}}
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

// SetPillar gives the scheduler other jobs of the pillar, and reads the named times anew. Jobs that are the same as before keep their
// pace.
func (s *Scheduler) SetPillar(jobs *data.Map) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pillar = ownMap(jobs)
	s.build()
}

// merged returns the jobs of pillar and configuration; the latter go before.
func (s *Scheduler) merged() *data.Map {
	all := s.pillar.Clone()
	all.Update(s.conf)
	return all
}

func (s *Scheduler) read() reading {
	return reading{mono: time.Now(), wall: s.o.Now().Round(0)}
}

// stir makes Run look again.
func (s *Scheduler) stir() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

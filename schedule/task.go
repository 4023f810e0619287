package schedule

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/brineproject/brine/data"
)

// A Task is a job of the program itself.
type Task struct {
	Name       string        // begins with __, so that schedule.list hides it
	Fun        string        // function shown to operators; may be ""
	Every      time.Duration // at least a second
	Splay      time.Duration // maximum random delay of each run, in whole seconds
	RunOnStart bool          // run as soon as Scheduler.Run begins
	// other fields shown to operators, in the form of Salt's scheduler; nil means seconds only
	Job *data.Map
	Do  func(ctx context.Context) error
}

// ErrTask is wrapped by Add for an invalid task.
var ErrTask = errors.New("unusable task")

// Add adds a task or replaces the one with the same name; a running instance of that still counts.
// Runs of a task never overlap.
func (s *Scheduler) Add(t Task) error {
	if t.Name == "" || t.Do == nil || t.Every < time.Second {
		return fmt.Errorf("add task %q: %w", t.Name, ErrTask)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &work{name: t.Name, task: &t, atStart: t.RunOnStart}
	w.pace = &interval{every: t.Every, splay: s.delay(splay{1, int64(t.Splay / time.Second)})}
	w.begin(s.read())
	for i, old := range s.tasks {
		if old.name == t.Name {
			w.state = old.state
			s.tasks[i] = w
			s.stir()
			return nil
		}
	}
	s.tasks = append(s.tasks, w)
	s.stir()
	return nil
}

// Remove removes a task if it exists. It does not stop a running instance.
func (s *Scheduler) Remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, w := range s.tasks {
		if w.name == name {
			s.tasks = append(s.tasks[:i:i], s.tasks[i+1:]...)
			return
		}
	}
}

func (t *Task) view() *data.Map {
	m := data.NewMap("function", t.Fun, "jid_include", true, "maxrunning", int64(1),
		"return_job", false, "enabled", true)
	if t.Job == nil {
		m.Set("seconds", int64(t.Every/time.Second))
	}
	m.Update(ownMap(t.Job))
	return m
}

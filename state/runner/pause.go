package runner

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/clock"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/state"
)

// pauseCheck is the interval at which a paused run checks whether it may continue.
const pauseCheck = time.Second

// pauseFile returns the path of the file in which state.pause and state.soft_kill, run by another
// job, leave their requests. It is "" for a run without a job.
func (r *Runner) pauseFile() string {
	if r.o.JID == "" {
		return ""
	}
	return filepath.Join(r.env.Opts.Text("cachedir"), "state_pause", filepath.Base(r.o.JID))
}

// pause blocks before a chunk while the run is paused, and reports whether the run is to end here
// (salt/state.py, check_pause).
func (r *Runner) pause(ctx context.Context, low state.Chunk) (kill bool, err error) {
	for began := time.Now(); ; {
		word, err := r.pauseEntry(low)
		if err != nil {
			r.env.Log.Errorf("Failed to read in pause data for file located at: %s: %v",
				r.pauseFile(), err)
			return false, nil
		}
		switch {
		case word == nil:
			return false, nil
		case word.Has("duration"):
			if seconds, err := loader.Float(word.Value("duration")); err != nil ||
				time.Since(began).Seconds() > seconds {
				return false, nil
			}
		}
		if word.Has("kill") {
			return true, nil
		}
		if err := clock.Sleep(ctx, pauseCheck); err != nil {
			return false, err
		}
	}
}

// pauseEntry returns the pause request for a chunk, or nil.
func (r *Runner) pauseEntry(low state.Chunk) (*data.Map, error) {
	file := r.pauseFile()
	if file == "" {
		return nil, nil
	}
	body, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	v, err := payload.UnmarshalText(body, payload.Limits{})
	if err != nil {
		return nil, err
	}
	words, _ := v.(*data.Map)
	word, ok := words.Get(low.ID())
	if !ok {
		word = words.Value("__all__")
	}
	m, _ := word.(*data.Map)
	return m, nil
}

// forgetPauses removes the pause requests of a finished run.
func (r *Runner) forgetPauses() {
	file := r.pauseFile()
	if file == "" {
		return
	}
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.env.Log.Warnf("remove the pauses of job %s: %v", r.o.JID, err)
	}
}

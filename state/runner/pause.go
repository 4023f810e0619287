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
)

// pauseCheck is how often a run that pauses looks whether it may go on.
const pauseCheck = time.Second

// pauseFile is where state.pause and state.soft_kill of another job leave word; "" for a run without a job.
func (r *Runner) pauseFile() string {
	if r.o.JID == "" {
		return ""
	}
	return filepath.Join(r.env.Opts.Text("cachedir"), "state_pause", filepath.Base(r.o.JID))
}

// pause waits before a chunk where the run is to, and reports whether it ends there (salt/state.py, check_pause).
func (r *Runner) pause(ctx context.Context, low *data.Map) (kill bool, err error) {
	for began := time.Now(); ; {
		word, err := r.pauseWord(low)
		if err != nil {
			r.env.Log.Errorf("Failed to read in pause data for file located at: %s: %v", r.pauseFile(), err)
			return false, nil
		}
		switch {
		case word == nil:
			return false, nil
		case word.Has("duration"):
			if seconds, err := loader.Float(word.Value("duration")); err != nil || time.Since(began).Seconds() > seconds {
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

// pauseWord returns what is to happen before a chunk, nil for nothing.
func (r *Runner) pauseWord(low *data.Map) (*data.Map, error) {
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
	word, ok := words.Get(low.Value("__id__"))
	if !ok {
		word = words.Value("__all__")
	}
	m, _ := word.(*data.Map)
	return m, nil
}

// forgetPauses removes what was left for a run that is over.
func (r *Runner) forgetPauses() {
	file := r.pauseFile()
	if file == "" {
		return
	}
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.env.Log.Warnf("remove the pauses of job %s: %v", r.o.JID, err)
	}
}

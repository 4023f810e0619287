package daemon

import (
	"fmt"
	"maps"
	"os"
	"time"
)

// A fileWatch detects file changes by polling, which works on every file system.
type fileWatch struct {
	files  func() []string
	every  time.Duration
	ticker *time.Ticker
	known  stamps    // as last reported or read
	seen   stamps    // as last polled
	taken  time.Time // time at which reading the files began
}

// stamps hold the properties of files and directories that show changes, by path.
type stamps map[string]stamp

type stamp struct {
	text     string
	modified time.Time
}

// stampSlack is how much older a file can seem than it is, since file systems use the kernel's
// coarse clock.
const stampSlack = 50 * time.Millisecond

// newFileWatch returns a watch that starts from the current state of the files.
func newFileWatch(files func() []string) *fileWatch {
	w := &fileWatch{files: files}
	w.begin()
	w.seen = w.known
	return w
}

// pace sets the polling interval; 0 means never.
func (w *fileWatch) pace(every time.Duration) {
	if w.files == nil || every == w.every {
		return
	}
	w.close()
	w.ticker, w.every = nil, every
	if every <= 0 {
		return
	}
	w.ticker = time.NewTicker(every)
}

func (w *fileWatch) tick() <-chan time.Time {
	if w.ticker == nil {
		return nil
	}
	return w.ticker.C
}

func (w *fileWatch) close() {
	if w.ticker != nil {
		w.ticker.Stop()
	}
}

// changed reports whether the files have changed since the last report and were stable since the
// last poll, so that files being written are not read.
func (w *fileWatch) changed() bool {
	now := look(w.files())
	rested := maps.Equal(now, w.seen)
	w.seen = now
	if !rested || maps.Equal(now, w.known) {
		return false
	}
	w.known = now
	return true
}

// begin must be called before the files are read. It records their current state.
func (w *fileWatch) begin() {
	if w.files != nil {
		w.taken = time.Now()
		w.known = look(w.files())
	}
}

// end must be called after the files were read, which may have added files. Changes since begin are
// detected at the next poll.
func (w *fileWatch) end() {
	if w.files == nil {
		return
	}
	w.seen = look(w.files())
	known := stamps{}
	for path, now := range w.seen {
		if before, ok := w.known[path]; ok {
			known[path] = before
		} else if now.modified.Before(w.taken.Add(-stampSlack)) {
			known[path] = now
		}
	}
	w.known = known
}

func look(paths []string) stamps {
	all := stamps{}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			all[path] = stamp{}
			continue
		}
		all[path] = stamp{fmt.Sprintf("%d %v", info.Size(), info.Mode()), info.ModTime()}
	}
	return all
}

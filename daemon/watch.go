package daemon

import (
	"fmt"
	"maps"
	"os"
	"time"
)

// A fileWatch notices that files change, by looking at them now and then: that works on every file system.
type fileWatch struct {
	files  func() []string
	every  time.Duration
	ticker *time.Ticker
	known  stamps    // as last reported, or read
	seen   stamps    // as last looked at
	taken  time.Time // when the reading of the files began
}

// stamps tell files and directories by what changes with them, by path.
type stamps map[string]stamp

type stamp struct {
	text     string
	modified time.Time
}

// stampSlack is how much older a file can seem than it is: the clock of file systems goes by the ticks of the kernel.
const stampSlack = 50 * time.Millisecond

// newFileWatch returns a watch that knows the files as they are now.
func newFileWatch(files func() []string) *fileWatch {
	w := &fileWatch{files: files}
	w.begin()
	w.seen = w.known
	return w
}

// pace makes the files be looked at so often from now on; 0 is never.
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

// changed reports whether the files differ from when that was last reported, and have rested since the last look: one that
// is being written is not read.
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

// begin is called before the files are read: as they are now they are known.
func (w *fileWatch) begin() {
	if w.files != nil {
		w.taken = time.Now()
		w.known = look(w.files())
	}
}

// end is called when they have been read: there may be more of them now. Those that have changed since begin are noticed at the next
// look.
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

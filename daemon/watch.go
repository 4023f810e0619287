package daemon

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// A fileWatch notices that files change, by looking at them now and then: that works on every file system.
type fileWatch struct {
	files  func() []string
	every  time.Duration
	ticker *time.Ticker
	known  string // as last reported
	taking []string
	seen   string // as last looked at
}

// newFileWatch returns a watch that knows the files as they are now.
func newFileWatch(files func() []string) *fileWatch {
	w := &fileWatch{files: files}
	w.take()
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
	now := fingerprint(w.files())
	rested := now == w.seen
	w.seen = now
	if !rested || now == w.known {
		return false
	}
	w.known = now
	return true
}

// take is called before the files are read: as they are now they are known.
func (w *fileWatch) take() {
	if w.files != nil {
		w.taking = w.files()
		w.known = fingerprint(w.taking)
	}
}

// taken is called when they have been read: there may be more of them now. Those that have changed meanwhile are noticed at
// the next look.
func (w *fileWatch) taken() {
	if w.files != nil && fingerprint(w.taking) == w.known {
		w.known = fingerprint(w.files())
		w.seen = w.known
	}
}

// fingerprint tells files and folders by what changes with them.
func fingerprint(paths []string) string {
	var b strings.Builder
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			fmt.Fprintf(&b, "%s -\n", path)
			continue
		}
		fmt.Fprintf(&b, "%s %d %d %v\n", path, info.Size(), info.ModTime().UnixNano(), info.Mode())
	}
	return b.String()
}

package output

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// A Progress draws the number of minions that have returned on one line, again and again, as
// salt/output/progress.py does with version 2.5 of the Python package progressbar. It is not safe
// for concurrent use.
type Progress struct {
	w           io.Writer
	width       func() int
	minions     int // shown after the number of returns
	total       int // of the bar
	start, last time.Time
	step, next  float64
}

// redraw is the age at which a line is redrawn even if nothing has changed.
const redraw = time.Second

// NewProgress returns a Progress of total minions and draws it at zero. width returns the columns
// of the line; it is called for each drawing, since terminals change their size.
func NewProgress(w io.Writer, total int, width func() int) *Progress {
	p := &Progress{w: w, width: width, minions: total, total: total, start: time.Now()}
	p.last, p.step = p.start, float64(total)/float64(max(100, width()))
	p.Update(0)
	return p
}

// Update draws the line with done returns. It skips drawing if less than a column has changed and
// the last drawing is at most a second old. More returns than minions, as with syndics, raise the
// total of the bar.
func (p *Progress) Update(done int) {
	p.total = max(p.total, done)
	if now := time.Now(); float64(done) >= p.next || now.Sub(p.last) > redraw {
		p.next, p.last = float64(done)+p.step, now
		// a closed output is no reason to end the job
		_, _ = io.WriteString(p.w, p.line(done, now.Sub(p.start))+"\r")
	}
}

func (p *Progress) line(done int, since time.Duration) string {
	percent, share := 100, 1.0
	if done < p.total {
		percent, share = int(float64(done)*100/float64(p.total)), float64(done)/float64(p.total)
	}
	if p.total == 0 {
		share = 0
	}
	left := fmt.Sprintf("%3d%% |", percent)
	right := fmt.Sprintf("| Elapsed Time: %s Returns: [%d/%d]", elapsed(since), done, p.minions)
	columns := max(p.width()-len(left)-len(right), 0)
	marks := int(share * float64(columns))
	return left + strings.Repeat("#", marks) + strings.Repeat(" ", columns-marks) + right
}

// elapsed returns a duration in whole seconds as Python's str(timedelta) prints it.
func elapsed(d time.Duration) string {
	s := int(d / time.Second)
	text := fmt.Sprintf("%d:%02d:%02d", s/3600%24, s/60%60, s%60)
	switch days := s / 86400; days {
	case 0:
		return text
	case 1:
		return "1 day, " + text
	default:
		return fmt.Sprintf("%d days, %s", days, text)
	}
}

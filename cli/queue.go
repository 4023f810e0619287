package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/brineproject/brine/client"
)

// longestQueue is the limit of --queue.
const longestQueue = 366 * 24 * time.Hour

// queueTime parses the value of --queue: seconds, or a duration such as 90m, 12h or 7d. "yes" is 0,
// which leaves it to the master.
func queueTime(text string) (time.Duration, error) {
	if text == "yes" || text == "" {
		return 0, nil
	}
	var d time.Duration
	seconds, err := strconv.Atoi(text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		seconds, err = strconv.Atoi(days)
		seconds = min(seconds, 1000) * 24 * 60 * 60
	}
	if d = time.Duration(min(seconds, 1<<30)) * time.Second; err != nil {
		d, err = time.ParseDuration(text)
	}
	if err != nil || d < time.Second || d > longestQueue {
		return 0, fmt.Errorf("option --queue: invalid duration: %q (write seconds, or 90m, 12h, 7d; at most 366d)", text)
	}
	return d, nil
}

// reportQueue reports what became of --queue as soon as the job is published.
func (s *saltRun) reportQueue(job *client.Job) {
	switch {
	case s.o.Queue == "":
	case !job.Told:
		s.out.PrintErr("WARNING: this master does not queue jobs for offline minions; --queue has no effect\n")
	case len(job.Queued) < len(job.Absent):
		s.out.PrintErr("WARNING: %d of %d offline minions will not get the job later: their queue is full, or it is uncertain that the target "+
			"matches them\n", len(job.Absent)-len(job.Queued), len(job.Absent))
	}
}

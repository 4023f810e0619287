package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/brineproject/brine/client"
)

// longestQueue bounds what --queue may ask for.
const longestQueue = 366 * 24 * time.Hour

// queueTime reads the value of --queue: seconds, or a length of time such as 90m, 12h or 7d. "yes" is 0, which leaves it
// to the master.
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
		return 0, fmt.Errorf("option --queue: invalid length of time: %q (write seconds, or 90m, 12h, 7d; at most 366d)", text)
	}
	return d, nil
}

// tellQueue says at once what became of --queue.
func (s *saltRun) tellQueue(job *client.Job) {
	switch {
	case s.o.Queue == "":
	case !job.Told:
		s.out.Tell("WARNING: this master keeps no jobs for minions that are away; --queue does nothing\n")
	case len(job.Queued) < len(job.Absent):
		s.out.Tell("WARNING: %d of %d minions that are away do not get the job later: their queue is full, or it is not known for sure that the target "+
			"means them\n", len(job.Absent)-len(job.Queued), len(job.Absent))
	}
}

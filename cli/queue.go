package cli

import (
	"fmt"
	"time"

	"github.com/brineproject/brine/client"
)

// queueTime parses the value of --queue.
func queueTime(text string) (time.Duration, error) {
	d, err := client.QueueTime(text)
	if err != nil {
		return 0, fmt.Errorf("option --queue: %w", err)
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

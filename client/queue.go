package client

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// longestQueue is how long a job may be queued for absent minions.
const longestQueue = 366 * 24 * time.Hour

// QueueTime returns how long a job is queued for absent minions, from the text that a user wrote: seconds,
// or a duration such as 90m, 12h or 7d. "yes" and "" are 0, which leaves it to the master.
func QueueTime(text string) (time.Duration, error) {
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
		return 0, fmt.Errorf("invalid duration: %q (write seconds, or 90m, 12h, 7d; at most 366d)", text)
	}
	return d, nil
}

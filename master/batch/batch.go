// Package batch runs a job on many minions, on a limited number at a time (salt/cli/batch.py).
//
// A [Run] has the plan and the progress: the minions that wait, are at work, or have ended. It uses
// neither clock nor network, and can be saved and restored with [Run.Marshal] and [Unmarshal]. An
// [Engine] drives a run: it pings the minions, publishes the job, waits for returns, and asks late
// minions whether they still work. It works through a [Host], so the same engine runs within a
// master, where a batch continues without its client, and in the program salt for a master that
// runs no batches.
//
// Differences from Salt: minions start in the order in which the master lists them, which is that
// of a list target, so that runs are reproducible. A size below one is an error; Salt never ends
// then. A minion that answers the ping late still takes part.
package batch

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// ErrSize is wrapped for an invalid batch size. Its text is Salt's.
var ErrSize = errors.New("Invalid batch data sent") //nolint:staticcheck // Salt's text

// A Size is the number of minions that work at once: absolute, or a percentage of all.
type Size struct {
	Number  int
	Percent float64 // used when Number is 0
}

// ParseSize parses a size such as 3, 10% or %10.
func ParseSize(text string) (Size, error) {
	text = strings.TrimSpace(text)
	if number := strings.Trim(text, "%"); number != text {
		p, err := strconv.ParseFloat(number, 64)
		if err != nil || !(p > 0 && p <= maxPercent) {
			return Size{}, sizeError(text)
		}
		return Size{Percent: p}, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return Size{}, sizeError(text)
	}
	return Size{Number: n}, nil
}

// maxPercent is the maximum percentage that is accepted.
const maxPercent = 1e6

func sizeError(text string) error {
	return fmt.Errorf("%w: %s\nData must be in the form of %%10, 10%% or 3", ErrSize, text)
}

// Of returns how many of total minions work at once, at least one.
func (s Size) Of(total int) int {
	if s.Number > 0 {
		return s.Number
	}
	share := s.Percent / 100 * float64(total)
	if share < 1 {
		return 1
	}
	return int(math.Min(share, math.MaxInt32))
}

// A Plan has the options of a batch.
type Plan struct {
	Size     Size
	Wait     time.Duration // pause before a slot is used again (batch_wait)
	Failhard bool          // the first failure ends the batch
	Timeout  time.Duration // for a minion's return
	Gather   time.Duration // for the answer to whether a minion still works (gather_job_timeout)
}

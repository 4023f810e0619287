// Package batch gives one order to many minions, no more than so many at a time (salt/cli/batch.py).
//
// A [Run] is the plan and how far it has come: whom to start, who is at work, who has ended. It knows neither clock nor
// network, can be written down as a [Record] and be taken up again from it. An [Engine] drives a run: it finds by a ping who is
// there, publishes, waits for answers, asks those that are late whether they still work, and goes on. It works through a
// [Host], so that the same engine runs within a master, where a batch outlasts who ordered it, and in the program salt beside a
// master that knows no batches.
//
// What differs from Salt: minions start in the order in which the master names them, that of a list as it was given, so that two
// runs do the same; a size below one is an error, over which Salt never ends; a minion that answers the ping late is still taken.
package batch

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// ErrSize is wrapped for a text that is no size of a batch. Its text is Salt's.
var ErrSize = errors.New("Invalid batch data sent") //nolint:staticcheck // Salt's text

// A Size says how many minions work at once: a number, or a share of all.
type Size struct {
	Number  int
	Percent float64 // used when Number is 0
}

// ParseSize reads 3, 10% or %10.
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

// maxPercent is more than anybody means.
const maxPercent = 1e6

func sizeError(text string) error {
	return fmt.Errorf("%w: %s\nData must be in the form of %%10, 10%% or 3", ErrSize, text)
}

// Of returns how many of total minions work at once: at least one.
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

// A Plan is what a batch is to do.
type Plan struct {
	Size     Size
	Wait     time.Duration // how long a place stays empty after an answer (batch_wait)
	Failhard bool          // the first failure ends the batch
	Timeout  time.Duration // for the answer of a minion
	Gather   time.Duration // for the answer whether a minion still works (gather_job_timeout)
}

package output

import (
	"fmt"
	"math"
	"strings"

	"github.com/brineproject/brine/data"
)

// summary prints how many states succeeded and failed, and how long they took.
func (r *report) summary(host string) {
	good, unchanged, bad, warned := r.counts["True"]+r.counts["None"], r.counts["None"],
		r.counts["False"], r.counts["warnings"]
	all, widest := 0, 0
	for key, n := range r.counts {
		widest = max(widest, len(fmt.Sprint(n)))
		if key != "warnings" {
			all += n
		}
	}
	width := len("Succeeded") + widest + 2
	count := func(colour, label, n string) { r.add(colour, fmt.Sprintf("%s: %*s", label, width-len(label)-2, n)) }
	r.add(r.cyan, "\nSummary for "+host+"\n"+strings.Repeat("-", width))
	count(r.green, "Succeeded", fmt.Sprint(good))
	r.lines[len(r.lines)-1] += r.stats(unchanged)
	failure := r.cyan
	if bad > 0 {
		failure = r.red
	}
	count(failure, "Failed", fmt.Sprint(bad))
	if r.o.Percent && all > 0 {
		if bad > 0 {
			failure = r.red
		}
		count(r.green, "Success %", percent(good, all))
		count(failure, "Failure %", percent(bad, all))
	}
	if warned > 0 {
		count(r.lightRed, "Warnings", fmt.Sprint(warned))
	}
	r.add(r.cyan, fmt.Sprintf("%s\nTotal states run: %*d", strings.Repeat("-", width),
		width-7, all))
	if r.o.Profile {
		r.duration(width)
	}
}

// stats returns, in brackets, how many states would change and how many did.
func (r *report) stats(unchanged int) string {
	var parts []string
	if unchanged > 0 {
		parts = append(parts, r.lightYellow+fmt.Sprintf("unchanged=%d", unchanged)+r.normal)
	}
	if r.changes > 0 {
		parts = append(parts, r.green+fmt.Sprintf("changed=%d", r.changes)+r.normal)
	}
	if parts == nil {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

func percent(n, all int) string {
	return data.Repr(math.RoundToEven(float64(n)/float64(all)*10000) / 100)
}

func (r *report) duration(width int) {
	sum, unit := r.total, "ms"
	if r.parallel {
		sum += r.longest
	}
	if sum > 999 {
		sum, unit = sum/1000, "s"
	}
	r.add(r.cyan, fmt.Sprintf("Total run time: %*s %s", width-5, fmt.Sprintf("%.3f", sum), unit))
}

package schedule

import (
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

var errCron = errors.New("no cron expression")

// cronYears is how far ahead moments are searched: February 29 can be eight years away.
const cronYears = 9

// A cronRule is a cron expression with croniter's semantics.
type cronRule struct {
	clock cron.SpecSchedule // time of day and months, on any day
	days  cronDays
}

// cronDays are the days in an expression.
type cronDays struct {
	month, week uint64   // bits of the days of the month and of the week; 0 means all
	last        bool     // last day of the month
	nth         [7]uint8 // per day of the week: bits 1 to 5 for the weeks, and bit 0 for the last
	named       bool     // whether nth is set
}

// parseCron parses five fields, or six with seconds last, or @hourly and the like.
func parseCron(text string) (*cronRule, error) {
	fields := strings.Fields(alias(strings.ToLower(text)))
	if len(fields) == 5 {
		fields = append(fields, "0")
	}
	if len(fields) != 6 {
		return nil, fmt.Errorf("%w: %q has %d fields", errCron, text, len(fields))
	}
	var r cronRule
	dom, dow := r.days.takeLast(fields[2]), ""
	var err error
	if dow, err = r.days.takeNamed(fields[4]); err != nil {
		return nil, err
	}
	if err := r.parse(fields, dom, dow); err != nil {
		return nil, fmt.Errorf("%w: %w", errCron, err)
	}
	if _, ok := r.next(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)); !ok {
		return nil, fmt.Errorf("%w: %q names no day", errCron, text)
	}
	return &r, nil
}

func alias(text string) string {
	switch strings.TrimSpace(text) {
	case "@midnight", "@daily":
		return "0 0 * * *"
	case "@hourly":
		return "0 * * * *"
	case "@weekly":
		return "0 0 * * 0"
	case "@monthly":
		return "0 0 1 * *"
	case "@yearly", "@annually":
		return "0 0 1 1 *"
	}
	return text
}

// parse parses the fields in croniter's order: minute, hour, day, month, day of the week, second.
func (r *cronRule) parse(fields []string, dom, dow string) error {
	names := []string{wrapped(fields[5], 0, 59), wrapped(fields[0], 0, 59),
		wrapped(fields[1], 0, 23), wrapped(star(dom), 1, 31),
		wrapped(fields[3], 1, 12), wrapped(star(dow), 0, 6)}
	p := cron.NewParser(cron.Second | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)
	all, err := p.Parse(strings.Join(names, " "))
	if err != nil {
		return err
	}
	spec, ok := all.(*cron.SpecSchedule)
	if !ok {
		return errors.New("not a list of fields")
	}
	if spec.Second == 0 || spec.Minute == 0 || spec.Hour == 0 || spec.Dom == 0 || spec.Month == 0 ||
		spec.Dow == 0 {
		return errors.New("a field names nothing")
	}
	r.days.month, r.days.week = restricted(spec.Dom, 31, dom), restricted(spec.Dow, 7, dow)
	spec.Dom, spec.Dow = 1<<63|(1<<32-2), 1<<63|(1<<7-1)
	r.clock = *spec
	return nil
}

// star returns "*" for an empty field.
func star(field string) string {
	if field == "" {
		return "*"
	}
	return field
}

// restricted returns the bits of a days field, or 0 if it names all days or is empty.
func restricted(set uint64, all int, field string) uint64 {
	set &^= 1 << 63
	if field == "" || bits.OnesCount64(set) == all {
		return 0
	}
	return set
}

// takeLast removes the word l, the last day of the month, from the days of the month.
func (d *cronDays) takeLast(field string) string {
	var rest []string
	for _, item := range strings.Split(field, ",") {
		if item == "l" {
			d.last = true
		} else {
			rest = append(rest, item)
		}
	}
	return strings.Join(rest, ",")
}

// takeNamed removes words such as 5#2 and l5, the second and the last Friday, from the days of the
// week.
func (d *cronDays) takeNamed(field string) (string, error) {
	var rest []string
	for _, item := range strings.Split(field, ",") {
		day, week, found := strings.Cut(item, "#")
		if last, ok := strings.CutPrefix(item, "l"); ok && !found {
			day, week, found = last, "0", true
		} else if found && week == "0" {
			return "", fmt.Errorf("%w: week %q", errCron, item)
		}
		if !found {
			rest = append(rest, item)
			continue
		}
		w, err1 := strconv.ParseUint(week, 10, 8)
		i, err2 := weekdayNumber(day)
		if err1 != nil || err2 != nil || w > 5 {
			return "", fmt.Errorf("%w: day %q", errCron, item)
		}
		d.nth[i], d.named = d.nth[i]|1<<w, true
	}
	return strings.Join(rest, ","), nil
}

func weekdayNumber(s string) (int, error) {
	for i, name := range [...]string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"} {
		if s == name {
			return i, nil
		}
	}
	i, err := strconv.ParseUint(s, 10, 8)
	if err != nil || i > 7 {
		return 0, errCron
	}
	return int(i % 7), nil
}

// wrapped expands ranges that wrap around, such as 22-2 and fri-mon, to lists, and normalizes
// Sunday to 0.
func wrapped(field string, low, high int) string {
	items := strings.Split(field, ",")
	for i, item := range items {
		span, step, _ := strings.Cut(item, "/")
		from, to, isRange := strings.Cut(span, "-")
		a, err1 := number(from, high)
		b, err2 := number(to, high)
		switch by, err := strconv.Atoi(step + strings.Repeat("1", 1-min(len(step), 1))); {
		case high == 6 && from == "7" && !isRange && step == "":
			items[i] = "0"
		case isRange && err == nil && err1 == nil && err2 == nil && by > 0 &&
			(a > b || high == 6 && b == 7):
			items[i] = around(a, b, by, low, high)
		}
	}
	return strings.Join(items, ",")
}

func number(s string, high int) (int, error) {
	switch high {
	case 6:
		if s == "7" {
			return 7, nil
		}
		return weekdayNumber(s)
	case 12:
		if t, err := time.Parse("Jan", s); err == nil {
			return int(t.Month()), nil
		}
	}
	n, err := strconv.ParseUint(s, 10, 8)
	if err != nil || int(n) > high {
		return 0, errCron
	}
	return int(n), nil
}

// around lists a to b in steps; if b is less than a, it wraps around.
func around(a, b, by, low, high int) string {
	size := high - low + 1
	if b < a {
		b += size
	}
	var list []string
	for n := a; n <= b; n += by {
		list = append(list, strconv.Itoa(low+(n-low)%size))
	}
	return strings.Join(list, ",")
}

func (r *cronRule) next(n time.Time) (time.Time, bool) {
	for limit := n.AddDate(cronYears, 0, 0); ; {
		n = r.clock.Next(n)
		if n.IsZero() || n.After(limit) {
			return time.Time{}, false
		}
		if r.days.has(n) {
			return n, true
		}
		n = time.Date(n.Year(), n.Month(), n.Day(), 23, 59, 59, 0, time.UTC)
	}
}

// has reports whether t is on one of the days. If both days of the month and of the week are named,
// either matches.
func (d *cronDays) has(t time.Time) bool {
	ofMonth := d.month>>t.Day()&1 == 1 || d.last && t.AddDate(0, 0, 1).Day() == 1
	ofWeek := d.week>>int(t.Weekday())&1 == 1 || d.isNth(t)
	byMonth, byWeek := d.month != 0 || d.last, d.week != 0 || d.named
	switch {
	case byMonth && byWeek:
		return ofMonth || ofWeek
	case byMonth:
		return ofMonth
	case byWeek:
		return ofWeek
	}
	return true
}

func (d *cronDays) isNth(t time.Time) bool {
	weeks := d.nth[t.Weekday()]
	return weeks>>((t.Day()-1)/7+1)&1 == 1 ||
		weeks&1 == 1 && t.AddDate(0, 0, 7).Month() != t.Month()
}

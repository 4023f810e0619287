package schedule

import (
	"errors"
	"fmt"
	"time"
)

var errDate = errors.New("invalid date string")

// unset marks a missing part of a date.
const unset = -1

// A date is a day and time with optional parts. As in dateutil, missing parts of the day are those
// of today, so 5pm means every day and Monday every week. Missing parts of the time are 0.
type date struct {
	year, month, day, weekday           int
	hour, minute, second, nanos, offset int  // offset from UTC in seconds
	zoned                               bool // whether offset is set
}

// exact returns the date for a civil time.
func exact(t time.Time) date {
	return date{t.Year(), int(t.Month()), t.Day(), unset, t.Hour(), t.Minute(), t.Second(),
		t.Nanosecond(), 0, false}
}

// check returns an error if the date is impossible.
func (d date) check() error {
	year, month := d.year, d.month
	if year == unset {
		year = 2000
	}
	if month == unset {
		month = 1
	}
	switch {
	case year < 1 || year > 9999 || month < 1 || month > 12,
		d.day != unset && (d.day < 1 || d.day > daysIn(year, month)),
		d.hour > 23 || d.minute > 59 || d.second > 59:
		return errDate
	}
	return nil
}

func daysIn(year, month int) int {
	return time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

// in converts d to the civil time of a place. A date with an offset must be complete.
func (d date) in(place *time.Location) (date, error) {
	switch {
	case !d.zoned:
		return d, nil
	case d.year == unset || d.month == unset || d.day == unset:
		return d, fmt.Errorf("%w: a zone without a day", errDate)
	}
	utc := time.Date(d.year, time.Month(d.month), d.day, max(d.hour, 0), max(d.minute, 0),
		max(d.second, 0)-d.offset, max(d.nanos, 0), time.UTC)
	return exact(civil(utc, place)), nil
}

// on returns d as of the day of n, with missing parts filled in. A weekday means today or its next
// occurrence.
func (d date) on(n time.Time) (time.Time, error) {
	year, month, day := n.Year(), int(n.Month()), n.Day()
	if d.year != unset {
		year = d.year
	}
	if d.month != unset {
		month = d.month
	}
	switch {
	case d.day == unset:
		day = min(day, daysIn(year, month))
	case d.day > daysIn(year, month):
		return time.Time{}, errDate
	default:
		day = d.day
	}
	t := d.at(time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC))
	if d.weekday != unset && d.day == unset {
		t = t.AddDate(0, 0, (d.weekday-int(t.Weekday())+7)%7)
	}
	return t, nil
}

// at returns the time of d on the day that begins at midnight.
func (d date) at(midnight time.Time) time.Time {
	y, m, day := midnight.Date()
	return time.Date(y, m, day, max(d.hour, 0), max(d.minute, 0), max(d.second, 0),
		max(d.nanos, 0), time.UTC)
}

// next returns the first moment after n on a day that matches d.
func (d date) next(n time.Time) (time.Time, bool) {
	day := time.Date(n.Year(), n.Month(), n.Day(), 0, 0, 0, 0, time.UTC)
	if d.year > day.Year() {
		day = time.Date(d.year, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	for last := day.AddDate(cronYears, 0, 0); day.Before(last) &&
		(d.year == unset || day.Year() <= d.year); day = day.AddDate(0, 0, 1) {
		if t := d.at(day); d.means(day) && t.After(n) {
			return t, true
		}
	}
	return time.Time{}, false
}

func (d date) means(day time.Time) bool {
	return (d.year == unset || d.year == day.Year()) &&
		(d.month == unset || d.month == int(day.Month())) &&
		(d.day == unset || d.day == day.Day()) &&
		(d.weekday == unset || d.day != unset || d.weekday == int(day.Weekday()))
}

// dates is the rule of several dates.
type dates []date

func (ds dates) next(n time.Time) (first time.Time, ok bool) {
	for _, d := range ds {
		if t, there := d.next(n); there && (!ok || t.Before(first)) {
			first, ok = t, true
		}
	}
	return first, ok
}

// Date returns the time that a text means for dateutil on a day: missing parts of its date are those
// of the day, missing parts of its time are zero. The result is in the time zone of the day.
func Date(text string, day time.Time) (time.Time, error) {
	d, err := parseDate(text, day.Year())
	if err == nil {
		d, err = d.in(day.Location())
	}
	if err != nil {
		return time.Time{}, err
	}
	t, err := d.on(day)
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(),
		day.Location()), err
}

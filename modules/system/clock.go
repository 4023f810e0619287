package system

import (
	"context"
	"regexp"
	"strconv"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

type offsetArgs struct {
	UTCOffset any `name:"utc_offset" default:"None"`
}

var offset = regexp.MustCompile(`^([+-])?(\d\d)(\d\d)$`)

// now returns the current time at an offset from UTC, such as +0600, or in the system's time zone.
func now(utcOffset any) (time.Time, error) {
	if utcOffset == nil {
		return time.Now(), nil
	}
	match := offset.FindStringSubmatch(data.Str(utcOffset))
	if match == nil {
		return time.Time{}, loader.Invocation("Invalid UTC offset")
	}
	hours, _ := strconv.Atoi(match[2])
	minutes, _ := strconv.Atoi(match[3])
	seconds := (hours*60 + minutes) * 60
	if match[1] == "-" {
		seconds = -seconds
	}
	return time.Now().In(time.FixedZone("", seconds)), nil
}

func formatted(utcOffset any, layout string) (any, error) {
	t, err := now(utcOffset)
	if err != nil {
		return nil, err
	}
	return t.Format(layout), nil
}

// getSystemTime returns the time in the format 03:04:05 PM.
//
// utc_offset
//
//	The offset from UTC, such as +0600. Default: that of the system.
//
// CLI Example:
//
//	salt '*' system.get_system_time
func (m *module) getSystemTime(_ context.Context, a offsetArgs) (any, error) {
	return formatted(a.UTCOffset, "03:04:05 PM")
}

// getSystemDateTime returns date and time in the format 2006-01-02 15:04:05.
//
// utc_offset
//
//	The offset from UTC, such as +0600. Default: that of the system.
//
// CLI Example:
//
//	salt '*' system.get_system_date_time "'-0500'"
func (m *module) getSystemDateTime(_ context.Context, a offsetArgs) (any, error) {
	return formatted(a.UTCOffset, "2006-01-02 15:04:05")
}

// getSystemDate returns the date in the format Mon 01/02/2006.
//
// utc_offset
//
//	The offset from UTC, such as +0600. Default: that of the system.
//
// CLI Example:
//
//	salt '*' system.get_system_date
func (m *module) getSystemDate(_ context.Context, a offsetArgs) (any, error) {
	return formatted(a.UTCOffset, "Mon 01/02/2006")
}

type setTimeArgs struct {
	Newtime   string
	UTCOffset any `name:"utc_offset" default:"None"`
}

// parsed parses a time with the first layout that fits.
func parsed(s string, layouts ...string) (time.Time, bool) {
	for _, layout := range layouts {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// setSystemTime sets the time, given as HH:MM or HH:MM:SS, with or without AM or PM. It returns
// False if the time is invalid.
//
// utc_offset
//
//	The offset of the time from UTC, such as +0600. Default: that of the system.
//
// CLI Example:
//
//	salt '*' system.set_system_time "'11:20'"
func (m *module) setSystemTime(ctx context.Context, a setTimeArgs) (any, error) {
	t, ok := parsed(a.Newtime, "3:4:5 PM", "3:4 PM", "15:4:5", "15:4")
	if !ok {
		return false, nil
	}
	return m.setSystemDateTime(ctx,
		setDateTimeArgs{Hours: int64(t.Hour()), Minutes: int64(t.Minute()),
			Seconds: int64(t.Second()), UTCOffset: a.UTCOffset})
}

type setDateArgs struct {
	Newdate   string
	UTCOffset any `name:"utc_offset" default:"None"`
}

// setSystemDate sets the date, given as YYYY-MM-DD, MM-DD-YYYY, MM-DD-YY, or the same with slashes.
//
// utc_offset
//
//	The offset from UTC, such as +0600. Default: that of the system.
//
// CLI Example:
//
//	salt '*' system.set_system_date '03-28-13'
func (m *module) setSystemDate(ctx context.Context, a setDateArgs) (any, error) {
	t, ok := parsed(a.Newdate, "2006-1-2", "1-2-2006", "1-2-06", "1/2/2006", "1/2/06", "2006/1/2")
	if !ok {
		return nil, loader.Invocation("Invalid date format")
	}
	return m.setSystemDateTime(ctx,
		setDateTimeArgs{Years: int64(t.Year()), Months: int64(t.Month()), Days: int64(t.Day()),
			UTCOffset: a.UTCOffset})
}

type setDateTimeArgs struct {
	Years     any `default:"None"`
	Months    any `default:"None"`
	Days      any `default:"None"`
	Hours     any `default:"None"`
	Minutes   any `default:"None"`
	Seconds   any `default:"None"`
	UTCOffset any `name:"utc_offset" default:"None"`
}

// setSystemDateTime sets date and time, and also the hardware clock if that can be set. Parts that
// are not given stay unchanged.
//
// utc_offset
//
//	The offset from UTC, such as +0600. Default: that of the system.
//
// CLI Example:
//
//	salt '*' system.set_system_date_time 2015 5 12 11 37 53 "'-0500'"
func (m *module) setSystemDateTime(ctx context.Context, a setDateTimeArgs) (any, error) {
	t, err := now(a.UTCOffset)
	if err != nil {
		return nil, err
	}
	if t, err = a.apply(t); err != nil {
		return nil, err
	}
	if err := m.date(ctx, t, a.UTCOffset != nil); err != nil {
		return nil, err
	}
	if settable, err := m.settable(ctx); err != nil || !settable {
		return err == nil, err
	}
	code, output, err := m.run(ctx, false, "hwclock", "--systohc")
	if err == nil && code {
		err = loader.Execution("hwclock failed to set hardware clock from software clock: %s",
			output)
	}
	return err == nil, err
}

// apply returns t with the given parts replaced.
func (a setDateTimeArgs) apply(t time.Time) (time.Time, error) {
	parts := []int{t.Year(), int(t.Month()), t.Day(), t.Hour(), t.Minute(), t.Second()}
	names := []string{"year", "month", "day", "hour", "minute", "second"}
	for i, v := range []any{a.Years, a.Months, a.Days, a.Hours, a.Minutes, a.Seconds} {
		if v == nil {
			continue
		}
		n, err := loader.Int(v)
		if err != nil {
			return t, err
		}
		parts[i] = int(n)
	}
	want := time.Date(parts[0], time.Month(parts[1]), parts[2], parts[3], parts[4], parts[5], 0,
		t.Location())
	for i, got := range []int{want.Year(), int(want.Month()), want.Day(), want.Hour(),
		want.Minute(), want.Second()} {
		if i < 5 && got != parts[i] {
			return t, loader.Invocation("%s is out of range", names[i])
		}
	}
	return want, nil
}

// run runs a program. It returns whether the program failed, and its error output.
func (m *module) run(
	ctx context.Context, quiet bool, argv ...string,
) (failed bool, output string, err error) {
	run := calls.Run{Argv: argv, IgnoreRetcode: quiet}
	if quiet {
		run.Log = "quiet"
	}
	ran, err := calls.RunAll(ctx, m.env, run)
	return ran.Retcode != 0, ran.Stderr, err
}

// date sets the kernel's clock. It omits the seconds if the program date does not
// support them.
func (m *module) date(ctx context.Context, t time.Time, utc bool) error {
	line := []string{"date"}
	if utc {
		line, t = append(line, "-u"), t.UTC()
	}
	failed, output, err := m.run(ctx, false, append(line, t.Format("010215042006.05"))...)
	if err != nil || !failed {
		return err
	}
	if failed, _, err = m.run(ctx, false, append(line, t.Format("010215042006"))...); err == nil &&
		failed {
		err = loader.Execution("date failed: %s", output)
	}
	return err
}

// hasSettableHwclock reports whether the system has a hardware clock that can be set.
//
// CLI Example:
//
//	salt '*' system.has_settable_hwclock
func (m *module) hasSettableHwclock(ctx context.Context, _ loader.NoArgs) (any, error) {
	return m.settable(ctx)
}

func (m *module) settable(ctx context.Context) (bool, error) {
	if process.Find("hwclock") == "" {
		return false, nil
	}
	failed, _, err := m.run(ctx, true, "hwclock", "--test", "--systohc")
	return err == nil && !failed, err
}

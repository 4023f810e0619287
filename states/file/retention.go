package file

import (
	"cmp"
	"context"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/schedule"
	"github.com/brineproject/brine/state/change"
)

type retentionArgs struct {
	Name           string
	Retain         *data.Map
	StrptimeFormat any `default:"None"`
	Timezone       any `default:"None"`
}

// retentionSchedule keeps some of the backups in a directory according to their times, and removes
// the others.
//
// retain
//
//	How many to keep of most_recent, first_of_hour, first_of_day, first_of_week, first_of_month
//	and first_of_year. all keeps all of them.
//
// strptime_format
//
//	The format of the time in the file names. Files with other names are kept. Without it the time
//	of a file is its modification time, and no file is exempt.
//
//	/var/backups/example:
//	  file.retention_schedule:
//	    - retain:
//	        most_recent: 5
//	        first_of_day: 7
//	    - strptime_format: example_%Y%m%d_%H%M%S.tar.gz
func (m backlog) retentionSchedule(ctx context.Context, a retentionArgs) (change.Result, error) {
	a.Name = home(a.Name)
	switch {
	case a.Name == "":
		return change.Refuse(a.Name, "Must provide name to file.retention_schedule")
	case !paths.IsDir(a.Name):
		return change.Refuse(a.Name, "Name provided to file.retention must be a directory")
	case a.Timezone != nil && !data.Truth(a.StrptimeFormat):
		err := loader.TypeError("tzinfo argument must be None or of a tzinfo subclass, not type '%s'",
			loader.TypeName(a.Timezone))
		return change.Result{}, err
	}
	removed := " backups were removed from "
	if change.Test(ctx) {
		removed = " backups would have been removed from "
	}
	return change.Thing[*data.Map]{
		Name: a.Name,
		Look: func(ctx context.Context) (*data.Map, error) {
			backups, err := m.backups(ctx, a)
			return backups, change.Raise(err)
		},
		Wants: func(backups *data.Map) *data.Map { return change.When(len(deletable(backups)) > 0, backups) },
		Apply: func(ctx context.Context, backups *data.Map) error {
			for _, name := range deletable(backups) {
				if _, err := m.call(ctx, "file.remove", nil,
					filepath.Join(a.Name, data.Str(name))); err != nil {
					return change.Raise(err)
				}
			}
			return nil
		},
		Say: func(o change.Outcome[*data.Map]) any {
			if o.Err != nil {
				return nil
			}
			return strconv.Itoa(len(deletable(o.Before))) + removed + a.Name + ".\n"
		},
		Trust: true, // the changes include what was read before
	}.Ensure(ctx)
}

func deletable(backups *data.Map) []any {
	names, _ := backups.Value("deleted").([]any)
	return names
}

// backups returns the backups to keep, to delete, and to ignore.
func (m backlog) backups(ctx context.Context, a retentionArgs) (*data.Map, error) {
	timed, ignored, err := m.timed(ctx, a)
	if err != nil {
		return nil, err
	}
	retained, err := retainedOf(timed, a.Retain)
	if err != nil {
		return nil, err
	}
	var old []string
	for _, f := range timed {
		if !slices.Contains(retained, f.name) {
			old = append(old, f.name)
		}
	}
	return data.NewMap("retained", sortedTexts(retained, true), "deleted", sortedTexts(old, true),
		"ignored", sortedTexts(ignored, true)), nil
}

// sortedTexts returns strings in ascending or descending order.
func sortedTexts(list []string, backwards bool) []any {
	list = slices.Clone(list)
	slices.Sort(list)
	list = slices.Compact(list)
	if backwards {
		slices.Reverse(list)
	}
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}

// A timedFile is a file with its time, and with the seconds since 1970 that order files of the same
// hour.
type timedFile struct {
	name  string
	at    time.Time
	epoch float64
}

// timed returns the files of a directory that have a time, and the names of the others.
func (m backlog) timed(
	ctx context.Context, a retentionArgs,
) (files []timedFile, ignored []string, err error) {
	names, err := loader.CallAs[[]string](ctx, m.env, "file.readdir", []any{a.Name}, nil)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range names {
		f, ok, err := m.timeOf(ctx, a, name)
		switch {
		case err != nil:
			return nil, nil, err
		case ok:
			files = append(files, f)
		default:
			ignored = append(ignored, name)
		}
	}
	return files, ignored, nil
}

func (m backlog) timeOf(
	ctx context.Context, a retentionArgs, name string,
) (timedFile, bool, error) {
	if data.Truth(a.StrptimeFormat) {
		at, err := schedule.ParseTime(name, data.Str(a.StrptimeFormat))
		return timedFile{name, at, float64(at.UnixMicro()) / 1e6}, err == nil, nil
	}
	if name == "." || name == ".." {
		return timedFile{}, false, nil
	}
	st, err := loader.CallAs[*data.Map](ctx, m.env, "file.lstat",
		[]any{filepath.Join(a.Name, name)}, nil)
	seconds, ok := st.Value("st_mtime").(float64)
	whole, part := math.Modf(seconds)
	return timedFile{name, time.Unix(int64(whole), int64(part*1e9)), seconds}, ok, err
}

// retainedOf returns the names of the files that the rules keep.
func retainedOf(files []timedFile, rules *data.Map) ([]string, error) {
	var kept []string
	for rule, v := range rules.All() {
		most, err := loader.Int(v)
		switch {
		case v == "all":
			most = math.MaxInt32
		case err != nil:
			return nil, err
		}
		depth, ok := map[any]int{"first_of_year": 1, "first_of_month": 2, "first_of_day": 3,
			"first_of_hour": 4, "most_recent": 5, "first_of_week": 2}[rule]
		if !ok {
			return nil, loader.Exception("KeyError", "%s", data.Repr(rule))
		}
		key := timedFile.byDay
		if rule == "first_of_week" {
			key = timedFile.byWeek
			most++ // Salt counts this way
		}
		kept = append(kept, firsts(files, key, depth, int(most))...)
	}
	return kept, nil
}

// byDay returns the sort key by year, month, day, hour and time.
func (f timedFile) byDay() [5]float64 {
	return [5]float64{float64(f.at.Year()), float64(f.at.Month()), float64(f.at.Day()),
		float64(f.at.Hour()), f.epoch}
}

// byWeek returns the sort key by year, week, day of the week and time.
func (f timedFile) byWeek() [5]float64 {
	_, week := f.at.ISOWeek()
	return [5]float64{float64(f.at.Year()), float64(week),
		float64((f.at.Weekday() + 6) % 7), f.epoch}
}

// firsts returns the first file of each of the last groups, up to most groups. Files are in the
// same group if the first depth parts of their keys are equal. Of files with equal keys the last by
// name is used.
func firsts(files []timedFile, key func(timedFile) [5]float64, depth, most int) []string {
	files = slices.Clone(files)
	slices.SortStableFunc(files, func(a, b timedFile) int {
		x, y := key(a), key(b)
		return cmp.Or(slices.Compare(x[:], y[:]), cmp.Compare(b.name, a.name))
	})
	var names []string
	for i := len(files) - 1; i >= 0 && len(names) < most; i-- {
		now := key(files[i])
		if i > 0 {
			if before := key(files[i-1]); slices.Equal(before[:depth], now[:depth]) {
				continue
			}
		}
		names = append(names, files[i].name)
	}
	return names
}

// Package disk is Salt's state disk: it watches the space of file systems (salt/states/disk.py). It
// uses the modules disk and status.
package disk

import (
	"context"
	"os"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state disk.
func Plugin() loader.Plugin { return loader.Plugin{Name: "disk", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{loader.F("status", m.status)}}, nil
}

type statusArgs struct {
	Name     string
	Maximum  any `default:"None"`
	Minimum  any `default:"None"`
	Absolute any `default:"False"`
	Free     any `default:"False"`
}

// limit returns a limit as a number; the text says what is wrong with it.
func (a statusArgs) limit(name string, v any) (n int64, wrong string) {
	text, isText := v.(string)
	strip := " %"
	if data.Truth(a.Absolute) {
		strip = " KB"
	}
	if isText {
		v = strings.Trim(text, strip)
	}
	n, err := loader.Int(v)
	switch {
	case err != nil:
		return 0, name + " must be an integer "
	case !data.Truth(a.Absolute) && (n < 0 || n > 100):
		return n, name + " must be in the range [0, 100] "
	}
	return n, ""
}

// A space is the use of a file system: in KB as whole numbers, or in percent.
type space struct {
	used, available any // int64 or float64
	details         *data.Map
}

// status succeeds if the used space of a file system is within limits. It changes nothing.
//
// name
//
//	The mount point, or a directory.
//
// minimum, maximum
//
//	The limits in percent, such as 79%.
//
// absolute
//
//	True: the limits are in KB, such as 1024 KB.
//
// free
//
//	True: the limits are for the available space.
//
//	/var:
//	  disk.status:
//	    - maximum: 79%
//	    - minimum: 11%
func (m *module) status(ctx context.Context, a statusArgs) (change.Result, error) {
	result := func(ok bool, comment string, details *data.Map) (change.Result, error) {
		if details == nil {
			details = &data.Map{}
		}
		verdict := change.Failure
		if ok {
			verdict = change.Success
		}
		return change.Result{Name: a.Name, Verdict: verdict, Comment: comment,
			More: data.NewMap("data", details)}, nil
	}
	var maximum, minimum int64
	var wrong, text string
	if a.Maximum != nil {
		maximum, wrong = a.limit("maximum", a.Maximum)
	}
	if a.Minimum != nil {
		minimum, text = a.limit("minimum", a.Minimum)
		wrong += text
	}
	if a.Maximum != nil && a.Minimum != nil && !strings.Contains(wrong, "integer") && minimum >= maximum {
		wrong += "minimum must be less than maximum "
	}
	if wrong != "" {
		return result(false, wrong, nil)
	}
	now, missing, err := m.space(ctx, a)
	if err != nil {
		return change.Result{}, err
	}
	if missing != "" {
		return result(false, missing, nil)
	}
	what, value, unit := "used", now.used, "%"
	if data.Truth(a.Free) {
		what, value = "available", now.available
	}
	if data.Truth(a.Absolute) {
		unit = "KB"
	}
	amount, err := loader.Float(value)
	if err != nil {
		return change.Result{}, err
	}
	beyond := func(side string, limit int64) (change.Result, error) {
		return result(false, "Disk "+what+" space is "+side+" of "+data.Str(limit)+" "+unit+" at "+
			data.Str(value)+" "+unit, now.details)
	}
	switch {
	case a.Minimum != nil && amount < float64(minimum):
		return beyond("below minimum", minimum)
	case a.Maximum != nil && amount > float64(maximum):
		return beyond("above maximum", maximum)
	}
	return result(true, "Disk used space in acceptable range", now.details)
}

// space measures a file system by its mount point, or else by a directory. missing says that there is
// neither.
func (m *module) space(ctx context.Context, a statusArgs) (now space, missing string, err error) {
	mounts, err := change.Ask[*data.Map](ctx, m.env, "disk.usage", nil, nil)
	if err != nil {
		return now, "", err
	}
	if mount, ok := mounts.Value(a.Name).(*data.Map); ok {
		now, err = ofMount(mount, data.Truth(a.Absolute))
		return now, "", err
	}
	if info, err := os.Stat(a.Name); err != nil || !info.IsDir() {
		return now, "Disk mount " + a.Name + " not present. Directory " + a.Name +
			" does not exist or is not a directory", nil
	}
	usage, err := change.Ask[*data.Map](ctx, m.env, "status.diskusage", []any{a.Name}, nil)
	if err != nil {
		return now, "", err
	}
	now, err = ofDirectory(usage, a.Name, data.Truth(a.Absolute))
	return now, "", err
}

func ofMount(mount *data.Map, absolute bool) (space, error) {
	if absolute {
		used, err := loader.Int(mount.Value("used"))
		if err != nil {
			return space{}, err
		}
		available, err := loader.Int(mount.Value("available"))
		return space{used, available, mount}, err
	}
	used, err := loader.Int(strings.Trim(mount.Text("capacity"), "%"))
	return space{used, 100 - used, mount}, err
}

func ofDirectory(usage *data.Map, name string, absolute bool) (space, error) {
	of, _ := usage.Value(name).(*data.Map)
	total, err := loader.Int(of.Value("total"))
	if err != nil {
		return space{}, err
	}
	available, err := loader.Int(of.Value("available"))
	switch {
	case err != nil:
		return space{}, err
	case absolute:
		return space{total - available, available, usage}, nil
	case total == 0:
		return space{int64(0), int64(0), usage}, nil
	}
	return space{tenths(float64(total-available) / float64(total) * 100),
		tenths(float64(available) / float64(total) * 100), usage}, nil
}

// tenths rounds as Python's round(x, 1).
func tenths(x float64) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'f', 1, 64), 64)
	if err != nil {
		return x
	}
	return rounded
}

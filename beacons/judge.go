package beacons

import (
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/match"
)

// Verdict returns the results of Beacon.Validate for a fault; "" means that there is none.
func Verdict(fault string) (valid bool, comment string) {
	if fault != "" {
		return false, fault
	}
	return true, Valid
}

// NotList returns Salt's fault of a configuration that is no list, "" for a list.
func NotList(name string, config any) string {
	if _, ok := config.([]any); ok {
		return ""
	}
	return "Configuration for " + name + " beacon must be a list."
}

// Need returns an error if one of Brine's functions, which a beacon calls, is not available on this
// host. It is for the factory of a beacon.
func Need(env *loader.Env, funs ...string) error {
	for _, fun := range funs {
		if !env.Functions.Has(fun) {
			return loader.Execution("%s is missing.", fun)
		}
	}
	return nil
}

// Partial returns the events of a turn in which a part failed. The error is logged if there are events,
// since those of a beacon that returns an error are dropped.
func Partial(env *loader.Env, config any, events []*data.Map, err error) ([]*data.Map, error) {
	if err == nil || len(events) == 0 {
		return events, err
	}
	env.Log.WithError(err).Errorf("A part of beacon %s failed", Merge(config).Text("_beacon_name"))
	return events, nil
}

// Number returns a value of a configuration as Python's float does: a number, or text with one.
func Number(v any) (float64, error) {
	switch v := v.(type) {
	case int64:
		return float64(v), nil
	case float64:
		return v, nil
	case bool:
		if v {
			return 1, nil
		}
		return 0, nil
	case string:
		if f, err := strconv.ParseFloat(strings.TrimSpace(v), 64); err == nil {
			return f, nil
		}
		return 0, loader.Exception("ValueError", "could not convert string to float: %s", data.Repr(v))
	}
	return 0, loader.TypeError("float() argument must be a string or a real number, not '%s'",
		loader.TypeName(v))
}

// Percent is Number for a value that may contain percent signs: 63%.
func Percent(v any) (float64, error) {
	if text, ok := v.(string); ok {
		v = strings.ReplaceAll(text, "%", "")
	}
	return Number(v)
}

// CompileSearch compiles a regular expression that may match anywhere, as with Python's re.search.
func CompileSearch(expr string) (*match.Regexp, error) {
	return match.CompileRegexp(`[\s\S]*?(?:` + expr + `)`)
}

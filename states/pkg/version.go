package pkg

import (
	"context"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/loader"
)

// A condition is one part of a version that is wanted.
type condition struct{ oper, version string }

// conditions reads a version that is wanted: a version, which may be a pattern, or conditions with commas between.
func conditions(wanted string) []condition {
	if wanted = strings.TrimSpace(wanted); wanted == "" {
		return nil
	}
	var all []condition
	for part := range strings.SplitSeq(wanted, ",") {
		oper, version := packages.Split(strings.TrimSpace(part))
		if oper == "" || oper == "=" {
			oper = "=="
		}
		all = append(all, condition{oper, version})
	}
	return all
}

// A rule says how versions are compared with those that are wanted.
type rule struct {
	ignoreEpoch any  // nil to ignore it where a condition is an equation without an epoch
	updates     bool // allow_updates: later versions than the one that is wanted will do
}

// fulfilled reports whether one of the versions is as wanted.
func (m *module) fulfilled(ctx context.Context, versions []string, wanted string, r rule) (bool, error) {
	all := conditions(wanted)
	if r.updates && len(all) == 1 && all[0].oper == "==" {
		all[0].oper = ">="
	}
	for _, version := range versions {
		good, err := m.meets(ctx, version, all, r)
		if good || err != nil {
			return good, err
		}
	}
	return false, nil
}

// meets reports whether a version meets all conditions.
func (m *module) meets(ctx context.Context, version string, all []condition, r rule) (bool, error) {
	for _, c := range all {
		if c.oper == "==" && loader.Glob(c.version, version) {
			continue
		}
		good, err := m.compare(ctx, version, c, r.ignores(c))
		if !good || err != nil {
			return false, err
		}
	}
	return true, nil
}

func (r rule) ignores(c condition) bool {
	if r.ignoreEpoch != nil {
		return data.Truth(r.ignoreEpoch)
	}
	return !strings.ContainsAny(c.oper, "<>") && !strings.Contains(c.version, ":")
}

// compare asks the package manager, or, where it has no rule of its own, goes by a loose one.
func (m *module) compare(ctx context.Context, version string, c condition, ignoreEpoch bool) (bool, error) {
	var order any
	if m.has("pkg.version_cmp") {
		var err error
		order, err = m.env.Call(ctx, "pkg.version_cmp", []any{version, c.version}, data.NewMap("ignore_epoch", ignoreEpoch))
		if err != nil {
			return false, err
		}
	} else {
		a, b := version, c.version
		if ignoreEpoch {
			a, b = packages.WithoutEpoch(a), packages.WithoutEpoch(b)
		}
		order = int64(packages.Loose(a, b))
	}
	n, ok := order.(int64)
	return packages.Holds(version, c.oper, c.version, func(string, string) (int, bool) { return int(n), ok }), nil
}

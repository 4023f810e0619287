package pkg

import (
	"context"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

// A condition is one part of a desired version.
type condition struct{ oper, version string }

// conditions parses a desired version: a version, which may be a pattern, or conditions separated
// by commas.
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

// A rule defines how versions are compared with the desired ones.
type rule struct {
	ignoreEpoch any  // nil: ignore it if a condition is an equality without an epoch
	updates     bool // allow_updates: versions later than the desired one are acceptable
}

// fulfilled reports whether one of the versions is as desired.
func (m *module) fulfilled(
	ctx context.Context, versions []string, wanted string, r rule,
) (bool, error) {
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

// compare compares versions with the package manager's function or, if it has none, with a generic
// one.
func (m *module) compare(
	ctx context.Context, version string, c condition, ignoreEpoch bool,
) (bool, error) {
	order, known := 0, true
	if m.has("pkg.version_cmp") {
		var err error
		if order, known, err = calls.VersionCmp(ctx, m.env, version, c.version,
			ignoreEpoch); err != nil {
			return false, err
		}
	} else {
		a, b := version, c.version
		if ignoreEpoch {
			a, b = packages.WithoutEpoch(a), packages.WithoutEpoch(b)
		}
		order = packages.Loose(a, b)
	}
	return packages.Holds(version, c.oper, c.version,
		func(string, string) (int, bool) { return order, known }), nil
}

// Package services holds the common parts of the service modules of the init systems: arguments of
// their functions, and the implementation of service.status.
package services

import (
	"context"
	"maps"
	"regexp"
	"slices"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// NameArgs are the arguments of functions that take the name of a service.
type NameArgs struct{ Name string }

// TurnArgs are the arguments of functions that enable or disable a service at boot.
type TurnArgs struct {
	Name   string
	Kwargs *data.Map `kwargs:"kwargs"`
}

// StatusArgs are the arguments of service.status.
type StatusArgs struct {
	Name string
	Sig  any `default:"None"`
}

var wildcard = regexp.MustCompile(`\*|\?|\[.+\]`)

// Status implements service.status for a name: the result of one for it, or, for a name with
// wildcards, a dictionary with the results for all matching services.
func Status[R any](
	name string, all func() ([]string, error), one func(name string) (R, error),
) (any, error) {
	if !wildcard.MatchString(name) {
		return one(name)
	}
	names, err := all()
	if err != nil {
		return nil, err
	}
	found := &data.Map{}
	for _, service := range names {
		if !loader.Glob(name, service) {
			continue
		}
		is, err := one(service)
		if err != nil {
			return nil, err
		}
		found.Set(service, is)
	}
	return found, nil
}

// Runs reports whether there is a process with a text in its command line, through status.pid.
func Runs(ctx context.Context, env *loader.Env, sig any) (bool, error) {
	return loader.CallAs[bool](ctx, env, "status.pid", []any{sig}, nil)
}

// Sorted returns the names of a set, sorted.
func Sorted(set map[string]bool) []any { return data.Values(slices.Sorted(maps.Keys(set))) }

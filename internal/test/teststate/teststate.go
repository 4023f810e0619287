// Package teststate runs states in tests, and compares the results with Salt's.
package teststate

import (
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/runs"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules"
	"github.com/brineproject/brine/states"
)

// A Shelf holds all states over all modules of a minion.
type Shelf = runs.Shelf

// NewShelf returns the states of a minion with these options.
func NewShelf(t testing.TB, opts *data.Map) *Shelf {
	t.Helper()
	return runs.New(t, &loader.Env{Opts: opts}, modules.Plugins(modules.Brought()), states.Plugins()...)
}

// Same compares a result with Salt's; data.Equal is the strictest.
type Same = runs.Same

// Equal is the Same that allows no difference.
func Equal(got, want *data.Map) bool { return data.Equal(got, want) }

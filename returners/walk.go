package returners

import (
	"context"
	"slices"

	"github.com/brineproject/brine/job"
)

// A ReturnWalker reads the returns of a job one after the other, so that they are never in memory all
// at once. A JobReader may implement it. Several goroutines may use it.
type ReturnWalker interface {
	// WalkReturns calls visit with each return of a job, in the order of arrival; an unknown job has
	// none. A list of minions that is not nil selects their returns, and no others are read. An error of
	// visit ends the walk and is returned. visit must not call the cache.
	WalkReturns(ctx context.Context, id job.ID, minions []string, visit func(Return) error) error
}

// WalkReturns reads the returns of a job from any cache: one that is no ReturnWalker reads all of them
// first.
func WalkReturns(ctx context.Context, r JobReader, id job.ID, minions []string, visit func(Return) error) error {
	if minions != nil && len(minions) == 0 {
		return nil
	}
	if w, ok := r.(ReturnWalker); ok {
		return w.WalkReturns(ctx, id, minions, visit)
	}
	list, err := r.Returns(ctx, id)
	if err != nil {
		return err
	}
	for _, one := range list {
		if minions != nil && !slices.Contains(minions, one.Minion) {
			continue
		}
		if err := visit(one); err != nil {
			return err
		}
	}
	return nil
}

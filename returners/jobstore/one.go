package jobstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/returners"
)

// ReadReturn reads a minion's return to a job from the file of a running or stopped master, which it
// opens and closes. For a return that is not there the error wraps [returners.ErrUnknownJob].
func ReadReturn(ctx context.Context, name string, o Options, id job.ID, minion string) (load data.Raw, err error) {
	r, err := OpenReadOnly(ctx, name, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	err = r.WalkReturns(ctx, id, []string{minion}, func(one returners.Return) error {
		load = one.Load
		return nil
	})
	if err == nil && load == nil {
		err = fmt.Errorf("return of %.64q to job %.64q: %w", minion, id, returners.ErrUnknownJob)
	}
	return load, err
}

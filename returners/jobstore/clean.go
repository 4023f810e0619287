package jobstore

import (
	"context"
	"fmt"
	"time"
)

// Limits of one transaction of Clean, so that other writers do not wait long.
const (
	cleanJobs    = 100
	cleanReturns = 400
	cleanBytes   = 4 << 20 // of returns
	cleanStates  = 2000
	vacuumPages  = 512
)

// activeFactor is the factor by which a job with active minions is kept longer than others.
const activeFactor = 7

// activeJob is true for a job that a minion has acknowledged, runs, or is queued for, and has not
// returned.
const activeJob = `EXISTS (SELECT 1 FROM progress AS p WHERE p.job = jobs.n AND p.state IN (2, 4, 5) AND
	NOT EXISTS (SELECT 1 FROM returns AS r WHERE r.job = p.job AND r.minion = p.minion))`

// vacuumFrom is the number of free pages from which Clean shrinks the file, if they are a quarter
// of it.
const vacuumFrom = 2048

// Clean deletes the jobs that started before a time, with their returns, and returns their number.
// It works in slices, between which others can write. For readers a job and its returns disappear
// at once; the next Clean finishes an interrupted one. A job on which a minion is known to be
// active is kept until it is seven times as old, so that its return can be stored.
func (s *Store) Clean(ctx context.Context, before time.Time) (total int, err error) {
	for {
		if err := s.sweep(ctx); err != nil {
			return total, fmt.Errorf("delete old jobs: %w", err)
		}
		n, err := s.dropOld(ctx, before)
		if err != nil {
			return total, fmt.Errorf("delete old jobs: %w", err)
		}
		if n == 0 {
			break
		}
		total += n
	}
	if err := s.shrink(ctx); err != nil {
		return total, fmt.Errorf("shrink the job cache: %w", err)
	}
	return total, nil
}

// dropOld deletes some old jobs and marks their returns.
func (s *Store) dropOld(ctx context.Context, before time.Time) (n int, err error) {
	evenLiving := before.Add(-(activeFactor - 1) * max(s.o.Now().Sub(before), 0))
	err = s.queue.do(ctx, &change{
		do: func(f *file) error {
			res, err := f.do.markOld.Exec(before.UnixMicro(), evenLiving.UnixMicro(), cleanJobs)
			if err != nil {
				return err
			}
			marked, err := res.RowsAffected()
			if n = int(marked); err != nil || n == 0 {
				return err
			}
			if res, err = f.do.dropOld.Exec(); err != nil {
				return err
			}
			if dropped, err := res.RowsAffected(); err != nil || dropped == marked {
				return err
			}
			return fmt.Errorf("%w: the index of start times lists jobs that are not there", errDamaged)
		},
		after: func() {
			if n > 0 {
				s.recent.clear()
			}
		},
	})
	return n, err
}

// sweep deletes the returns of deleted jobs.
func (s *Store) sweep(ctx context.Context) error {
	for more := true; more; {
		err := s.queue.do(ctx, &change{do: func(f *file) (err error) {
			more, err = f.sweep()
			return err
		}})
		if err != nil {
			return err
		}
	}
	return nil
}

// sweep deletes some returns and reports whether there are more.
func (f *file) sweep() (more bool, err error) {
	numbers, sizes, err := f.oldReturns()
	if err != nil {
		return false, err
	}
	if len(numbers) == 0 {
		return f.sweepStates()
	}
	for i, left := 0, int64(cleanBytes); i < len(numbers) && left > 0; i++ {
		if sizes[i] > pieceSize {
			res, err := f.do.dropPieces.Exec(numbers[i], cleanBytes/pieceSize)
			if err != nil {
				return false, err
			}
			if n, err := res.RowsAffected(); err != nil || n == cleanBytes/pieceSize {
				return true, err
			}
		}
		if _, err := f.do.dropReturn.Exec(numbers[i]); err != nil {
			return false, err
		}
		left -= sizes[i]
	}
	return true, nil
}

// sweepStates deletes some states of jobs whose returns are deleted, and reports whether there are
// more.
func (f *file) sweepStates() (more bool, err error) {
	res, err := f.do.dropProgress.Exec(cleanStates)
	if err != nil {
		return false, err
	}
	if n, err := res.RowsAffected(); err != nil || n > 0 {
		return true, err
	}
	if _, err := f.do.dropAbsent.Exec(); err != nil {
		return false, err
	}
	_, err = f.do.unmark.Exec()
	return false, err
}

func (f *file) oldReturns() (numbers, sizes []int64, err error) {
	rows, err := f.do.oldReturns.Query(cleanReturns)
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var n, size int64
		if err := rows.Scan(&n, &size); err != nil {
			return nil, nil, err
		}
		numbers, sizes = append(numbers, n), append(sizes, size)
	}
	return numbers, sizes, rows.Err()
}

// shrink returns free pages to the file system while there are many.
func (s *Store) shrink(ctx context.Context) error {
	for more := true; more; {
		err := s.queue.do(ctx, &change{do: func(f *file) (err error) {
			more, err = f.shrink()
			return err
		}})
		if err != nil {
			return err
		}
	}
	return nil
}

// shrink returns some free pages and reports whether that worked.
func (f *file) shrink() (bool, error) {
	free, err := f.free()
	if err != nil || free == 0 {
		return false, err
	}
	if _, err := f.do.giveBack.Exec(); err != nil {
		return false, err
	}
	left, err := f.free()
	return left < free, err
}

// free returns the number of free pages, or 0 if they are too few to return.
func (f *file) free() (free int, err error) {
	var all int
	if err := f.do.freePages.QueryRow().Scan(&free); err != nil {
		return 0, err
	}
	if err := f.do.allPages.QueryRow().Scan(&all); err != nil {
		return 0, err
	}
	if free < vacuumFrom || free < all/4 {
		return 0, nil
	}
	return free, nil
}

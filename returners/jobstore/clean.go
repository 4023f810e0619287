package jobstore

import (
	"context"
	"fmt"
	"time"
)

// How much Clean does in one transaction, so that nobody waits long for it.
const (
	cleanJobs    = 100
	cleanReturns = 400
	cleanBytes   = 4 << 20 // of returns
	cleanStates  = 2000
	vacuumPages  = 512
)

// livingTimes says how much older than others a job may get before it is dropped, while a minion is at work on it as far
// as is known.
const livingTimes = 7

// living is true for a job that a minion has taken, or waits for, and has not returned.
const living = `EXISTS (SELECT 1 FROM progress AS p WHERE p.job = jobs.n AND p.state IN (2, 4, 5) AND
	NOT EXISTS (SELECT 1 FROM returns AS r WHERE r.job = p.job AND r.minion = p.minion))`

// vacuumFrom is the number of free pages from which Clean makes the file smaller, if they are a quarter of it.
const vacuumFrom = 2048

// Clean drops the jobs that started before a time, with their returns, and tells how many jobs those were. It works in
// slices between which others write. A job is gone at once with its returns, for whoever reads; a Clean that was
// stopped half-way is finished by the next. A job that a minion is known to be at work on stays until it is seven times
// as old, so that its return finds it.
func (s *Store) Clean(ctx context.Context, before time.Time) (total int, err error) {
	for {
		if err := s.sweep(ctx); err != nil {
			return total, fmt.Errorf("drop old jobs: %w", err)
		}
		n, err := s.dropOld(ctx, before)
		if err != nil {
			return total, fmt.Errorf("drop old jobs: %w", err)
		}
		if n == 0 {
			break
		}
		total += n
	}
	if err := s.shrink(ctx); err != nil {
		return total, fmt.Errorf("make the job cache smaller: %w", err)
	}
	return total, nil
}

// dropOld drops some old jobs and marks their returns.
func (s *Store) dropOld(ctx context.Context, before time.Time) (n int, err error) {
	evenLiving := before.Add(-(livingTimes - 1) * max(s.o.Now().Sub(before), 0))
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
			_, err = f.do.dropOld.Exec()
			return err
		},
		after: func() {
			if n > 0 {
				s.recent.clear()
			}
		},
	})
	return n, err
}

// sweep drops the returns of jobs that are gone.
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

// sweep drops some returns and tells whether there are more.
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

// sweepStates drops some states of jobs whose returns are gone, and tells whether there are more.
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

// shrink gives free pages back to the file system while they are many.
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

// shrink gives some free pages back and tells whether it helped.
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

// free returns the number of free pages, 0 when they are not worth to be given back.
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

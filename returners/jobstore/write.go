package jobstore

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/returners"
)

// write processes the queue until it is closed.
func (s *Store) write() {
	defer close(s.ended)
	for {
		runtime.Gosched() // callers that just got their results may have more
		batch := s.queue.take()
		if len(batch) == 0 {
			return
		}
		s.commit(batch)
	}
}

// commit performs changes in one transaction and reports the result to each caller. If that fails,
// each gets a transaction of its own, so that a change that does not fit on the disk does not
// affect others.
func (s *Store) commit(batch []*change) {
	err := s.attempt(batch)
	if err != nil && len(batch) > 1 {
		for _, c := range batch {
			s.commit([]*change{c})
		}
		return
	}
	if damaged(err) {
		if err = s.replaceFile(err); err == nil {
			err = s.attempt(batch)
		}
	}
	for _, c := range batch {
		if err == nil && c.after != nil {
			c.after()
		}
		c.done <- err
	}
}

// attempt performs changes in one transaction, or none of them.
func (s *Store) attempt(batch []*change) error {
	f, err := s.writable()
	if err != nil {
		return err
	}
	if _, err := f.do.begin.Exec(); err != nil {
		return err
	}
	for _, c := range batch {
		if err = c.do(f); err != nil {
			break
		}
	}
	if err == nil {
		err = check(f, batch)
	}
	if err == nil {
		if _, err = f.do.commit.Exec(); err == nil {
			return nil
		}
	}
	// After some errors SQLite has ended the transaction itself; then there is nothing to roll
	// back.
	if _, rollback := f.do.rollback.Exec(); rollback != nil && codeOf(rollback) != codeError {
		return errors.Join(err, rollback, s.closeFile())
	}
	return err
}

// check looks up what the last change that can be looked up has written. One for a transaction is enough to find damage
// soon, and costs little.
func check(f *file, batch []*change) error {
	for _, c := range slices.Backward(batch) {
		if c.check != nil {
			return c.check(f)
		}
	}
	return nil
}

// closeFile closes the file, so that the next change opens it again.
func (s *Store) closeFile() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.file
	s.file = nil
	return f.close()
}

// writable returns the file. It opens the file if a failure, such as a full disk, left none, or if
// an operator has removed it.
func (s *Store) writable() (*file, error) {
	if s.file != nil {
		if s.file.inPlace() {
			return s.file, nil
		}
		s.o.Log.Errorf("The job cache %s was removed. A new one is created", s.name)
		if err := s.closeFile(); err != nil {
			s.o.Log.WithError(err).Warnf("close the removed job cache %s", s.name)
		}
	}
	f, err := openFile(context.Background(), s.name)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.file = f
	s.recent.clear()
	return f, nil
}

// SaveJob stores j, see [returners.JobCache].
func (s *Store) SaveJob(ctx context.Context, j *returners.Job) error {
	row, err := newJobRow(j)
	if err != nil {
		return fmt.Errorf("save job %s: %w", j.ID, err)
	}
	var kept *returners.Job
	own := row.own(j)
	absent, err := newAbsentRow(j)
	if err != nil {
		return fmt.Errorf("save job %s: %w", j.ID, err)
	}
	err = s.queue.do(ctx, &change{
		size: len(row.load) + len(row.minions),
		do: func(f *file) (err error) {
			if kept, err = f.addJob(row, own); err != nil || kept != own {
				return err
			}
			return f.addAbsent(absent)
		},
		after: func() { s.recent.set(kept) },
	})
	if err != nil {
		return fmt.Errorf("save job %s: %w", j.ID, err)
	}
	return nil
}

// addJob stores job j in the form of row, and returns the stored job. A damaged record with its id
// is replaced.
func (f *file) addJob(row *jobRow, j *returners.Job) (*returners.Job, error) {
	res, err := f.do.addJob.Exec(row.values()...)
	if err != nil {
		return nil, err
	}
	if n, err := res.RowsAffected(); err != nil || n == 1 {
		return j, err
	}
	old, err := f.addMinions(j.ID, j.Minions)
	if errors.Is(err, errRecord) {
		_, err = f.do.setJob.Exec(row.values()...)
		return j, err
	}
	if errors.Is(err, returners.ErrUnknownJob) {
		return nil, fmt.Errorf("%w: job %s is in one of its indexes only", errDamaged, j.ID)
	}
	return old, err
}

// AddMinions adds expected minions, see [returners.JobCache].
func (s *Store) AddMinions(ctx context.Context, id job.ID, ids []string) error {
	var (
		kept    *returners.Job
		verdict error
	)
	err := s.queue.do(ctx, &change{
		do: func(f *file) (err error) {
			kept, err = f.addMinions(id, ids)
			if errors.Is(err, returners.ErrUnknownJob) {
				err = errors.Join(err, s.checkMissing(f, id))
			}
			if verdict = nil; !damaged(err) && (errors.Is(err, returners.ErrUnknownJob) || errors.Is(err, errRecord)) {
				verdict = returners.ErrUnknownJob
				return nil
			}
			return err
		},
		after: func() {
			if kept != nil {
				s.recent.set(kept)
			}
		},
	})
	if err == nil {
		err = verdict
	}
	if err != nil {
		return fmt.Errorf("add minions to job %s: %w", id, err)
	}
	return nil
}

// addMinions adds minions to a job and returns the updated job.
func (f *file) addMinions(id job.ID, ids []string) (*returners.Job, error) {
	var row jobRow
	err := recordError(f.do.findJob.QueryRow(string(id)).Scan(row.fields()...))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, returners.ErrUnknownJob
	}
	if err != nil {
		return nil, err
	}
	j, err := row.job()
	if err != nil {
		return nil, err
	}
	all, changed := merge(j.Minions, ids)
	if !changed {
		return j, nil
	}
	j.Minions = all
	if row.minions, err = packNames(all); err != nil {
		return nil, err
	}
	row.sum = row.checksum()
	_, err = f.do.setJob.Exec(row.values()...)
	return j, err
}

// SaveReturn stores r, see [returners.JobCache].
func (s *Store) SaveReturn(
	ctx context.Context, id job.ID, r *returners.Return,
) (fresh bool, err error) {
	var verdict error
	row := newReturnRow(id, r)
	err = s.queue.do(ctx, &change{
		size: len(r.Load),
		do: func(f *file) (err error) {
			fresh, verdict, err = f.addReturn(id, row, r.Load)
			if errors.Is(verdict, returners.ErrUnknownJob) {
				err = s.checkMissing(f, id)
			}
			return err
		},
		check: func(f *file) error {
			if !fresh {
				return nil
			}
			return f.checkReturn(id, r.Minion)
		},
	})
	if err == nil {
		err = verdict
	}
	if err != nil {
		return false, fmt.Errorf("save return of minion %s for job %s: %w", r.Minion, id, err)
	}
	s.tracks.discard(id, r.Minion)
	return fresh, nil
}

// checkMissing returns an error that wraps errDamaged if the file has a job that it has just not found: then the index
// of the jobs is damaged. It looks only for jobs that were found lately, so that returns for jobs that never were cost
// nothing.
func (s *Store) checkMissing(f *file, id job.ID) error {
	if known, _ := s.recent.get(id); known == nil {
		return nil
	}
	var n int64
	err := f.do.scanJob.QueryRow(string(id)).Scan(&n)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return fmt.Errorf("%w: the index does not find job %s", errDamaged, id)
}

// checkReturn returns an error that wraps errDamaged if a return that was just added is not found: one flipped bit in a
// page of keys sends a search elsewhere.
func (f *file) checkReturn(id job.ID, minion string) error {
	var size int64
	err := f.do.checkReturn.QueryRow(string(id), minion).Scan(&size)
	if errors.Is(err, sql.ErrNoRows) {
		err = fmt.Errorf("%w: the index does not find the return of minion %s for job %s", errDamaged, minion, id)
	}
	return err
}

// addReturn adds a return. verdict is the error for a return that cannot be stored here.
func (f *file) addReturn(id job.ID, row *returnRow, load []byte) (fresh bool, verdict, err error) {
	res, err := f.do.addReturn.Exec(append([]any{string(id)}, row.values()...)...)
	if err != nil {
		return false, nil, err
	}
	n, err := res.RowsAffected()
	if err != nil {
		return false, nil, err
	}
	if n == 0 {
		return f.repeat(id, row, load)
	}
	if len(load) <= pieceSize {
		return true, nil, nil
	}
	number, err := res.LastInsertId()
	if err != nil {
		return false, nil, err
	}
	return true, nil, f.addPieces(number, load[pieceSize:])
}

func (f *file) addPieces(number int64, rest []byte) error {
	for len(rest) > 0 {
		n := min(len(rest), pieceSize)
		if _, err := f.do.addPiece.Exec(number, rest[:n]); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}

// repeat finds out why a return could not be added. It replaces a damaged record.
func (f *file) repeat(id job.ID, row *returnRow, load []byte) (fresh bool, verdict, err error) {
	old, number, err := f.findReturn(id, row.minion)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return false, returners.ErrUnknownJob, nil
	case err == nil:
		_, err = old.assemble(context.Background(), f.conn, id, number)
	}
	switch {
	case err != nil && !errors.Is(err, errRecord):
		return false, nil, err
	case err == nil && bytes.Equal(old.answer, row.answer):
		return false, nil, nil
	case err == nil:
		return false, returners.ErrConflict, nil
	}
	if _, err := f.do.dropPieces.Exec(number, -1); err != nil {
		return false, nil, err
	}
	if _, err := f.do.dropReturn.Exec(number); err != nil {
		return false, nil, err
	}
	return f.addReturn(id, row, load)
}

func (f *file) findReturn(id job.ID, minion string) (row *returnRow, number int64, err error) {
	row = &returnRow{}
	err = f.do.findReturn.QueryRow(string(id),
		minion).Scan(append([]any{&number}, row.fields()...)...)
	return row, number, recordError(err)
}

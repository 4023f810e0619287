package jobstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/returners"
)

// An absentRow is a row of the table absent.
type absentRow struct {
	id      job.ID
	minions []byte // nil if there are none
}

func newAbsentRow(j *returners.Job) (*absentRow, error) {
	row := &absentRow{id: j.ID}
	if len(j.Absent) == 0 {
		return row, nil
	}
	var err error
	row.minions, err = packNames(j.Absent)
	return row, err
}

func (r *absentRow) checksum() int64 {
	return int64(newSum().bytes([]byte(r.id),
		r.minions).Sum32())
}

func (f *file) addAbsent(r *absentRow) error {
	if r.minions == nil {
		return nil
	}
	_, err := f.do.addAbsent.Exec(string(r.id), r.checksum(), r.minions)
	return err
}

// maxWhy is the limit of a stored reason, in bytes.
const maxWhy = 500

// A stateRow is a row of the table progress.
type stateRow struct {
	id     job.ID
	minion string
	state  int64
	since  int64
	why    string
}

func newStateRow(id job.ID, p returners.Progress) *stateRow {
	return &stateRow{id: id, minion: p.Minion, state: int64(p.State.Rank()),
		since: p.Since.UnixMicro(), why: p.Why[:min(len(p.Why), maxWhy)]}
}

func (r *stateRow) checksum() int64 {
	return int64(newSum().bytes([]byte(r.id), []byte(r.minion),
		[]byte(r.why)).number(r.state).number(r.since).Sum32())
}

// trackText adds a state, or replaces one that it may follow; see returners.State.Follows.
const trackText = `INSERT INTO progress (job, minion, state, since, why, sum) SELECT n, ?2, ?3, ?4, ?5, ?6 FROM jobs WHERE id = ?1
	ON CONFLICT (job, minion) DO UPDATE SET (state, since, why, sum) = (excluded.state, excluded.since, excluded.why, excluded.sum)
	WHERE CASE WHEN excluded.state = 9 THEN progress.state <= 3 WHEN progress.state = 9 THEN excluded.state > 3
	ELSE excluded.state > progress.state OR progress.state = 6 AND excluded.state IN (4, 5) END`

func (f *file) track(r *stateRow) error {
	_, err := f.do.track.Exec(string(r.id), r.minion, r.state, r.since, r.why, r.checksum())
	return err
}

// Progress returns the progress of a job, see [returners.ProgressReader]. From a file of an older
// version it returns only which minions returned.
func (r *Reader) Progress(ctx context.Context, id job.ID) ([]returners.Progress, error) {
	j, err := r.Job(ctx, id)
	if err != nil {
		return nil, err
	}
	known := *j
	var (
		states  []returners.Progress
		returns []returners.Return
	)
	err = r.look(ctx, func(tx *sql.Tx) (err error) {
		if returns, err = r.findReceived(ctx, tx, id); err != nil || r.file.old {
			return err
		}
		if known.Absent, err = r.findAbsent(ctx, tx, id); err != nil {
			return err
		}
		states, err = r.findStates(ctx, tx, id)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read progress of job %s: %w", id, err)
	}
	return returners.Overlay(returners.Derive(&known, returns), states), nil
}

// State returns the state of one minion in a job, without those that Store has still to write.
func (r *Reader) State(ctx context.Context, id job.ID, minion string) (state returners.State, err error) {
	known, err := r.Job(ctx, id)
	if err != nil {
		return "", err
	}
	err = r.look(ctx, func(tx *sql.Tx) error {
		state, err = r.findState(ctx, tx, id, minion)
		if err != nil || state != "" {
			return err
		}
		var away []string
		if !r.file.old {
			away, err = r.findAbsent(ctx, tx, id)
		}
		switch {
		case slices.Contains(away, minion):
			state = returners.Absent
		case slices.Contains(known.Minions, minion):
			state = returners.Sent
		}
		return err
	})
	if err != nil {
		return "", fmt.Errorf("read state of minion %s in job %s: %w", minion, id, err)
	}
	return state, nil
}

// findState returns the state of a minion that has returned, or whose state was recorded, or "".
func (r *Reader) findState(ctx context.Context, tx *sql.Tx, id job.ID, minion string) (returners.State, error) {
	var n int64
	err := tx.QueryRowContext(ctx, "SELECT n FROM returns WHERE job = (SELECT n FROM jobs WHERE id = ?) AND minion = ?",
		string(id), minion).Scan(&n)
	if err == nil {
		return returners.Returned, nil
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return "", recordError(err)
	}
	if r.file.old {
		return "", nil
	}
	row, sum := stateRow{id: id, minion: minion}, int64(0)
	err = recordError(tx.QueryRowContext(ctx,
		"SELECT state, since, why, sum FROM progress WHERE job = (SELECT n FROM jobs WHERE id = ?) AND minion = ?",
		string(id), minion).Scan(&row.state, &row.since, &row.why, &sum))
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return "", nil
	case err == nil && (row.checksum() != sum || returners.StateOf(int(row.state)) == ""):
		err = fmt.Errorf("state of minion %.64q in job %.64q: %w", minion, id, errRecord)
	}
	if err != nil {
		return "", r.damagedRecord(err)
	}
	return returners.StateOf(int(row.state)), nil
}

// findReceived returns the returns with minion and time only.
func (r *Reader) findReceived(
	ctx context.Context, tx *sql.Tx, id job.ID,
) (list []returners.Return, err error) {
	rows, err := tx.QueryContext(ctx,
		"SELECT minion, received FROM returns WHERE job = (SELECT n FROM jobs WHERE id = ?) ORDER BY n", string(id))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var minion string
		var received int64
		if err := recordError(rows.Scan(&minion, &received)); err == nil {
			list = append(list, returners.Return{Minion: minion,
				Received: time.UnixMicro(received).UTC()})
		} else if err = r.damagedRecord(err); err != nil {
			return nil, err
		}
	}
	return list, rows.Err()
}

func (r *Reader) findAbsent(ctx context.Context, tx *sql.Tx, id job.ID) ([]string, error) {
	row, sum := absentRow{id: id}, int64(0)
	err := recordError(tx.QueryRowContext(ctx,
		"SELECT sum, minions FROM absent WHERE job = (SELECT n FROM jobs WHERE id = ?)",
		string(id)).Scan(&sum, &row.minions))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err == nil && row.checksum() != sum {
		err = fmt.Errorf("absent minions of job %.64q: %w", id, errRecord)
	}
	if err != nil {
		return nil, r.damagedRecord(err)
	}
	ids, err := unpackNames(row.minions)
	if err != nil {
		return nil, r.damagedRecord(fmt.Errorf("absent minions of job %.64q: %w: %w", id,
			errRecord, err))
	}
	return ids, nil
}

func (r *Reader) findStates(
	ctx context.Context, tx *sql.Tx, id job.ID,
) (list []returners.Progress, err error) {
	rows, err := tx.QueryContext(ctx,
		"SELECT minion, state, since, why, sum FROM progress WHERE job = (SELECT n FROM jobs WHERE id = ?) ORDER BY minion", string(id))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		row, sum := stateRow{id: id}, int64(0)
		err := recordError(rows.Scan(&row.minion, &row.state, &row.since, &row.why, &sum))
		if err == nil && (row.checksum() != sum || returners.StateOf(int(row.state)) == "") {
			err = fmt.Errorf("state of minion %.64q in job %.64q: %w", row.minion, id, errRecord)
		}
		if err == nil {
			list = append(list, row.progress())
		} else if err = r.damagedRecord(err); err != nil {
			return nil, err
		}
	}
	return list, rows.Err()
}

func (r *stateRow) progress() returners.Progress {
	return returners.Progress{Minion: r.minion, State: returners.StateOf(int(r.state)),
		Since: time.UnixMicro(r.since).UTC(), Why: r.why}
}

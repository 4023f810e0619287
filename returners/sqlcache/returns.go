package sqlcache

import (
	"bytes"
	"context"
	"fmt"

	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/returners/record"
)

// SaveReturn stores r, see [returners.JobCache].
func (c *Cache) SaveReturn(
	ctx context.Context, id job.ID, r *returners.Return,
) (fresh bool, err error) {
	row, err := record.MarshalReturn(id, r)
	if err == nil && len(r.Minion) > maxText {
		err = fmt.Errorf("the id is longer than %d bytes", maxText)
	}
	if err != nil {
		return false, fmt.Errorf("save return of minion %.64q for job %s: %w", r.Minion, id, err)
	}
	s := &saving{c: c, id: id, r: r, row: row, answer: record.Answer(r.Load),
		salt: c.saltReturn(id, r)}
	err = c.change(ctx, s.do)
	if s.unknown && err != nil && c.adopt(ctx, id) {
		err = c.change(ctx, s.do)
	}
	if err != nil {
		return false, fmt.Errorf("save return of minion %s for job %s: %w", r.Minion, id, err)
	}
	return s.fresh, nil
}

// saving holds the data of a return to be stored.
type saving struct {
	c      *Cache
	id     job.ID
	r      *returners.Return
	row    []byte
	answer []byte
	salt   []any // parameters of InsertReturn; nil if Salt's table gets no row

	fresh, unknown bool
}

// insertReturn adds a record if the job exists. The foreign key ensures that the job stays until
// the end.
const insertReturn = " (jid, minion, answer, record) SELECT jid, ?, ?, ? FROM brine_jobs WHERE jid = ?"

func (s *saving) do(ctx context.Context, tx *tx) error {
	s.fresh, s.unknown = false, false
	n, err := tx.exec(ctx, s.c.d.ignoring("brine_returns", insertReturn), s.r.Minion, s.answer,
		s.row, string(s.id))
	switch {
	case err != nil:
		return err
	case n == 0:
		return s.compare(ctx, tx)
	}
	s.fresh = true
	if s.salt == nil {
		return nil
	}
	return s.c.saltRow(ctx, tx, "return of minion "+s.r.Minion+" for job "+string(s.id),
		s.c.d.InsertReturn, s.salt...)
}

// compare finds out why a return was not added.
func (s *saving) compare(ctx context.Context, tx *tx) error {
	var answer, row []byte
	found, err := tx.row(ctx, []any{&answer, &row},
		"SELECT answer, record FROM brine_returns WHERE jid = ? AND minion = ?",
		string(s.id), s.r.Minion)
	if err != nil {
		return err
	}
	if !found {
		s.unknown = true
		return returners.ErrUnknownJob
	}
	if _, err := record.UnmarshalReturn(s.id, row); err != nil {
		s.fresh = true
		_, err := tx.exec(ctx, "UPDATE brine_returns SET answer = ?, record = ? WHERE jid = ? AND minion = ?", s.answer, s.row, string(s.id), s.r.Minion)
		return err
	}
	if !bytes.Equal(answer, s.answer) {
		return returners.ErrConflict
	}
	return nil
}

// Returns returns the returns of a job, in the order of arrival; those that are only in Salt's
// table come last.
func (c *Cache) Returns(ctx context.Context, id job.ID) ([]returners.Return, error) {
	end, err := c.gate.Enter(ctx)
	if err != nil {
		return nil, fmt.Errorf("returns of job %s: %w", id, err)
	}
	defer end()
	list, err := c.ownReturns(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("returns of job %s: %w", id, err)
	}
	foreign, err := c.foreignReturns(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("returns of job %s: %w", id, err)
	}
	return append(list, foreign...), nil
}

func (c *Cache) ownReturns(ctx context.Context, id job.ID) ([]returners.Return, error) {
	rows, err := c.db.QueryContext(ctx,
		c.d.marks("SELECT record FROM brine_returns WHERE jid = ? ORDER BY n"), string(id))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []returners.Return
	for rows.Next() {
		var row []byte
		if err := rows.Scan(&row); err != nil {
			return nil, err
		}
		r, err := record.UnmarshalReturn(id, row)
		if err != nil {
			c.logDamage(err)
			continue
		}
		list = append(list, *r)
	}
	return list, rows.Err()
}

package jobstore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"slices"
	"time"

	"modernc.org/sqlite"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/payload/compress"
	"github.com/brineproject/brine/payload/typed"
	"github.com/brineproject/brine/returners"
)

// errRecord is wrapped by errors that report a single damaged record.
var errRecord = errors.New("the record is damaged")

// sum is the checksum of a record: SQLite has none for its file.
type sum struct{ hash.Hash32 }

func newSum() sum { return sum{crc32.New(crc32.MakeTable(crc32.Castagnoli))} }

func (s sum) bytes(parts ...[]byte) sum {
	for _, b := range parts {
		s.number(int64(len(b)))
		s.Write(b)
	}
	return s
}

func (s sum) number(n int64) sum {
	s.Write(binary.BigEndian.AppendUint64(nil, uint64(n)))
	return s
}

// recordError classifies an error of Scan: values of unexpected types mean that only this row is
// damaged.
func recordError(err error) error {
	var ofSQLite *sqlite.Error
	if err == nil || errors.Is(err, sql.ErrNoRows) || errors.As(err, &ofSQLite) || isContext(err) {
		return err
	}
	return fmt.Errorf("%w: %w", errRecord, err)
}

func isContext(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// A jobRow is a row of the table jobs.
type jobRow struct {
	id, fun                string
	started, nocache, sum  int64
	minions, missing, load []byte
}

// jobColumns are the columns of a jobRow, in the order of its fields.
const jobColumns = "id, fun, started, nocache, sum, minions, missing, load"

func (r *jobRow) fields() []any {
	return []any{&r.id, &r.fun, &r.started, &r.nocache, &r.sum, &r.minions, &r.missing, &r.load}
}

func (r *jobRow) values() []any {
	return []any{r.id, r.fun, r.started, r.nocache, r.sum, r.minions, r.missing, r.load}
}

func (r *jobRow) checksum() int64 {
	s := newSum().bytes([]byte(r.id), []byte(r.fun)).number(r.started).number(r.nocache)
	return int64(s.bytes(r.minions, r.missing, r.load).Sum32())
}

func newJobRow(j *returners.Job) (*jobRow, error) {
	minions, err := packNames(j.Minions)
	if err != nil {
		return nil, err
	}
	missing, err := packNames(j.Missing)
	if err != nil {
		return nil, err
	}
	r := &jobRow{id: string(j.ID), fun: funOf(j.Load), started: j.Started.UnixMicro(),
		minions: minions, missing: missing, load: notNull(j.Load)}
	if j.NoCache {
		r.nocache = 1
	}
	r.sum = r.checksum()
	return r, nil
}

// notNull returns b so that it is stored as an empty value and not as NULL.
func notNull(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// own returns j as it will be read again, without sharing the caller's memory.
func (r *jobRow) own(j *returners.Job) *returners.Job {
	return &returners.Job{ID: j.ID, Load: bytes.Clone(r.load), Minions: slices.Clone(j.Minions),
		Missing: slices.Clone(j.Missing), NoCache: j.NoCache,
		Started: time.UnixMicro(r.started).UTC()}
}

func (r *jobRow) job() (*returners.Job, error) {
	if r.checksum() != r.sum {
		return nil, fmt.Errorf("job %.64q: %w", r.id, errRecord)
	}
	minions, err := unpackNames(r.minions)
	missing, err2 := unpackNames(r.missing)
	if err := errors.Join(err, err2); err != nil {
		return nil, fmt.Errorf("job %.64q: %w: %w", r.id, errRecord, err)
	}
	return &returners.Job{ID: job.ID(r.id), Load: r.load, Minions: minions, Missing: missing,
		NoCache: r.nocache != 0,
		Started: time.UnixMicro(r.started).UTC()}, nil
}

// funOf returns the function of a job, or "" if its load has none.
func funOf(load data.Raw) string {
	fields, err := payload.ParseFields(load, payload.WireLimits())
	if err != nil {
		return ""
	}
	fun, _ := fields.Text("fun")
	return fun
}

// packNames returns minion ids as a MessagePack list.
func packNames(ids []string) ([]byte, error) {
	if ids == nil {
		ids = []string{}
	}
	return typed.Marshal(ids)
}

func unpackNames(b []byte) ([]string, error) {
	ids := []string{}
	if err := typed.Unmarshal(b, payload.WireLimits(), &ids); err != nil {
		return nil, fmt.Errorf("list of minions: %w", err)
	}
	return ids, nil
}

// merge appends to ids those of more that it lacks, and reports whether there were any.
func merge(ids, more []string) ([]string, bool) {
	known := make(map[string]bool, len(ids))
	for _, id := range ids {
		known[id] = true
	}
	all := slices.Clip(ids)
	for _, id := range more {
		if !known[id] {
			known[id] = true
			all = append(all, id)
		}
	}
	return all, len(all) > len(ids)
}

// pieceSize is the part of a return that is stored in one row. The rest of a longer return is in
// the table pieces, so that no more than this is copied or deleted at once.
const pieceSize = 256 << 10

// A returnRow is a row of the table returns.
type returnRow struct {
	minion              string
	received, size, sum int64
	answer, load        []byte // load is the first piece, or all in a shorter form of package compress
}

// returnColumns are the columns of a returnRow, in the order of its fields.
const returnColumns = "minion, received, size, sum, answer, load"

func (r *returnRow) fields() []any {
	return []any{&r.minion, &r.received, &r.size, &r.sum, &r.answer, &r.load}
}

func (r *returnRow) values() []any {
	return []any{r.minion, r.received, r.size, r.sum, r.answer, r.load}
}

func newReturnRow(id job.ID, r *returners.Return) *returnRow {
	row := &returnRow{minion: r.Minion, received: r.Received.UnixMicro(), size: int64(len(r.Load)),
		answer: answerOf(r.Load),
		load:   notNull(r.Load[:min(len(r.Load), pieceSize)])}
	if len(r.Load) <= pieceSize {
		row.load, _ = compress.Encode(row.load)
	}
	row.sum = row.checksum(id, r.Load)
	return row
}

// checksum is that of a row with this load. It includes the job ID, so that a return cannot appear under
// another job.
func (r *returnRow) checksum(id job.ID, load []byte) int64 {
	s := newSum().bytes([]byte(id), []byte(r.minion)).number(r.received).number(r.size)
	return int64(s.bytes(r.answer, load).Sum32())
}

// answerOf returns a digest of the encoded fields return and retcode, or of the whole load if it
// has no field return.
func answerOf(load data.Raw) []byte {
	h := sha256.New()
	fields, err := payload.ParseFields(load, payload.WireLimits())
	if err != nil || !fields.Has("return") {
		h.Write(load)
		return h.Sum(nil)[:16]
	}
	value, code := fields.Raw("return"), fields.Raw("retcode")
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(value))))
	h.Write(value)
	h.Write(code)
	return h.Sum(nil)[:16]
}

// assemble returns the load of a return with its pieces under number. The error wraps errRecord if
// the return is damaged.
func (r *returnRow) assemble(
	ctx context.Context, db querier, id job.ID, number int64,
) ([]byte, error) {
	load := r.load
	if rest := r.size - int64(len(load)); rest != 0 && r.size <= pieceSize {
		var err error
		if load, err = compress.Decode(load, int(r.size)); err != nil {
			return nil, fmt.Errorf("return of minion %.64q for job %.64q: %w: %w", r.minion, id, errRecord, err)
		}
	} else if rest != 0 {
		found, err := readNumber(ctx, db,
			"SELECT coalesce(sum(length(load)), 0) FROM pieces WHERE return = ?", number)
		if err != nil {
			return nil, err
		}
		if found != rest {
			return nil, fmt.Errorf("return of minion %.64q for job %.64q: %w: %d bytes are missing",
				r.minion, id, errRecord, rest-found)
		}
		load = append(make([]byte, 0, r.size), load...)
		if load, err = appendPieces(ctx, db, load, number); err != nil {
			return nil, err
		}
	}
	if r.checksum(id, load) != r.sum {
		return nil, fmt.Errorf("return of minion %.64q for job %.64q: %w", r.minion, id, errRecord)
	}
	return load, nil
}

func appendPieces(ctx context.Context, db querier, load []byte, number int64) ([]byte, error) {
	rows, err := db.QueryContext(ctx, "SELECT load FROM pieces WHERE return = ? ORDER BY n", number)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var piece sql.RawBytes
		if err := rows.Scan(&piece); err != nil {
			return nil, recordError(err)
		}
		load = append(load, piece...)
	}
	return load, rows.Err()
}

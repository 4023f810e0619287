package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/payload/typed"
)

// ErrIncomplete is wrapped by ReturnEntry.Problem if parts of a large return are gone.
var ErrIncomplete = errors.New("parts of the return are missing")

// chunkSize is the most that a part of a large return has, in bytes.
const chunkSize = 512 << 10

// maxChunks is more than any MaxReturn needs with servers that allow messages of 64 KiB.
const maxChunks = 1 << 15

// Returns is the stream of the returns that members have taken. Returns that are added at the same time
// share an entry. The stream keeps a day of them, and drops the oldest earlier if the limit of its bytes
// is reached. It is safe for concurrent use.
type Returns struct {
	c             *Cluster
	sealer, parts *Sealer
	gather        gatherer
}

// ReturnEntry is an entry of the stream: returns that a member has taken at about the same time, in the
// form in which Add got them.
type ReturnEntry struct {
	Sequence uint64 // in the stream, from 1, without holes
	Returns  [][]byte
	// Problem is the reason why the entry could not be read: ErrIncomplete, ErrSealed if somebody without
	// the cluster key wrote it, or ErrUnknownKey if this member lacks the key. The latter two are counted
	// and logged. Returns is empty then. It is nil otherwise.
	Problem error
}

// returnRecord is what the stream has for an entry.
type returnRecord struct {
	Bodies [][]byte `codec:"bodies,omitempty"`
	Body   []byte   `codec:"body,omitempty"`   // the only return, as members of the first form wrote it
	Size   int      `codec:"size,omitempty"`   // of a large return, which is alone
	Group  string   `codec:"group,omitempty"`  // of its parts
	Chunks []uint64 `codec:"chunks,omitempty"` // their sequences in the stream of chunks
}

// Returns returns the stream of returns.
func (c *Cluster) Returns() *Returns {
	r := &Returns{c: c, sealer: c.secret.Sealer(c.o.Name, forReturns),
		parts: c.secret.Sealer(c.o.Name, forChunks)}
	r.gather = gatherer{limit: r.chunk, store: func(ctx context.Context, bodies [][]byte) (uint64, error) {
		return r.put(ctx, returnRecord{Bodies: bodies})
	}}
	return r
}

// Add appends a return and returns the sequence of its entry when a majority has it. Errors wrap
// ErrUnavailable, after which it may have been stored and Add may be called again, ErrBusy, ErrFull or
// ErrTooLarge. The stream may have a return twice: who reads it must recognize the second.
func (r *Returns) Add(ctx context.Context, body []byte) (sequence uint64, err error) {
	if len(body) > r.c.o.MaxReturn {
		return 0, fmt.Errorf("%w: %d bytes, allowed are %d (return_max_bytes)", ErrTooLarge, len(body),
			r.c.o.MaxReturn)
	}
	if len(body) <= r.chunk() {
		if len(body) > togetherBytes/2 { // few others would fit
			sequence, err = r.put(ctx, returnRecord{Bodies: [][]byte{body}})
		} else {
			sequence, err = r.gather.add(ctx, body)
		}
		if !errors.Is(err, ErrTooLarge) || len(body) <= r.chunk() { // else the server is another one now
			return sequence, err
		}
	}
	record, err := r.split(ctx, body)
	if err != nil {
		return 0, err
	}
	return r.put(ctx, record)
}

// put stores an entry.
func (r *Returns) put(ctx context.Context, record returnRecord) (uint64, error) {
	body, err := typed.Marshal(&record)
	if err != nil {
		return 0, err
	}
	sequence, _, err := r.c.store(ctx, write{subject: r.c.subject(forReturns), stream: r.c.name(forReturns),
		again: true, body: r.sealer.Seal(body, r.c.name(forReturns))})
	return sequence, err
}

// chunk returns the size of parts that fits into a message of the present server.
func (r *Returns) chunk() int {
	return max(min(chunkSize, r.c.payload()-sealOverhead-slack), 1)
}

// split stores the parts of a large return, and returns the record that names them.
func (r *Returns) split(ctx context.Context, body []byte) (returnRecord, error) {
	record := returnRecord{Size: len(body), Group: rand.Text()}
	size := r.chunk()
	if len(body)/size >= maxChunks {
		return record, fmt.Errorf("%w: %d bytes in messages of %d", ErrTooLarge, len(body), size)
	}
	for i := 0; i*size < len(body); i++ {
		part := body[i*size : min((i+1)*size, len(body))]
		sequence, _, err := r.c.store(ctx, write{subject: r.c.subject(forChunks), stream: r.c.name(forChunks),
			id: record.Group + "." + strconv.Itoa(i), body: r.parts.Seal(part, record.Group, strconv.Itoa(i))})
		if err != nil {
			return record, fmt.Errorf("part %d: %w", i+1, err)
		}
		record.Chunks = append(record.Chunks, sequence)
	}
	return record, nil
}

// Subscribe calls handle, in order, for each entry after a sequence, 0 for all that the stream has,
// until ctx ends or handle fails. It outlives the loss of servers. An entry that cannot be read is
// handed over with its Problem, so that the caller can log it and go on. Errors are those of handle,
// or a Gap if entries are gone, or ErrRestarted if the stream is another.
func (r *Returns) Subscribe(ctx context.Context, after uint64, handle func(ReturnEntry) error) error {
	f := &follower{c: r.c, stream: r.c.name(forReturns), after: after, strict: true,
		handle: func(m message) error {
			entry, err := r.open(ctx, m.body)
			if err != nil {
				return fmt.Errorf("returns of entry %d: %w", m.sequence, err)
			}
			stream := r.c.name(forReturns)
			_ = r.c.leaveOut(stream, m.sequence, entry.Problem) ||
				r.c.forged(stream, m.sequence, entry.Problem)
			entry.Sequence = m.sequence
			return handle(entry)
		}}
	return f.run(ctx)
}

// First returns the sequence of the oldest entry that the stream has, or of the next one if it has
// none.
func (r *Returns) First(ctx context.Context) (uint64, error) {
	return r.c.firstSequence(ctx, r.c.name(forReturns))
}

// Identity is Publications.Identity for the stream of returns.
func (r *Returns) Identity(ctx context.Context) (string, error) {
	return r.c.identity(ctx, r.c.name(forReturns))
}

// Last returns the sequence of the newest entry, 0 if there was none.
func (r *Returns) Last(ctx context.Context) (uint64, error) {
	return r.c.lastSequence(ctx, r.c.name(forReturns))
}

// open returns the returns in a message. An error asks to stop; faults of the message alone are in
// Problem.
func (r *Returns) open(ctx context.Context, sealed []byte) (ReturnEntry, error) {
	body, err := r.sealer.Open(sealed, r.c.name(forReturns))
	if err != nil {
		return ReturnEntry{Problem: err}, nil
	}
	record, err := readReturns(body)
	if err != nil {
		return ReturnEntry{Problem: err}, nil //nolint:nilerr // one entry must not hold up the others
	}
	if record.Chunks == nil {
		return ReturnEntry{Returns: record.Bodies}, nil
	}
	body, err = r.join(ctx, record)
	if errors.Is(err, ErrIncomplete) || isForeign(err) {
		return ReturnEntry{Problem: err}, nil
	}
	return ReturnEntry{Returns: [][]byte{body}}, err
}

// readReturns decodes a record and checks its numbers.
func readReturns(body []byte) (returnRecord, error) {
	var record returnRecord
	limits := payload.WireLimits()
	limits.Size = max(limits.Size, len(body))
	if err := typed.Unmarshal(body, limits, &record); err != nil {
		return record, err
	}
	if record.Size < 0 || len(record.Chunks) > maxChunks || record.Chunks == nil && record.Size > 0 {
		return record, fmt.Errorf("%w: a return of %d bytes in %d parts", payload.ErrInvalid, record.Size,
			len(record.Chunks))
	}
	if record.Body != nil {
		record.Bodies = [][]byte{record.Body}
	}
	if record.Chunks == nil && len(record.Bodies) == 0 {
		return record, fmt.Errorf("%w: an entry without a return", payload.ErrInvalid)
	}
	return record, nil
}

// join reads the parts of a large return.
func (r *Returns) join(ctx context.Context, record returnRecord) ([]byte, error) {
	if record.Size > max(r.c.o.MaxReturn, 1<<30) {
		return nil, fmt.Errorf("%w: %d bytes", ErrIncomplete, record.Size)
	}
	var all []byte
	for i, sequence := range record.Chunks {
		var m *jetstream.RawStreamMsg
		err := r.c.patiently(ctx, func(ctx context.Context) error {
			s, err := r.c.handle(ctx, r.c.name(forChunks))
			if err == nil {
				m, err = s.GetMsg(ctx, sequence)
			}
			return err
		})
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil, fmt.Errorf("%w: part %d of %d", ErrIncomplete, i+1, len(record.Chunks))
		}
		if err != nil {
			return nil, err
		}
		part, err := r.parts.Open(m.Data, record.Group, strconv.Itoa(i))
		if err != nil {
			return nil, err
		}
		if all = append(all, part...); len(all) > record.Size {
			return nil, fmt.Errorf("%w: more than %d bytes", ErrIncomplete, record.Size)
		}
	}
	if len(all) != record.Size {
		return nil, fmt.Errorf("%w: %d bytes of %d", ErrIncomplete, len(all), record.Size)
	}
	return all, nil
}

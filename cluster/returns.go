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

// ErrIncomplete is wrapped by Return.Problem if parts of a large return are gone.
var ErrIncomplete = errors.New("parts of the return are missing")

// chunkSize is the most that a part of a large return has, in bytes.
const chunkSize = 512 << 10

// maxChunks is more than any MaxReturn needs with servers that allow messages of 64 KiB.
const maxChunks = 1 << 15

// Returns is the stream of the returns that members have taken. It keeps a day of them, and drops the
// oldest earlier if the limit of its bytes is reached. It is safe for concurrent use.
type Returns struct {
	c             *Cluster
	sealer, parts *Sealer
	mark          []byte // key of message ids, which reveal neither job nor minion
}

// A Return is what a minion sent for a job.
type Return struct {
	Sequence    uint64 // in the stream, from 1, without holes; set by Subscribe
	JID, Minion string
	Body        []byte
	// Problem is the reason why an entry of the stream could not be read: ErrIncomplete, ErrSealed
	// if somebody without the cluster key wrote it, or ErrUnknownKey if this member lacks the key,
	// which is logged. The other fields except Sequence may be empty then. It is nil otherwise.
	Problem error
	// Again lets Add store another entry when a server seems to have lost the first: the members must
	// recognize the repetition. Subscribe does not set it.
	Again bool
}

// returnRecord is what the stream has for a return.
type returnRecord struct {
	JID    string   `codec:"jid"`
	Minion string   `codec:"minion"`
	Body   []byte   `codec:"body"`
	Size   int      `codec:"size,omitempty"`   // of a large return
	Group  string   `codec:"group,omitempty"`  // of its parts
	Chunks []uint64 `codec:"chunks,omitempty"` // their sequences in the stream of chunks
}

// Returns returns the stream of returns.
func (c *Cluster) Returns() *Returns {
	return &Returns{c: c, sealer: c.secret.Sealer(c.o.Name, forReturns),
		parts: c.secret.Sealer(c.o.Name, forChunks),
		mark:  derive(c.secret.roots[0], "message ids "+c.o.Name, secretSize)}
}

// Add appends a return and returns its sequence when a majority has it. The stream takes a return of
// the same job and minion once within two minutes, from any member: repeated is true for others.
// Further entries under Again and later repetitions are the caller's to recognize. Errors wrap
// ErrUnavailable, after which it may have been stored and Add may be called again, ErrBusy, ErrFull or
// ErrTooLarge.
func (r *Returns) Add(ctx context.Context, ret Return) (sequence uint64, repeated bool, err error) {
	sequence, repeated, err = r.add(ctx, ret)
	if err != nil {
		return 0, false, fmt.Errorf("store return of %s for job %s: %w", ret.Minion, ret.JID, err)
	}
	return sequence, repeated, nil
}

func (r *Returns) add(ctx context.Context, ret Return) (uint64, bool, error) {
	if len(ret.Body) > r.c.o.MaxReturn {
		return 0, false, fmt.Errorf("%w: %d bytes, allowed are %d (return_max_bytes)", ErrTooLarge,
			len(ret.Body), r.c.o.MaxReturn)
	}
	record := returnRecord{JID: ret.JID, Minion: ret.Minion, Body: ret.Body}
	if len(ret.Body) > r.chunk() {
		var err error
		if record, err = r.split(ctx, ret); err != nil {
			return 0, false, err
		}
	}
	body, err := typed.Marshal(&record)
	if err != nil {
		return 0, false, err
	}
	w := write{subject: r.c.subject(forReturns), stream: r.c.name(forReturns), id: r.id(ret), again: ret.Again,
		body: r.sealer.Seal(body, r.c.name(forReturns))}
	return r.c.store(ctx, w)
}

// id returns the message id of a return.
func (r *Returns) id(ret Return) string { return messageID(r.mark, ret.JID, ret.Minion) }

// chunk returns the size of parts that fits into a message of the present server.
func (r *Returns) chunk() int {
	return max(min(chunkSize, r.c.payload()-sealOverhead-slack), 1)
}

// split stores the parts of a large return, and returns the record that names them.
func (r *Returns) split(ctx context.Context, ret Return) (returnRecord, error) {
	record := returnRecord{JID: ret.JID, Minion: ret.Minion, Size: len(ret.Body), Group: rand.Text()}
	size := r.chunk()
	if len(ret.Body)/size >= maxChunks {
		return record, fmt.Errorf("%w: %d bytes in messages of %d", ErrTooLarge, len(ret.Body), size)
	}
	for i := 0; i*size < len(ret.Body); i++ {
		part := ret.Body[i*size : min((i+1)*size, len(ret.Body))]
		sequence, _, err := r.c.store(ctx, write{subject: r.c.subject(forChunks), stream: r.c.name(forChunks),
			id: record.Group + "." + strconv.Itoa(i), body: r.parts.Seal(part, record.Group, strconv.Itoa(i))})
		if err != nil {
			return record, fmt.Errorf("part %d: %w", i+1, err)
		}
		record.Chunks = append(record.Chunks, sequence)
	}
	return record, nil
}

// Subscribe calls handle, in order, for each return after a sequence, 0 for all that the stream has,
// until ctx ends or handle fails. It outlives the loss of servers. An entry that cannot be read is
// handed over with its Problem, so that the caller can log it and go on. Errors are those of handle,
// or wrap ErrGap if returns are gone, or ErrRestarted if the stream is another.
func (r *Returns) Subscribe(ctx context.Context, after uint64, handle func(Return) error) error {
	f := &follower{c: r.c, stream: r.c.name(forReturns), after: after, strict: true,
		handle: func(m message) error {
			ret, err := r.open(ctx, m.body)
			if err != nil {
				return fmt.Errorf("return %d: %w", m.sequence, err)
			}
			r.c.leaveOut(r.c.name(forReturns), m.sequence, ret.Problem)
			ret.Sequence = m.sequence
			return handle(ret)
		}}
	return f.run(ctx)
}

// First returns the sequence of the oldest return that the stream has, or of the next one if it has
// none.
func (r *Returns) First(ctx context.Context) (uint64, error) {
	return r.c.firstSequence(ctx, r.c.name(forReturns))
}

// Identity is Publications.Identity for the stream of returns.
func (r *Returns) Identity(ctx context.Context) (string, error) {
	return r.c.identity(ctx, r.c.name(forReturns))
}

// Last returns the sequence of the newest return, 0 if there was none.
func (r *Returns) Last(ctx context.Context) (uint64, error) {
	return r.c.lastSequence(ctx, r.c.name(forReturns))
}

// open returns the return in a message. An error asks to stop; faults of the message alone are in
// Problem.
func (r *Returns) open(ctx context.Context, sealed []byte) (Return, error) {
	body, err := r.sealer.Open(sealed, r.c.name(forReturns))
	if err != nil {
		return Return{Problem: err}, nil
	}
	record, err := readReturn(body)
	if err != nil {
		return Return{Problem: err}, nil //nolint:nilerr // one entry must not hold up the others
	}
	ret := Return{JID: record.JID, Minion: record.Minion, Body: record.Body}
	if record.Chunks == nil {
		return ret, nil
	}
	ret.Body, err = r.join(ctx, record)
	if errors.Is(err, ErrIncomplete) || isForeign(err) {
		ret.Body, ret.Problem, err = nil, err, nil
	}
	return ret, err
}

// readReturn decodes a record and checks its numbers.
func readReturn(body []byte) (returnRecord, error) {
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

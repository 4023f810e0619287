package cluster

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go/jetstream"
)

// Publications is the stream of what the members publish for minions. It keeps an hour of it, and
// drops the oldest earlier if the limit of its bytes is reached. It is safe for concurrent use.
type Publications struct {
	c      *Cluster
	sealer *Sealer
	mark   []byte // key of message ids, which do not reveal names
}

// A Publication is one entry of the stream.
type Publication struct {
	Serial uint64 // its sequence in the stream, from 1, without holes
	Body   []byte
	// Problem is ErrSealed if somebody without the cluster key wrote the entry, ErrUnknownKey if this
	// member lacks the key, else nil. Both are counted and logged.
	Problem error
}

// Publications returns the stream of publications.
func (c *Cluster) Publications() *Publications {
	return &Publications{c, c.secret.Sealer(c.o.Name, forPublications),
		derive(c.secret.roots[0], "names of publications "+c.o.Name, secretSize)}
}

// Publish appends a publication and returns its serial when a majority has it. It tries until ctx
// ends, and stores it once. If name is not "", the stream takes one publication of that name within
// two minutes: for another one repeated is true, and the serial is that of the first. Errors wrap
// ErrUnavailable, after which it may have been stored, ErrBusy, ErrFull or ErrTooLarge; the server's
// limit of a message is 1 MiB by default.
func (p *Publications) Publish(
	ctx context.Context, name string, body []byte,
) (serial uint64, repeated bool, err error) {
	w := write{subject: p.c.subject(forPublications), stream: p.c.name(forPublications),
		body: p.sealer.Seal(body, p.c.name(forPublications))}
	if name != "" {
		w.id = messageID(p.mark, name)
	}
	if serial, repeated, err = p.c.store(ctx, w); err != nil {
		return 0, false, fmt.Errorf("publish: %w", err)
	}
	return serial, repeated, nil
}

// messageID returns a message id that stands for names and reveals none of them.
func messageID(key []byte, names ...string) string {
	h := hmac.New(sha256.New, key)
	h.Write(about(nil, names))
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// Subscribe calls handle, in order, for each publication after a serial, 0 for all that the stream
// has, until ctx ends or handle fails. It outlives the loss of servers. Errors are those of handle,
// or a Gap if publications are gone, or ErrRestarted if the stream is another.
// handle should be quick: what it does not take in time waits on the servers.
func (p *Publications) Subscribe(ctx context.Context, after uint64, handle func(Publication) error) error {
	f := &follower{c: p.c, stream: p.c.name(forPublications), after: after, strict: true,
		handle: func(m message) error {
			body, err := p.sealer.Open(m.body, p.c.name(forPublications))
			stream := p.c.name(forPublications)
			_ = p.c.leaveOut(stream, m.sequence, err) || p.c.forged(stream, m.sequence, err)
			return handle(Publication{m.sequence, body, err})
		}}
	return f.run(ctx)
}

// First returns the serial of the oldest publication that the stream has, or of the next one if it has
// none.
func (p *Publications) First(ctx context.Context) (uint64, error) {
	return p.c.firstSequence(ctx, p.c.name(forPublications))
}

// Identity returns a text that tells this stream from one that replaces it, after NATS has lost its
// data.
func (p *Publications) Identity(ctx context.Context) (string, error) {
	return p.c.identity(ctx, p.c.name(forPublications))
}

// Last returns the serial of the newest publication, 0 if there was none.
func (p *Publications) Last(ctx context.Context) (uint64, error) {
	return p.c.lastSequence(ctx, p.c.name(forPublications))
}

// identityKey names the mark in the metadata of a stream that tells it from one that replaces it.
const identityKey = "brine.identity"

// identityOf returns the mark of a stream. The time when it was made is none: where several members asked
// for the stream at once, each server may tell another time. A server before 2.10, which is always alone,
// keeps no metadata.
func identityOf(info *jetstream.StreamInfo) string {
	if mark := info.Config.Metadata[identityKey]; mark != "" {
		return mark
	}
	return strconv.FormatInt(info.Created.UnixNano(), 36)
}

// identity returns the mark of a stream.
func (c *Cluster) identity(ctx context.Context, stream string) (string, error) {
	var mark string
	err := c.patiently(ctx, func(ctx context.Context) error {
		s, err := c.handle(ctx, stream)
		if err != nil {
			return err
		}
		info, err := s.Info(ctx)
		if err == nil {
			mark = identityOf(info)
		}
		return err
	})
	if err != nil {
		return "", fmt.Errorf("look for the mark of stream %s: %w", stream, err)
	}
	return mark, nil
}

// firstSequence returns the sequence of the oldest message of a stream, or of the next one if it has
// none.
func (c *Cluster) firstSequence(ctx context.Context, stream string) (uint64, error) {
	state, err := c.state(ctx, stream)
	if err != nil {
		return 0, fmt.Errorf("look for the beginning of stream %s: %w", stream, err)
	}
	if state.Msgs == 0 {
		return state.LastSeq + 1, nil
	}
	return state.FirstSeq, nil
}

// lastSequence returns the sequence of the newest message that a stream has had.
func (c *Cluster) lastSequence(ctx context.Context, stream string) (uint64, error) {
	state, err := c.state(ctx, stream)
	if err != nil {
		return 0, fmt.Errorf("look for the end of stream %s: %w", stream, err)
	}
	return state.LastSeq, nil
}

func (c *Cluster) state(ctx context.Context, stream string) (state jetstream.StreamState, err error) {
	err = c.patiently(ctx, func(ctx context.Context) error {
		s, err := c.handle(ctx, stream)
		if err != nil {
			return err
		}
		info, err := s.Info(ctx)
		if err == nil {
			state = info.State
		}
		return err
	})
	return state, err
}

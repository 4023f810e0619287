package cluster

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"
)

// A bucket keeps one sealed value a key, in the layout of NATS' key-value stores: stream KV_NAME
// and subject $KV.NAME.KEY. Reads ask the leader of the stream.
type bucket struct {
	c      *Cluster
	name   string
	stream string
	sealer *Sealer
}

// A value is what a key of a bucket has.
type value struct {
	body     []byte // opened
	revision uint64 // 0 if the key has none
	at       time.Time
	current  bool // sealed with the cluster key that writes; set by read
}

func (c *Cluster) bucket(what string) *bucket {
	name := c.name(what)
	return &bucket{c, name, "KV_" + name, c.secret.Sealer(c.o.Name, what)}
}

// subject returns the subject of an encoded key.
func (b *bucket) subject(encoded string) string { return "$KV." + b.name + "." + encoded }

// encode returns a key in the characters that a subject may have.
func encode(key string) string { return base64.RawURLEncoding.EncodeToString([]byte(key)) }

// key returns the key of a subject.
func (b *bucket) key(subject string) (string, error) {
	encoded, ok := strings.CutPrefix(subject, b.subject(""))
	key, err := base64.RawURLEncoding.Strict().DecodeString(encoded)
	if !ok || err != nil || len(key) == 0 {
		return "", fmt.Errorf("%w: subject %q names no key of the bucket %s", ErrSealed, subject, b.name)
	}
	return string(key), nil
}

// get returns the value of a key; its revision is 0 if there is none.
func (b *bucket) get(ctx context.Context, key string) (value, error) {
	m, err := b.c.last(ctx, b.stream, b.subject(encode(key)))
	if err != nil {
		return value{}, fmt.Errorf("read %s of bucket %s: %w", key, b.name, err)
	}
	if m == nil {
		return value{}, nil
	}
	v := value{revision: m.Sequence, at: m.Time}
	if v.body, err = b.open(key, m.Data); err != nil {
		return v, fmt.Errorf("read %s of bucket %s: %w", key, b.name, err)
	}
	return v, nil
}

func (b *bucket) open(key string, sealed []byte) ([]byte, error) {
	return b.sealer.Open(sealed, b.name, key)
}

// set writes the value of a key if its revision is still the given one, 0 for a key without a
// value, and returns the new revision. The error wraps ErrConflict otherwise.
func (b *bucket) set(ctx context.Context, key string, body []byte, revision uint64) (uint64, error) {
	next, _, err := b.c.store(ctx, write{subject: b.subject(encode(key)), stream: b.stream,
		body: b.sealer.Seal(body, b.name, key), expect: &revision})
	if err != nil {
		return 0, fmt.Errorf("write %s of bucket %s: %w", key, b.name, err)
	}
	return next, nil
}

// update replaces the value of a key by what change returns for it, until no other member
// interferes. change may be called repeatedly; it returns nil to leave the value as it is. It gets no body
// of a value that somebody without the cluster key has written.
func (b *bucket) update(ctx context.Context, key string, change func(value) ([]byte, error)) (value, error) {
	for {
		old, err := b.get(ctx, key)
		if isForeign(err) {
			b.c.o.Log.WithError(err).Errorf("%s of bucket %s is replaced, since it cannot be opened", key, b.name)
			err = nil
		}
		if err != nil {
			return value{}, err
		}
		body, err := change(old)
		if err != nil || body == nil {
			return old, err
		}
		revision, err := b.set(ctx, key, body, old.revision)
		if errors.Is(err, ErrConflict) {
			continue
		}
		return value{body: body, revision: revision}, err
	}
}

// snapshot calls see for each entry of a bucket, with the error of opening it. The values may be some
// milliseconds old.
func (c *Cluster) snapshot(ctx context.Context, b *bucket, see func(key string, v value, err error)) error {
	reading, done := context.WithCancel(ctx)
	defer done()
	f := &follower{c: c, stream: b.stream, idle: done, handle: func(m message) error {
		see(b.read(m))
		return nil
	}}
	if err := f.run(reading); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, ctx.Err())
	}
	return nil
}

// read opens a message of the bucket's stream.
func (b *bucket) read(m message) (key string, v value, err error) {
	if key, err = b.key(m.subject); err != nil {
		return "", v, err
	}
	v.revision, v.at, v.current = m.sequence, m.at, b.sealer.isCurrent(m.body)
	if v.body, err = b.open(key, m.body); err != nil {
		err = fmt.Errorf("%s of bucket %s: %w", key, b.name, err)
	}
	return key, v, err
}

package eventbus

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/payload"
)

const (
	// DefaultMaxEventSize is Salt's default of the option `max_event_size`, in bytes.
	DefaultMaxEventSize = 1 << 20
	// MaxTag is the length of the longest tag, in bytes.
	MaxTag = 8 << 10

	tagEnd      = "\n\n"
	stampLayout = "2006-01-02T15:04:05"
)

// ErrBadEvent is wrapped by errors about malformed events and invalid tags.
var ErrBadEvent = errors.New("bad event")

// An Event is one message on the bus. All readers share its contents, which must not be modified.
type Event struct {
	Tag  string
	Data data.Raw // a MessagePack map in bin form
	// Here says that it was fired by FireHere or FireMapHere: the other buses of a cluster fire it
	// themselves, with a stamp of their own.
	Here bool

	frame []byte // encoding for sockets; Data is a part of it
}

// Map returns the decoded data.
func (e Event) Map() (*data.Map, error) {
	v, err := payload.UnmarshalText(e.Data, payload.WireLimits())
	if err != nil {
		return nil, fmt.Errorf("data of event %q: %w", e.Tag, err)
	}
	m, ok := v.(*data.Map)
	if !ok {
		return nil, fmt.Errorf("data of event %q: %w: not a map", e.Tag, ErrBadEvent)
	}
	return m, nil
}

// Bytes returns the form that ParseEvent reads. It must not be changed.
func (e Event) Bytes() []byte {
	return e.frame[len(e.frame)-len(e.Data)-len(tagEnd)-len(e.Tag):]
}

// size returns the size of an event for queue limits.
func (e *Event) size() int { return len(e.frame) }

// ParseEvent splits the bytes of an event, and retains them (salt/utils/event.py, unpack). The data
// must be one complete map; its values are not decoded.
func ParseEvent(b []byte) (Event, error) {
	e, err := splitEvent(b)
	if err != nil {
		return Event{}, err
	}
	if !isMap(e.Data) {
		return Event{}, fmt.Errorf("%w: data is not a map", ErrBadEvent)
	}
	if err := payload.Check(e.Data, payload.Limits{Size: len(e.Data)}); err != nil {
		return Event{}, fmt.Errorf("%w: %w", ErrBadEvent, err)
	}
	return e, nil
}

// splitEvent is ParseEvent without the checks of the data.
func splitEvent(b []byte) (Event, error) {
	tag, body, ok := bytes.Cut(b, []byte(tagEnd))
	if !ok {
		return Event{}, fmt.Errorf("%w: no empty line after the tag", ErrBadEvent)
	}
	if len(tag) > MaxTag || !utf8.Valid(tag) {
		return Event{}, fmt.Errorf("%w: tag is longer than %d bytes or not UTF-8",
			ErrBadEvent, MaxTag)
	}
	return Event{Tag: string(tag), Data: body}, nil
}

// isMap reports whether b begins with a MessagePack map.
func isMap(b []byte) bool {
	return len(b) > 0 && (b[0]>>4 == 8 || b[0] == 0xde || b[0] == 0xdf)
}

// CheckTag returns an error wrapping ErrBadEvent if a tag cannot be fired.
func CheckTag(tag string) error {
	switch {
	case tag == "":
		return fmt.Errorf("%w: empty tag", ErrBadEvent)
	case len(tag) > MaxTag:
		return fmt.Errorf("%w: tag of %d bytes, at most %d are allowed", ErrBadEvent,
			len(tag), MaxTag)
	case !utf8.ValidString(tag):
		return fmt.Errorf("%w: tag %q is not UTF-8", ErrBadEvent, clip(tag))
	case bytes.Contains([]byte(tag+"\n"), []byte(tagEnd)):
		return fmt.Errorf("%w: tag %q holds an empty line or ends with a line feed",
			ErrBadEvent, clip(tag))
	}
	return nil
}

// CheckForeignTag is CheckTag for tags chosen by another host, which are restricted to 1 to 1024
// printable ASCII characters without spaces.
func CheckForeignTag(tag string) error {
	if len(tag) > 1024 {
		return fmt.Errorf("%w: tag of %d bytes, at most 1024 are allowed", ErrBadEvent, len(tag))
	}
	for i := range len(tag) {
		if tag[i] < '!' || tag[i] > '~' {
			return fmt.Errorf("%w: tag %q holds more than printable ASCII", ErrBadEvent, clip(tag))
		}
	}
	return CheckTag(tag)
}

func clip(s string) string {
	if len(s) > 100 {
		return s[:100] + "…"
	}
	return s
}

// maxFrame is the maximum size of an event on a socket. It is the limit of Python's
// msgpack.Unpacker and tornado's IOStream, with which Salt reads events. Salt applies
// max_event_size per value, so many small values can make a large event.
const maxFrame = 100 << 20

// An encoder encodes events.
type encoder struct {
	max  int
	zone bool
	now  func() time.Time
}

// stamp returns the text of `_stamp`: UTC, with microseconds unless they are 0.
func (c *encoder) stamp() string {
	b := make([]byte, 0, 32)
	now := c.now().UTC()
	b = now.AppendFormat(b, stampLayout)
	if us := now.Nanosecond() / 1000; us > 0 {
		b = fmt.Appendf(b, ".%06d", us)
	}
	if c.zone {
		b = append(b, "+00:00"...)
	}
	return string(b)
}

// encode returns an event with the data m, which is not modified.
func (c *encoder) encode(tag string, m *data.Map) (Event, error) {
	if err := CheckTag(tag); err != nil {
		return Event{}, err
	}
	m = m.Clone()
	m.Set("_stamp", c.stamp())
	b, err := payload.AppendBin(begin(tag, 128), m)
	if err != nil {
		return Event{}, fmt.Errorf("event %q: %w", tag, err)
	}
	return c.finish(tag, b)
}

// encodeRaw returns an event with encoded values in bin form.
func (c *encoder) encodeRaw(tag string, f payload.Fields) (Event, error) {
	if err := CheckTag(tag); err != nil {
		return Event{}, err
	}
	f = f.Clone()
	if err := f.SetBin("_stamp", c.stamp()); err != nil {
		return Event{}, fmt.Errorf("event %q: %w", tag, err)
	}
	size := 0
	for i := range f {
		size += len(f[i].Key) + len(f[i].Value) + 5
	}
	return c.finish(tag, f.AppendBinTo(begin(tag, size)))
}

// encodeMap returns an event with an encoded map in bin form.
func (c *encoder) encodeMap(tag string, m data.Raw) (Event, error) {
	if err := CheckTag(tag); err != nil {
		return Event{}, err
	}
	if len(m)+pythonBytes > c.max {
		m = shorten(m, float64(c.max)/2)
	}
	n, rest, ok := cutMapHead(m)
	if !ok || n >= 1<<16-1 || bytes.Contains(m, []byte("_stamp")) {
		f, err := payload.ParseFields(m, payload.Limits{Size: len(m)})
		if err != nil {
			return Event{}, fmt.Errorf("event %q: %w", tag, err)
		}
		return c.encodeRaw(tag, f)
	}
	b := begin(tag, len(m)+2*len(stampLayout))
	if n < 15 {
		b = append(b, 0x80|byte(n+1))
	} else {
		b = binary.BigEndian.AppendUint16(append(b, 0xde), uint16(n+1))
	}
	b, err := payload.AppendBin(append(b, rest...), "_stamp")
	if err == nil {
		b, err = payload.AppendBin(b, c.stamp())
	}
	if err != nil {
		return Event{}, fmt.Errorf("event %q: %w", tag, err)
	}
	return c.finish(tag, b)
}

// cutMapHead splits a MessagePack map into the number of its pairs and their bytes. ok is false for
// maps of 65536 pairs or more.
func cutMapHead(m []byte) (n int, pairs []byte, ok bool) {
	switch {
	case len(m) > 0 && m[0]>>4 == 8:
		return int(m[0] & 15), m[1:], true
	case len(m) > 2 && m[0] == 0xde:
		return int(binary.BigEndian.Uint16(m[1:])), m[3:], true
	}
	return 0, nil, false
}

// begin returns a buffer with the tag and capacity for size bytes of data.
func begin(tag string, size int) []byte {
	b := make([]byte, 0, len(tag)+len(tagEnd)+size)
	return append(append(b, tag...), tagEnd...)
}

// finish trims an encoded event if needed and frames it.
func (c *encoder) finish(tag string, b []byte) (Event, error) {
	start := len(tag) + len(tagEnd)
	if len(b)-start+pythonBytes > c.max {
		small, err := trim(b[start:], c.max)
		if err != nil {
			return Event{}, fmt.Errorf("trim event %q: %w", tag, err)
		}
		b = append(b[:start], small...)
	}
	return framed(tag, b, len(b)-start), nil
}

// framed returns an Event from its bytes, of which the last n are the data.
func framed(tag string, b []byte, n int) Event {
	frame := payload.AppendFrame(make([]byte, 0, len(b)+24), b)
	return Event{Tag: tag, Data: data.Raw(frame[len(frame)-n:]), frame: frame}
}

package stream

import (
	"bytes"
	"math/big"
	"strings"
	"sync"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/internal/pyjson"
)

// entryBytes is the approximate size of an entry without its event, in bytes.
const entryBytes = 256

// An entry is one event in the ring. All listeners share it.
type entry struct {
	hub  *Hub
	id   uint64
	tag  string
	raw  data.Raw // nil for a notice
	lost *Lost    // set for a notice

	size int  // bytes counted by the ring; guarded by the hub's mutex
	kept bool // the entry is in the ring; guarded by the hub's mutex

	once  sync.Once
	frame []byte // "id: …\ntag: …\ndata: …\n\n"
	text  int    // offset of "data: " in frame
}

func newEntry(h *Hub, e eventbus.Event) *entry {
	return &entry{hub: h, tag: e.Tag, raw: e.Data, size: entryBytes + len(e.Tag) + len(e.Data)}
}

// newNotice returns an entry about lost events, which passes all filters.
func newNotice(h *Hub, lost Lost) *entry {
	lost.stamp = time.Now().UTC()
	return &entry{hub: h, tag: LostTag, lost: &lost, size: entryBytes}
}

// value returns the data of the event. The error is that of decoding.
func (e *entry) value() (*data.Map, error) {
	if e.lost != nil {
		return e.lost.value(), nil
	}
	return eventbus.Event{Tag: e.tag, Data: e.raw}.Map()
}

// dataPrefix begins the line with the data.
const dataPrefix = "data: "

// message returns the event as a message of an event stream. The bytes are shared.
func (e *entry) message() []byte {
	e.once.Do(func() {
		e.encode()
		e.hub.mu.Lock()
		defer e.hub.mu.Unlock()
		e.hub.ring.grow(e, cap(e.frame))
	})
	return e.frame
}

// encode builds the frame.
func (e *entry) encode() {
	b := make([]byte, 0, len(e.raw)+len(e.raw)/4+2*len(e.tag)+128)
	b = appendPosition(append(b, "id: "...), e.hub.run, e.id)
	b = append(append(b, "\ntag: "...), oneLine(e.tag)...)
	b = append(b, '\n')
	e.text = len(b)
	e.frame = append(e.appendJSON(append(b, dataPrefix...)), "\n\n"...)
}

// appendJSON appends the event on one line. Data that cannot be decoded is replaced by a map with one
// key `_error`.
func (e *entry) appendJSON(dst []byte) []byte {
	start := len(dst)
	m, err := e.value()
	if err == nil {
		dst, err = appendJSON(dst, data.NewMap("data", m, "tag", e.tag))
	}
	if err != nil {
		m = data.NewMap("_error", err.Error())
		dst, _ = appendJSON(dst[:start], data.NewMap("data", m, "tag", e.tag)) // only strings
	}
	return dst
}

// oneLine replaces control characters and all that any client could take for the end of a line by
// spaces. The data has the unchanged tag.
func oneLine(tag string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, tag)
}

// appendJSON appends v on one line as salt.utils.json.dumps writes it. Values and keys that JSON does
// not have become their text in Python.
func appendJSON(dst []byte, v any) ([]byte, error) {
	start := len(dst)
	b, err := pyjson.Append(dst, v, jsonOptions())
	if err != nil {
		b, err = pyjson.Append(dst[:start], textKeys(v), jsonOptions())
	}
	return escapeLineEnds(b, start), err
}

func jsonOptions() pyjson.Options {
	return pyjson.Options{Comma: ", ", Colon: ": ",
		Other: func(v any) (any, error) { return data.Repr(v), nil }}
}

// textKeys returns v with all keys that JSON does not have replaced by their text.
func textKeys(v any) any {
	switch v := v.(type) {
	case *data.Map:
		m := data.NewMap()
		for k, e := range v.All() {
			m.Set(textKey(k), textKeys(e))
		}
		return m
	case []any:
		return textElements(v)
	case data.Tuple:
		return textElements(v)
	}
	return v
}

// textKey returns k if it can be a key in JSON, and else its text.
func textKey(k any) any {
	switch k.(type) {
	case string, nil, bool, int, int64, *big.Int, float64:
		return k
	}
	return data.Repr(k)
}

func textElements(list []any) []any {
	out := make([]any, len(list))
	for i, e := range list {
		out[i] = textKeys(e)
	}
	return out
}

// escapeLineEnds escapes in b[start:], which is JSON, the three characters above ASCII that end a line
// for some readers, Python's str.splitlines among them. Salt writes them as they are; a reader of JSON
// sees no difference.
func escapeLineEnds(b []byte, start int) []byte {
	for _, c := range []struct{ raw, escaped string }{
		{"\u0085", `\u0085`}, {"\u2028", `\u2028`}, {"\u2029", `\u2029`},
	} {
		if bytes.Contains(b[start:], []byte(c.raw)) {
			b = append(b[:start:start], bytes.ReplaceAll(b[start:], []byte(c.raw), []byte(c.escaped))...)
		}
	}
	return b
}

// stampLayout is that of `_stamp` in events.
const stampLayout = "2006-01-02T15:04:05.000000"

// LostTag is the tag of a notice about events that a client has missed. Its data has the keys lost
// (their number, or null if it is unknown), reason and `_stamp`. The number counts all events, also
// those that the client's filter would have left out.
const LostTag = "brine/stream/lost"

// The reasons of a notice.
const (
	LostOverrun = "overrun" // the client was too slow or away too long; the ring no longer has the events
	LostRestart = "restart" // the client's position is from an earlier run of the program
	LostBus     = "bus"     // the hub was disconnected from the master, or could not keep up with it
	LostUnknown = "unknown" // the client's position is no position of this program
)

// Lost describes missed events.
type Lost struct {
	Events uint64 // their number; 0 if it is unknown
	Reason string // LostOverrun, LostRestart, LostBus or LostUnknown

	stamp time.Time
}

func (l *Lost) value() *data.Map {
	var events any
	if l.Events > 0 {
		events = int64(min(l.Events, 1<<62))
	}
	return data.NewMap("lost", events, "reason", l.Reason, "_stamp", l.stamp.Format(stampLayout))
}

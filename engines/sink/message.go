package sink

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"math"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/internal/pyjson"
)

// A Message is an event for a broker.
type Message struct {
	Tag   string // of the event
	ID    string // of the event, 22 characters; it is the same on all members of a cluster
	Topic string
	Key   string // messages with one key keep their order: the minion's id, or the tag without one
	Body  []byte // JSON with tag and data
}

// message returns the message for an event. The error wraps ErrRefused.
func (o *Options) message(e eventbus.Event) (*Message, error) {
	body, err := e.Map()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	text, err := encode(data.NewMap("tag", e.Tag, "data", body))
	if err != nil {
		return nil, fmt.Errorf("%w: encode it as JSON: %w", ErrRefused, err)
	}
	if len(text) > o.MaxMessage {
		return nil, fmt.Errorf("%w: it has %d bytes as JSON, at most %d are allowed", ErrRefused, len(text),
			o.MaxMessage)
	}
	id := body.Text("id")
	m := &Message{Tag: e.Tag, ID: idOf(e), Topic: o.topic.of(e.Tag, id, o.clean), Key: id, Body: text}
	if id == "" {
		m.Key = e.Tag
	}
	if len(m.Topic) > o.maxTopic {
		return nil, fmt.Errorf("%w: its topic has %d bytes, at most %d are allowed", ErrRefused, len(m.Topic),
			o.maxTopic)
	}
	return m, nil
}

// idOf returns a hash of an event. Its data has a time stamp, so other events have other ids.
func idOf(e eventbus.Event) string {
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%d %s ", len(e.Tag), e.Tag) // a hash has no errors
	_, _ = h.Write(e.Data)
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:16])
}

// encode returns an event as JSON that each parser takes: what JSON does not have becomes its text in
// Python, and a number that is none becomes null.
func encode(event *data.Map) ([]byte, error) {
	o := pyjson.Options{Comma: ",", Colon: ":", ASCII: true, NoNaN: true,
		Other: func(v any) (any, error) { return data.Repr(v), nil }}
	text, err := pyjson.Append(nil, event, o)
	if err != nil {
		text, err = pyjson.Append(nil, plain(event), o)
	}
	return text, err
}

// plain returns v without keys and numbers that JSON does not have.
func plain(v any) any {
	switch v := v.(type) {
	case *data.Map:
		m := data.NewMap()
		for k, e := range v.All() {
			m.Set(data.Str(k), plain(e))
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = plain(e)
		}
		return list
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil
		}
	}
	return v
}

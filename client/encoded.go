package client

import (
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/payload"
)

// read decodes the data of an event. ok is false if they are no map. The value of a return stays encoded if
// the caller wants that.
func (c *collector) read(raw data.Raw, isReturn bool) (m *data.Map, ok bool) {
	if isReturn && c.wait.Encoded {
		if m, ok := encodedReturn(raw); ok {
			return m, true
		}
	}
	v, err := payload.UnmarshalText(raw, payload.WireLimits())
	m, ok = v.(*data.Map)
	return m, ok && err == nil
}

// encodedReturn decodes all of a return but its value. ok is false if the whole has to be decoded: some
// text is not UTF-8, or the event bus may have trimmed the value.
func encodedReturn(raw data.Raw) (m *data.Map, ok bool) {
	if !payload.IsText(raw, payload.WireLimits()) {
		return nil, false
	}
	fields, err := payload.ParseFields(raw, payload.WireLimits())
	if err != nil {
		return nil, false
	}
	m = data.NewMap()
	for _, f := range fields {
		if f.Key == "return" {
			if eventbus.MayBeTrimmed(f.Value) {
				return nil, false
			}
			m.Set(f.Key, f.Value)
			continue
		}
		v, err := payload.UnmarshalText(f.Value, payload.WireLimits())
		if err != nil {
			return nil, false
		}
		m.Set(f.Key, v)
	}
	return m, true
}

package master

import (
	"errors"
	"fmt"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/payload"
)

// toldLimits bound what a minion tells of itself in one field of a request, its grains for instance, and the pillar that is
// kept of it. A master holds these of each minion, and reads them again for every target by grains or pillar.
func toldLimits() payload.Limits { return payload.Limits{Size: 1 << 20, Nodes: 50_000} }

// optionLimits bound the options that a minion sends with _master_tops, which hold its grains and its pillar.
func optionLimits() payload.Limits {
	l := toldLimits()
	return payload.Limits{Size: 3 * l.Size, Nodes: 3 * l.Nodes}
}

// errToldTooMuch is wrapped for data of a minion that exceeds its bound.
var errToldTooMuch = errors.New("more than 1 MiB or 50,000 values")

// told returns the map in a field of a request, or nil when there is none. The error wraps errToldTooMuch when it exceeds l;
// it is not decoded then.
func told(c *channel.Command, field string, l payload.Limits) (*data.Map, error) {
	raw := c.Load.Raw(field)
	if raw == nil {
		return nil, nil
	}
	v, err := payload.Unmarshal(raw, l)
	if errors.Is(err, payload.ErrLimit) {
		return nil, fmt.Errorf("%s of %d bytes: %w", field, len(raw), errToldTooMuch)
	}
	m, _ := v.(*data.Map) // what cannot be decoded counts as absent, as in Salt
	return m, nil
}

package master

import (
	"errors"
	"fmt"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/payload"
)

// minionDataLimits bound the data that a minion sends in one field of a request, such as its
// grains, and its stored pillar. A master stores these for each minion, and reads them for every
// target by grains or pillar.
func minionDataLimits() payload.Limits { return payload.Limits{Size: 1 << 20, Nodes: 50_000} }

// optionLimits bound the options in _master_tops requests, which contain the minion's grains and
// pillar.
func optionLimits() payload.Limits {
	l := minionDataLimits()
	return payload.Limits{Size: 3 * l.Size, Nodes: 3 * l.Nodes}
}

// errTooMuchData is wrapped if the data of a minion exceeds its limits.
var errTooMuchData = errors.New("more than 1 MiB or 50,000 values")

// mapField returns the map in a field of a request, or nil if there is none. If the field exceeds l
// it is not decoded, and the error wraps errTooMuchData.
func mapField(c *channel.Command, field string, l payload.Limits) (*data.Map, error) {
	raw := c.Load.Raw(field)
	if raw == nil {
		return nil, nil
	}
	v, err := payload.Unmarshal(raw, l)
	if errors.Is(err, payload.ErrLimit) {
		return nil, fmt.Errorf("%s of %d bytes: %w", field, len(raw), errTooMuchData)
	}
	m, _ := v.(*data.Map) // a value that cannot be decoded counts as absent, as in Salt
	return m, nil
}

package web

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/netapi"
)

// CarryOut carries out chunks one after the other. The first error ends it. missing has an item for each
// chunk that asks for it with missing: true, and is nil if none does. What minions have returned may be
// data.Raw.
func CarryOut(ctx context.Context, g *netapi.Gate, c netapi.Caller, low []*data.Map) (items, missing []any, err error) {
	items = []any{}
	for _, chunk := range low {
		answer, err := g.OrderEncoded(ctx, c, chunk)
		if err != nil {
			return nil, nil, err
		}
		items = append(items, answer.Items...)
		missing = AddMissing(missing, chunk, answer)
	}
	return items, missing, nil
}

// AddMissing appends why minions did not answer a chunk, if it asks for that.
func AddMissing(missing []any, chunk *data.Map, answer *netapi.Answer) []any {
	switch {
	case !data.Truth(chunk.Value("missing")):
		return missing
	case answer.Missing == nil:
		return append(missing, data.NewMap())
	}
	return append(missing, answer.Missing)
}

// WithMissing sets the field missing of an answer unless it is nil.
func WithMissing(answer *data.Map, missing []any) *data.Map {
	if missing != nil {
		answer.Set("missing", missing)
	}
	return answer
}

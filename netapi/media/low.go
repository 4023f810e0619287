package media

import (
	"cmp"
	"fmt"
	"net/http"

	"github.com/brineproject/brine/data"
)

// Low returns the lowstate chunks of the body, in order: an object is one chunk, a list of objects
// several. An arg that is no list becomes a list of one. The maps are the caller's; only their
// values are shared with the body.
//
// The error is an *Error with status 400: for no body, an empty object and anything that is neither
// an object nor a list, for a list with something else than objects or with more than b.Chunks, and
// for keys that are not text.
func (b *Body) Low() ([]*data.Map, error) {
	list, ok := b.Value.([]any)
	if m, one := b.Value.(*data.Map); one && m.Len() > 0 {
		list, ok = []any{m}, true
	}
	if !ok {
		return nil, badLow("Lowstates must be a list")
	}
	if limit := cmp.Or(b.Chunks, 1000); len(list) > limit {
		return nil, badLow("Lowstates must have at most %d chunks, not %d", limit, len(list))
	}
	chunks := make([]*data.Map, 0, len(list))
	for i, v := range list {
		m, ok := v.(*data.Map)
		if !ok {
			return nil, badLow("Lowstates must be a list of objects; item %d is none", i+1)
		}
		chunk, err := chunkOf(m, i)
		if err != nil {
			return nil, err
		}
		chunks = append(chunks, chunk)
	}
	return chunks, nil
}

func chunkOf(m *data.Map, i int) (*data.Map, error) {
	for k := range m.All() {
		if _, ok := k.(string); !ok {
			return nil, badLow("The keys of a lowstate must be text; one in item %d is not", i+1)
		}
	}
	m = m.Clone()
	if arg, ok := m.Get("arg"); ok {
		if _, list := arg.([]any); !list {
			m.Set("arg", []any{arg})
		}
	}
	return m, nil
}

func badLow(format string, args ...any) error {
	return &Error{Status: http.StatusBadRequest, Text: fmt.Sprintf(format, args...)}
}

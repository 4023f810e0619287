package runner

import (
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/render"
	"github.com/brineproject/brine/state"
)

// A query is the reference in a requisite: pkg: nginx; sls: web; or an ID alone.
type query struct {
	kind    string // kind of state, "id" or "sls"
	pattern any
}

// queryOf parses a requisite. A string is an ID. A function after the kind of state is ignored. It
// returns false for anything but strings and dictionaries.
func queryOf(item any) (query, bool) {
	switch item := item.(type) {
	case string:
		return query{"id", item}, true
	case *data.Map:
		if item.Len() > 0 {
			key, pattern := item.At(0)
			kind, _, _ := strings.Cut(data.Str(key), ".")
			return query{kind, pattern}, true
		}
	}
	return query{}, false
}

func badRequisite(item any) error {
	return render.Errorf("Requisite '%s' is neither an ID nor a dictionary with one key",
		data.Str(item))
}

// elements returns the items of a requisite statement. A string yields its characters, as in
// Python.
func elements(v any) []any {
	switch v := v.(type) {
	case []any:
		return v
	case *data.Map:
		return v.Keys()
	case string:
		var chars []any
		for _, c := range v {
			chars = append(chars, string(c))
		}
		return chars
	}
	return nil
}

// A group holds the chunks that match one query, in the order of the walk. It caches the flags of
// the chunks that already ran, because many chunks may require the same group.
type group struct {
	chunks []state.Chunk
	tags   []string
	cached [families]tally
}

// A tally combines the flags of the first n chunks of a group.
type tally struct {
	n     int
	flags flags
}

// An index finds chunks by the queries of requisites.
type index struct {
	chunks []state.Chunk
	places map[query][]int  // kind and exact ID or name, also "id" and "sls" → positions
	groups map[query]*group // cached answers
}

func newIndex(chunks []state.Chunk) *index {
	x := &index{chunks: chunks, places: map[query][]int{}, groups: map[query]*group{}}
	for i, chunk := range chunks {
		id, name := chunk.ID(), chunk.Name()
		x.put(i, "sls", chunk.SLS())
		for _, kind := range []string{chunk.State(), "id"} {
			x.put(i, kind, id)
			if !data.Equal(id, name) {
				x.put(i, kind, name)
			}
		}
	}
	return x
}

// put adds a chunk to the index. A state module called sls or id would be indistinguishable from
// these keywords.
func (x *index) put(i int, kind string, v any) {
	if s, ok := v.(string); ok {
		q := query{kind, s}
		if at := x.places[q]; len(at) == 0 || at[len(at)-1] != i {
			x.places[q] = append(at, i)
		}
	}
}

// find returns the chunks that match a query, or an empty group if the pattern is nil.
func (x *index) find(q query) (*group, error) {
	if q.pattern == nil {
		return &group{}, nil
	}
	pattern, ok := q.pattern.(string)
	if !ok {
		return nil, x.badPattern(q)
	}
	g := x.groups[q]
	if g == nil {
		g = x.group(q, pattern)
		x.groups[q] = g
	}
	return g, nil
}

func (x *index) badPattern(q query) error {
	if len(x.chunks) == 0 {
		return render.Errorf("Could not locate requisite of [%s]", q.kind)
	}
	return render.Errorf("Could not locate requisite of [%s] present in state with name [%s]",
		q.kind, data.Str(x.chunks[0].Name()))
}

func (x *index) group(q query, pattern string) *group {
	at := x.places[q]
	if strings.ContainsAny(pattern, "*?[") {
		at = x.scan(q.kind, pattern)
	}
	g := &group{}
	for _, i := range at {
		g.chunks = append(g.chunks, x.chunks[i])
		g.tags = append(g.tags, x.chunks[i].Tag())
	}
	return g
}

// scan matches a pattern against all chunks.
func (x *index) scan(kind, pattern string) []int {
	var at []int
	for i, chunk := range x.chunks {
		matches := false
		switch kind {
		case "sls":
			matches = globs(pattern, chunk.SLS())
		case "id", chunk.State():
			matches = matchesChunk(pattern, chunk)
		}
		if matches {
			at = append(at, i)
		}
	}
	return at
}

// matchesChunk reports whether a pattern matches the name or the ID of a chunk.
func matchesChunk(pattern string, chunk state.Chunk) bool {
	return globs(pattern, chunk.Name()) || globs(pattern, chunk.ID())
}

// globs reports whether a pattern matches a value. Anything but text counts as empty text.
func globs(pattern string, v any) bool {
	text, _ := v.(string)
	return loader.Glob(pattern, text)
}

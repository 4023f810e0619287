package runner

import (
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/render"
)

// A query is what a requisite names: pkg: nginx; sls: web; or an id alone.
type query struct {
	kind    string // of state, "id" or "sls"
	pattern any
}

// queryOf reads a requisite; a text is an id, and a function behind the kind of state does not count. It is not ok when it is neither
// text nor dictionary.
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
	return render.Errorf("Requisite '%s' is neither an id nor a dictionary of one key", data.Str(item))
}

// elements returns what a requisite statement lists; Python goes through texts by their characters.
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

// A group is the chunks that one query means, in the order of the walk. What it knows of those that ran is kept, as many
// chunks may require the same group.
type group struct {
	chunks []*data.Map
	tags   []string
	known  [families]tally
}

// A tally joins the flags of the first chunks of a group.
type tally struct {
	n     int
	flags flags
}

// An index finds chunks by what requisites say of them.
type index struct {
	chunks []*data.Map
	places map[query][]int  // kind and exact id or name, also "id" and "sls" → positions
	groups map[query]*group // answers
}

func newIndex(chunks []*data.Map) *index {
	x := &index{chunks: chunks, places: map[query][]int{}, groups: map[query]*group{}}
	for i, chunk := range chunks {
		kind, id, name := data.Str(chunk.Value("state")), chunk.Value("__id__"), chunk.Value("name")
		x.put(i, "sls", chunk.Value("__sls__"))
		for _, kind := range []string{kind, "id"} {
			x.put(i, kind, id)
			if !data.Equal(id, name) {
				x.put(i, kind, name)
			}
		}
	}
	return x
}

// put notes a chunk; a state that is called sls or id cannot be told from the words.
func (x *index) put(i int, kind string, v any) {
	if s, ok := v.(string); ok {
		q := query{kind, s}
		if at := x.places[q]; len(at) == 0 || at[len(at)-1] != i {
			x.places[q] = append(at, i)
		}
	}
}

// find returns the chunks that a query means; none for a query that names nothing.
func (x *index) find(q query) (*group, error) {
	if q.pattern == nil {
		return &group{}, nil
	}
	pattern, ok := q.pattern.(string)
	if !ok {
		return nil, x.strange(q)
	}
	g := x.groups[q]
	if g == nil {
		g = x.group(q, pattern)
		x.groups[q] = g
	}
	return g, nil
}

func (x *index) strange(q query) error {
	if len(x.chunks) == 0 {
		return render.Errorf("Could not locate requisite of [%s]", q.kind)
	}
	return render.Errorf("Could not locate requisite of [%s] present in state with name [%s]", q.kind, data.Str(x.chunks[0].Value("name")))
}

func (x *index) group(q query, pattern string) *group {
	at := x.places[q]
	if strings.ContainsAny(pattern, "*?[") {
		at = x.scan(q.kind, pattern)
	}
	g := &group{}
	for _, i := range at {
		g.chunks = append(g.chunks, x.chunks[i])
		g.tags = append(g.tags, tagOf(x.chunks[i]))
	}
	return g
}

// scan goes through all chunks for a pattern.
func (x *index) scan(kind, pattern string) []int {
	var at []int
	for i, chunk := range x.chunks {
		fields := []string{"name", "__id__"}
		switch {
		case kind == "sls":
			fields = []string{"__sls__"}
		case kind != "id" && kind != chunk.Text("state"):
			continue
		}
		if slices.ContainsFunc(fields, func(field string) bool { return loader.Glob(pattern, chunk.Text(field)) }) {
			at = append(at, i)
		}
	}
	return at
}

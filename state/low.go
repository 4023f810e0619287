package state

import (
	"cmp"
	"slices"

	"github.com/brineproject/brine/data"
)

// Low returns the chunks of high data, sorted by order. Malformed entries of unverified high data
// are skipped (salt/state.py, compile_high_data and order_chunks). The chunks share no memory with
// high.
func Low(high *data.Map) []Chunk {
	var chunks []Chunk
	for id, v := range high.All() {
		body, ok := v.(*data.Map)
		if !ok || internal(id) {
			continue
		}
		for state, run := range body.All() {
			if args, ok := run.([]any); ok && !internal(state) {
				chunks = append(chunks, lowOf(id, state, body, args)...)
			}
		}
	}
	sortChunks(chunks)
	return chunks
}

// lowOf returns the chunks of one state of an ID: one for each function, multiplied by its names.
func lowOf(id, state any, body *data.Map, args []any) []Chunk {
	chunk := Chunk{data.NewMap("state", state, "name", id)}
	for _, key := range []string{"__sls__", "__env__"} {
		if v, ok := body.Get(key); ok {
			chunk.Set(key, v)
		}
	}
	chunk.Set("__id__", id)
	var functions, names []any
	for _, arg := range args {
		switch arg := arg.(type) {
		case string:
			if !contains(functions, arg) {
				functions = append(functions, arg)
			}
		case *data.Map:
			names = setArguments(chunk, id, arg, names)
		}
	}
	var chunks []Chunk
	for _, fun := range functions {
		chunks = append(chunks, expandNames(chunk, fun, names)...)
	}
	return chunks
}

// setArguments copies the arguments of a dictionary into a chunk and returns names with the entries
// of the argument names added.
func setArguments(chunk Chunk, id any, arg *data.Map, names []any) []any {
	for key, v := range arg.All() {
		_, isText := v.(string)
		switch {
		case key == "names":
			list, _ := v.([]any)
			for _, name := range list {
				if !contains(names, name) {
					names = append(names, name)
				}
			}
		case key == "state":
		case key == "name" && !isText:
			chunk.Set(key, id)
		default:
			chunk.Set(key, v)
		}
	}
	return names
}

// expandNames returns one chunk for each name, or a single chunk if there are no names.
func expandNames(chunk Chunk, fun any, names []any) []Chunk {
	if len(names) == 0 {
		live := Chunk{data.DeepCopy(chunk.Map).(*data.Map)}
		live.Set("fun", fun)
		return []Chunk{live}
	}
	chunks := make([]Chunk, 0, len(names))
	for i, entry := range names {
		live := Chunk{data.DeepCopy(chunk.Map).(*data.Map)}
		if m, ok := entry.(*data.Map); ok && m.Len() > 0 {
			name, overrides := m.At(0)
			live.Set("name", name)
			override(live, overrides)
		} else {
			live.Set("name", data.DeepCopy(entry))
		}
		live.Set("name_order", int64(i+1))
		live.Set("fun", fun)
		chunks = append(chunks, live)
	}
	return chunks
}

// override sets the arguments that an entry of names carries.
func override(chunk Chunk, overrides any) {
	list, _ := overrides.([]any)
	for _, v := range list {
		if args, ok := v.(*data.Map); ok {
			chunk.Update(data.DeepCopy(args).(*data.Map))
		}
	}
}

// last is the distance of order last from the default order.
const last = 1000000

func sortChunks(chunks []Chunk) {
	behind := int64(1)
	for _, chunk := range chunks {
		if n, ok := chunk.Value("order").(int64); ok && n > behind-1 && n > 0 {
			behind = n + 100
		}
	}
	for _, chunk := range chunks {
		chunk.Set("order", orderOf(chunk, behind))
	}
	slices.SortStableFunc(chunks, func(a, b Chunk) int {
		return cmp.Or(cmp.Compare(number(a.Value("order")), number(b.Value("order"))),
			cmp.Compare(sortKey(a), sortKey(b)))
	})
}

// orderOf returns the numeric order of a chunk. behind is the default, which is larger than all
// explicit numbers.
func orderOf(chunk Chunk, behind int64) any {
	order, ok := chunk.Get("order")
	if !ok {
		return behind
	}
	switch order.(type) {
	case int64, float64:
	default:
		order = namedOrder(order, behind)
	}
	if n, ok := chunk.Get("name_order"); ok {
		chunk.Delete("name_order")
		order = number(order) + number(n)/10000
	}
	if number(order) >= 0 {
		return order
	}
	if n, ok := order.(int64); ok {
		return behind + last + n
	}
	return float64(behind+last) + number(order)
}

func namedOrder(order any, behind int64) int64 {
	switch text, _ := order.(string); text {
	case "last":
		return behind + last
	case "first":
		return 0
	}
	return behind
}

func number(v any) float64 {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case float64:
		return v
	}
	return 0
}

func sortKey(chunk Chunk) string {
	return chunk.State() + data.Str(chunk.Name()) + chunk.Fun()
}

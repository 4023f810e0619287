package runner

import (
	"context"
	"slices"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/state"
)

// listeners finds chunks by the references in listen: kind of state, then kind, ID or name.
type listeners struct {
	chunks  []state.Chunk // one per kind, ID and name: the last
	places  map[query][]int
	byID    map[string]state.Chunk // resolves a bare ID or name: the first chunk
	errors  *data.Map
	watched []state.Chunk
}

// listen runs mod_watch of the chunks that listen to changed chunks, and adds the results
// (salt/state.py, call_listen).
func (r *Runner) listen(ctx context.Context, chunks []state.Chunk, results *data.Map) error {
	if !slices.ContainsFunc(chunks,
		func(c state.Chunk) bool { return c.Has("listen") || c.Has("listen_in") }) {
		return nil
	}
	l := newListeners(chunks)
	for _, chunk := range chunks {
		for _, to := range elements(chunk.Value("listen")) {
			l.check(query{chunk.State(), chunk.ID()}, to, results)
		}
		for _, in := range elements(chunk.Value("listen_in")) {
			m, _ := in.(*data.Map)
			for kind, id := range m.All() {
				own := data.NewMap(chunk.State(), chunk.ID())
				l.check(query{data.Str(kind), id}, own, results)
			}
		}
	}
	more, err := r.runChunks(ctx, l.watched)
	results.Update(more)
	for tag, ret := range l.errors.All() {
		ret.(*data.Map).Set("__run_num__", r.next())
		results.Set(tag, ret)
	}
	return err
}

func newListeners(chunks []state.Chunk) *listeners {
	l := &listeners{places: map[query][]int{}, byID: map[string]state.Chunk{}, errors: &data.Map{}}
	type key struct{ state, id, name string }
	seen := map[key]int{}
	for _, chunk := range chunks {
		kind, id, name := chunk.State(), data.Str(chunk.ID()), data.Str(chunk.Name())
		for _, word := range []string{id, name} {
			if _, ok := l.byID[word]; !ok {
				l.byID[word] = chunk
			}
		}
		at, ok := seen[key{kind, id, name}]
		if ok {
			l.chunks[at] = chunk
			continue
		}
		at = len(l.chunks)
		seen[key{kind, id, name}] = at
		l.chunks = append(l.chunks, chunk)
		for _, word := range []string{kind, id, name} {
			q := query{kind, word}
			if places := l.places[q]; len(places) == 0 || places[len(places)-1] != at {
				l.places[q] = append(places, at)
			}
		}
	}
	return l
}

// find returns the chunks that match a kind and an ID or name.
func (l *listeners) find(q query) []state.Chunk {
	if !data.Hashable(q.pattern) {
		return nil
	}
	var found []state.Chunk
	for _, at := range l.places[query{q.kind, data.Str(q.pattern)}] {
		found = append(found, l.chunks[at])
	}
	return found
}

// check schedules mod_watch of the listener if a chunk that it listens to changed something.
func (l *listeners) check(listener query, to any, results *data.Map) {
	m, ok := to.(*data.Map)
	if !ok {
		chunk, ok := l.byID[data.Str(to)]
		if !ok {
			return
		}
		m = data.NewMap(chunk.State(), chunk.ID())
	}
	for kind, id := range m.All() {
		heard := query{data.Str(kind), id}
		chunks := l.find(heard)
		if len(chunks) == 0 {
			l.missing(heard)
		}
		for _, chunk := range chunks {
			if ret, _ := results.Value(chunk.Tag()).(*data.Map); ret != nil &&
				data.Truth(ret.Value("changes")) {
				l.schedule(listener)
			}
		}
	}
}

// schedule adds the mod_watch chunks of a listener.
func (l *listeners) schedule(listener query) {
	chunks := l.find(listener)
	if len(chunks) == 0 {
		l.missing(listener)
	}
	for _, chunk := range chunks {
		low := watcherOf(chunk)
		low.Set("__id__", "listener_"+data.Str(chunk.ID()))
		for _, kind := range order {
			low.Delete(kind)
		}
		low.Delete("listen")
		low.Delete("onfail_stop")
		l.watched = append(l.watched, low)
	}
}

func (l *listeners) missing(q query) {
	word := data.Str(q.pattern)
	tag := "Listen_Error_|-listen_" + word + "_|-listen_" + q.kind + "_|-Listen_Error"
	l.errors.Set(tag, data.NewMap("comment", "Referenced state "+q.kind+": "+word+" does not exist",
		"name", "listen_"+q.kind+":"+word, "result", false, "changes", &data.Map{}))
}

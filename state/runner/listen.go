package runner

import (
	"context"
	"slices"

	"github.com/brineproject/brine/data"
)

// listeners finds chunks by what listen says of them: kind of state, then kind, id or name.
type listeners struct {
	chunks  []*data.Map // one a kind, id and name: the last
	places  map[query][]int
	byID    map[string]*data.Map // what an id or a name alone means: the first chunk
	errors  *data.Map
	watched []*data.Map
}

// listen runs mod_watch of what listens to chunks that changed something, and adds the results (salt/state.py, call_listen).
func (r *Runner) listen(ctx context.Context, chunks []*data.Map, results *data.Map) error {
	if !slices.ContainsFunc(chunks, func(c *data.Map) bool { return c.Has("listen") || c.Has("listen_in") }) {
		return nil
	}
	l := newListeners(chunks)
	for _, chunk := range chunks {
		for _, to := range elements(chunk.Value("listen")) {
			l.hear(query{data.Str(chunk.Value("state")), chunk.Value("__id__")}, to, results)
		}
		for _, in := range elements(chunk.Value("listen_in")) {
			m, _ := in.(*data.Map)
			for kind, id := range m.All() {
				own := data.NewMap(data.Str(chunk.Value("state")), chunk.Value("__id__"))
				l.hear(query{data.Str(kind), id}, own, results)
			}
		}
	}
	more, err := r.walk(ctx, l.watched)
	results.Update(more)
	for tag, ret := range l.errors.All() {
		ret.(*data.Map).Set("__run_num__", r.next())
		results.Set(tag, ret)
	}
	return err
}

func newListeners(chunks []*data.Map) *listeners {
	l := &listeners{places: map[query][]int{}, byID: map[string]*data.Map{}, errors: &data.Map{}}
	type key struct{ state, id, name string }
	seen := map[key]int{}
	for _, chunk := range chunks {
		kind, id, name := data.Str(chunk.Value("state")), data.Str(chunk.Value("__id__")), data.Str(chunk.Value("name"))
		for _, word := range []string{id, name} {
			if l.byID[word] == nil {
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

// find returns the chunks that a kind and a word mean.
func (l *listeners) find(q query) []*data.Map {
	if !data.Hashable(q.pattern) {
		return nil
	}
	var found []*data.Map
	for _, at := range l.places[query{q.kind, data.Str(q.pattern)}] {
		found = append(found, l.chunks[at])
	}
	return found
}

// hear notes that who listens to a chunk is to be told, where that changed something.
func (l *listeners) hear(who query, to any, results *data.Map) {
	m, ok := to.(*data.Map)
	if !ok {
		chunk := l.byID[data.Str(to)]
		if chunk == nil {
			return
		}
		m = data.NewMap(chunk.Value("state"), chunk.Value("__id__"))
	}
	for kind, id := range m.All() {
		heard := query{data.Str(kind), id}
		chunks := l.find(heard)
		if len(chunks) == 0 {
			l.missing(heard)
		}
		for _, chunk := range chunks {
			if ret, _ := results.Value(tagOf(chunk)).(*data.Map); ret != nil && data.Truth(ret.Value("changes")) {
				l.tell(who)
			}
		}
	}
}

// tell adds the mod_watch of those who listen.
func (l *listeners) tell(who query) {
	chunks := l.find(who)
	if len(chunks) == 0 {
		l.missing(who)
	}
	for _, chunk := range chunks {
		low := watcher(chunk)
		low.Set("__id__", "listener_"+data.Str(chunk.Value("__id__")))
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

package stream

import (
	"cmp"
	"strings"
	"sync/atomic"

	"github.com/brineproject/brine/data"
)

// A state collects what the events say about jobs and minions, as rest_cherrypy does with
// format_events (salt/netapi/rest_cherrypy/event_processor.py, SaltInfo). Unlike Salt it forgets the
// oldest jobs and minions beyond a size, and ignores events that lack fields it needs.
type state struct {
	jobs, minions shelf
}

// newState returns an empty state. bytes limits its jobs, and its minions, and all the states of a budget
// together.
func newState(bytes int, all *budget) *state {
	limit := cmp.Or(bytes, 1<<20)
	return &state{newShelf(limit, all), newShelf(limit, all)}
}

// close forgets everything.
func (s *state) close() {
	s.jobs.clear()
	s.minions.clear()
}

// A budget is the size that several states may have together.
type budget struct{ left atomic.Int64 }

func newBudget(bytes int) *budget {
	b := &budget{}
	b.left.Store(int64(bytes))
	return b
}

// process returns the texts to send for an event, and minions whose grains are wanted.
func (s *state) process(i Item) (texts [][]byte, joined []string) {
	if lost, ok := i.Lost(); ok {
		return [][]byte{publication("notice", lost.value())}, nil
	}
	parts := strings.Split(i.Tag(), "/")
	if len(parts) < 2 || parts[1] != "job" && parts[1] != "key" && parts[1] != "presence" {
		return nil, nil
	}
	d, err := i.Data()
	if err != nil {
		return nil, nil
	}
	switch size := len(i.e.raw); parts[1] {
	case "job":
		texts = s.job(parts, d, size)
	case "key":
		texts = s.key(d)
	case "presence":
		texts, joined = s.presence(d)
	}
	return texts, joined
}

func (s *state) job(parts []string, d *data.Map, size int) [][]byte {
	grains := d.Value("fun") == "grains.items"
	switch {
	case len(parts) > 3 && parts[3] == "new" && s.newJob(d, size):
		if grains {
			s.minions.clear()
		}
		return [][]byte{s.jobList()}
	case len(parts) == 5 && parts[3] == "ret" && s.returned(parts[2], parts[4], d, size):
		texts := [][]byte{s.jobList()}
		if grains {
			m := s.minions.entry(parts[4])
			m.Set("grains", d.Value("return"))
			s.minions.put(parts[4], m, size)
			texts = append(texts, s.minionList())
		}
		return texts
	}
	return nil
}

// newJob records a job that was published.
func (s *state) newJob(d *data.Map, size int) bool {
	ids, isList := d.Value("minions").([]any)
	jid, isText := d.Value("jid").(string)
	if !isList || !isText {
		return false
	}
	minions := data.NewMap()
	for _, id := range ids {
		if id, ok := id.(string); ok {
			minions.Set(id, data.NewMap("success", false))
			size += 32
		}
	}
	job := data.NewMap("jid", jid, "start_time", d.Value("_stamp"), "minions", minions,
		"fun", d.Value("fun"), "tgt", d.Value("tgt"), "tgt_type", d.Value("tgt_type"), "state", "running")
	s.jobs.remove(jid)
	s.jobs.put(jid, job, size)
	return true
}

// returned records the return of a minion.
func (s *state) returned(jid, minion string, d *data.Map, size int) bool {
	if !d.Has("return") {
		return false
	}
	if s.jobs.sizes[jid]+size > s.jobs.limit {
		s.jobs.remove(jid) // what the job has so far is forgotten
	}
	job := s.jobs.entry(jid)
	minions, ok := job.Value("minions").(*data.Map)
	if !ok {
		minions = data.NewMap()
		job.Set("minions", minions)
	}
	m, ok := minions.Value(minion).(*data.Map)
	if !ok {
		m = data.NewMap()
		minions.Set(minion, m)
	}
	for _, key := range []string{"return", "retcode", "success"} {
		if v, ok := d.Get(key); ok {
			m.Set(key, v)
		}
	}
	if complete(minions) {
		job.Set("state", "complete")
	}
	s.jobs.put(jid, job, s.jobs.sizes[jid]+size)
	return true
}

// complete reports whether all minions have succeeded, which is Salt's meaning of the state complete.
func complete(minions *data.Map) bool {
	for _, m := range minions.All() {
		if m, ok := m.(*data.Map); !ok || !data.Truth(m.Value("success")) {
			return false
		}
	}
	return true
}

// key records that a minion's key was accepted or deleted.
func (s *state) key(d *data.Map) [][]byte {
	id, ok := d.Value("id").(string)
	if !ok {
		return nil
	}
	switch d.Value("act") {
	case "delete":
		s.minions.remove(id)
	case "accept":
		s.minions.put(id, s.minions.entry(id), max(s.minions.sizes[id], len(id)+64))
	}
	return [][]byte{s.minionList()}
}

// presence removes minions that are gone, and returns those that are new.
func (s *state) presence(d *data.Map) (texts [][]byte, joined []string) {
	list, ok := d.Value("present").([]any)
	if !ok {
		return nil, nil
	}
	present := map[string]bool{}
	for _, id := range list {
		id, ok := id.(string)
		if !ok || present[id] {
			continue
		}
		present[id] = true
		if !s.minions.entries.Has(id) {
			joined = append(joined, id)
		}
	}
	gone := s.minions.retain(func(id string) bool { return present[id] })
	if gone || len(joined) > 0 {
		texts = [][]byte{s.minionList()}
	}
	return texts, joined
}

func (s *state) jobList() []byte { return publication("jobs", s.jobs.entries) }

func (s *state) minionList() []byte {
	list := []any{}
	for id, m := range s.minions.entries.All() {
		m := m.(*data.Map).Clone()
		m.Set("id", id)
		list = append(list, m)
	}
	return publication("minions", list)
}

// publication returns the text of an object with one key.
func publication(key string, v any) []byte {
	b, err := appendJSON(nil, data.NewMap(key, v))
	if err != nil { // the values were decoded within the limits of an event
		b, _ = appendJSON(nil, data.NewMap("_error", err.Error())) // only strings
	}
	return b
}

// A shelf holds maps by id, the oldest first, up to a size.
type shelf struct {
	entries *data.Map // of *data.Map, by id
	sizes   map[string]int
	size    int
	limit   int
	all     *budget
}

func newShelf(limit int, all *budget) shelf {
	return shelf{entries: data.NewMap(), sizes: map[string]int{}, limit: limit, all: all}
}

// resize counts n more bytes.
func (s *shelf) resize(n int) {
	s.size += n
	s.all.left.Add(int64(-n))
}

// entry returns the map of id, or an empty one.
func (s *shelf) entry(id string) *data.Map {
	if m, ok := s.entries.Value(id).(*data.Map); ok {
		return m
	}
	return data.NewMap()
}

// put stores the map of id, whose size is size bytes, and drops the oldest others while all together
// are over the limit, or all shelves over the budget. Without any others it drops this one.
func (s *shelf) put(id string, m *data.Map, size int) {
	s.entries.Set(id, m)
	s.resize(size - s.sizes[id])
	s.sizes[id] = size
	for i := 0; (s.size > s.limit || s.all.left.Load() < 0) && i < s.entries.Len(); {
		if oldest, _ := s.entries.At(i); oldest != id {
			s.remove(oldest.(string))
		} else {
			i++
		}
	}
	if s.all.left.Load() < 0 {
		s.remove(id)
	}
}

// retain drops the entries whose id keep does not accept, and reports whether there were any.
func (s *shelf) retain(keep func(id string) bool) bool {
	old := *s
	s.clear()
	for id, m := range old.entries.All() {
		if id := id.(string); keep(id) {
			s.put(id, m.(*data.Map), old.sizes[id])
		}
	}
	return s.entries.Len() < old.entries.Len()
}

func (s *shelf) remove(id string) {
	s.entries.Delete(id)
	s.resize(-s.sizes[id])
	delete(s.sizes, id)
}

func (s *shelf) clear() {
	s.resize(-s.size)
	*s = newShelf(s.limit, s.all)
}

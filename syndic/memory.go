package syndic

import "github.com/brineproject/brine/job"

// A memory holds the last jobs whose loads an upper master has received. It is for one goroutine.
type memory struct {
	most int
	ids  []job.ID // oldest first
	in   map[job.ID]bool
}

func newMemory(most int) *memory { return &memory{most: most, in: map[job.ID]bool{}} }

func (m *memory) has(id job.ID) bool { return m.in[id] }

func (m *memory) add(id job.ID) {
	m.in[id] = true
	if m.ids = append(m.ids, id); len(m.ids) > m.most {
		delete(m.in, m.ids[0])
		m.ids = m.ids[1:]
	}
}

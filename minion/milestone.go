package minion

import "sync"

// A milestone is reached at most once: the part that reaches it may be restarted.
type milestone struct {
	once sync.Once
	done chan struct{} // closed when the milestone is reached
}

func newMilestone() *milestone { return &milestone{done: make(chan struct{})} }

func (m *milestone) reach() { m.once.Do(func() { close(m.done) }) }

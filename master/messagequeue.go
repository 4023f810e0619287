package master

import "sync"

// A messageQueue holds messages until they are sent, within limits. Several goroutines may put, one
// takes.
type messageQueue struct {
	most, mostBytes int
	wake            chan struct{} // has something after a put

	mu    sync.Mutex
	list  [][]byte
	bytes int
}

func newMessageQueue(most, mostBytes int) *messageQueue {
	return &messageQueue{most: most, mostBytes: mostBytes, wake: make(chan struct{}, 1)}
}

// put adds a message, and reports false if there is no room.
func (q *messageQueue) put(m []byte) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.list) >= q.most || q.bytes+len(m) > q.mostBytes {
		return false
	}
	q.list = append(q.list, m)
	q.bytes += len(m)
	select {
	case q.wake <- struct{}{}:
	default:
	}
	return true
}

// take takes the oldest message, if there is one. wake tells when to look again.
func (q *messageQueue) take() (m []byte, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.list) == 0 {
		return nil, false
	}
	m = q.list[0]
	q.list[0] = nil
	q.list = q.list[1:]
	q.bytes -= len(m)
	return m, true
}

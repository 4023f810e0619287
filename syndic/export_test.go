package syndic

// LimitQueues sets how many bytes may wait for each upper master.
func (s *Syndic) LimitQueues(bytes int) {
	for _, u := range s.uppers {
		u.queue.mu.Lock()
		u.queue.limit = bytes
		u.queue.mu.Unlock()
	}
}

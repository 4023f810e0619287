package syndic

// LimitQueues sets how many bytes may wait for each upper master.
func (s *Syndic) LimitQueues(bytes int) {
	for _, u := range s.uppers {
		u.queue.mu.Lock()
		u.queue.limit = bytes
		u.queue.mu.Unlock()
	}
}

// Barred reports whether the first upper master takes nothing of minions behind the syndic.
func (s *Syndic) Barred() bool { return s.uppers[0].barredBy() != "" }

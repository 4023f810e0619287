package transport

import "sync/atomic"

// A Budget is a number of bytes shared by all connections of a server for messages being received.
type Budget struct {
	limit int64
	used  atomic.Int64
}

// NewBudget returns a budget of n bytes. A negative n means no limit.
func NewBudget(n int) *Budget { return &Budget{limit: int64(n)} }

// Take reserves n bytes and reports whether that was possible.
func (b *Budget) Take(n int) bool {
	if b.limit < 0 {
		return true
	}
	if b.used.Add(int64(n)) > b.limit {
		b.used.Add(-int64(n))
		return false
	}
	return true
}

// TakeEarly reserves n bytes for a message that was announced but not received yet. It never lets
// usage exceed an eighth of the budget, so announcements alone cannot block messages of other
// peers.
func (b *Budget) TakeEarly(n int) bool {
	if b.limit < 0 {
		return true
	}
	if b.used.Add(int64(n)) > b.limit/8 {
		b.used.Add(-int64(n))
		return false
	}
	return true
}

// Give releases n bytes.
func (b *Budget) Give(n int) {
	if b.limit >= 0 {
		b.used.Add(-int64(n))
	}
}

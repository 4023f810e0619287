package transport

import "sync/atomic"

// A Budget is a number of bytes that all connections of a server share for messages in assembly.
type Budget struct {
	limit int64
	used  atomic.Int64
}

// NewBudget returns a budget of n bytes, without a limit if n is negative.
func NewBudget(n int) *Budget { return &Budget{limit: int64(n)} }

// Take reserves n bytes, and reports whether there were as many.
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

// TakeEarly reserves n bytes for what is announced and has not come. It never brings what is in use above an eighth of the
// budget, so that announcements alone do not keep out what others send.
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

// Give returns n bytes.
func (b *Budget) Give(n int) {
	if b.limit >= 0 {
		b.used.Add(-int64(n))
	}
}

package stream

// A ring keeps the last entries, within a limit in number and one in bytes. Ids begin at 1 and have
// no gaps.
type ring struct {
	slots []*entry // the entry with id n is at n modulo the length
	first uint64   // id of the oldest entry; equal to next if there is none
	next  uint64   // id of the next entry
	bytes int
	max   int // limit of bytes
}

func newRing(events, bytes int) ring {
	return ring{slots: make([]*entry, max(events, 1)), first: 1, next: 1, max: bytes}
}

func (r *ring) slot(id uint64) **entry { return &r.slots[id%uint64(len(r.slots))] }

// add appends e and sets its id.
func (r *ring) add(e *entry) {
	e.id = r.next
	if r.next-r.first == uint64(len(r.slots)) {
		r.drop()
	}
	*r.slot(r.next) = e
	r.next++
	e.kept = true
	r.bytes += e.size
	r.trim()
}

// grow counts n more bytes of an entry; it may already be gone.
func (r *ring) grow(e *entry, n int) {
	e.size += n
	if e.kept {
		r.bytes += n
		r.trim()
	}
}

// trim drops the oldest entries until the limit is kept or one entry is left.
func (r *ring) trim() {
	for r.bytes > r.max && r.next-r.first > 1 {
		r.drop()
	}
}

func (r *ring) drop() {
	e := r.slot(r.first)
	(*e).kept = false
	r.bytes -= (*e).size
	*e = nil
	r.first++
}

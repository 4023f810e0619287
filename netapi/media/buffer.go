package media

// mostKept limits the buffers that are kept, in bytes.
const mostKept = 4 << 20

// A buffer holds the body of an answer.
type buffer struct{ b []byte }

// Write appends to the buffer.
func (b *buffer) Write(p []byte) (int, error) {
	b.b = append(b.b, p...)
	return len(p), nil
}

// buffer returns an empty buffer.
func (a *Answers) buffer() *buffer {
	if kept, ok := a.bodies.Get().(*buffer); ok {
		return kept
	}
	return &buffer{}
}

// keep takes a buffer back that nobody uses any more.
func (a *Answers) keep(b *buffer) {
	if cap(b.b) <= mostKept {
		b.b = b.b[:0]
		a.bodies.Put(b)
	}
}

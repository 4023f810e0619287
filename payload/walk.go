package payload

import "fmt"

// Check returns nil if b is exactly one complete MessagePack value within l. It decodes nothing and
// does not check the contents of texts, keys and extensions.
func Check(b []byte, l Limits) error {
	l = l.filled()
	if err := l.checkSize(len(b)); err != nil {
		return err
	}
	g := l.budget()
	end, err := skip(b, 0, &g)
	if err != nil {
		return err
	}
	if end != len(b) {
		return ErrTrailing
	}
	return nil
}

// skip returns the end of the value at pos, which b must contain completely.
func skip(b []byte, pos int, g *budget) (end int, err error) {
	h, ok := readHead(b[pos:])
	switch {
	case !ok || h.body() > uint64(len(b)-pos-h.size):
		return pos, ErrTruncated
	case h.kind == kindInvalid:
		return pos, fmt.Errorf("byte %#x: %w", b[pos], ErrInvalid)
	}
	end = pos + h.size + int(h.body())
	if h.kind != kindArray && h.kind != kindMap {
		return end, nil
	}
	if err := g.enter(); err != nil {
		return pos, err
	}
	n := h.elements()
	if err := g.take(n, len(b)-end); err != nil {
		return pos, err
	}
	for range n {
		if end, err = skip(b, end, g); err != nil {
			return end, err
		}
	}
	g.depth++
	return end, nil
}

// A walker does the work of skip for a value that is still arriving: walk is called again when more
// data is available.
type walker struct {
	budget
	size int   // maximum total size
	pos  int   // start of the next head
	need int   // minimum length before walking on makes sense
	left []int // number of missing values for each open list and map
}

// begin prepares the walker for another value.
func (w *walker) begin(l Limits) {
	*w = walker{budget: l.budget(), size: l.Size, left: w.left[:0]}
}

// walk continues over b, whose start must not have changed. done is true at the end of the value,
// w.pos.
func (w *walker) walk(b []byte) (done bool, err error) {
	for {
		h, ok := readHead(b[w.pos:])
		if !ok {
			w.need = w.pos + 9
			return false, nil
		}
		if h.kind == kindInvalid {
			return false, fmt.Errorf("byte %#x: %w", b[w.pos], ErrInvalid)
		}
		rest := w.size - w.pos - h.size
		if h.body() > uint64(max(rest, 0)) {
			return false, ErrTruncated
		}
		end := w.pos + h.size + int(h.body())
		if end > len(b) {
			w.need = end
			return false, nil
		}
		if err := w.open(&h, rest); err != nil {
			return false, err
		}
		w.pos = end
		if w.close() {
			return true, nil
		}
	}
}

func (w *walker) open(h *head, rest int) error {
	if h.kind != kindArray && h.kind != kindMap {
		return nil
	}
	if len(w.left) >= w.depth {
		return fmt.Errorf("nested too deep: %w", ErrLimit)
	}
	n := h.elements()
	if err := w.take(n, rest); err != nil {
		return err
	}
	w.left = append(w.left, int(n)+1) // plus itself, which close subtracts
	return nil
}

// close counts a value, closes completed lists and maps, and reports whether none is open.
func (w *walker) close() bool {
	for i := len(w.left) - 1; i >= 0; i-- {
		if w.left[i]--; w.left[i] > 0 {
			return false
		}
		w.left = w.left[:i]
	}
	return true
}

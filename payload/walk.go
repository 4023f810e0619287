package payload

import "fmt"

// Check reports whether b is one whole MessagePack value within l, and nothing after it. It builds nothing.
// It does not look at what texts, keys and extensions hold.
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

// skip returns the end of the value that starts at pos, which b must hold whole.
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

// A walker does what skip does over a value that is still arriving: walk is called again when there is more of it.
type walker struct {
	budget
	size int   // bytes that there will be at most
	pos  int   // start of the next head
	need int   // bytes that must be there before it is worth going on
	left []int // for each open list and map, how many values it still lacks
}

// begin readies the walker for another value.
func (w *walker) begin(l Limits) {
	*w = walker{budget: l.budget(), size: l.Size, left: w.left[:0]}
}

// walk goes on over b, which starts as it did before; done is true when the value ends, at w.pos.
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
	w.left = append(w.left, int(n)+1) // itself too, which close takes off
	return nil
}

// close counts the value just passed, ends the lists and maps that are full with it, and reports whether none is open.
func (w *walker) close() bool {
	for i := len(w.left) - 1; i >= 0; i-- {
		if w.left[i]--; w.left[i] > 0 {
			return false
		}
		w.left = w.left[:i]
	}
	return true
}

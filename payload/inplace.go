package payload

import (
	"math"

	"github.com/brineproject/brine/data"
)

// inPlaceFrom is the size of a value, in bytes, from which RewriteWithin saves memory.
const inPlaceFrom = 1 << 20

// RewriteWithin returns what AppendRewrite appends. A long value is rewritten in place in body, the
// bytes from which f was parsed, and the other fields are written around it, so that a message of
// many MiB is not held twice. The values of f must not be used afterwards. If that is not possible,
// inPlace is false, body and f are unchanged, and the result has memory of its own.
func (f Fields) RewriteWithin(body []byte) (raw data.Raw, inPlace bool, err error) {
	if raw, ok := f.rewriteWithin(body, inPlaceFrom); ok {
		return raw, true, nil
	}
	raw, err = f.AppendRewrite(make([]byte, 0, f.size()+f.size()/32))
	return raw, false, err
}

func (f Fields) rewriteWithin(body []byte, from int) (data.Raw, bool) {
	longest := f.longest(from)
	if longest < 0 {
		return nil, false
	}
	value := f[longest].Value
	at, ok := offsetIn(body, value)
	if !ok {
		return nil, false
	}
	front, err := f[:longest].appendRewritten(appendMapHead(nil, len(f)))
	if err != nil {
		return nil, false
	}
	front = appendText(front, f[longest].Key, true)
	back, err := f[longest+1:].appendRewritten(nil)
	n, fits := rewrittenSize(value)
	if err != nil || !fits || len(front) > at || at+n+len(back) > cap(body) {
		return nil, false
	}
	body = body[:cap(body)]
	w := rewriter{src: value, dst: body[at:at:cap(body)], bin: true, budget: WireLimits().budget()}
	if err := w.value(); err != nil { // cannot fail: it was tried before
		panic("payload: rewrite in place: " + err.Error())
	}
	copy(body[at-len(front):], front)
	return append(body[at-len(front):at+n], back...), true
}

// longest returns the index of the only value of at least from bytes, or -1.
func (f Fields) longest(from int) int {
	found := -1
	for i := range f {
		switch {
		case len(f[i].Value) < from:
		case found >= 0:
			return -1 // the other one would be copied, which saves little
		default:
			found = i
		}
	}
	return found
}

// offsetIn returns the offset of value in the map in body.
func offsetIn(body, value []byte) (at int, ok bool) {
	h, ok := readHead(body)
	if !ok || h.kind != kindMap {
		return 0, false
	}
	g := Limits{Size: math.MaxInt}.filled().budget()
	pos := h.size
	for range h.elements() {
		if pos < len(body) && &body[pos] == &value[0] {
			return pos, pos+len(value) <= len(body)
		}
		end, err := skip(body, pos, &g)
		if err != nil {
			return 0, false
		}
		pos = end
	}
	return 0, false
}

func (f Fields) appendRewritten(dst []byte) ([]byte, error) {
	for i := range f {
		var err error
		if dst, err = AppendRewrite(appendText(dst, f[i].Key, true), f[i].Value, true); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

// rewrittenSize returns the size of value in bin form. fits is false if writing in place would
// overwrite data that has not been read.
func rewrittenSize(value data.Raw) (n int, fits bool) {
	w := rewriter{src: value, bin: true, dry: true, budget: WireLimits().budget()}
	if err := w.value(); err != nil || w.pos != len(value) {
		return 0, false
	}
	return w.written + len(w.dst), !w.overtook
}

// longText is the length from which a dry run does not copy a text.
const longText = 4 << 10

// checkOvertake records during a dry run whether more was written than read.
func (w *rewriter) checkOvertake() {
	if w.dry && w.written+len(w.dst) > w.pos {
		w.overtook = true
	}
}

// discardOutput counts and discards the output of a dry run.
func (w *rewriter) discardOutput() {
	if w.dry {
		w.written += len(w.dst)
		w.dst = w.dst[:0]
	}
}

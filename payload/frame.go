package payload

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/brineproject/brine/data"
)

// ErrFrame is wrapped by FrameReader for a message that is not a map with a body. The stream is lost then.
var ErrFrame = errors.New("bad frame")

// frameStart is {"head": {}, "body": up to the body.
const frameStart = "\x82\xa4head\x80\xa4body"

// AppendFrame appends {"head": {}, "body": body} in bin form, as it stands on the unix sockets, one after the
// other with nothing between (salt/transport/frame.py, frame_msg_ipc).
func AppendFrame(dst, body []byte) []byte {
	return appendBytes(append(dst, frameStart...), body, true)
}

// AppendFrameOf is AppendFrame for any head and body, as the tcp transport needs it. A nil head is an empty one.
func AppendFrameOf(dst []byte, head *data.Map, body any) ([]byte, error) {
	if head == nil {
		head = &data.Map{}
	}
	return AppendBin(dst, data.NewMap("head", head, "body", body))
}

// A Frame is one message of a stream. Head is nil when there is none.
type Frame struct{ Head, Body data.Raw }

// A FrameReader takes frames off a stream. It must not be used by several goroutines at once.
type FrameReader struct {
	r      io.Reader
	limits Limits
	buf    []byte
	walker walker // where the frame at the start of buf has been walked to
	chunk  int    // the room that is kept while there is nothing to read
	err    error
}

// chunk is the room that a FrameReader starts with, and what it keeps while there is nothing to read, unless it is told
// otherwise.
const chunk = 4096

// NewFrameReader returns a reader of the frames on r, each of at most max bytes; 0 means the size of WireLimits.
func NewFrameReader(r io.Reader, max int) *FrameReader {
	f := &FrameReader{r: r, limits: Limits{Size: max}.filled(), chunk: chunk}
	f.walker.begin(f.limits)
	return f
}

// SetMax changes how large frames may be, the one that is being read included; 0 means the size of WireLimits.
func (f *FrameReader) SetMax(max int) {
	f.limits = Limits{Size: max}.filled()
	f.walker.size = f.limits.Size
}

// SetRoom sets how many bytes of memory the reader keeps while there is nothing to read; without it these are 4096. It is
// called before the first frame.
func (f *FrameReader) SetRoom(n int) { f.chunk = n }

// Buffered returns how many bytes of the next frames have come. Zero means that no frame has begun.
func (f *FrameReader) Buffered() int { return len(f.buf) }

// Next returns the body of the next frame, which must be a string. The caller owns it. At the end of the stream
// the error is io.EOF, within a frame io.ErrUnexpectedEOF; for a stream that is no frames it wraps ErrFrame, and
// also ErrLimit for a frame that is too large. After an error every call returns the same one.
func (f *FrameReader) Next() (body []byte, err error) {
	frame, err := f.NextFrame()
	if err != nil {
		return nil, err
	}
	body, ok := Bytes(frame.Body)
	if !ok {
		f.err = fmt.Errorf("body is no string: %w", ErrFrame)
		return nil, f.err
	}
	return body, nil
}

// NextFrame is Next for frames with any body. The caller owns what it returns.
func (f *FrameReader) NextFrame() (Frame, error) {
	if f.err != nil {
		return Frame{}, f.err
	}
	frame, err := f.next()
	f.err = err
	return frame, err
}

func (f *FrameReader) next() (Frame, error) {
	for {
		msg, err := f.cut()
		if err != nil {
			return Frame{}, fmt.Errorf("%w: %w", ErrFrame, err)
		}
		if msg != nil {
			return splitFrame(msg)
		}
		if err := f.fill(); err != nil {
			return Frame{}, err
		}
	}
}

// cut takes the first message off the buffer, or returns nil when it is not whole yet.
func (f *FrameReader) cut() ([]byte, error) {
	if len(f.buf) == 0 {
		return nil, nil
	}
	w := &f.walker
	if len(f.buf) < w.need && len(f.buf)-w.pos > 9 {
		return nil, nil
	}
	done, err := w.walk(f.buf)
	switch {
	case errors.Is(err, ErrTruncated), err == nil && !done && len(f.buf) >= f.limits.Size:
		return nil, fmt.Errorf("more than %d bytes: %w", f.limits.Size, ErrLimit)
	case err != nil || !done:
		return nil, err
	}
	if w.pos == len(f.buf) && 2*w.pos > cap(f.buf) && w.pos > f.chunk { // a large one need not be copied
		msg := f.buf
		f.buf = nil
		w.begin(f.limits)
		return msg, nil
	}
	msg := bytes.Clone(f.buf[:w.pos])
	f.drop(w.pos)
	return msg, nil
}

// drop removes n bytes, and gives memory back after a large frame.
func (f *FrameReader) drop(n int) {
	f.walker.begin(f.limits)
	rest := f.buf[n:]
	if cap(f.buf) > 16*f.chunk && len(rest) < f.chunk {
		f.buf = append(make([]byte, 0, f.chunk), rest...)
		return
	}
	f.buf = f.buf[:copy(f.buf, rest)]
}

// fill reads more; the buffer doubles with what has come, not with what is announced.
func (f *FrameReader) fill() error {
	if len(f.buf) == cap(f.buf) {
		f.buf = append(make([]byte, 0, max(f.chunk, 2*cap(f.buf))), f.buf...)
	}
	n, err := f.r.Read(f.buf[len(f.buf):cap(f.buf)])
	f.buf = f.buf[:len(f.buf)+n]
	switch {
	case n > 0:
		return nil
	case err == io.EOF && len(f.buf) > 0:
		return io.ErrUnexpectedEOF
	}
	return err
}

// splitFrame takes apart a message that is one whole value.
func splitFrame(msg []byte) (Frame, error) {
	if body, ok := bytes.CutPrefix(msg, []byte(frameStart)); ok {
		return Frame{Head: msg[6:7:7], Body: body}, nil
	}
	fields, err := ParseFields(msg, Limits{Size: len(msg)})
	if err != nil {
		return Frame{}, fmt.Errorf("%w: %w", ErrFrame, err)
	}
	frame := Frame{Head: fields.Raw("head"), Body: fields.Raw("body")}
	if frame.Body == nil {
		return Frame{}, fmt.Errorf("no body: %w", ErrFrame)
	}
	return frame, nil
}

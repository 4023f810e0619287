package payload

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/brineproject/brine/data"
)

// ErrFrame is wrapped by FrameReader for a message that is not a map with a body. The stream cannot
// be read any further.
var ErrFrame = errors.New("bad frame")

// frameStart is the encoding of {"head": {}, "body": up to the body.
const frameStart = "\x82\xa4head\x80\xa4body"

// AppendFrame appends {"head": {}, "body": body} in bin form, as used on unix sockets without
// separators between frames (salt/transport/frame.py, frame_msg_ipc).
func AppendFrame(dst, body []byte) []byte {
	return appendBytes(append(dst, frameStart...), body, true)
}

// AppendFrameOf is like AppendFrame for any head and body, as needed by the tcp transport. A nil
// head means an empty one.
func AppendFrameOf(dst []byte, head *data.Map, body any) ([]byte, error) {
	if head == nil {
		head = &data.Map{}
	}
	return AppendBin(dst, data.NewMap("head", head, "body", body))
}

// A Frame is one message of a stream. Head is nil if there is none.
type Frame struct{ Head, Body data.Raw }

// A FrameReader reads frames from a stream. It is not safe for concurrent use.
type FrameReader struct {
	r      io.Reader
	limits Limits
	buf    []byte
	walker walker // progress within the frame at the start of buf
	chunk  int    // buffer size kept while idle
	err    error
}

// chunk is the initial buffer size of a FrameReader, and the size that it keeps while idle by
// default.
const chunk = 4096

// NewFrameReader returns a reader of the frames on r, each of at most max bytes; 0 means the size
// of WireLimits.
func NewFrameReader(r io.Reader, max int) *FrameReader {
	f := &FrameReader{r: r, limits: Limits{Size: max}.filled(), chunk: chunk}
	f.walker.begin(f.limits)
	return f
}

// SetMax changes the maximum frame size, also for the current frame; 0 means the size of
// WireLimits.
func (f *FrameReader) SetMax(max int) {
	f.limits = Limits{Size: max}.filled()
	f.walker.size = f.limits.Size
}

// SetRoom sets the buffer size in bytes that the reader keeps while idle; the default is 4096. It
// must be called before the first frame.
func (f *FrameReader) SetRoom(n int) { f.chunk = n }

// Buffered returns the number of bytes received of the next frames. Zero means that no frame has
// begun.
func (f *FrameReader) Buffered() int { return len(f.buf) }

// Next returns the body of the next frame, which must be a string. The caller owns it. At the end
// of the stream the error is io.EOF, within a frame io.ErrUnexpectedEOF. For invalid frames it
// wraps ErrFrame, and also ErrLimit if a frame is too large. After an error every call returns the
// same error.
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

// NextFrame is like Next for frames with any body. The caller owns the result.
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

// cut removes the first message from the buffer, or returns nil if it is incomplete.
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
	// do not copy a large message
	if w.pos == len(f.buf) && 2*w.pos > cap(f.buf) && w.pos > f.chunk {
		msg := f.buf
		f.buf = nil
		w.begin(f.limits)
		return msg, nil
	}
	msg := bytes.Clone(f.buf[:w.pos])
	f.drop(w.pos)
	return msg, nil
}

// drop removes n bytes, and frees memory after a large frame.
func (f *FrameReader) drop(n int) {
	f.walker.begin(f.limits)
	rest := f.buf[n:]
	if cap(f.buf) > 16*f.chunk && len(rest) < f.chunk {
		f.buf = append(make([]byte, 0, f.chunk), rest...)
		return
	}
	f.buf = f.buf[:copy(f.buf, rest)]
}

// fill reads more data. The buffer grows with the received data, not with announced lengths.
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

// splitFrame splits a message that is one complete value.
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

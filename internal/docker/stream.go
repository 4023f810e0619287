package docker

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pyjson"
)

const (
	eventLimit  = 1 << 20  // bytes of one message of a stream
	eventsLimit = 64 << 20 // bytes of all
	frameHeader = 8        // bytes: stream, three zeros, length
	outputLimit = 64 << 20 // bytes of what a container prints
)

// Events yields the messages of a stream, one a line, such as the progress of a pull. An error ends
// it.
func Events(r io.Reader) iter.Seq2[*data.Map, error] {
	return func(yield func(*data.Map, error) bool) {
		lines := bufio.NewScanner(&limited{r: r, left: eventsLimit})
		lines.Buffer(nil, eventLimit)
		for lines.Scan() {
			if len(lines.Bytes()) == 0 || lines.Text() == "\r" {
				continue
			}
			event, err := message(lines.Text())
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(event, nil) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(nil, fmt.Errorf("read messages of the engine: %w", err))
		}
	}
}

// ErrMessage is wrapped by the error of a message that cannot be decoded.
var ErrMessage = errors.New("read message")

// Watch is Events for a stream that lasts as long as the engine does. It may have any length, and goes
// on after the error of a message that cannot be decoded. The error of a message that is too long wraps
// bufio.ErrTooLong and ends it.
func Watch(r io.Reader) iter.Seq2[*data.Map, error] {
	return func(yield func(*data.Map, error) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, eventLimit)
		for lines.Scan() {
			if strings.TrimSpace(lines.Text()) == "" {
				continue
			}
			if !yield(message(strings.ToValidUTF8(lines.Text(), "\uFFFD"))) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(nil, fmt.Errorf("read messages of the engine: %w", err))
		}
	}
}

// message decodes one message of a stream.
func message(line string) (*data.Map, error) {
	v, err := pyjson.Load(line)
	m, ok := v.(*data.Map)
	if err == nil && !ok {
		err = errors.New("it is no dictionary")
	}
	if err != nil {
		return nil, fmt.Errorf("%w %.80q of the engine: %w", ErrMessage, line, err)
	}
	return m, nil
}

// Frames decodes the output of a container without a terminal: frames of standard output and
// standard error. It ends with the stream.
func Frames(r io.Reader, stdout, stderr io.Writer) error {
	r = &limited{r: r, left: outputLimit}
	var header [frameHeader]byte
	for {
		if _, err := io.ReadFull(r, header[:]); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read output of the container: %w", err)
		}
		to := stdout
		switch header[0] {
		case 0, 1: // standard input is echoed as 0
		case 2:
			to = stderr
		default:
			return fmt.Errorf("read output of the container: there is no stream %d", header[0])
		}
		if header[1]|header[2]|header[3] != 0 {
			return errors.New("read output of the container: this is no header of a frame")
		}
		size := int64(binary.BigEndian.Uint32(header[4:]))
		if _, err := io.CopyN(to, r, size); err != nil {
			return fmt.Errorf("read output of the container: %w", unexpected(err))
		}
	}
}

// Output copies the output of a container that has a terminal, which is not framed.
func Output(r io.Reader, stdout io.Writer) error {
	if _, err := io.Copy(stdout, &limited{r: r, left: outputLimit}); err != nil {
		return fmt.Errorf("read output of the container: %w", err)
	}
	return nil
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

var errTooMuch = errors.New("it is too long")

// A limited reader fails after so many bytes, where io.LimitReader would end.
type limited struct {
	r    io.Reader
	left int64
}

func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, errTooMuch
	}
	n, err := l.r.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	return n, err
}

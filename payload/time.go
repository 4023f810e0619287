package payload

import (
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
)

// readTime parses the text of extension 78, %Y%m%dT%H:%M:%S.%f with one to six fractional digits.
func readTime(body []byte) (any, error) {
	s := string(body)
	dot := strings.IndexByte(s, '.')
	if dot != len("20060102T15:04:05") || len(s) == dot+1 || len(s) > dot+7 {
		return nil, fmt.Errorf("time %.40q: %w", s, ErrInvalid)
	}
	t, err := time.Parse("20060102T15:04:05.999999", s)
	if err != nil || t.Year() == 0 {
		return nil, fmt.Errorf("time %.40q: %w", s, ErrInvalid)
	}
	return t, nil
}

// readTimestamp decodes the three forms of extension -1.
func readTimestamp(body []byte) (any, error) {
	var t data.Timestamp
	switch len(body) {
	case 4:
		t.Seconds = int64(binary.BigEndian.Uint32(body))
	case 8:
		n := binary.BigEndian.Uint64(body)
		t.Seconds, t.Nanoseconds = int64(n&(1<<34-1)), uint32(n>>34)
	case 12:
		t.Seconds, t.Nanoseconds = int64(binary.BigEndian.Uint64(body[4:])),
			binary.BigEndian.Uint32(body)
	default:
		return nil, fmt.Errorf("timestamp of %d bytes: %w", len(body), ErrInvalid)
	}
	if t.Nanoseconds > 999_999_999 {
		return nil, fmt.Errorf("timestamp of %d nanoseconds: %w", t.Nanoseconds, ErrInvalid)
	}
	return t, nil
}

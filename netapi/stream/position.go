package stream

import (
	"strconv"
	"strings"
)

// maxPosition is the maximum length of the text of a position in bytes: two numbers of 64 bits.
const maxPosition = 16 + 1 + 20

// appendPosition appends the text of an event's position, "<run>-<n>". run is the start of the hub in
// nanoseconds since 1970, in hexadecimal; n counts the events of this run from 1.
func appendPosition(dst []byte, run string, n uint64) []byte {
	return strconv.AppendUint(append(append(dst, run...), '-'), n, 10)
}

// parsePosition parses the text of a position, which a client sends as Last-Event-ID. ok is false for
// all other texts.
func parsePosition(text string) (run string, n uint64, ok bool) {
	if len(text) > maxPosition {
		return "", 0, false
	}
	run, digits, found := strings.Cut(text, "-")
	start, err := strconv.ParseUint(run, 16, 64)
	if !found || err != nil || strconv.FormatUint(start, 16) != run {
		return "", 0, false
	}
	n, err = strconv.ParseUint(digits, 10, 64)
	if err != nil || strconv.FormatUint(n, 10) != digits {
		return "", 0, false
	}
	return run, n, true
}

package plist

import (
	"encoding/binary"
	"errors"
	"runtime"
	"testing"
)

// overlapping returns a file in which each array contains the next one, and all lists of references
// lie at one place.
func overlapping(levels, size int) []byte {
	text := make([]byte, size)
	copy(text, magic)
	var offsets []uint32
	for at := 8; len(offsets) < levels; at += 8 {
		offsets = append(offsets, uint32(at))
		text[at], text[at+1] = 0xAF, 0x12
		binary.BigEndian.PutUint32(text[at+2:], uint32((size-at-6)/2))
		binary.BigEndian.PutUint16(text[at+6:], uint16(len(offsets)))
	}
	offsets = append(offsets, uint32(size))
	text = append(text, 0x00) // None
	table := len(text)
	for _, o := range offsets {
		text = binary.BigEndian.AppendUint32(text, o)
	}
	trailer := make([]byte, 32)
	trailer[6], trailer[7] = 4, 2
	binary.BigEndian.PutUint64(trailer[8:], uint64(len(offsets)))
	binary.BigEndian.PutUint64(trailer[24:], uint64(table))
	return append(text, trailer...)
}

func TestOverlappingArraysTakeNoMemory(t *testing.T) {
	text := overlapping(490, 1<<20)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := Read(text)
	runtime.ReadMemStats(&after)
	if !errors.Is(err, errParts) {
		t.Errorf("Read gives error %v, want %v", err, errParts)
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 64<<20 {
		t.Errorf("Read of %d bytes allocated %d", len(text), grown)
	}
}

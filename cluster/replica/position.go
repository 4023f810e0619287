package replica

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/brineproject/brine/internal/atomicfile"
)

// positionVersion begins the file of the position.
const positionVersion = "1"

// formatPosition returns the text of a position in the stream with a mark.
func formatPosition(stream string, position uint64) string {
	return fmt.Sprintf("%s %s %d\n", positionVersion, stream, position)
}

// parsePosition is the reverse of formatPosition.
func parsePosition(text string) (stream string, position uint64, ok bool) {
	fields := strings.Fields(text)
	if len(fields) != 3 || fields[0] != positionVersion || !strings.HasSuffix(text, "\n") {
		return "", 0, false
	}
	position, err := strconv.ParseUint(fields[2], 10, 64)
	return fields[1], position, err == nil
}

// loadPosition takes the saved position. Its file is gone while Run runs, so that after a crash
// everything is read: files of the copy may be older than a position then.
func (b *Bank) loadPosition() error {
	path := filepath.Join(b.o.Dir, "position")
	text, err := os.ReadFile(path)
	if err == nil {
		err = os.Remove(path)
	}
	if err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("take the position in the shelf: %w", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.loaded {
		return nil // Run has run before
	}
	b.loaded = true
	if stream, position, ok := parsePosition(string(text)); ok {
		b.stream, b.position, b.whole = stream, position, true
	}
	return nil
}

// savePosition keeps the position if the copy is complete up to it: not after an entry of a cluster key that
// this member lacks, which the next start may have.
func (b *Bank) savePosition() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.current = false
	if !b.whole || len(b.failed) > 0 || b.stream == "" || b.shared.Unread() {
		return nil
	}
	for name := range b.waiting {
		if !b.isLazy(name) {
			return nil // the journal does not have it
		}
	}
	for _, f := range b.flights {
		if f.later != nil {
			return nil
		}
	}
	err := atomicfile.Write(filepath.Join(b.o.Dir, "position"), []byte(formatPosition(b.stream, b.position)),
		atomicfile.Options{Sync: true})
	if err != nil {
		return fmt.Errorf("save the position in the shelf: %w", err)
	}
	return nil
}

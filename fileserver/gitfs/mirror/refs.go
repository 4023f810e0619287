package mirror

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/brineproject/brine/internal/atomicfile"
)

// A Hash names an object of git.
type Hash [20]byte

// String returns the hash in hex digits.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// ParseHash parses 40 hex digits.
func ParseHash(s string) (h Hash, ok bool) {
	raw, err := hex.DecodeString(s)
	if err != nil || len(raw) != len(h) {
		return h, false
	}
	return Hash(raw), true
}

// Refs maps the names of branches and tags to their trees. The maps must not be changed.
type Refs struct{ Branches, Tags map[string]Hash }

// seen is the content of the refs file, and the identity of the file that was read.
type seen struct {
	Refs
	info os.FileInfo
}

// publish makes the output of for-each-ref the current refs, if it is new.
func (m *Mirror) publish(text []byte) (changed bool, err error) {
	if old, err := os.ReadFile(m.refsFile()); err == nil && bytes.Equal(old, text) {
		return false, nil
	}
	if err := atomicfile.Write(m.refsFile(), text,
		atomicfile.Options{Sync: true, Prefix: ".refs"}); err != nil {
		return false, fmt.Errorf("store the list of refs: %w", err)
	}
	return true, nil
}

// Fetched returns when branches and tags last changed, or the zero time before the first update.
func (m *Mirror) Fetched() time.Time {
	if info, err := os.Stat(m.refsFile()); err == nil {
		return info.ModTime()
	}
	return time.Time{}
}

// Refs returns the branches and tags of the last complete update, by whatever process; none before
// the first one.
func (m *Mirror) Refs() (Refs, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	info, err := os.Stat(m.refsFile())
	if errors.Is(err, fs.ErrNotExist) {
		m.seen, m.store = nil, nil
		return Refs{}, nil
	}
	if err != nil {
		return Refs{}, err
	}
	if m.seen != nil && os.SameFile(info, m.seen.info) &&
		info.ModTime().Equal(m.seen.info.ModTime()) && info.Size() == m.seen.info.Size() {
		return m.seen.Refs, nil
	}
	s, err := readRefs(m.refsFile())
	if err != nil {
		return Refs{}, fmt.Errorf("read the refs of %s: %w", m.addr.show, err)
	}
	m.seen, m.store = s, nil // there are new packs
	return s.Refs, nil
}

func readRefs(file string) (*seen, error) {
	f, err := os.Open(filepath.Clean(file))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s := &seen{}
	if s.info, err = f.Stat(); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, maxRefs))
	s.Refs = parseRefs(string(text))
	return s, err
}

// parseRefs parses lines of name, object and tree. For an annotated tag there is an empty field
// before the tree.
func parseRefs(text string) Refs {
	r := Refs{Branches: map[string]Hash{}, Tags: map[string]Hash{}}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) != 3 {
			continue // no tree: a tag of a blob
		}
		tree, ok := ParseHash(words[2])
		if !ok {
			continue
		}
		if name, ok := strings.CutPrefix(words[0], "refs/remotes/origin/"); ok && name != "HEAD" {
			r.Branches[name] = tree
		} else if name, ok := strings.CutPrefix(words[0], "refs/tags/"); ok {
			r.Tags[name] = tree
		}
	}
	return r
}

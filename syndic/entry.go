package syndic

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/pki"
)

// Lines in the file of a job begin with a point unless they name a minion, since no id does.
const (
	doneName     = ".done"   // all returns of the job were acknowledged
	moreName     = ".more"   // after doneName: others have come
	orderName    = ".order " // with the digest of an order
	undoName     = ".undo "  // with the digest of an order that the lower master has refused
	lineEnd      = "\t\n"    // an id holds neither, so that a line broken off is not one
	journalStamp = time.RFC3339Nano
)

// errJournal is wrapped by errors about a file of the journal that cannot be read.
var errJournal = errors.New("bad journal")

// A digest identifies one of the orders with the same job id. The steps of a batch have one id, but different
// targets, and so different digests.
type digest [16]byte

// digestOf returns the digest of a publication.
func digestOf(pub *job.Publication) (digest, error) {
	text, err := payload.Marshal([]any{pub.Target, pub.TargetType, data.Values(pub.Fun), pub.Arg})
	if err != nil {
		return digest{}, fmt.Errorf("encode target of job %s: %w", pub.JID, err)
	}
	sum := sha256.Sum256(text)
	return digest(sum[:len(digest{})]), nil
}

func (d digest) String() string { return hex.EncodeToString(d[:]) }

func parseDigest(text string) (d digest, ok bool) {
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != len(d) {
		return d, false
	}
	return digest(b), true
}

// An entry is the content of the file of one job.
type entry struct {
	At      time.Time
	Ordered bool
	Minion  string // whose return was the first, if the job was not ordered
	Done    bool
	Orders  []digest
	Minions []string // whose returns were acknowledged
	first   bool     // the first line says that the job was ordered
}

// header is the first line of the file of a job, in JSON.
type header struct {
	Time    string `json:"time"`
	Ordered bool   `json:"ordered"`
	Minion  string `json:"minion,omitempty"`
}

// parseEntry parses the file of a job. The error wraps errJournal if the first line is damaged; a
// last line that was broken off is left out.
func parseEntry(b []byte) (entry, error) {
	first, rest, _ := bytes.Cut(b, []byte("\n"))
	var h header
	if err := json.Unmarshal(first, &h); err != nil {
		return entry{}, fmt.Errorf("%w: %w", errJournal, err)
	}
	at, err := time.Parse(journalStamp, h.Time)
	if err != nil {
		return entry{}, fmt.Errorf("%w: %w", errJournal, err)
	}
	e := entry{At: at, Ordered: h.Ordered, first: h.Ordered}
	if pki.ValidID(h.Minion) == nil {
		e.Minion = h.Minion
	}
	for line := range bytes.Lines(rest) {
		if name, whole := bytes.CutSuffix(line, []byte(lineEnd)); whole {
			e.add(string(name))
		}
	}
	return e, nil
}

// add adds the meaning of a line.
func (e *entry) add(line string) {
	if text, ok := strings.CutPrefix(line, orderName); ok {
		if d, ok := parseDigest(text); ok && len(e.Orders) < maxSteps {
			e.Orders = append(e.Orders, d)
		}
		e.Ordered, e.Done = true, false
		return
	}
	if text, ok := strings.CutPrefix(line, undoName); ok {
		if d, ok := parseDigest(text); ok {
			e.Orders = slices.DeleteFunc(e.Orders, func(o digest) bool { return o == d })
			e.Ordered = e.first || len(e.Orders) > 0
		}
		return
	}
	switch {
	case line == doneName:
		e.Done = true
	case line == moreName:
		e.Done = false
	case pki.ValidID(line) == nil:
		e.Minions = append(e.Minions, line)
	}
}

// readLimited reads a file of at most limit bytes.
func readLimited(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = fmt.Errorf("the file is longer than %d bytes", limit)
	}
	return b, err
}

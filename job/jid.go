package job

import (
	"crypto/md5"  // the name of a directory, not a secret
	"crypto/sha1" // likewise
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
)

// An ID is a job id ("jid"): the UTC start time of the job as 20 digits, year to microseconds. With
// `unique_jid` the master appends an underscore and its process id. An ID is transmitted as text.
type ID string

// Words that are used instead of a job id.
const (
	Req     ID = "req"     // a return without a job: the master assigns an id
	NoCache ID = "nocache" // a return that the master must not store
)

// OwnID is the field of a return with the id [Req] that holds the id which the minion itself uses
// for the job. A Brine master uses that id, so that a repeated return is detected; Salt masters
// assign another one.
const OwnID = "minion_jid"

// OwnOf is the field of a job's load that marks a job which nobody ordered. It holds the id of the
// minion whose return created the job. Everything else in the load comes from that minion.
const OwnOf = "minion_own"

// OwnMinions is the field of a publication that only the minions of its master run: syndics do not
// order it below. Its value is true. Syndics of Salt ignore the field.
const OwnMinions = "own_minions"

// Refused is the field of a reply to the returns of a syndic that are not accepted: why.
const Refused = "refused"

// ErrID is wrapped by ParseID and ID.Time for text that is not a job id.
var ErrID = errors.New("not a job id")

const stampLayout = "20060102150405"

// NewID returns the id for a job that starts at t (salt/utils/jid.py, gen_jid).
func NewID(t time.Time) ID {
	t = t.UTC()
	return ID(fmt.Sprintf("%s%06d", t.Format(stampLayout), t.Nanosecond()/1000))
}

// ParseID returns s as a job id: 20 digits, optionally followed by an underscore and digits. Salt
// allows anything after the underscore (is_jid). Since ids become file names, only digits are
// accepted here.
func ParseID(s string) (ID, error) {
	stamp, pid, unique := strings.Cut(s, "_")
	if len(stamp) != 20 || !digits(stamp) ||
		unique && (pid == "" || len(pid) > 20 || !digits(pid)) {
		return "", fmt.Errorf("%.40q: %w", s, ErrID)
	}
	return ID(s), nil
}

// maxID is the maximum length of an id, in bytes.
const maxID = 64

// ValidID reports whether id may name a job. Besides the ids of [NewID], callers may choose their
// own: letters, digits, "_" and "-". Salt accepts any text, but ids become file names on minions, so
// an id must not begin with "-", which would make it look like an option.
func ValidID(id ID) bool {
	if id == "" || len(id) > maxID || id[0] == '-' {
		return false
	}
	for _, c := range []byte(id) {
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' ||
			c == '_' || c == '-') {
			return false
		}
	}
	return true
}

func digits(s string) bool {
	return strings.Trim(s, "0123456789") == ""
}

// Time returns the start time in the id, in UTC. An id may have an invalid time, such as month 13,
// which is an error.
func (id ID) Time() (time.Time, error) {
	if _, err := ParseID(string(id)); err != nil {
		return time.Time{}, err
	}
	t, err := time.Parse(stampLayout, string(id[:14]))
	if err != nil {
		return time.Time{}, fmt.Errorf("time of job %s: %w", id, err)
	}
	micros, err := strconv.Atoi(string(id[14:20]))
	return t.Add(time.Duration(micros) * time.Microsecond), err
}

// StartTime returns the start time in Salt's format, "2026, Nov 21 07:34:43.092771", or "" if the
// text does not have the length of an id. Like salt/utils/jid.py, jid_to_time, it validates only
// the month. For an invalid month it returns "" (Salt raises an exception).
func (id ID) StartTime() string {
	r := []rune(string(id))
	if !idLength(r) {
		return ""
	}
	month, err := strconv.Atoi(string(r[4:6]))
	if err != nil || month < 0 || month > 12 {
		return ""
	}
	name := ""
	if month > 0 {
		name = time.Month(month).String()[:3]
	}
	part := func(from, to int) string { return string(r[from:to]) }
	return fmt.Sprintf("%s, %s %s %s:%s:%s.%s", part(0, 4), name, part(6, 8), part(8, 10),
		part(10, 12), part(12, 14), part(14, 20))
}

// Looks reports whether Salt accepts s as a job id (salt/utils/jid.py, is_jid): 20 characters that
// Python parses as an integer, optionally followed by an underscore and anything. Use ParseID for
// text that becomes a path.
func Looks(s string) bool {
	r := []rune(s)
	return idLength(r) && isInteger(strings.TrimSpace(string(r[:20])))
}

func idLength(r []rune) bool { return len(r) == 20 || len(r) > 21 && r[20] == '_' }

// isInteger reports whether Python's int() accepts s: decimal digits with single underscores
// between them, after an optional sign.
func isInteger(s string) bool {
	if s != "" && (s[0] == '-' || s[0] == '+') {
		s = s[1:]
	}
	for digits := range strings.SplitSeq(s, "_") {
		if digits == "" || strings.ContainsFunc(digits,
			func(r rune) bool { return !unicode.IsDigit(r) }) {
			return false
		}
	}
	return true
}

// Dir returns the directory of the job relative to the job cache of Salt's local_cache, such as
// "33/f441…". It is the hash of the id (salt/utils/jid.py, jid_dir). hashType is a value of the
// option hash_type.
func (id ID) Dir(hashType string) (string, error) {
	var h hash.Hash
	switch hashType {
	case "md5":
		h = md5.New()
	case "sha1":
		h = sha1.New()
	case "sha224":
		h = sha256.New224()
	case "", "sha256":
		h = sha256.New()
	case "sha384":
		h = sha512.New384()
	case "sha512":
		h = sha512.New()
	default:
		return "", fmt.Errorf("directory of job %s: unknown hash_type %q", id, hashType)
	}
	h.Write([]byte(id))
	sum := hex.EncodeToString(h.Sum(nil))
	return sum[:2] + "/" + sum[2:], nil
}

// IDs generates strictly increasing ids. It is safe for concurrent use.
type IDs struct {
	now    func() time.Time
	suffix string
	mu     sync.Mutex
	last   time.Time
}

// NewIDs returns a source of ids that uses the clock now; nil means time.Now.
func NewIDs(now func() time.Time) *IDs {
	if now == nil {
		now = time.Now
	}
	return &IDs{now: now}
}

// NewUniqueIDs is NewIDs with the process id appended to each id, for the option `unique_jid`.
func NewUniqueIDs(now func() time.Time) *IDs {
	g := NewIDs(now)
	g.suffix = "_" + strconv.Itoa(os.Getpid())
	return g
}

// Next returns a new id: that of the present microsecond, or one microsecond after the last id if
// the clock has not advanced or went back.
func (g *IDs) Next() ID {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := g.now().UTC().Truncate(time.Microsecond)
	if !t.After(g.last) {
		t = g.last.Add(time.Microsecond)
	}
	g.last = t
	return NewID(t) + ID(g.suffix)
}

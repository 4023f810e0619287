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

// An ID is a job id ("jid"): the UTC time of the job's start as 20 digits (year to microseconds), and after
// an underscore the process id of the master where it has `unique_jid` on. It is text wherever it travels.
type ID string

// The two words that stand in the place of a job id.
const (
	Req     ID = "req"     // a return without a job: the master finds an id for it
	NoCache ID = "nocache" // a return that the master must not store
)

// OwnID is the field of a return with the word [Req] that holds the id by which its minion knows the job. A master of ours
// takes that id, so that a return that comes twice is one; real ones find another.
const OwnID = "minion_jid"

// OwnOf is the field of a job's load that marks a job which nobody ordered. It holds the id of the minion whose return made
// the job; all that the load says is the word of that minion.
const OwnOf = "minion_own"

// ErrID is wrapped by ParseID and ID.Time when the text is not a job id.
var ErrID = errors.New("not a job id")

const stampLayout = "20060102150405"

// NewID returns the id of a job that starts at t (salt/utils/jid.py, gen_jid).
func NewID(t time.Time) ID {
	t = t.UTC()
	return ID(fmt.Sprintf("%s%06d", t.Format(stampLayout), t.Nanosecond()/1000))
}

// ParseID returns s as a job id: 20 digits, then nothing or an underscore and digits. Salt lets anything
// follow the underscore (is_jid); since ids become names of files, only digits are taken here.
func ParseID(s string) (ID, error) {
	stamp, pid, unique := strings.Cut(s, "_")
	if len(stamp) != 20 || !digits(stamp) || unique && (pid == "" || len(pid) > 20 || !digits(pid)) {
		return "", fmt.Errorf("%.40q: %w", s, ErrID)
	}
	return ID(s), nil
}

func digits(s string) bool {
	return strings.Trim(s, "0123456789") == ""
}

// Time returns the start that the id names, in UTC. An id may name no real time (month 13).
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

// StartTime returns the start as Salt prints it, "2026, Nov 21 07:34:43.092771", and "" when the text has not
// the length of an id. Like salt/utils/jid.py, jid_to_time it checks nothing but the month, and is "" for a
// wrong one (where the original raises).
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
	return fmt.Sprintf("%s, %s %s %s:%s:%s.%s", part(0, 4), name, part(6, 8), part(8, 10), part(10, 12), part(12, 14), part(14, 20))
}

// Looks reports whether Salt takes s for a job id (salt/utils/jid.py, is_jid): 20 characters that Python reads
// as an integer, and after them nothing or an underscore and anything. Use ParseID for what becomes a path.
func Looks(s string) bool {
	r := []rune(s)
	return idLength(r) && isInteger(strings.TrimSpace(string(r[:20])))
}

func idLength(r []rune) bool { return len(r) == 20 || len(r) > 21 && r[20] == '_' }

// isInteger reports whether Python's int() takes s: decimal digits with single underscores between them, behind a sign.
func isInteger(s string) bool {
	if s != "" && (s[0] == '-' || s[0] == '+') {
		s = s[1:]
	}
	for digits := range strings.SplitSeq(s, "_") {
		if digits == "" || strings.ContainsFunc(digits, func(r rune) bool { return !unicode.IsDigit(r) }) {
			return false
		}
	}
	return true
}

// Dir returns the directory of the job below the job cache of Salt's local_cache, as "33/f441…": the hash of the id
// (salt/utils/jid.py, jid_dir). The name of the hash is that of the option hash_type.
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

// IDs gives out ids that rise strictly, however fast they are asked for. Several goroutines may use one.
type IDs struct {
	now    func() time.Time
	suffix string
	mu     sync.Mutex
	last   time.Time
}

// NewIDs returns a source of ids by the clock now; nil means time.Now.
func NewIDs(now func() time.Time) *IDs {
	if now == nil {
		now = time.Now
	}
	return &IDs{now: now}
}

// NewUniqueIDs is NewIDs with the process id after each id, as the option `unique_jid` asks for.
func NewUniqueIDs(now func() time.Time) *IDs {
	g := NewIDs(now)
	g.suffix = "_" + strconv.Itoa(os.Getpid())
	return g
}

// Next returns a new id: that of the present microsecond, or one microsecond after the last when the clock
// has not moved on or went back.
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

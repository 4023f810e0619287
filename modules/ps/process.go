//go:build linux

package ps

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"syscall"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/accounts"
)

// ticks is the number of units per second in which the kernel reports times.
const ticks = 100

// A process is a snapshot of a running process.
type process struct {
	m      *module
	pid    int64
	name   string
	fields []string // of /proc/PID/stat, from the state onwards
}

// errGone is returned if a process does not exist any more.
var errGone = errors.New("process PID not found")

func notFound(pid int64) error { return fmt.Errorf("%w (pid=%d)", errGone, pid) }

// process takes a snapshot of a process. The error wraps errGone if the process does not exist.
func (m *module) process(pid int64) (*process, error) {
	text, err := m.read(strconv.FormatInt(pid, 10), "stat")
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return nil, notFound(pid)
	}
	if err != nil {
		return nil, err
	}
	name, fields, ok := parseStat(text)
	if !ok {
		return nil, fmt.Errorf("read /proc/%d/stat: %q", pid, text)
	}
	return &process{m, pid, name, fields}, nil
}

// mostFields is the number of fields that are needed of a process.
const mostFields = 40

// parseStat parses /proc/PID/stat. The name is in parentheses and may itself contain parentheses.
func parseStat(text string) (name string, fields []string, ok bool) {
	begin, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if begin < 0 || end < begin {
		return "", nil, false
	}
	fields = strings.Fields(text[end+1:])
	return text[begin+1 : end], fields, len(fields) >= mostFields
}

// field returns a field by its number in proc(5), 0 if it is not a number.
func (p *process) field(n int) int64 {
	v, _ := strconv.ParseInt(p.fields[n-3], 10, 64) //nolint:errcheck // the kernel writes numbers
	return v
}

// file returns the contents of a file of the process, "" if it cannot be read.
func (p *process) file(name string) string {
	text, err := p.m.read(strconv.FormatInt(p.pid, 10), name)
	if err != nil {
		return ""
	}
	return text
}

// cmdline returns the words of the command line. Kernel threads have none.
func (p *process) cmdline() []any {
	text := p.file("cmdline")
	words := []any{}
	if text == "" {
		return words
	}
	cut := "\x00"
	if !strings.HasSuffix(text, cut) && strings.Contains(text, " ") { // the process wrote its own
		cut = " "
	}
	for w := range strings.SplitSeq(strings.TrimSuffix(text, cut), cut) {
		words = append(words, w)
	}
	if len(words) == 1 && cut != " " && strings.Contains(text, " ") { // set as a title
		words = words[:0]
		for w := range strings.SplitSeq(strings.TrimRight(text, "\x00"), " ") {
			words = append(words, w)
		}
	}
	return words
}

// fullName returns the name of the process. The kernel truncates it; the full name is taken from
// the command line if that begins with it.
func (p *process) fullName() string {
	const kept = 15
	words := p.cmdline()
	if len(p.name) < kept || len(words) == 0 {
		return p.name
	}
	first := data.Str(words[0])
	if base := first[strings.LastIndexByte(first, '/')+1:]; strings.HasPrefix(base, p.name) {
		return base
	}
	return p.name
}

// state returns psutil's word for the state of the process.
func (p *process) state() string {
	states := map[string]string{"R": "running", "S": "sleeping", "D": "disk-sleep", "T": "stopped",
		"t": "tracing-stop", "Z": "zombie", "X": "dead", "x": "dead", "K": "wake-kill",
		"W": "waking", "I": "idle", "P": "parked"}
	if s, ok := states[p.fields[0]]; ok {
		return s
	}
	return "?"
}

// line returns the words after a key in /proc/PID/status.
func (p *process) line(key string) []string {
	for line := range strings.Lines(p.file("status")) {
		if name, rest, ok := strings.Cut(line, ":"); ok && name == key {
			return strings.Fields(rest)
		}
	}
	return nil
}

// username returns the name of the user, or the user ID if the user has no name.
func (p *process) username() any {
	ids := p.line("Uid")
	if len(ids) == 0 {
		return nil
	}
	users, err := accounts.Users(p.m.env.Root)
	if err == nil {
		for _, u := range users {
			if strconv.FormatInt(int64(u.UID), 10) == ids[0] {
				return u.Name
			}
		}
	}
	return ids[0]
}

// created returns the start time, in seconds since 1970.
func (p *process) created() float64 {
	boot, err := p.m.bootSeconds()
	if err != nil {
		return 0
	}
	return float64(p.field(22))/ticks + float64(boot)
}

// seconds returns a field that counts ticks, in seconds.
func (p *process) seconds(n int) float64 { return float64(p.field(n)) / ticks }

// used returns the CPU time of the process, in seconds.
func (p *process) used() float64 { return p.seconds(14) + p.seconds(15) }

// each calls take for each process.
func (m *module) each(take func(*process)) error {
	pids, err := m.pids()
	if err != nil {
		return err
	}
	for _, pid := range pids {
		if p, err := m.process(pid); err == nil {
			take(p)
		}
	}
	return nil
}

// Package journald is Salt's beacon journald: it reports new entries of systemd's journal
// (salt/beacons/journald.py). It reads the journal with the program journalctl.
//
// Values are those of systemd's library in Python, as Salt reports them: numbers where a field holds
// one, and dates, lengths of time and ids as repr() shows them.
package journald

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/brineproject/brine/beacons"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/process"
	"github.com/brineproject/brine/returners"
)

// Plugin returns the beacon journald.
func Plugin() loader.Plugin {
	return beacons.Plugin("journald", "", func(env *loader.Env) (beacons.Beacon, error) {
		if process.Find("journalctl") == "" {
			return nil, errors.New("journalctl is missing.") //nolint:staticcheck // in Salt's form
		}
		return beacon{env}, nil
	})
}

type beacon struct{ env *loader.Env }

func (beacon) Validate(config any) (bool, string) {
	fault := beacons.NotList("journald", config)
	given := beacons.Merge(config).Value("services")
	services, ok := given.(*data.Map)
	if !ok && given != nil && fault == "" {
		fault = "Services configuration for journald beacon must be a dictionary."
	}
	for _, v := range services.All() {
		if _, ok := v.(*data.Map); !ok && fault == "" {
			fault = "Services configuration for journald beacon must be a list of dictionaries."
		}
	}
	return beacons.Verdict(fault)
}

// place is the cursor of the last entry that was read; "" before the first turn.
type place struct{ cursor string }

func (b beacon) Beacon(ctx context.Context, config any) ([]*data.Map, error) {
	kept, _, err := beacons.State[place](ctx)
	if err != nil {
		return nil, err
	}
	first := kept.cursor == ""
	args := []string{"--lines=1"}
	if !first {
		args = []string{"--after-cursor=" + kept.cursor}
	}
	services, _ := beacons.Merge(config).Value("services").(*data.Map)
	var events []*data.Map
	err = b.read(ctx, args, func(cursor string, entry *data.Map) {
		if cursor != "" {
			kept.cursor = cursor
		}
		if !first && entry != nil {
			events = append(events, matching(entry, services)...)
		}
	})
	return beacons.Partial(b.env, config, events, err)
}

// matching returns an event for each service whose fields an entry has.
func matching(entry, services *data.Map) []*data.Map {
	var events []*data.Map
	for name, v := range services.All() {
		wanted, _ := v.(*data.Map)
		fits := true
		for key, value := range wanted.All() {
			is, ok := entry.Get(key)
			fits = fits && ok && data.Equal(is, value)
		}
		if fits {
			event := entry.Clone()
			event.Set("tag", name)
			events = append(events, event)
		}
	}
	return events
}

// read calls f for the next entries of the journal, with their cursors. The entry is nil if it cannot be
// read, which is logged.
func (b beacon) read(ctx context.Context, args []string, f func(cursor string, entry *data.Map)) error {
	cmd := exec.CommandContext(ctx, "journalctl",
		append([]string{"--quiet", "--no-pager", "--output=json", "--all"}, args...)...)
	var errs bytes.Buffer
	out := &lines{line: func(line []byte, whole bool) (advanced bool) {
		entry, err := parse(line, whole)
		cursor := entry.Text("__CURSOR")
		if err != nil {
			cursor = cursorIn(line)
			b.env.Log.WithError(err).Warnf("journald: entry %q is left out", cursor)
		}
		f(cursor, entry)
		return cursor != ""
	}}
	cmd.Stdout, cmd.Stderr = out, &errs
	if err := b.env.Run(ctx, cmd); err != nil && !out.full() {
		return fmt.Errorf("read the journal: %w: %s", err, strings.TrimSpace(errs.String()))
	}
	return nil
}

// Limits of what a turn reads of the journal. The rest follows in the next turn.
const (
	mostEntries = 10_000
	mostBytes   = 16 << 20
	longest     = 1 << 20 // an entry, in bytes; a longer one is left out
)

// lines calls a function for each line that is written, until that is enough for a turn. Of a line that
// is too long it gets the beginning. It reports whether the next turn can begin after that line.
type lines struct {
	line func(line []byte, whole bool) (advanced bool)

	rest     []byte // of a line that has not ended, without what exceeds its longest length
	cut      bool   // that line is too long
	advanced bool   // the next turn begins later than this one
	entries  int
	bytes    int
}

// errFull ends the program whose output is enough for a turn.
var errFull = errors.New("the rest of the journal follows in the next turn")

// full reports whether there is enough for a turn.
func (l *lines) full() bool {
	return l.advanced && (l.entries >= mostEntries || l.bytes >= mostBytes)
}

func (l *lines) Write(b []byte) (int, error) {
	for rest := b; len(rest) > 0; {
		if l.full() {
			return len(b) - len(rest), errFull
		}
		part, after, ends := bytes.Cut(rest, []byte("\n"))
		l.bytes += len(rest) - len(after)
		rest = after
		fits := min(len(part), longest-len(l.rest))
		l.rest = append(l.rest, part[:fits]...)
		l.cut = l.cut || fits < len(part)
		if !ends {
			break
		}
		l.advanced = l.line(l.rest, !l.cut) || l.advanced
		l.entries++
		l.rest, l.cut = l.rest[:0], false
	}
	return len(b), nil
}

// errLong is returned for an entry that is too long.
var errLong = fmt.Errorf("it is longer than %d bytes", longest)

// parse returns an entry from a line of journalctl.
func parse(line []byte, whole bool) (*data.Map, error) {
	if !whole {
		return nil, errLong
	}
	v, err := returners.ParseJSON(line)
	if err != nil {
		return nil, err
	}
	fields, ok := v.(*data.Map)
	if !ok {
		return nil, fmt.Errorf("expected a dictionary, got %s", loader.TypeName(v))
	}
	return typed(fields), nil
}

// cursorIn returns the cursor in a line that cannot be read, "" if it has none.
func cursorIn(line []byte) string {
	_, after, _ := bytes.Cut(line, []byte(`"__CURSOR"`))
	after, ok := bytes.CutPrefix(bytes.TrimLeft(after, " :"), []byte(`"`))
	cursor, _, ends := bytes.Cut(after, []byte(`"`))
	if !ok || !ends || bytes.ContainsRune(cursor, '\\') {
		return ""
	}
	return string(cursor)
}

// typed returns the fields of an entry with the types that systemd's library gives them
// (systemd/journal.py, DEFAULT_CONVERTERS; salt/utils/data.py, simple_types_filter).
func typed(fields *data.Map) *data.Map {
	entry := data.NewMap()
	for key, v := range fields.All() {
		text, ok := v.(string)
		if !ok {
			continue // bytes, or a field that occurs several times
		}
		name := data.Str(key)
		n, err := strconv.ParseInt(text, 10, 64)
		switch kind := kindOf(name); {
		case kind == id:
			entry.Set(name, uuid(text))
		case err != nil || kind == plain:
			entry.Set(name, text)
		case kind == number:
			entry.Set(name, n)
		case kind == moment:
			entry.Set(name, date(time.UnixMicro(n)))
		case name == "__MONOTONIC_TIMESTAMP": // with the boot to which it belongs
			entry.Set(name, []any{length(n), uuid(fields.Text("_BOOT_ID"))})
		default:
			entry.Set(name, length(n))
		}
	}
	return entry
}

// uuid returns an id of 32 digits as Python shows it.
func uuid(text string) string {
	if len(text) != 32 {
		return text
	}
	return fmt.Sprintf("UUID('%s-%s-%s-%s-%s')", text[:8], text[8:12], text[12:16], text[16:20], text[20:])
}

// date returns a moment as Python shows it: without microseconds, and seconds, of zero.
func date(t time.Time) string {
	text := fmt.Sprintf("datetime.datetime(%d, %d, %d, %d, %d",
		t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute())
	micros := t.Nanosecond() / 1000
	if t.Second() != 0 || micros != 0 {
		text += fmt.Sprintf(", %d", t.Second())
	}
	if micros != 0 {
		text += fmt.Sprintf(", %d", micros)
	}
	return text + ")"
}

// length returns microseconds as Python shows them.
func length(micros int64) string {
	var parts []string
	const day = 86400 * 1_000_000
	for _, p := range []struct {
		name string
		n    int64
	}{{"days", micros / day}, {"seconds", micros % day / 1_000_000}, {"microseconds", micros % 1_000_000}} {
		if p.n != 0 {
			parts = append(parts, fmt.Sprintf("%s=%d", p.name, p.n))
		}
	}
	if len(parts) == 0 {
		parts = []string{"0"}
	}
	return "datetime.timedelta(" + strings.Join(parts, ", ") + ")"
}

// A kind is the type of a field.
type kind int

const (
	plain kind = iota
	number
	moment
	span
	id
)

func kindOf(name string) kind {
	switch name {
	case "MESSAGE_ID", "_MACHINE_ID", "_BOOT_ID":
		return id
	case "_SOURCE_REALTIME_TIMESTAMP", "__REALTIME_TIMESTAMP", "COREDUMP_TIMESTAMP":
		return moment
	case "_SOURCE_MONOTONIC_TIMESTAMP", "__MONOTONIC_TIMESTAMP":
		return span
	case "PRIORITY", "LEADER", "SESSION_ID", "USERSPACE_USEC", "INITRD_USEC", "KERNEL_USEC", "_UID", "_GID",
		"_PID", "SYSLOG_FACILITY", "SYSLOG_PID", "_AUDIT_SESSION", "_AUDIT_LOGINUID", "_SYSTEMD_SESSION",
		"_SYSTEMD_OWNER_UID", "CODE_LINE", "ERRNO", "EXIT_STATUS", "COREDUMP_UID", "COREDUMP_GID",
		"COREDUMP_PID", "COREDUMP_SESSION", "COREDUMP_SIGNAL":
		return number
	}
	return plain
}

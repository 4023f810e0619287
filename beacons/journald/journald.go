// Package journald is Salt's beacon journald: it reports new entries of systemd's journal
// (salt/beacons/journald.py). It reads the journal with the program journalctl.
//
// Values are those of systemd's library in Python, as Salt reports them: numbers where a field holds
// one, and dates, lengths of time and ids as repr() shows them.
package journald

import (
	"bufio"
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
	services, _ := beacons.Merge(config).Value("services").(*data.Map)
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
	entries, err := b.read(ctx, args...)
	if err != nil {
		return nil, err
	}
	services, _ := beacons.Merge(config).Value("services").(*data.Map)
	var events []*data.Map
	for _, entry := range entries {
		if cursor := entry.Text("__CURSOR"); cursor != "" {
			kept.cursor = cursor
		}
		if !first {
			events = append(events, matching(entry, services)...)
		}
	}
	return events, nil
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

// read returns entries of the journal.
func (b beacon) read(ctx context.Context, args ...string) ([]*data.Map, error) {
	cmd := exec.CommandContext(ctx, "journalctl",
		append([]string{"--quiet", "--no-pager", "--output=json", "--all"}, args...)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := b.env.Run(ctx, cmd); err != nil {
		return nil, fmt.Errorf("read the journal: %w: %s", err, strings.TrimSpace(errs.String()))
	}
	var entries []*data.Map
	lines := bufio.NewScanner(&out)
	for lines.Buffer(nil, 64<<20); lines.Scan(); {
		v, err := returners.ParseJSON(lines.Bytes())
		if err != nil {
			return nil, fmt.Errorf("read the journal: %w", err)
		}
		if fields, ok := v.(*data.Map); ok {
			entries = append(entries, typed(fields))
		}
	}
	return entries, lines.Err()
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

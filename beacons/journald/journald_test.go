package journald

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// entry is the entry of Salt's test_journald.py as journalctl prints it.
const entry = `{"_BOOT_ID": "ad3915a590084feca635140606525497", "__MONOTONIC_TIMESTAMP": "374186703069",` +
	`"_AUDIT_LOGINUID": "1000", "SYSLOG_FACILITY": "10", "_SYSTEMD_SLICE": "system.slice", "PRIORITY": "6",` +
	`"__REALTIME_TIMESTAMP": "1498594096468468", "__CURSOR": "THIS", "SYSLOG_IDENTIFIER": "sshd",` +
	`"_MACHINE_ID": "14fab5bb228d414bbdf4cbc62cb7ba54", "_PID": "15091", "RAW": [1, 2],` +
	`"_HOSTNAME": "hostname", "MESSAGE": "session opened"}` + "\n"

// probe returns a function that calls the beacon with the answers of journalctl one after the other. It
// returns the messages of the events and the last argument of journalctl.
func probe(t *testing.T, answers ...string) (turn func() (messages []string, asked string), log *logtest.Hook) {
	t.Helper()
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "journalctl"), []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	logger, log := logtest.NewNullLogger()
	asked := ""
	env := &loader.Env{Log: logger, Run: func(_ context.Context, cmd *exec.Cmd) error {
		asked = cmd.Args[len(cmd.Args)-1]
		_, err := io.Copy(cmd.Stdout, struct{ io.Reader }{strings.NewReader(answers[0])}) // in parts
		answers = answers[1:]
		return err
	}}
	r, err := loader.NewRegistry(env, []loader.Plugin{Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, scope := loader.WithScope(t.Context())
	t.Cleanup(func() { _ = scope.Close() })
	config := []any{data.NewMap("services", data.NewMap("all", data.NewMap()))}
	return func() ([]string, string) {
		t.Helper()
		events, err := r.Invoke(ctx, "journald.beacon", []any{config}, nil)
		if err != nil {
			t.Fatal(err)
		}
		var messages []string
		for _, e := range data.ListOf(events) {
			m, _ := e.(*data.Map)
			messages = append(messages, m.Text("MESSAGE"))
		}
		return messages, asked
	}, log
}

// TestManyEntries has more entries than a turn reads.
func TestManyEntries(t *testing.T) {
	var text strings.Builder
	for i := range mostEntries + 5 {
		fmt.Fprintf(&text, `{"__CURSOR": "c%d", "MESSAGE": "m%d"}`+"\n", i, i)
	}
	turn, _ := probe(t, `{"__CURSOR": "start"}`+"\n", text.String(), "")
	turn()
	got, asked := turn()
	if len(got) != mostEntries || got[0] != "m0" || asked != "--after-cursor=start" {
		t.Errorf("%d events after %s", len(got), asked)
	}
	if _, asked := turn(); asked != fmt.Sprintf("--after-cursor=c%d", mostEntries-1) {
		t.Errorf("then asked for %s", asked)
	}
}

// TestEntriesThatCannotBeRead has faulty entries between others, and as the last one.
func TestEntriesThatCannotBeRead(t *testing.T) {
	long := `{"MESSAGE": "` + strings.Repeat("x", mostBytes) + `", "__CURSOR": "lost"}`
	turn, log := probe(t, `{"__CURSOR": "start"}`+"\n", `{"__CURSOR": "c1", "MESSAGE": "m1"}
{"__CURSOR": "c2", "MESSAGE": no}
"text"
{"__CURSOR": "c3", "MESSAGE": "m3"}
`+long+"\n", long+`
{"__CURSOR" : "c4", "MESSAGE": "`+strings.Repeat("x", longest)+`"}
`, `{"__CURSOR": "c5", "MESSAGE": "m5"}`+"\n")
	turn()
	if got, _ := turn(); !slices.Equal(got, []string{"m1", "m3"}) {
		t.Errorf("events %q", got)
	}
	if got, asked := turn(); len(got) != 0 || asked != "--after-cursor=c3" {
		t.Errorf("events %q after %s", got, asked)
	}
	if got, asked := turn(); !slices.Equal(got, []string{"m5"}) || asked != "--after-cursor=c4" {
		t.Errorf("events %q after %s", got, asked)
	}
	if n := len(log.AllEntries()); n != 4 {
		t.Errorf("%d lines in the log", n)
	}
}

// FuzzCursorIn finds cursors in any text.
func FuzzCursorIn(f *testing.F) {
	f.Add([]byte(`{"__CURSOR" : "c1", "MESSAGE": "m"`))
	f.Add([]byte(`{"__CURSOR":`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if cursor := cursorIn(b); strings.ContainsAny(cursor, `"\`) || !strings.Contains(string(b), cursor) {
			t.Errorf("cursor %q", cursor)
		}
	})
}

func TestNewEntries(t *testing.T) {
	was := time.Local
	time.Local = time.UTC
	t.Cleanup(func() { time.Local = was })
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "journalctl"), []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	answers := []string{strings.Replace(entry, "THIS", "c1", 1), "", strings.Replace(entry, "THIS", "c2", 1) +
		strings.NewReplacer("THIS", "c3", "sshd", "cron").Replace(entry), ""}
	var cursors []string
	env := &loader.Env{Run: func(_ context.Context, cmd *exec.Cmd) error {
		cursors = append(cursors, cmd.Args[len(cmd.Args)-1])
		_, err := io.WriteString(cmd.Stdout, answers[len(cursors)-1])
		return err
	}}
	r, err := loader.NewRegistry(env, []loader.Plugin{Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, scope := loader.WithScope(t.Context())
	defer scope.Close()
	config := []any{data.NewMap("services", data.NewMap("sshd", data.NewMap("SYSLOG_IDENTIFIER", "sshd",
		"PRIORITY", int64(6))))}
	var got []any
	for range answers {
		events, err := r.Invoke(ctx, "journald.beacon", []any{config}, nil)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, events)
	}
	want := "[[], [], [{'_BOOT_ID': \"UUID('ad3915a5-9008-4fec-a635-140606525497')\", '__MONOTONIC_TIMESTAMP': " +
		"['datetime.timedelta(days=4, seconds=28586, microseconds=703069)', " +
		"\"UUID('ad3915a5-9008-4fec-a635-140606525497')\"], '_AUDIT_LOGINUID': 1000, 'SYSLOG_FACILITY': 10, " +
		"'_SYSTEMD_SLICE': 'system.slice', 'PRIORITY': 6, '__REALTIME_TIMESTAMP': " +
		"'datetime.datetime(2017, 6, 27, 20, 8, 16, 468468)', '__CURSOR': 'c2', 'SYSLOG_IDENTIFIER': 'sshd', " +
		"'_MACHINE_ID': \"UUID('14fab5bb-228d-414b-bdf4-cbc62cb7ba54')\", '_PID': 15091, '_HOSTNAME': 'hostname', " +
		"'MESSAGE': 'session opened', 'tag': 'sshd'}], []]"
	if text := data.Repr(got); text != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	if want := []string{"--lines=1", "--after-cursor=c1", "--after-cursor=c1", "--after-cursor=c3"}; !slices.Equal(cursors, want) {
		t.Errorf("asked for %q, want %q", cursors, want)
	}
}

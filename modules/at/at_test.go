package at_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/calls"
	"github.com/brineproject/brine/internal/test/testat"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/at"
	"github.com/brineproject/brine/modules/cmd"
	"github.com/brineproject/brine/render"
)

func newShelf(t *testing.T, grains *data.Map) *loader.Registry {
	t.Helper()
	r, err := loader.NewRegistry(&loader.Env{Grains: func() *data.Map { return grains }},
		[]loader.Plugin{cmd.Plugin(render.Brought{}), at.Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const (
	job1 = "{'job': 1, 'date': '2026-11-24', 'time': '03:06:00', 'queue': 'a', 'user': 'root', 'tag': 't1'}"
	job2 = "{'job': 2, 'date': '2026-11-24', 'time': '00:00:00', 'queue': 'a', 'user': 'root', 'tag': ''}"
	job3 = "{'job': 3, 'date': '2027-11-09', 'time': '09:09:00', 'queue': 'a', 'user': 'root', 'tag': '1'}"
)

// TestAt compares results with those of salt-call 3006.18 with at 3.2.5, except for the differences
// listed in the package documentation.
func TestAt(t *testing.T) {
	testat.Install(t)
	r := newShelf(t, data.NewMap("os", "Debian", "os_family", "Debian"))
	const none = "{'jobs': []}"
	for _, tt := range []struct {
		fun    string
		args   []any
		kwargs *data.Map
		want   string
	}{
		{"atq", nil, nil, none},
		{"atq", nil, nil, none},
		{"jobcheck", nil, data.NewMap("tag", "t1"), none},
		{"at", []any{"now +1 day"}, nil, none},
		{"at", []any{"now +1 day", "echo", "one"}, data.NewMap("tag", "t1"), "{'jobs': [" + job1 + "]}"},
		{"at", []any{"midnight", "reboot"}, nil, "{'jobs': [" + job2 + "]}"},
		{"at", []any{"9:09 11/09/27", "reboot"}, data.NewMap("tag", int64(1)), "{'jobs': [" + job3 + "]}"},
		{"at", []any{"nonsense", "reboot"}, nil, "{'jobs': [], 'error': 'invalid timespec'}"},
		{"at", []any{"-f", "/etc/shadow"}, nil, "{'jobs': [], 'error': 'invalid timespec'}"},
		{"at", []any{"past", "reboot"}, nil,
			"{'jobs': [], 'error': 'at: refusing to create job destined in the past'}"},
		{"atq", nil, nil, "{'jobs': [" + job1 + ", " + job2 + ", " + job3 + "]}"},
		{"atq", []any{"t1"}, nil, "{'jobs': [" + job1 + "]}"},
		{"atq", []any{int64(1)}, nil, "{'jobs': [" + job1 + "]}"},
		{"atq", []any{"1"}, nil, "{'jobs': [" + job3 + "]}"},
		{"atc", []any{int64(1)}, nil, `'#!/bin/sh\n# atrun uid=0 gid=0\numask 22\n### SALT: t1\necho one'`},
		{"atc", []any{int64(99)}, nil, `{'error': "invalid job id '99'"}`},
		{"atc", []any{"-V"}, nil, `{'error': "invalid job id '-V'"}`},
		{"jobcheck", nil, nil, "{'error': 'You have given a condition'}"},
		{"jobcheck", nil, data.NewMap("year", int64(26)), "{'jobs': [" + job1 + ", " + job2 + "]}"},
		{"jobcheck", nil, data.NewMap("year", int64(2027)), "{'jobs': [" + job3 + "]}"},
		{"jobcheck", nil, data.NewMap("hour", int64(0), "minute", "0"), "{'jobs': [" + job2 + "]}"},
		{"jobcheck", nil, data.NewMap("day", int64(9), "month", "11", "tag", int64(1)),
			"{'jobs': [" + job3 + "]}"},
		{"jobcheck", nil, data.NewMap("runas", "jam"),
			"{'jobs': [], 'note': 'No match jobs or time format error'}"},
		{"jobcheck", nil, data.NewMap("runas", "root", "minute", int64(6)), "{'jobs': [" + job1 + "]}"},
		{"atrm", nil, nil, "{'jobs': {'removed': [], 'tag': None}}"},
		{"atrm", []any{int64(77)}, nil, "{'jobs': {'removed': [], 'tag': None}}"},
		{"atrm", []any{"all", "nosuch"}, nil, "{'jobs': {'removed': [], 'tag': 'nosuch'}}"},
		{"atrm", []any{"all", int64(1)}, nil, "{'jobs': {'removed': ['3'], 'tag': '1'}}"},
		{"atrm", []any{int64(1), "2", "77"}, nil, "{'jobs': {'removed': ['1', '2'], 'tag': None}}"},
		{"atrm", []any{"all"}, nil, "{'jobs': {'removed': [], 'tag': None}}"},
	} {
		got, err := r.Invoke(t.Context(), "at."+tt.fun, tt.args, tt.kwargs)
		if err != nil || data.Repr(got) != tt.want {
			t.Errorf("at.%s %s %s\n got %s, %v\nwant %s", tt.fun, data.Repr(tt.args),
				data.Repr(tt.kwargs), data.Repr(got), err, tt.want)
		}
	}
	_, err := r.Invoke(t.Context(), "at.jobcheck", nil, data.NewMap("day", "noon"))
	if text := calls.Text(err); !strings.Contains(text, "invalid literal for int() with base 10: 'noon'") {
		t.Errorf("day=noon: %q", text)
	}
}

// TestRetcodeOfRemoval checks the return code of a job that removes others: that of at -d, as Salt
// runs it.
func TestRetcodeOfRemoval(t *testing.T) {
	dir := testat.Install(t)
	r := newShelf(t, data.NewMap("os", "Debian"))
	if _, err := r.Invoke(t.Context(), "at.at", []any{"midnight", "reboot"}, nil); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		args []any
		want any
	}{
		{"of no jobs", nil, nil},
		{"of a job that is there", []any{"1"}, int64(0)},
		{"of a job that is gone", []any{"1"}, int64(1)},
		{"of all where there are none", []any{"all"}, int64(1)},
	} {
		job := &loader.Context{}
		_, err := r.Invoke(loader.WithContext(t.Context(), job), "at.atrm", tt.args, nil)
		if code, _ := job.Get("retcode"); err != nil || code != tt.want {
			t.Errorf("%s: %v, %v, want %v", tt.name, code, err, tt.want)
		}
	}
	for name, body := range map[string]string{"q/8": "8\tTue Nov 24 03:06:00 2026 a root\n",
		"s/8": "", "at": "#!/bin/sh\nexit 3\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(body), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	job := &loader.Context{}
	_, err := r.Invoke(loader.WithContext(t.Context(), job), "at.atrm", []any{"8"}, nil)
	if code, _ := job.Get("retcode"); err != nil || code != int64(3) {
		t.Errorf("of a job that at cannot remove: %v, %v, want 3", code, err)
	}
}

// TestRemainingJob checks that only removed jobs are reported as removed.
func TestRemainingJob(t *testing.T) {
	dir := testat.Install(t)
	r := newShelf(t, data.NewMap("os", "Debian"))
	for _, file := range []string{"q/9", "s/9"} {
		if err := os.WriteFile(filepath.Join(dir, file),
			[]byte("9\tTue Nov 24 03:06:00 2026 = root\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		got, err := r.Invoke(t.Context(), "at.atrm", []any{"all"}, nil)
		if want := "{'jobs': {'removed': [], 'tag': None}}"; err != nil || data.Repr(got) != want {
			t.Errorf("got %s, %v, want %s", data.Repr(got), err, want)
		}
	}
}

// TestDenied checks that an unreadable queue is not treated as empty.
func TestDenied(t *testing.T) {
	dir := testat.Install(t)
	if err := os.WriteFile(filepath.Join(dir, "deny"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := newShelf(t, nil).Invoke(t.Context(), "at.atq", nil, nil)
	if err == nil || !strings.Contains(err.Error(), "You do not have permission to use atq.") {
		t.Errorf("got %s, %v", data.Repr(got), err)
	}
}

// TestQueues parses the queue in the format of other systems.
func TestQueues(t *testing.T) {
	for _, tt := range []struct{ name, os, family, lines, want string }{
		{"FreeBSD", "FreeBSD", "FreeBSD",
			"Date\t\t\t\tOwner\t\tQueue\tJob#\nX Nov 24 03:06:00 UTC 2026 root c 5\n",
			"[{'job': '5', 'date': '2026-11-24', 'time': '03:06:00', 'queue': 'c', 'user': 'root', 'tag': ''}]"},
		{"OpenBSD", "OpenBSD", "OpenBSD",
			" Rank     Execution Date     Owner          Job         Queue\n  1st   Nov 24, 2026 03:06   root      1795489560.c     c\n",
			"[{'job': '1795489560.c', 'date': '2026-11-24', 'time': '03:06:00', 'queue': 'c', 'user': 'root', 'tag': ''}]"},
		{"CentOS 5", "CentOS", "RedHat", "5\t2026-11-24 03:06 a root\n",
			"[{'job': 5, 'date': '2026-11-24', 'time': '03:06', 'queue': 'a', 'user': 'root', 'tag': ''}]"},
		{"later of Red Hat", "Rocky", "RedHat", "5\tTue Nov 24 03:06:00 2026 a root\n",
			"[{'job': 5, 'date': '2026-11-24', 'time': '03:06:00', 'queue': 'a', 'user': 'root', 'tag': ''}]"},
		{"no queue", "Debian", "Debian", "what is this\n", ""},
		{"a broken line", "Debian", "Debian", "5\tTue Nov\n", ""},
		{"a broken date", "Debian", "Debian", "5\tTue Nov 44 03:06:00 2026 a root\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := testat.Install(t)
			if err := os.WriteFile(filepath.Join(dir, "q/5"), []byte(tt.lines), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := newShelf(t, data.NewMap("os", tt.os,
				"os_family", tt.family)).Invoke(t.Context(), "at.atq", nil, nil)
			if tt.want == "" {
				if err == nil || !strings.Contains(err.Error(), "cannot read the line") {
					t.Errorf("got %s, %v, want an error", data.Repr(got), err)
				}
			} else if err != nil || data.Repr(got) != "{'jobs': "+tt.want+"}" {
				t.Errorf("got %s, %v, want %s", data.Repr(got), err, tt.want)
			}
		})
	}
}

// TestTagIsOneLine checks that a tag cannot inject a command.
func TestTagIsOneLine(t *testing.T) {
	dir := testat.Install(t)
	got, err := newShelf(t, nil).Invoke(t.Context(), "at.at", []any{"midnight", "true"},
		data.NewMap("tag", "t\nreboot"))
	if err == nil || !strings.Contains(err.Error(), "has several lines") {
		t.Errorf("got %s, %v", data.Repr(got), err)
	}
	if jobs, err := os.ReadDir(filepath.Join(dir, "q")); err != nil || len(jobs) > 0 {
		t.Errorf("jobs %v, %v", jobs, err)
	}
}

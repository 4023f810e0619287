package logging

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/brineproject/brine/data"
)

func TestSettingsOfOptions(t *testing.T) {
	got, err := SettingsOf(data.NewMap("log_level", "info", "log_level_logfile", nil, "log_file",
		"/var/log/salt/master", "log_fmt_console", "json", "log_fmt_logfile", "%(message)s",
		"log_fmt_jid", "%(jid)s", "log_datefmt", "%H", "log_datefmt_logfile", "%Y",
		"log_granular_levels", data.NewMap("salt", "warning", "salt.master", int64(5)),
		"log_rotate_max_bytes", int64(1000), "log_rotate_backup_count", int64(3)))
	want := Settings{Level: "info", File: "/var/log/salt/master", ConsoleFormat: "json",
		FileFormat: "%(message)s", JIDFormat: "%(jid)s", ConsoleDate: "%H", FileDate: "%Y",
		Granular: map[string]string{"salt": "warning", "salt.master": "5"}, RotateBytes: 1000,
		RotateBackups: 3}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	got, err = SettingsOf(data.NewMap("log_datefmt", "%H", "log_datefmt_console", "%M"))
	if diff := cmp.Diff(Settings{ConsoleDate: "%M"}, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
}

func TestOptionsOfAnotherTypeAreRefused(t *testing.T) {
	for _, tt := range []struct {
		option string
		value  any
		want   string
	}{
		{"log_level", true, "log_level: True is not text"},
		{"log_fmt_console", []any{"x"}, "log_fmt_console: ['x'] is not text"},
		{"log_granular_levels", []any{}, "log_granular_levels: [] is not a dictionary of names and levels"},
		{"log_rotate_max_bytes", "5M", "log_rotate_max_bytes: '5M' is not a number from 0 on"},
		{"log_rotate_backup_count", int64(-1), "log_rotate_backup_count: -1 is not a number from 0 on"},
	} {
		if _, err := SettingsOf(data.NewMap(tt.option, tt.value)); err == nil || err.Error() != tt.want {
			t.Errorf("%v, want %s", err, tt.want)
		}
	}
}

func TestEachLevelHasItsName(t *testing.T) {
	for _, name := range Levels() {
		level, err := ParseLevel(strings.ToUpper(name))
		if want := strings.ToUpper(name); err != nil || level.String() != want &&
			(level != All || level.String() != "NOTSET") {
			t.Errorf("%s: %s, %v", name, level, err)
		}
	}
	if _, err := ParseLevel("loud"); err == nil ||
		!strings.Contains(err.Error(), "all, garbage, trace, debug, profile, info") {
		t.Error(err)
	}
	if got := Level(25).String(); got != "Level 25" {
		t.Error(got)
	}
}

package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The options of syndics come from both files, and the minion's win.
func TestLoadSyndic(t *testing.T) {
	dir := tree(t, map[string]string{
		"master": "root_dir: ROOT\ntimeout: 7\nsyndic_master: first\nsyndic_failover: ordered\nsyndic_pidfile: /var/run/a.pid\n",
		"minion": "id: lower\nmaster_port: 4606\nsyndic_master: [second, 'third:5506']\n" +
			"syndic_event_forward_timeout: '0.25'\nsyndic_log_file: /var/log/salt/b\n",
	})
	s, report, err := LoadSyndic(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("ROOT")
	if err != nil {
		t.Fatal(err)
	}
	opts := s.Master.Map()
	for name, want := range map[string]any{
		"syndic_master": "[second third:5506]", "syndic_failover": "ordered", "timeout": "7",
		"syndic_pidfile": filepath.Join(root, "var/run/a.pid"), "syndic_log_file": filepath.Join(root, "var/log/salt/b"),
	} {
		if got := fmt.Sprint(opts.Value(name)); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	if s.Minion.ID != "lower" || s.Minion.MasterPort != 4606 || s.Master.SyndicEventForwardTimeout != 250*time.Millisecond {
		t.Errorf("id %s, port %d, %s", s.Minion.ID, s.Minion.MasterPort, s.Master.SyndicEventForwardTimeout)
	}
	for name, want := range map[string]string{"syndic_master": "minion:3", "syndic_failover": "master:4", "timeout": "master:2"} {
		if got := strings.TrimPrefix(report.At(name).String(), dir+"/"); got != want {
			t.Errorf("%s is set in %s, want %s", name, got, want)
		}
	}
	if list := strings.Join(report.Files, " "); !strings.Contains(list, "/master") || !strings.Contains(list, "/minion") {
		t.Errorf("files %s", list)
	}
}

// The fingerprint may be in either file.
func TestFingerprintOfTheMasterAbove(t *testing.T) {
	for name, tt := range map[string]struct{ master, minion, want string }{
		"minion": {"", "syndic_finger: aa:bb\n", "aa:bb"},
		"master": {"syndic_finger: cc:dd\n", "", "cc:dd"},
		"both":   {"syndic_finger: cc:dd\n", "syndic_finger: aa:bb\n", "aa:bb"},
		"none":   {"", "master_finger: ee:ff\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := tree(t, map[string]string{"master": tt.master, "minion": "id: a\n" + tt.minion})
			s, report, err := LoadSyndic(dir, nil)
			if err != nil || s.Minion.SyndicFinger != tt.want || len(report.Warnings) > 0 {
				t.Errorf("got %v, %v, %q", s, err, report.Warnings)
			}
		})
	}
}

// Faults in both files are reported together.
func TestLoadSyndicReportsAllFaults(t *testing.T) {
	dir := tree(t, map[string]string{"master": "syndic_master: {a: b}\n", "minion": "id: a\nmaster_port: x\n"})
	_, report, err := LoadSyndic(dir, nil)
	var fault *Error
	if report == nil || !errors.As(err, &fault) || !strings.Contains(err.Error(), "master:1: syndic_master: ") ||
		!strings.Contains(err.Error(), "minion:2: master_port: ") {
		t.Errorf("got %v", err)
	}
}

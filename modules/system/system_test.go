//go:build !windows && !darwin

package system

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/replay"
	"github.com/brineproject/brine/loader"
)

// testdata/calls.json holds the commands and results of Salt 3006.0.
func TestCalls(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"hostnamectl", "hwclock"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/false\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	replay.Check(t, "testdata/calls.json",
		replay.Options{Root: t.TempDir(), Plugins: []loader.Plugin{Plugin()}})
}

// TestDateAndTime checks that parts which are not given stay as they are.
func TestDateAndTime(t *testing.T) {
	ran := ""
	shell := func(_ context.Context, fun string, args []any, _ *data.Map) (any, error) {
		if line := data.Str(args[0]); strings.HasPrefix(line, "['date'") {
			ran = line
		}
		return data.NewMap("retcode", int64(0), "stdout", "", "stderr", ""), nil
	}
	m := &module{&loader.Env{Call: shell}}
	r, err := loader.NewRegistry(m.env, []loader.Plugin{Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ fun, arg, want string }{
		{"set_system_time", "11:20", "['date', '-u', 'MMDD1120YYYY.00']"},
		{"set_system_time", "11:20:05 PM", "['date', '-u', 'MMDD2320YYYY.05']"},
		{"set_system_date", "03-28-13", "['date', '-u', '0328hhmm2013"},
		{"set_system_date", "2021/12/31", "['date', '-u', '1231hhmm2021"},
	} {
		for range 2 {
			before := time.Now().UTC()
			if got, err := r.Invoke(t.Context(), "system."+c.fun, []any{c.arg, "+0000"},
				nil); err != nil || got != true {
				t.Errorf("%s %s gives %v, %v", c.fun, c.arg, got, err)
			}
			want := func(now time.Time) string {
				return strings.NewReplacer("MMDD", now.Format("0102"), "YYYY", now.Format("2006"),
					"hhmm", now.Format("1504")).Replace(c.want)
			}
			if !strings.HasPrefix(ran, want(before)) && !strings.HasPrefix(ran, want(time.Now().UTC())) {
				t.Errorf("%s %s runs %s, want %s", c.fun, c.arg, ran, c.want)
			}
		}
	}
	for fun, layout := range map[string]string{"get_system_time": "03:04:05 PM",
		"get_system_date_time": "2006-01-02 15:04:05", "get_system_date": "Mon 01/02/2006"} {
		before := time.Now().UTC().Add(5*time.Hour + 30*time.Minute)
		got, err := r.Invoke(t.Context(), "system."+fun, []any{"+0530"}, nil)
		after := time.Now().UTC().Add(5*time.Hour + 30*time.Minute)
		if text, _ := got.(string); err != nil || text != before.Format(layout) &&
			text != after.Format(layout) {
			t.Errorf("%s gives %v, %v", fun, got, err)
		}
	}
	if _, err := r.Invoke(t.Context(), "system.set_system_date_time", []any{2015, 2, 30},
		nil); loader.KindOf(err) != loader.KindInvocation {
		t.Errorf("the 30th of February: %v", err)
	}
}

func TestDescribed(t *testing.T) {
	for text, want := range map[string]string{"": "P\n", "A=1": "A=1\nP\n",
		"A=1\n PRETTY_HOSTNAME=x\nB=2\n": "A=1\nP\nB=2\n"} {
		if got := described(text, "P"); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

// TestWitness checks that the functions of NI Linux RT exist only there.
func TestWitness(t *testing.T) {
	env := &loader.Env{Root: t.TempDir(),
		Grains: func() *data.Map { return data.NewMap("os_family", "NILinuxRT") }}
	r, err := loader.NewRegistry(env, []loader.Plugin{Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := r.Invoke(t.Context(), "system.get_reboot_required_witnessed", nil,
		nil); err != nil || got != false {
		t.Errorf("before: %v, %v", got, err)
	}
	for _, fun := range []string{"set", "set", "get"} {
		if got, err := r.Invoke(t.Context(), "system."+fun+"_reboot_required_witnessed", nil,
			nil); err != nil || got != true {
			t.Errorf("%s: %v, %v", fun, got, err)
		}
	}
}

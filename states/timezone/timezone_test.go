//go:build !windows && !darwin

package timezone_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/cmd"
	modules "github.com/brineproject/brine/modules/timezone"
	"github.com/brineproject/brine/render"
	"github.com/brineproject/brine/state/change"
	"github.com/brineproject/brine/states/timezone"
)

// Output of timedatectl of systemd 252, without and with a running daemon.
const (
	silent = `echo "System has not been booted with systemd as init system (PID 1). Can't operate." >&2; echo "Failed to connect to bus: Host is down" >&2; exit 1`
	spoken = `case $1 in
set-timezone) ln -sfn /usr/share/zoneinfo/$2 ROOT/etc/localtime; echo $2 > ROOT/zone; rm -f ROOT/etc/localtime; cp ROOT/usr/share/zoneinfo/$2 ROOT/etc/localtime;;
set-local-rtc) [ $2 = true ] && echo yes > ROOT/rtc || echo no > ROOT/rtc;;
*) cat <<X
               Local time: Sun 2026-11-22 11:00:00 CET
           Universal time: Sun 2026-11-22 10:00:00 UTC
                 RTC time: n/a
                Time zone: $(cat ROOT/zone) (CET, +0100)
System clock synchronized: no
              NTP service: inactive
          RTC in local TZ: $(cat ROOT/rtc)
X
esac`
)

// A host has two time zones.
type host struct {
	t      *testing.T
	root   string
	funcs  *loader.Registry
	states *loader.Registry
}

func newHost(t *testing.T, family, timedatectl string) *host {
	t.Helper()
	h := &host{t: t, root: t.TempDir()}
	for name, body := range map[string]string{"usr/share/zoneinfo/Europe/Berlin": "TZif berlin",
		"usr/share/zoneinfo/America/Denver": "TZif denver", "etc/default/locale": "",
		"usr/share/zoneinfo/UTC": "TZif utc", "usr/share/zoneinfo/posix/UTC": "TZif utc",
		"zone": "UTC\n", "rtc": "yes\n", "etc/sysconfig/clock": "# clock\nZONE=\"UTC\"\nUTC=true\n",
		"etc/timezone": "Etc/UTC\n", "etc/localtime": "TZif utc",
		"etc/adjtime": "0.0 0 0.0\n0\nLOCAL\n", "bin/timedatectl": "#!/bin/sh\n" +
			strings.ReplaceAll(timedatectl, "ROOT", h.root)} {
		path := filepath.Join(h.root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(body), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", filepath.Join(h.root, "bin")+":"+os.Getenv("PATH"))
	env := &loader.Env{Root: h.root, Opts: data.NewMap("id", "web1"),
		Grains: func() *data.Map { return data.NewMap("os", family, "os_family", family) }}
	var err error
	if h.funcs, err = loader.NewRegistry(env,
		[]loader.Plugin{cmd.Plugin(render.Brought{}), modules.Plugin()}); err != nil {
		t.Fatal(err)
	}
	if h.states, err = loader.NewRegistry(h.funcs.Env(), []loader.Plugin{timezone.Plugin()}); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *host) system(test bool, name string, utc bool) *data.Map {
	h.t.Helper()
	ctx := change.WithCall(h.t.Context(), &change.Call{Test: test, Low: &data.Map{}})
	v, err := h.states.Invoke(ctx, "timezone.system", nil, data.NewMap("name", name, "utc", utc))
	if err != nil {
		h.t.Fatal(err)
	}
	return v.(*data.Map)
}

func (h *host) says(ret *data.Map, result any, changes *data.Map, comment string) {
	h.t.Helper()
	if ret.Value("result") != result || !data.Equal(ret.Value("changes"), changes) ||
		ret.Text("comment") != comment {
		h.t.Errorf("it gives %s\nwant %v, %s, %q", data.Repr(ret), result, data.Repr(changes), comment)
	}
}

func (h *host) call(fun string, args ...any) any {
	h.t.Helper()
	v, err := h.funcs.Invoke(h.t.Context(), "timezone."+fun, args, nil)
	if err != nil {
		h.t.Errorf("%s: %v", fun, err)
	}
	return v
}

// The comments are those of Salt 3006.0.
func TestSystem(t *testing.T) {
	for _, c := range []struct {
		name, family,
		timedatectl string
	}{{"timedatectl", "Debian", spoken}, {"a container", "Debian", silent},
		{"no systemd", "Gentoo", silent}} {
		t.Run(c.name, func(t *testing.T) {
			h := newHost(t, c.family, c.timedatectl)
			if got := h.call("get_zone"); got != "UTC" && got != "Etc/UTC" {
				t.Errorf("the zone is %v", got)
			}
			h.says(h.system(true, "Europe/Berlin", false), nil, data.NewMap(),
				"Timezone Europe/Berlin needs to be set")
			if got := h.call("zone_compare", "UTC"); got != true {
				t.Error("test mode set the zone")
			}
			h.says(h.system(false, "Europe/Berlin", false), true,
				data.NewMap("timezone", "Europe/Berlin"), "Set timezone Europe/Berlin")
			h.says(h.system(false, "Europe/Berlin", false), true, data.NewMap(),
				"Timezone Europe/Berlin already set")
			h.says(h.system(true, "Europe/Berlin", false), true, data.NewMap(),
				"Timezone Europe/Berlin already set")
			if got := h.call("get_zone"); got != "Europe/Berlin" {
				t.Errorf("the zone is %v", got)
			}
			h.says(h.system(false, "Mars/Olympus", true), false, data.NewMap(),
				"Unable to compare desired timezone 'Mars/Olympus' to system timezone: Can't find a local timezone \"Mars/Olympus\"")
			if got := h.call("set_zone", "Mars/Olympus"); got != "Zone does not exist: /usr/share/zoneinfo/Mars/Olympus" {
				t.Errorf("a zone that is not there: %v", got)
			}
			if got := h.call("set_zone", "../../../etc/timezone"); got == true {
				t.Error("a file outside is a zone")
			}
		})
	}
}

func TestClock(t *testing.T) {
	for _, c := range []struct{ name, timedatectl string }{{"timedatectl", spoken}, {"a container", silent}} {
		t.Run(c.name, func(t *testing.T) {
			h := newHost(t, "Debian", c.timedatectl)
			h.call("set_zone", "UTC")
			h.says(h.system(true, "America/Denver", true), nil, data.NewMap(),
				"Timezone America/Denver needs to be set, UTC needs to be set to True")
			h.says(h.system(false, "America/Denver", true), true,
				data.NewMap("timezone", "America/Denver", "utc", true),
				"Set timezone America/Denver, Set UTC to True")
			h.says(h.system(false, "America/Denver", true), true, data.NewMap(),
				"Timezone America/Denver already set, UTC already set to America/Denver")
			h.says(h.system(true, "America/Denver", true), true, data.NewMap(),
				"Timezone America/Denver already set, UTC already set to America/Denver")
			for range 2 {
				if got := h.call("set_hwclock", "localtime"); got != true {
					t.Errorf("set_hwclock gives %v", got)
				}
				if got := h.call("get_hwclock"); got == "UTC" {
					t.Error("the clock keeps UTC")
				}
			}
		})
	}
}

// The files used by other OS families.
func TestFamilies(t *testing.T) {
	for family, want := range map[string][2]string{
		"RedHat": {"etc/sysconfig/clock", "# clock\nZONE=\"Europe/Berlin\"\nUTC=true\n"},
		"Gentoo": {"etc/timezone", "Europe/Berlin\n"}, "Alpine": {"etc/timezone", "Etc/UTC\n"}} {
		h := newHost(t, family, silent)
		if got := h.call("get_zone"); got != "UTC" && got != "Etc/UTC" {
			t.Errorf("%s: the zone is %v", family, got)
		}
		for range 2 {
			if got := h.call("set_zone", "Europe/Berlin"); got != true {
				t.Errorf("%s: set_zone gives %v", family, got)
			}
			if got := h.call("get_zone"); got != "Europe/Berlin" {
				t.Errorf("%s: the zone is %v", family, got)
			}
		}
		if src, err := os.ReadFile(filepath.Join(h.root, want[0])); err != nil || string(src) != want[1] {
			t.Errorf("%s: %s has %q, %v", family, want[0], src, err)
		}
	}
	h := newHost(t, "Debian", silent)
	if code, offset := h.call("get_zonecode"), h.call("get_offset"); code == "" || len(offset.(string)) != 5 {
		t.Errorf("the code is %v, the offset %v", code, offset)
	}
}

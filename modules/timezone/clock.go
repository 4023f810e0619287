package timezone

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

// getHwclock returns the time that the hardware clock keeps: UTC or localtime.
//
// CLI Example:
//
//	salt '*' timezone.get_hwclock
func (m *module) getHwclock(ctx context.Context, _ loader.NoArgs) (any, error) {
	output, ok, err := m.timedatectl(ctx)
	if err != nil {
		return nil, err
	}
	if ok {
		return parseClock(output)
	}
	switch {
	case m.family("Debian"):
		if clock, ok := m.setting("/etc/default/rcS", "UTC="); ok {
			if strings.EqualFold(clock, "yes") {
				return "UTC", nil
			}
			return "localtime", nil
		}
	case m.family("Gentoo") && !m.exists("/etc/adjtime"):
		switch clock, _ := m.setting("/etc/conf.d/hwclock", "clock="); strings.Trim(clock, `'"`) {
		case "UTC":
			return "UTC", nil
		case "local":
			return "LOCAL", nil
		}
		return nil, loader.Execution("Correct offset value not found in /etc/conf.d/hwclock")
	case m.family("Slackware") && !m.exists("/etc/adjtime"):
		if clock, ok := m.setting("/etc/hardwareclock", "UTC"); !ok && clock == "" &&
			m.exists("/etc/hardwareclock") {
			return "localtime", nil
		}
		return "UTC", nil
	}
	return m.adjtime()
}

// parseClock parses timedatectl's output about the clock.
func parseClock(output string) (any, error) {
	for line := range strings.SplitSeq(output, "\n") {
		line = strings.ToLower(strings.TrimSpace(line))
		if !strings.Contains(line, "rtc in local tz") {
			continue
		}
		if strings.TrimSpace(line[strings.LastIndexByte(line, ':')+1:]) == "yes" {
			return "localtime", nil
		}
		return "UTC", nil
	}
	return nil, loader.Execution("Failed to parse timedatectl output: %s\nPlease file an issue with SaltStack", output)
}

func (m *module) exists(file string) bool {
	_, err := os.Stat(m.at(file))
	return err == nil
}

// setting returns the rest of the first line that begins with a text.
func (m *module) setting(file, begin string) (value string, ok bool) {
	src, _ := os.ReadFile(m.at(file))
	for line := range strings.Lines(string(src)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), begin); ok {
			return value, true
		}
	}
	return "", false
}

// adjtime returns the last line of /etc/adjtime, which hwclock writes. Without the file, as on new
// systems, the clock keeps UTC (hwclock(8)).
func (m *module) adjtime() (any, error) {
	src, err := os.ReadFile(m.at("/etc/adjtime"))
	switch {
	case errors.Is(err, fs.ErrNotExist) && m.exists("/dev/rtc"):
		return "UTC", nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, loader.Execution("Unable to get hwclock timezone from /etc/adjtime: %w", err)
	}
	lines := strings.Split(strings.TrimRight(string(src), "\n"), "\n")
	return lines[len(lines)-1], nil
}

type clockArgs struct{ Clock string }

// setHwclock sets the time that the hardware clock keeps: UTC or localtime.
//
// CLI Example:
//
//	salt '*' timezone.set_hwclock UTC
func (m *module) setHwclock(ctx context.Context, a clockArgs) (any, error) {
	_, ok, err := m.timedatectl(ctx)
	if err != nil {
		return nil, err
	}
	local := "false"
	if a.Clock == "localtime" {
		local = "true"
	}
	if ok {
		return calls.Succeeds(ctx, m.env,
			calls.Run{Argv: []string{"timedatectl", "set-local-rtc", local}})
	}
	if m.family("NILinuxRT") {
		if !strings.EqualFold(a.Clock, "utc") {
			return nil, loader.Invocation("UTC is the only permitted value")
		}
		return true, nil
	}
	return m.writeClock(ctx, a.Clock)
}

// writeClock writes the setting into the file that this OS family uses.
func (m *module) writeClock(ctx context.Context, clock string) (any, error) {
	zone, err := m.zone(ctx)
	if err != nil {
		return nil, err
	}
	if !m.exists(zones + zone) {
		return nil, loader.Execution("Zone '%s' does not exist", zones+zone)
	}
	known := clock == "UTC" || clock == "localtime"
	err = m.link(zones + zone)
	switch {
	case err != nil:
	case m.family("RedHat", "Suse"):
		err = m.name(zone)
	case m.family("Debian") && known:
		err = m.debianClock(clock)
	case m.family("Gentoo", "Slackware") && !known:
		return nil, loader.Invocation("Only 'UTC' and 'localtime' are allowed")
	case m.family("Gentoo"):
		err = m.replace("/etc/conf.d/hwclock", "clock=", `clock="`+
			map[string]string{"UTC": "UTC", "localtime": "local"}[clock]+`"`)
	case m.family("Slackware"):
		if err = m.replace("/etc/hardwareclock", "UTC", clock); err == nil {
			err = m.replace("/etc/hardwareclock", "localtime", clock)
		}
	}
	if err != nil {
		return nil, loader.Execution("set the hardware clock setting: %w", err)
	}
	return true, nil
}

// debianClock writes the setting into /etc/default/rcS if that file has one, else into
// /etc/adjtime.
func (m *module) debianClock(clock string) error {
	if _, ok := m.setting("/etc/default/rcS", "UTC="); ok {
		return m.replace("/etc/default/rcS", "UTC=",
			"UTC="+map[string]string{"UTC": "yes", "localtime": "no"}[clock])
	}
	src, err := os.ReadFile(m.at("/etc/adjtime"))
	if errors.Is(err, fs.ErrNotExist) {
		src = []byte("0.0 0 0.0\n0\n")
	} else if err != nil {
		return err
	}
	lines := strings.Split(strings.TrimRight(string(src), "\n"), "\n")
	if len(lines) > 2 {
		lines = lines[:2]
	}
	return m.write("/etc/adjtime", strings.Join(lines, "\n")+"\n"+
		map[string]string{"UTC": "UTC", "localtime": "LOCAL"}[clock]+"\n")
}

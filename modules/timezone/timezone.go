// Package timezone is Salt's module timezone: the time zone of the system, and whether its hardware
// clock keeps UTC (salt/modules/timezone.py).
//
// The module uses timedatectl if it is installed, else the files of the OS family.
//
// Differences from Salt: if timedatectl is installed but does not work, as in a container, the
// module uses the files. It replaces /etc/localtime and the other files atomically. If no file has
// the setting, the clock keeps UTC. Solaris and AIX are not supported.
package timezone

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// Plugin returns the module timezone.
func Plugin() loader.Plugin { return loader.Plugin{Name: "timezone", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	if err := refuse(); err != nil {
		return nil, err
	}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("get_hwclock", m.getHwclock),
		loader.F("get_offset", m.getOffset),
		loader.F("get_zone", m.getZone),
		loader.F("get_zonecode", m.getZonecode),
		loader.F("set_hwclock", m.setHwclock),
		loader.F("set_zone", m.setZone),
		loader.F("zone_compare", m.zoneCompare),
	}}, nil
}

const zones = "/usr/share/zoneinfo/"

func (m *module) at(path string) string { return filepath.Join("/", m.env.Root, path) }

func (m *module) family(names ...string) bool {
	now := m.env.GrainsNow().Text("os_family")
	for _, name := range names {
		if strings.Contains(now, name) {
			return true
		}
	}
	return false
}

// localtime returns the file that the C library reads.
func (m *module) localtime() string {
	if m.family("NILinuxRT") && strings.Contains(m.env.GrainsNow().Text("lsb_distrib_id"),
		"nilrt") {
		return "/etc/natinst/share/localtime"
	}
	return "/etc/localtime"
}

// timedatectl returns the output of timedatectl. ok is false if the program does not work.
func (m *module) timedatectl(ctx context.Context) (output string, ok bool, err error) {
	if process.Find("timedatectl") == "" {
		return "", false, nil
	}
	ran, err := calls.RunAll(ctx, m.env,
		calls.Run{Argv: []string{"timedatectl"}, IgnoreRetcode: true})
	if err != nil {
		return "", false, err
	}
	if ran.Retcode == 0 {
		return ran.Stdout, true, nil
	}
	if why := ran.Stderr; !strings.Contains(why, "connect to bus") &&
		!strings.Contains(why, "booted with systemd") {
		return "", false, loader.Execution("timedatectl failed: %s", why)
	}
	return "", false, nil
}

var (
	zoneLine = regexp.MustCompile(`^Time ?zone:\s+(\S+)`)
	zoneFile = regexp.MustCompile(`^\s*[^#\s].*ZONE.*=|^ZONE.*=`)
)

// getZone returns the time zone.
//
// CLI Example:
//
//	salt '*' timezone.get_zone
func (m *module) getZone(ctx context.Context, _ loader.NoArgs) (any, error) { return m.zone(ctx) }

func (m *module) zone(ctx context.Context) (string, error) {
	output, ok, err := m.timedatectl(ctx)
	if err != nil {
		return "", err
	}
	if ok {
		for line := range strings.SplitSeq(output, "\n") {
			if match := zoneLine.FindStringSubmatch(strings.TrimSpace(line)); match != nil {
				return match[1], nil
			}
		}
		return "", loader.Execution("Failed to parse timedatectl output: %s\nPlease file an issue with SaltStack", output)
	}
	switch {
	case strings.EqualFold(m.env.GrainsNow().Text("os"), "centos"):
		return m.linked()
	case m.family("RedHat", "Suse"):
		return m.configured("/etc/sysconfig/clock")
	case m.family("Debian", "Gentoo"):
		return m.written()
	case m.family("FreeBSD", "OpenBSD", "NetBSD", "NILinuxRT", "Slackware", "Alpine",
		"Arch", "Void"):
		return m.linked()
	}
	return "", loader.Execution("Unable to get timezone")
}

// configured returns the zone in a file with lines NAME=value.
func (m *module) configured(file string) (string, error) {
	src, err := os.ReadFile(m.at(file))
	if err != nil {
		return "", loader.OSError(err)
	}
	for line := range strings.Lines(string(src)) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(strings.TrimSpace(line), "#") || !zoneFile.MatchString(line) {
			continue
		}
		value := strings.Trim(line[strings.LastIndexByte(line, '=')+1:], `'"`)
		if value == "" {
			value = "UTC"
		}
		return value, nil
	}
	return "", loader.Execution("Unable to get timezone from %s", file)
}

// written returns the zone in /etc/timezone, or that of the link if the file is missing.
func (m *module) written() (string, error) {
	src, err := os.ReadFile(m.at("/etc/timezone"))
	if errors.Is(err, fs.ErrNotExist) {
		if zone, err := m.linked(); err == nil {
			return zone, nil
		}
	}
	if err != nil {
		return "", loader.Execution("Problem reading timezone file /etc/timezone: %s", reason(err))
	}
	return strings.TrimSpace(string(src)), nil
}

// linked returns the zone that /etc/localtime links to, or one with the same contents.
func (m *module) linked() (string, error) {
	file := m.localtime()
	target, err := os.Readlink(m.at(file))
	if errors.Is(err, fs.ErrNotExist) {
		return "", loader.Execution("%s does not exist", file)
	}
	if err == nil {
		if !filepath.IsAbs(target) {
			target = filepath.Join("/etc", target)
		}
		if zone, ok := strings.CutPrefix(filepath.Clean(target), zones); ok {
			return zone, nil
		}
		return "", loader.Execution("Unable to determine timezone")
	}
	return m.sameContents(file)
}

// sameContents returns the first zone with the same contents as a file.
func (m *module) sameContents(file string) (string, error) {
	want, err := os.ReadFile(m.at(file))
	if err != nil {
		return "", loader.OSError(err)
	}
	zone := ""
	root := m.at(zones)
	_ = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		name := strings.TrimPrefix(path, root+"/")
		if err != nil || e.IsDir() || name[0] >= 'a' && name[0] <= 'z' {
			return nil
		}
		if src, err := os.ReadFile(path); err == nil && bytes.Equal(src, want) {
			zone = name
			return fs.SkipAll
		}
		return nil
	})
	if zone == "" {
		return "", loader.Execution("Unable to determine timezone")
	}
	return zone, nil
}

// reason returns the system's text for an error, as Python's strerror does.
func reason(err error) string {
	var path *fs.PathError
	if !errors.As(err, &path) {
		return err.Error()
	}
	text := path.Err.Error()
	return strings.ToUpper(text[:1]) + text[1:]
}

// getZonecode returns the abbreviation of the time zone, such as CET.
//
// CLI Example:
//
//	salt '*' timezone.get_zonecode
func (m *module) getZonecode(ctx context.Context, _ loader.NoArgs) (any, error) {
	return calls.RunOutput(ctx, m.env, calls.Run{Argv: []string{"date", "+%Z"}})
}

// getOffset returns the offset from UTC, such as +0100.
//
// CLI Example:
//
//	salt '*' timezone.get_offset
func (m *module) getOffset(ctx context.Context, _ loader.NoArgs) (any, error) {
	return calls.RunOutput(ctx, m.env, calls.Run{Argv: []string{"date", "+%z"}})
}

type zoneArgs struct{ Timezone string }

// setZone sets the time zone of the system. It returns True, or an error text if the zone does not
// exist.
//
// CLI Example:
//
//	salt '*' timezone.set_zone 'America/Denver'
func (m *module) setZone(ctx context.Context, a zoneArgs) (any, error) {
	file := zones + a.Timezone
	if !filepath.IsLocal(a.Timezone) {
		return "Zone does not exist: " + file, nil
	}
	if info, err := os.Stat(m.at(file)); err != nil || info.IsDir() {
		return "Zone does not exist: " + file, nil
	}
	if _, _, err := m.timedatectl(ctx); err == nil && process.Find("timedatectl") != "" {
		argv := []string{"timedatectl", "set-timezone", a.Timezone}
		if _, err := calls.RunOutput(ctx, m.env,
			calls.Run{Argv: argv, IgnoreRetcode: true}); err != nil {
			m.env.Log.Debugf("timedatectl failed to set the time zone: %v", err)
		}
	}
	if err := m.link(file); err != nil {
		return nil, loader.Execution("set the time zone: %w", err)
	}
	if err := m.name(a.Timezone); err != nil {
		return nil, loader.Execution("set the time zone: %w", err)
	}
	return true, nil
}

// rules returns the contents of a zone file. A link leads to a file of the same system.
func (m *module) rules(file string) ([]byte, error) {
	if target, err := os.Readlink(m.at(file)); err == nil && filepath.IsAbs(target) {
		file = target
	}
	return os.ReadFile(m.at(file))
}

// link makes the file that the C library reads a link to a zone.
func (m *module) link(zone string) error {
	place := m.at(m.localtime())
	if now, err := os.Readlink(place); err == nil && now == zone {
		return nil
	}
	next := place + ".new"
	if err := os.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Symlink(zone, next); err != nil {
		return err
	}
	return os.Rename(next, place)
}

// name writes the name of the zone into the file that this OS family uses.
func (m *module) name(zone string) error {
	switch {
	case m.family("RedHat"):
		return m.replace("/etc/sysconfig/clock", "ZONE=", `ZONE="`+zone+`"`)
	case m.family("Suse"):
		return m.replace("/etc/sysconfig/clock", "TIMEZONE=", `TIMEZONE="`+zone+`"`)
	case m.family("Debian", "Gentoo"):
		return m.write("/etc/timezone", strings.TrimSpace(zone)+"\n")
	}
	return nil
}

// replace replaces the lines that begin with a text by line. It does not create a missing file.
func (m *module) replace(file, begin, line string) error {
	src, err := os.ReadFile(m.at(file))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var b strings.Builder
	for old := range strings.Lines(string(src)) {
		if strings.HasPrefix(old, begin) {
			old = line + "\n"
		}
		b.WriteString(old)
	}
	return m.write(file, b.String())
}

func (m *module) write(file, text string) error {
	path := m.at(file)
	if now, err := os.ReadFile(path); err == nil && string(now) == text {
		return nil
	}
	return atomicfile.Write(path, []byte(text), atomicfile.Options{Mode: 0o644, Keep: true})
}

// zoneCompare reports whether the system has a time zone: whether the file that the C library reads
// equals the file of the zone.
//
// CLI Example:
//
//	salt '*' timezone.zone_compare 'America/Denver'
func (m *module) zoneCompare(ctx context.Context, a zoneArgs) (any, error) {
	file := m.localtime()
	now, err := m.rules(file)
	if err != nil && m.family("Arch", "FreeBSD") {
		zone, err := m.zone(ctx)
		return zone == a.Timezone, err
	}
	if err != nil {
		return nil, loader.Execution("Failed to read %s to determine current timezone: %s",
			file, reason(err))
	}
	want, err := os.ReadFile(m.at(zones + a.Timezone))
	if err != nil || !filepath.IsLocal(a.Timezone) {
		return nil, loader.Invocation("Can't find a local timezone \"%s\"", a.Timezone)
	}
	return bytes.Equal(now, want), nil
}

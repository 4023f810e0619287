// Package timezone is Salt's module timezone: the time zone of the system, and whether its clock keeps UTC (salt/modules/timezone.py).
//
// Where there is timedatectl it is asked; elsewhere the files of the system's family are.
//
// What differs from Salt: where timedatectl is installed and there is nobody to answer it, as in a container, the files are asked as if it
// were not there; /etc/localtime and the others are replaced as a whole; without any file that says so the clock keeps UTC. There is no
// Solaris and no AIX.
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

// localtime is the file that the C library reads.
func (m *module) localtime() string {
	if m.family("NILinuxRT") && strings.Contains(m.env.GrainsNow().Text("lsb_distrib_id"), "nilrt") {
		return "/etc/natinst/share/localtime"
	}
	return "/etc/localtime"
}

// asked returns what timedatectl says; ok is false where it cannot be asked.
func (m *module) asked(ctx context.Context) (said string, ok bool, err error) {
	if process.Find("timedatectl") == "" {
		return "", false, nil
	}
	ran, err := calls.RunAll(ctx, m.env, calls.Run{Argv: []string{"timedatectl"}, IgnoreRetcode: true})
	if err != nil {
		return "", false, err
	}
	if ran.Retcode == 0 {
		return ran.Stdout, true, nil
	}
	if why := ran.Stderr; !strings.Contains(why, "connect to bus") && !strings.Contains(why, "booted with systemd") {
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
	said, ok, err := m.asked(ctx)
	if err != nil {
		return "", err
	}
	if ok {
		for line := range strings.SplitSeq(said, "\n") {
			if match := zoneLine.FindStringSubmatch(strings.TrimSpace(line)); match != nil {
				return match[1], nil
			}
		}
		return "", loader.Execution("Failed to parse timedatectl output: %s\nPlease file an issue with SaltStack", said)
	}
	switch {
	case strings.EqualFold(m.env.GrainsNow().Text("os"), "centos"):
		return m.linked()
	case m.family("RedHat", "Suse"):
		return m.configured("/etc/sysconfig/clock")
	case m.family("Debian", "Gentoo"):
		return m.written()
	case m.family("FreeBSD", "OpenBSD", "NetBSD", "NILinuxRT", "Slackware", "Alpine", "Arch", "Void"):
		return m.linked()
	}
	return "", loader.Execution("Unable to get timezone")
}

// configured returns the zone of a file with lines NAME=value.
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

// written returns the zone of /etc/timezone; where that is missing, that of the link.
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

// linked returns the zone that /etc/localtime leads to, or that has the same content.
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
	return m.alike(file)
}

// alike returns the first zone that has the content of a file.
func (m *module) alike(file string) (string, error) {
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

// reason returns what the system says of an error, as Python's strerror.
func reason(err error) string {
	var path *fs.PathError
	if !errors.As(err, &path) {
		return err.Error()
	}
	text := path.Err.Error()
	return strings.ToUpper(text[:1]) + text[1:]
}

// getZonecode returns the letters of the time zone, such as CET.
//
// CLI Example:
//
//	salt '*' timezone.get_zonecode
func (m *module) getZonecode(ctx context.Context, _ loader.NoArgs) (any, error) {
	return calls.RunOutput(ctx, m.env, calls.Run{Argv: []string{"date", "+%Z"}})
}

// getOffset returns the distance from UTC, such as +0100.
//
// CLI Example:
//
//	salt '*' timezone.get_offset
func (m *module) getOffset(ctx context.Context, _ loader.NoArgs) (any, error) {
	return calls.RunOutput(ctx, m.env, calls.Run{Argv: []string{"date", "+%z"}})
}

type zoneArgs struct{ Timezone string }

// setZone gives the system a time zone. It returns True, or a text where there is no such zone.
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
	if _, _, err := m.asked(ctx); err == nil && process.Find("timedatectl") != "" {
		argv := []string{"timedatectl", "set-timezone", a.Timezone}
		if _, err := calls.RunOutput(ctx, m.env, calls.Run{Argv: argv, IgnoreRetcode: true}); err != nil {
			m.env.Log.Debugf("timedatectl set no time zone: %v", err)
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

// rules returns what the C library reads. A link leads to a file of the same system.
func (m *module) rules(file string) ([]byte, error) {
	if target, err := os.Readlink(m.at(file)); err == nil && filepath.IsAbs(target) {
		file = target
	}
	return os.ReadFile(m.at(file))
}

// link has the file that the C library reads lead to a zone.
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

// name writes the zone's name where the family of the system has it.
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

// replace puts a line in the place of those that begin with a text; a file that is not there stays so.
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

// zoneCompare tells whether the system has a time zone: whether what the C library reads is that of the zone.
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
		return nil, loader.Execution("Failed to read %s to determine current timezone: %s", file, reason(err))
	}
	want, err := os.ReadFile(m.at(zones + a.Timezone))
	if err != nil || !filepath.IsLocal(a.Timezone) {
		return nil, loader.Invocation("Can't find a local timezone \"%s\"", a.Timezone)
	}
	return bytes.Equal(now, want), nil
}

// Package dnsutil is Salt's module dnsutil: records of domains, files of hosts and of zones (salt/modules/dnsutil.py,
// and salt/modules/dig.py for what Salt has the program dig do).
//
// Differences from Salt: the module queries DNS servers itself, so all functions work on hosts without dig. On such
// a host, A and AAAA without nameserver use the system's resolver, as in Salt, which reads the hosts file too. An SPF
// record may refer to ten others. hosts_append adds no name that is already there. Files of hosts are replaced as a whole. Lines of spaces
// count as empty.
package dnsutil

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/process"
)

// Plugin returns the module dnsutil.
func Plugin() loader.Plugin {
	return loader.Plugin{Name: "dnsutil", New: func(env *loader.Env) (*loader.Module, error) {
		return newModule(&module{env: env, port: "53", dig: process.Find("dig") != "", now: time.Now})
	}}
}

type module struct {
	env  *loader.Env
	port string // of DNS servers
	dig  bool   // Salt would have the program
	now  func() time.Time
}

func newModule(m *module) (*loader.Module, error) {
	return &loader.Module{Funcs: []loader.Func{
		loader.F("A", m.a),
		loader.F("AAAA", m.aaaa),
		loader.F("MX", m.mx),
		loader.F("NS", m.ns),
		loader.F("SPF", m.spf),
		loader.F("check_ip", m.checkIP),
		loader.F("hosts_append", m.hostsAppend),
		loader.F("hosts_remove", m.hostsRemove),
		loader.F("parse_hosts", m.parseHosts),
		loader.F("parse_zone", m.parseZone),
		loader.F("serial", m.serial),
	}}, nil
}

func (m *module) path(p string) string { return filepath.Join("/", m.env.Root, p) }

type parseHostsArgs struct {
	Hostsfile string `default:"'/etc/hosts'"`
	Hosts     any    `default:"None"`
}

// parseHosts returns the names of each address in a file of hosts.
//
// hostsfile
//
//	The file.
//
// hosts
//
//	A text that is read in place of a file.
//
// CLI Example:
//
//	salt '*' dnsutil.parse_hosts
func (m *module) parseHosts(_ context.Context, a parseHostsArgs) (any, error) {
	text := data.Str(a.Hosts)
	if !data.Truth(a.Hosts) {
		src, err := os.ReadFile(m.path(a.Hostsfile))
		if err != nil {
			return "Error: hosts data was not found", nil
		}
		text = string(src)
	}
	hosts := &data.Map{}
	for ip, names := range hostLines(text) {
		known, _ := hosts.Value(ip).([]any)
		if known == nil {
			known = []any{}
		}
		hosts.Set(ip, append(known, data.Values(names)...))
	}
	return hosts, nil
}

// hostLines yields the addresses of a file of hosts with their names. As in Salt, comments behind names are names.
func hostLines(text string) func(yield func(ip string, names []string) bool) {
	return func(yield func(string, []string) bool) {
		for line := range strings.Lines(text) {
			words := strings.Fields(line)
			if len(words) > 0 && !strings.HasPrefix(line, "#") && !yield(words[0], words[1:]) {
				return
			}
		}
	}
}

type hostsAppendArgs struct {
	Hostsfile string `default:"'/etc/hosts'"`
	IPAddr    any    `name:"ip_addr" default:"None"`
	Entries   any    `default:"None"`
}

// hostsAppend adds a line to a file of hosts, with those names that the address does not have yet.
//
// hostsfile
//
//	The file.
//
// ip_addr
//
//	The address.
//
// entries
//
//	Names with commas between.
//
// CLI Example:
//
//	salt '*' dnsutil.hosts_append /etc/hosts 127.0.0.1 ad1.yuk.co,ad2.yuk.co
func (m *module) hostsAppend(_ context.Context, a hostsAppendArgs) (any, error) {
	if !data.Truth(a.IPAddr) || !data.Truth(a.Entries) {
		return nil, loader.Invocation("ip_addr and entries are required")
	}
	ip, names := data.Str(a.IPAddr), strings.Split(data.Str(a.Entries), ",")
	for _, part := range append([]string{ip}, names...) {
		if strings.ContainsAny(part, "\r\n\x00") {
			return nil, loader.Execution("write %s: %q does not fit into one line", a.Hostsfile, part)
		}
	}
	src, err := os.ReadFile(m.path(a.Hostsfile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, loader.OSError(err)
	}
	for known, have := range hostLines(string(src)) {
		if known == ip {
			names = slices.DeleteFunc(names, func(n string) bool { return slices.Contains(have, n) })
		}
	}
	if len(names) == 0 {
		return "No additional hosts were added to " + a.Hostsfile, nil
	}
	line := "\n" + ip + " " + strings.Join(names, " ")
	return "The following line was added to " + a.Hostsfile + ":" + line, m.write(a.Hostsfile, string(src)+line)
}

func (m *module) write(file, text string) error {
	path := m.path(file)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if err := atomicfile.Write(path, []byte(text), atomicfile.Options{Mode: 0o644, Keep: true}); err != nil {
		return loader.Execution("write %s: %w", file, err)
	}
	return nil
}

type hostsRemoveArgs struct {
	Hostsfile string `default:"'/etc/hosts'"`
	Entries   any    `default:"None"`
}

// hostsRemove takes names from a file of hosts, and lines whose only names they are. Comments and empty lines stay; in
// other lines one space parts the words afterwards.
//
// hostsfile
//
//	The file.
//
// entries
//
//	Names with commas between.
//
// CLI Example:
//
//	salt '*' dnsutil.hosts_remove /etc/hosts ad1.yuk.co
//	salt '*' dnsutil.hosts_remove /etc/hosts ad2.yuk.co,ad1.yuk.co
func (m *module) hostsRemove(_ context.Context, a hostsRemoveArgs) (any, error) {
	if !data.Truth(a.Entries) {
		return nil, loader.Invocation("entries are required")
	}
	src, err := os.ReadFile(m.path(a.Hostsfile))
	if err != nil {
		return nil, loader.OSError(err)
	}
	names := strings.Split(data.Str(a.Entries), ",")
	var b strings.Builder
	for line := range strings.Lines(string(src)) {
		line = strings.TrimRight(line, "\r\n")
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			b.WriteString(line + "\n")
			continue
		}
		left := slices.DeleteFunc(words[1:], func(w string) bool { return slices.Contains(names, w) })
		if len(left) > 0 {
			b.WriteString(words[0] + " " + strings.Join(left, " ") + "\n")
		}
	}
	if b.String() == string(src) {
		return nil, nil
	}
	return nil, m.write(a.Hostsfile, b.String())
}

type serialArgs struct {
	Zone   any `default:"''"`
	Update any `default:"False"`
}

// serial returns the serial number of a zone, which is kept as the grain dnsserial_ZONE: the day in eight digits and a
// count of two.
//
// zone
//
//	A word for the zone.
//
// update
//
//	True: the number is made anew for today, or counted up, and kept.
//
// CLI Example:
//
//	salt ns1 dnsutil.serial example.com
func (m *module) serial(ctx context.Context, a serialArgs) (any, error) {
	key := "dnsserial"
	if data.Truth(a.Zone) {
		key += "_" + data.Str(a.Zone)
	}
	stored, err := m.env.Call(ctx, "grains.get", nil, data.NewMap("key", key))
	if err != nil {
		return nil, err
	}
	current := m.now().Format("20060102") + "01"
	if !data.Truth(a.Update) {
		if data.Truth(stored) {
			return stored, nil
		}
		return current, nil
	}
	if data.Truth(stored) && data.Str(stored) >= current {
		n, err := loader.Int(stored)
		if err != nil {
			return nil, err
		}
		current = data.Str(n + 1)
	}
	_, err = m.env.Call(ctx, "grains.setval", nil, data.NewMap("key", key, "val", current))
	return current, err
}

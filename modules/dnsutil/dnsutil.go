// Package dnsutil is Salt's module dnsutil: domain records, hosts files and zone files
// (salt/modules/dnsutil.py, and salt/modules/dig.py for the queries that Salt makes with the
// program dig).
//
// Differences from Salt: the module queries DNS servers itself, so all functions work on hosts
// without dig. On such a host, A and AAAA without nameserver use the system's resolver, as in Salt,
// which also reads the hosts file. An SPF record may refer to up to ten others. hosts_append does
// not add names that exist already. Hosts files are replaced atomically. Lines of spaces count as
// empty.
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
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// Plugin returns the module dnsutil.
func Plugin() loader.Plugin {
	return loader.Plugin{Name: "dnsutil", New: func(env *loader.Env) (*loader.Module, error) {
		return newModule(&module{env: env, port: "53", dig: process.Find("dig") != "",
			now: time.Now})
	}}
}

type module struct {
	env  *loader.Env
	port string // port of the DNS servers
	dig  bool   // whether Salt would find the program dig
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

// parseHosts returns the names of each address in a hosts file.
//
// hostsfile
//
//	The file.
//
// hosts
//
//	A string that is parsed instead of a file.
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

// hostLines yields the addresses in a hosts file with their names. As in Salt, words in a comment
// after names count as names.
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

// hostsAppend adds a line to a hosts file, with those names that the address does not have yet.
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
//	Names separated by commas.
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
			return nil, loader.Execution("write %s: %q contains a line break", a.Hostsfile, part)
		}
	}
	src, err := os.ReadFile(m.path(a.Hostsfile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, loader.OSError(err)
	}
	for known, have := range hostLines(string(src)) {
		if known == ip {
			names = slices.DeleteFunc(names,
				func(n string) bool { return slices.Contains(have, n) })
		}
	}
	if len(names) == 0 {
		return "No additional hosts were added to " + a.Hostsfile, nil
	}
	line := "\n" + ip + " " + strings.Join(names, " ")
	return "The following line was added to " + a.Hostsfile + ":" +
		line, m.write(a.Hostsfile, string(src)+line)
}

func (m *module) write(file, text string) error {
	path := m.path(file)
	if err := atomicfile.Write(path, []byte(text),
		atomicfile.Options{Follow: true, Mode: 0o644, Keep: true}); err != nil {
		return loader.Execution("write %s: %w", file, err)
	}
	return nil
}

type hostsRemoveArgs struct {
	Hostsfile string `default:"'/etc/hosts'"`
	Entries   any    `default:"None"`
}

// hostsRemove removes names from a hosts file, and lines that have no other names. Comments and
// empty lines stay; in other lines words are then separated by one space.
//
// hostsfile
//
//	The file.
//
// entries
//
//	Names separated by commas.
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
		left := slices.DeleteFunc(words[1:],
			func(w string) bool { return slices.Contains(names, w) })
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

// serial returns the serial number of a zone: the date in eight digits and a counter of two. It is
// stored as the grain dnsserial_ZONE.
//
// zone
//
//	A name for the zone.
//
// update
//
//	True: set the number for today, or increment it, and store it.
//
// CLI Example:
//
//	salt ns1 dnsutil.serial example.com
func (m *module) serial(ctx context.Context, a serialArgs) (any, error) {
	key := "dnsserial"
	if data.Truth(a.Zone) {
		key += "_" + data.Str(a.Zone)
	}
	stored, err := calls.GrainsGet[any](ctx, m.env, key)
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
	return current, calls.GrainsSetVal(ctx, m.env, key, current)
}

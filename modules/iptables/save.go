package iptables

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/match"
	"github.com/brineproject/brine/modules/calls"
)

// A place is a system's file of rules that are loaded at boot.
type place struct{ grain, value, ipv4, ipv6 string }

// places returns the files of the known systems.
func places() []place {
	return []place{
		{"os_family", "RedHat", "/etc/sysconfig/iptables", "/etc/sysconfig/ip6tables"},
		{"os_family", "Arch", "/etc/iptables/iptables.rules", "/etc/iptables/ip6tables.rules"},
		{"os_family", "Debian", "/etc/iptables/rules.v4", "/etc/iptables/rules.v6"},
		{"os", "Gentoo", "/var/lib/iptables/rules-save", "/var/lib/ip6tables/rules-save"},
		{"os_family", "Suse", "/etc/sysconfig/scripts/SuSEfirewall2-custom",
			"/etc/sysconfig/scripts/SuSEfirewall2-custom"},
		{"os_family", "Void", "/etc/iptables/iptables.rules", "/etc/iptables/ip6tables.rules"},
		{"os", "Alpine", "/etc/iptables/rules-save", "/etc/iptables/rules6-save"},
		{"os_family", "NILinuxRT", "/etc/natinst/share/iptables.conf",
			"/etc/natinst/share/ip6tables.conf"},
	}
}

// fileFor returns the file of saved rules: the requested one, or the system's.
func (m *module) fileFor(asked, family any) (string, error) {
	if data.Truth(asked) {
		return data.Str(asked), nil
	}
	grains := m.env.GrainsNow()
	for _, p := range places() {
		if grains.Value(p.grain) != p.value {
			continue
		}
		if family == "ipv6" {
			return p.ipv6, nil
		}
		return p.ipv4, nil
	}
	return "", loader.Exception("salt.exceptions.SaltException",
		"Saving iptables to file is not supported on %s. Please file an issue with SaltStack",
		data.Str(grains.Value("os")))
}

type saveArgs struct {
	Filename any `default:"None"`
	Family   any `default:"'ipv4'"`
}

// save writes the active rules to a file: the named one, or the one that the system loads at boot.
// It omits lines that match one of the expressions in the setting iptables.save_filters.
//
// CLI Example:
//
//	salt '*' iptables.save /etc/sysconfig/iptables
//	salt '*' iptables.save family=ipv6
func (m *module) save(ctx context.Context, a saveArgs) (any, error) {
	name, err := m.fileFor(a.Filename, a.Family)
	if err != nil {
		return nil, err
	}
	name = filepath.Join(m.env.Root, name)
	text, err := m.saved(ctx, a.Family, "")
	if err == nil {
		text, err = m.filter(ctx, text)
	}
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return nil, loader.OSError(err)
	}
	return m.env.Call(ctx, "file.write", []any{name, text}, nil)
}

// filter removes the lines that the setting excludes.
func (m *module) filter(ctx context.Context, text string) (string, error) {
	patterns, err := calls.Option[[]any](ctx, m.env, "iptables.save_filters", []any{})
	if err != nil {
		return "", err
	}
	var filters []*match.Groups
	for _, p := range patterns {
		g, err := match.CompileGroups(data.Str(p), false, false)
		if err != nil {
			m.env.Log.Warnf("Skipping regex rule: '%s': %v", data.Str(p), err)
			continue
		}
		filters = append(filters, g)
	}
	return without(text, filters)
}

// without returns the lines that no filter matches.
func without(text string, filters []*match.Groups) (string, error) {
	var kept strings.Builder
	for line := range strings.Lines(text) {
		found := false
		for _, g := range filters {
			at, err := g.Find(line)
			if err != nil {
				return "", err
			}
			found = found || at != nil
		}
		if !found {
			kept.WriteString(line)
		}
	}
	return kept.String(), nil
}

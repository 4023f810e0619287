package debianip

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/difflib"
	"github.com/brineproject/brine/internal/netconf"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

// system are the settings of the system.
type system struct {
	networking, hostname, domain string
	search                       []string
}

// lines returns the settings as Salt shows them.
func (s system) lines() []any {
	f := &netconf.File{}
	for _, entry := range [][2]string{{"NETWORKING", s.networking}, {"HOSTNAME", s.hostname}, {"DOMAIN",
		s.domain},
		{"SEARCH", strings.Join(s.search, " ")}} {
		if entry[1] != "" {
			f.Put(entry[0], "", entry[1])
		}
	}
	return lines(f.String())
}

// current reads the settings of the system. Those of Ubuntu have no file /etc/default/networking.
func (m *module) current() system {
	s := system{}
	src, _ := os.ReadFile(m.path(networking)) //nolint:errcheck // nothing without the file
	for line := range strings.Lines(string(src)) {
		if strings.HasPrefix(line, "CONFIGURE_INTERFACES") {
			_, value, _ := strings.Cut(line, "=")
			s.networking = strings.TrimSpace(value)
		}
	}
	name, _ := os.ReadFile(m.path("/etc/hostname")) //nolint:errcheck // nothing without the file
	s.hostname, _, _ = strings.Cut(string(name), "\n")
	src, _ = os.ReadFile(m.path(resolv)) //nolint:errcheck // nothing without the file
	for line := range strings.Lines(string(src)) {
		words := strings.Fields(line)
		if i := slices.IndexFunc(words, func(w string) bool {
			return strings.HasPrefix(w, "#") ||
				strings.HasPrefix(w, ";")
		}); i >= 0 {
			words = words[:i]
		}
		if len(words) == 0 {
			continue
		}
		switch strings.ToLower(words[0]) {
		case "domain":
			if len(words) > 1 {
				s.domain = words[1]
			}
		case "search":
			s.search = words[1:]
		}
	}
	return s
}

// byServices reports whether services decide on networking at boot, as on Ubuntu since 12.04.
func (m *module) byServices() bool {
	grains := m.env.GrainsNow()
	major, _, _ := strings.Cut(data.Str(grains.Value("osrelease")), ".")
	n, err := loader.Int(major)
	return grains.Text("osfullname") == "Ubuntu" && err == nil && n >= 12
}

// getNetworkSettings returns whether the network is configured at boot, the host name and the
// domains, as lines such as HOSTNAME=web1.
//
// CLI Example:
//
//	salt '*' ip.get_network_settings
func (m *module) getNetworkSettings(ctx context.Context, _ loader.NoArgs) (any, error) {
	s := m.current()
	if m.byServices() {
		s.networking = "no"
		there, err := calls.ServiceAvailable(ctx, m.env, "networking")
		if err == nil && there {
			if there, err = calls.ServiceStatus(ctx, m.env, "networking", nil, nil); there {
				s.networking = "yes"
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return s.lines(), nil
}

// applyNetworkSettings restarts the network, unless require_reboot is set. With apply_hostname, it
// changes the host name. It returns whether both succeeded.
//
// CLI Example:
//
//	salt '*' ip.apply_network_settings
func (m *module) applyNetworkSettings(ctx context.Context, a settingsArgs) (any, error) {
	named, err := netconf.Hostname(ctx, m.env, a.Settings)
	if err != nil || netconf.Reboots(m.env, a.Settings) {
		return named, err
	}
	done, err := calls.ServiceStop(ctx, m.env, "networking", nil)
	if err == nil && done {
		done, err = calls.ServiceStart(ctx, m.env, "networking", nil)
	}
	return named && done, err
}

// buildNetworkSettings sets whether the network is configured at boot (enabled), the domain of
// hostname, and the domains of search. It returns the settings as get_network_settings does. With
// test, it changes nothing.
//
// CLI Example:
//
//	salt '*' ip.build_network_settings enabled=True hostname=web1.example.org
func (m *module) buildNetworkSettings(ctx context.Context, a settingsArgs) (any, error) {
	params, err := netconf.CheckedSettings(a.Settings)
	if err != nil {
		return nil, err
	}
	test := data.Truth(params.Value("test"))
	params = netconf.Lower(params)
	now := m.current()
	wanted, err := wantedSystem(params, now)
	if err != nil || test {
		return wanted.lines(), err
	}
	if m.byServices() {
		err = m.switchServices(ctx, wanted.networking == "yes")
	} else {
		err = netconf.Write(m.path(networking), networkingText(wanted.networking), 0o644)
	}
	if err != nil {
		return nil, err
	}
	if wanted.domain != now.domain || !slices.Equal(wanted.search, now.search) {
		if err := m.writeResolv(wanted); err != nil {
			return nil, err
		}
	}
	return wanted.lines(), nil
}

// wantedSystem returns the settings of the system to be.
func wantedSystem(params *data.Map, now system) (system, error) {
	wanted := now
	enabled, ok := params.Get("enabled")
	if !ok {
		enabled = now.networking
	}
	switch {
	case netconf.On(enabled):
		wanted.networking = "yes"
	case netconf.Off(enabled):
		wanted.networking = "no"
	default:
		return system{}, netconf.InvalidNetwork("networking", netconf.Switches...)
	}
	name := now.hostname
	if v, ok := params.Get("hostname"); ok {
		name = data.Str(v)
	}
	if name == "" {
		return system{}, netconf.InvalidNetwork("hostname", "server1.example.com")
	}
	short, domain, _ := strings.Cut(name, ".")
	if name != now.hostname {
		wanted.hostname = short
	}
	if domain != "" {
		wanted.domain = domain
	}
	if v, ok := params.Get("search"); ok {
		wanted.search = netconf.Words(v)
	}
	return wanted, nil
}

func (m *module) switchServices(ctx context.Context, on bool) error {
	turn := calls.ServiceDisable
	if on {
		turn = calls.ServiceEnable
	}
	for _, name := range []string{"NetworkManager", "networking"} {
		there, err := calls.ServiceAvailable(ctx, m.env, name)
		if err == nil && there {
			_, err = turn(ctx, m.env, name, nil)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// writeResolv sets the domains in /etc/resolv.conf, which must exist.
func (m *module) writeResolv(s system) error {
	src, err := os.ReadFile(m.path(resolv))
	if err != nil {
		return netconf.Attribute("%s cannot be written: %w", resolv, err)
	}
	text := difflib.Lines(string(src))
	if len(s.search) > 0 {
		text = directive(text, "search", strings.Join(s.search, " "))
	}
	if s.domain != "" {
		text = directive(text, "domain", s.domain)
	}
	return netconf.Write(m.path(resolv), strings.Join(text, ""), 0o644)
}

// directive replaces the lines of a directive, or adds one at the beginning.
func directive(text []string, name, value string) []string {
	found := false
	for i, line := range text {
		if words := strings.Fields(line); len(words) > 0 && words[0] == name {
			text[i], found = name+" "+value+"\n", true
		}
	}
	if !found {
		text = slices.Insert(text, 0, name+" "+value+"\n")
	}
	return text
}

// networkingText returns /etc/default/networking.
func networkingText(on string) string {
	return "# Configuration for networking init script being run during\n" +
		"# the boot sequence\n\n" +
		"# Set to 'no' to skip interfaces configuration on boot\n" +
		"CONFIGURE_INTERFACES=" + on + "\n\n" +
		"# Don't configure these interfaces. Shell wildcards supported/\n" +
		"#EXCLUDE_INTERFACES=\n\n" +
		"# Set to 'yes' to enable additional verbosity\n" +
		"#VERBOSE=no"
}

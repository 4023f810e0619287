package debianip

import (
	"bufio"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/netconf"
)

// An adapter is one interface.
type adapter struct {
	enabled, hotplug bool
	known            bool // it has an iface line
	isSource         bool // it was given with the type source
	families         map[string]*data.Map
	sources          []string
}

// family returns the settings for inet or inet6, which may be nil.
func (a *adapter) family(name string) *data.Map { return a.families[name] }

// adapters are all interfaces in their order in the files.
type adapters struct {
	order []string
	by    map[string]*adapter
}

// get returns an interface, which it adds if it is new.
func (all *adapters) get(name string) *adapter {
	if all.by[name] == nil {
		all.set(name, &adapter{families: map[string]*data.Map{}})
	}
	return all.by[name]
}

func (all *adapters) set(name string, a *adapter) {
	if all.by[name] == nil {
		all.order = append(all.order, name)
	}
	all.by[name] = a
}

func (all *adapters) text() string {
	var b strings.Builder
	for _, name := range all.order {
		b.WriteString(all.by[name].text(name))
	}
	return b.String()
}

// parse reads /etc/network/interfaces and the files in interfaces.d.
func (m *module) parse() (*adapters, error) {
	all := &adapters{by: map[string]*adapter{}}
	more, _ := filepath.Glob(m.path(directory) + "/*") //nolint:errcheck // the pattern is correct
	for _, file := range append([]string{m.path(interfaces)}, more...) {
		info, err := os.Stat(file)
		switch {
		case errors.Is(err, os.ErrNotExist):
			continue
		case err != nil:
			return nil, netconf.Attribute("read the interfaces: %w", err)
		case !info.Mode().IsRegular():
			continue
		}
		src, err := os.ReadFile(file)
		if err != nil {
			return nil, netconf.Attribute("read the interfaces: %w", err)
		}
		if err := all.read(string(src)); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Clone(all.order) {
		if name != "source" && !all.by[name].known {
			m.env.Log.Errorf("Interface file malformed for interface: %s.", name)
			delete(all.by, name)
			all.order = slices.DeleteFunc(all.order, func(n string) bool { return n == name })
		}
	}
	return all, nil
}

// read adds the interfaces of a file.
func (all *adapters) read(text string) error {
	now := data.NewMap()
	family := ""
	scanner := bufio.NewScanner(strings.NewReader(text))
	scanner.Buffer(nil, len(text)+1)
	for scanner.Scan() {
		line := scanner.Text()
		words := strings.Fields(line)
		switch {
		case len(words) == 0, strings.HasPrefix(words[0], "#"):
		case unicode.IsSpace(rune(line[0])):
			if len(words) < 2 {
				return malformed(words)
			}
			value := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), words[0]))
			if err := detail(now, family, words[0], value); err != nil {
				return err
			}
		case strings.HasPrefix(line, "iface"):
			if len(words) != 4 {
				return malformed(words)
			}
			a := all.get(words[1])
			a.known, family = true, words[2]
			if a.families[family] == nil {
				a.families[family] = data.NewMap()
			}
			now = a.families[family]
			now.Set("addrfam", family)
			now.Set("proto", words[3])
		case strings.HasPrefix(line, "auto"):
			for _, name := range words[1:] {
				all.get(name).enabled = true
			}
		case strings.HasPrefix(line, "allow-hotplug"):
			for _, name := range words[1:] {
				all.get(name).hotplug = true
			}
		case strings.HasPrefix(line, "source"):
			if len(words) < 2 {
				return malformed(words)
			}
			a := all.get("source")
			a.sources = append(a.sources, words[1])
		}
	}
	return nil
}

func malformed(words []string) error {
	return netconf.Attribute("Interface file malformed: %s.", data.Repr(data.Values(words)))
}

// detail adds an indented line of an interface to its settings.
func detail(now *data.Map, family, name, text string) error {
	if known(name) {
		v, _ := checked(name, text, family)
		key := strings.ReplaceAll(name, "-", "_")
		if key == "address" && now.Has("address") {
			list, _ := now.Value("addresses").([]any)
			now.Set("addresses", append(list, v))
			return nil
		}
		now.Set(key, v)
		return nil
	}
	group, key := "", name
	switch {
	case slices.Contains(slices.Collect(maps.Values(ethtool)), name):
		group = "ethtool"
	case strings.HasPrefix(name, "bond"), strings.HasPrefix(name, "bridge"):
		group = map[bool]string{true: "bonding", false: "bridging"}[strings.HasPrefix(name, "bond")]
		i := strings.IndexAny(name, "_-")
		if i < 0 {
			return malformed([]string{name, text})
		}
		key = name[i+1:]
	case slices.Contains([]string{"up", "pre-up", "post-up", "down", "pre-down", "post-down"}, name):
		key = strings.ReplaceAll(name, "-", "_") + "_cmds"
		list, _ := now.Value(key).([]any)
		now.Set(key, append(list, text))
		return nil
	default:
		return nil
	}
	of, ok := now.Value(group).(*data.Map)
	if !ok {
		of = data.NewMap()
		now.Set(group, of)
	}
	of.Set(key, text)
	return nil
}

package systemdservice

import (
	"context"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/modules/calls"
)

// show returns the properties of a unit.
//
// root
//
//	A directory to use as the root directory.
//
// CLI Example:
//
//	salt '*' service.show nginx
func (m *module) show(ctx context.Context, a disabledArgs) (any, error) {
	return m.properties(ctx, a.Name, a.Root)
}

func (m *module) properties(ctx context.Context, name string, root any) (*data.Map, error) {
	o, err := m.run(ctx, calls.Run{}, append(systemctl(root, "show"), unitWords(name)...))
	if err != nil {
		return nil, err
	}
	return parseShow(o.Stdout), nil
}

// parseShow parses the output of systemctl show: one property a line, some with fields in braces,
// some with lists of units.
func parseShow(text string) *data.Map {
	found := &data.Map{}
	for line := range strings.SplitSeq(text, "\n") {
		name, value, _ := strings.Cut(line, "=")
		switch {
		case strings.HasPrefix(value, "{"):
			found.Set(name, fields(value))
		case name == "Before" || name == "After" || name == "Wants":
			found.Set(name, data.Values(strings.Fields(value)))
		default:
			found.Set(name, value)
		}
	}
	return found
}

// fields parses { path=/bin/x ; argv[]=/bin/x ; … }. As in Salt, a value ends at an equals sign.
func fields(value string) *data.Map {
	found := &data.Map{}
	value = strings.NewReplacer("{", "", "}", "").Replace(value)
	for item := range strings.SplitSeq(value, " ; ") {
		words := append(strings.Split(item, "="), "")
		found.Set(strings.TrimSpace(words[0]), strings.TrimSpace(words[1]))
	}
	return found
}

// execs returns the program of each service that has one.
//
// root
//
//	A directory to use as the root directory.
//
// CLI Example:
//
//	salt '*' service.execs
func (m *module) execs(ctx context.Context, a rootArgs) (any, error) {
	found := &data.Map{}
	for _, name := range m.all(a.Root) {
		properties, err := m.properties(ctx, name, a.Root)
		if err != nil {
			return nil, err
		}
		if start, ok := properties.Value("ExecStart").(*data.Map); ok {
			found.Set(name, start.Value("path"))
		}
	}
	return found, nil
}

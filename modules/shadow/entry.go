//go:build linux

package shadow

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// An entry is a line of /etc/shadow (shadow(5)). The entry of a missing user has an empty name.
type entry struct {
	name, password string
	days           [6]int64 // in the order of dayKeys, -1 if not set
}

// dayKeys returns Salt's names for the day fields of an entry, in the order of the file.
func dayKeys() []string { return []string{"lstchg", "min", "max", "warn", "inact", "expire"} }

// day returns the day field with one of the names in dayKeys.
func (e entry) day(key string) int64 {
	for i, k := range dayKeys() {
		if k == key {
			return e.days[i]
		}
	}
	return -1
}

// toMap returns an entry in Salt's form.
func (e entry) toMap() *data.Map {
	ret := data.NewMap("name", e.name, "passwd", e.password)
	for i, key := range dayKeys() {
		if e.name == "" {
			ret.Set(key, "")
		} else {
			ret.Set(key, e.days[i])
		}
	}
	return ret
}

// at returns the path of a system file below root, a directory or None.
func (m *module) at(root any, file string) string {
	if data.Truth(root) {
		return filepath.Join("/", data.Str(root), file)
	}
	return filepath.Join("/", m.env.Root, file)
}

// entries returns the entries of etc/shadow below a directory. None stands for the minion's system.
func (m *module) entries(root any) ([]entry, error) {
	text, err := os.ReadFile(m.at(root, "/etc/shadow"))
	if err != nil {
		return nil, loader.Execution("read passwords: %w", err)
	}
	var list []entry
	for line := range strings.Lines(string(text)) {
		if e, ok := parse(strings.TrimSpace(line)); ok {
			list = append(list, e)
		}
	}
	return list, nil
}

// entry returns the entry of a user, one without a name if the user has none.
func (m *module) entry(name string, root any) (entry, error) {
	list, err := m.entries(root)
	if errors.Is(err, fs.ErrNotExist) {
		return entry{}, nil
	}
	for _, e := range list {
		if e.name == name {
			return e, nil
		}
	}
	return entry{}, err
}

// parse parses a line of etc/shadow. ok is false if fields are missing or days are not numbers.
func parse(line string) (entry, bool) {
	f := strings.Split(line, ":")
	if len(f) < 8 || len(f) > 9 || f[0] == "" || strings.ContainsAny(f[0][:1], "+-") {
		return entry{}, false
	}
	e := entry{name: f[0], password: f[1]}
	for i := range e.days {
		e.days[i] = -1
		if text := f[i+2]; text != "" {
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return entry{}, false
			}
			e.days[i] = n
		}
	}
	return e, true
}

package config

import (
	"os/user"
	"runtime"
	"slices"
	"sync"

	"github.com/brineproject/brine/data"
)

// A role selects the options of a master or a minion.
type role string

const (
	masterRole role = "master"
	minionRole role = "minion"
)

// An option is the definition of one option; options.yaml explains its parts.
type option struct {
	name           string
	kinds          []string // str, int, float, bool, list, dict, none, any; empty: no check
	why            string   // why it has no effect
	master, minion *use     // nil: not an option of the role
}

// A use is the properties of an option for one role.
type use struct {
	effect          effect
	set             bool // the option has the default value
	value           any
	unit            string // of a number whose field is a time: ms, s, m
	none            string // number or text that stands for Salt's None
	mayBeNone       bool
	min, max, split string
	same            []any // for an option without effect: values that match the actual behaviour
	oneOf           []string
	lower, needed   bool
}

// An effect is when a role reads an option.
type effect string

const (
	noEffect effect = "none"
	atStart  effect = "start"
	live     effect = "live" // also while the daemon runs; see Renew
)

// of returns the use for a role, or nil.
func (o option) of(r role) *use {
	if r == masterRole {
		return o.master
	}
	return o.minion
}

// A catalogue holds all known options.
type catalogue struct {
	options []option
	index   map[string]int
}

//go:generate go test -run ^TestTable$ -update

// known returns the catalogue. It is indexed once, from the table generated from options.yaml, and
// never changed.
var known = sync.OnceValue(func() *catalogue {
	c := &catalogue{options: optionTable, index: make(map[string]int, len(optionTable))}
	for i := range optionTable {
		c.index[optionTable[i].name] = i
	}
	return c
})

func (c *catalogue) find(name string) (option, bool) {
	i, ok := c.index[name]
	if !ok {
		return option{}, false
	}
	return c.options[i], true
}

// effect returns the effect of an option for a role, or "" if it is not an option of the role.
func (c *catalogue) effect(name string, r role) effect {
	if o, ok := c.find(name); ok && o.of(r) != nil {
		return o.of(r).effect
	}
	return ""
}

// words returns v, a text or a list of texts, as a list.
func words(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		list := make([]string, len(v))
		for i := range v {
			list[i] = data.Str(v[i])
		}
		return list
	}
	return nil
}

// defaults returns the options of r that have a default.
func (c *catalogue) defaults(r role) *data.Map {
	m := &data.Map{}
	for _, o := range c.options {
		if u := o.of(r); u != nil && u.set {
			m.Set(o.name, localPaths(data.Clone(u.value)))
		}
	}
	m.Set("user", processUser(r))
	if runtime.GOOS == "windows" {
		m.Set("ipc_mode", "tcp")
	}
	return m
}

// processUser returns the user of this process, the default for the user of a role.
func processUser(r role) string {
	u, err := user.Current()
	switch {
	case runtime.GOOS == "windows" && r == masterRole:
		return "SYSTEM"
	case err != nil:
		return "root"
	}
	return u.Username
}

// localPaths converts the paths in a default to those of this system.
func localPaths(v any) any {
	switch v := v.(type) {
	case string:
		return localPath(v)
	case []any:
		for i := range v {
			v[i] = localPaths(v[i])
		}
	case *data.Map:
		for k, e := range v.All() {
			v.Set(k, localPaths(e))
		}
	}
	return v
}

// nearest returns the most similar known name, if one is similar enough.
func (c *catalogue) nearest(name string) string {
	names := make([]string, 0, len(c.options))
	for _, o := range c.options {
		if o.kinds != nil {
			names = append(names, o.name)
		}
	}
	return Nearest(name, names)
}

// distance returns how many letters must be changed, inserted, removed or swapped with the next to
// turn a into b. If the distance is not below limit, it returns any number of at least limit.
func distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+differ(a[i-1], b[j-1]))
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		if slices.Min(row) >= limit {
			return limit
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

func differ(a, b byte) int {
	if a == b || a == '-' && b == '_' {
		return 0
	}
	return 1
}

package selinux

import (
	"context"
	"strings"

	"github.com/brineproject/brine/data"
)

type getBooleanArgs struct{ Boolean any }

// getsebool returns the values of a boolean: State, Default and Description. It returns an empty
// dictionary if there is no such boolean.
//
// CLI Example:
//
//	salt '*' selinux.getsebool virt_use_usb
func (m *module) getsebool(ctx context.Context, a getBooleanArgs) (any, error) {
	all, err := m.listSebool(ctx, noArgs{})
	if err != nil {
		return nil, err
	}
	return member(all, a.Boolean), nil
}

// member returns an entry of a dictionary, or an empty dictionary.
func member(all *data.Map, key any) any {
	if v, ok := all.Get(key); ok {
		return v
	}
	return data.NewMap()
}

type setBooleanArgs struct {
	Boolean string
	Value   any
	Persist any `default:"False"`
}

// setsebool sets a boolean, and returns whether that succeeded.
//
// persist
//
//	True: also for the next boot.
//
// CLI Example:
//
//	salt '*' selinux.setsebool virt_use_usb off
func (m *module) setsebool(ctx context.Context, a setBooleanArgs) (any, error) {
	return m.set(ctx, a.Persist, a.Boolean, data.Str(a.Value))
}

func (m *module) set(ctx context.Context, persist any, words ...string) (any, error) {
	if err := plain(words...); err != nil {
		return nil, err
	}
	argv := []string{"setsebool"}
	if data.Truth(persist) {
		argv = append(argv, "-P")
	}
	return m.succeeds(ctx, append(argv, words...)...)
}

type setBooleansArgs struct {
	Pairs   any
	Persist any `default:"False"`
}

// setsebools sets several booleans, and returns whether that succeeded.
//
// persist
//
//	True: also for the next boot.
//
// CLI Example:
//
//	salt '*' selinux.setsebools '{virt_use_usb: on, squid_use_tproxy: off}'
func (m *module) setsebools(ctx context.Context, a setBooleansArgs) (any, error) {
	pairs, ok := a.Pairs.(*data.Map)
	if !ok {
		return data.NewMap(), nil
	}
	var words []string
	for name, value := range pairs.All() {
		words = append(words, data.Str(name)+"="+data.Str(value))
	}
	return m.set(ctx, a.Persist, words...)
}

// listSebool returns the booleans by name, each with its State, its Default (the value after a boot)
// and its Description.
//
// CLI Example:
//
//	salt '*' selinux.list_sebool
func (m *module) listSebool(ctx context.Context, _ noArgs) (*data.Map, error) {
	lines, err := m.lines(ctx, "semanage", "boolean", "-l")
	if err != nil {
		return nil, err
	}
	return booleans(lines[1:]), nil
}

// booleans parses lines such as: virt_use_usb  (on   ,   on)  Allow virt to use usb.
func booleans(lines []string) *data.Map {
	all := data.NewMap()
	for _, line := range lines {
		if words := strings.Fields(line); len(words) >= 4 {
			all.Set(words[0], data.NewMap("State", words[1][1:],
				"Default", words[3][:len(words[3])-1], "Description", strings.Join(words[4:], " ")))
		}
	}
	return all
}

// Package utmp has Salt's beacons btmp and wtmp: they report failed logins, and logins and logouts,
// from the files of that name (salt/beacons/btmp.py, wtmp.py).
//
// Some fields of an event have odd names, as in Salt: addr is the time of the entry in seconds since
// 1970, time its session and session its exit status.
package utmp

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/brineproject/brine/beacons"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/schedule"
)

// Failed returns the beacon btmp.
func Failed() loader.Plugin { return plugin("btmp") }

// Logins returns the beacon wtmp.
func Logins() loader.Plugin { return plugin("wtmp") }

func plugin(name string) loader.Plugin {
	return beacons.Plugin(name, "", func(env *loader.Env) (beacons.Beacon, error) {
		b := beacon{env, name, "/var/log/" + name}
		if info, err := os.Stat(filepath.Join(env.Root, b.file)); err != nil || !info.Mode().IsRegular() {
			return nil, fmt.Errorf("%s does not exist.", b.file) //nolint:staticcheck // Salt's text
		}
		return b, nil
	})
}

type beacon struct {
	env        *loader.Env
	name, file string
}

func (b beacon) Validate(config any) (bool, string) { return beacons.Verdict(b.fault(config)) }

func (b beacon) fault(config any) string {
	if text := beacons.NotList(b.name, config); text != "" {
		return text
	}
	set := beacons.Merge(config)
	for _, part := range [][2]string{{"users", "User"}, {"groups", "Group"}, {"defaults", "Defaults"}} {
		v, ok := set.Get(part[0])
		if !ok {
			continue
		}
		all, isMap := v.(*data.Map)
		if !isMap {
			return part[1] + " configuration for " + b.name + " beacon must be a dictionary."
		}
		if part[0] == "defaults" {
			all = data.NewMap("", all)
		}
		for _, one := range all.All() {
			options, _ := one.(*data.Map)
			if text := b.rangeFault(options.Value("time_range")); text != "" {
				return text
			}
		}
	}
	return ""
}

// rangeFault returns the fault of a range of time.
func (b beacon) rangeFault(v any) string {
	limits, _ := v.(*data.Map)
	switch {
	case !data.Truth(v):
		return ""
	case limits.Has("start") && limits.Has("end"):
		for _, name := range []string{"start", "end"} {
			if _, err := schedule.Date(data.Str(limits.Value(name)), time.Now()); err != nil {
				return fmt.Sprintf("The time_range parameter for %s beacon has an invalid %s: %v", b.name, name, err)
			}
		}
		return ""
	case limits == nil && !isText(v):
		return "The time_range parameter for " + b.name + " beacon must be a dictionary."
	}
	return "The time_range parameter for " + b.name + " beacon must contain start & end options."
}

func isText(v any) bool { _, ok := v.(string); return ok }

// place is how far the file has been read, and who is logged in where.
type place struct {
	at    int64
	file  fs.FileInfo    // nil before the first turn
	users map[string]any // by terminal
}

// An entry has size bytes (utmp(5) of 64-bit Linux): type, process, terminal, id, user, host, exit
// status, session and time.
const size = 384

// mostEntries is how many entries a turn reports.
const mostEntries = 10_000

func (b beacon) Beacon(ctx context.Context, config any) ([]*data.Map, error) {
	kept, _, err := beacons.State[place](ctx)
	if err != nil {
		return nil, err
	}
	before := kept.at
	entries, err := kept.next(filepath.Join(b.env.Root, b.file))
	if err != nil {
		return nil, loader.OSError(err)
	}
	if len(entries) == 0 {
		return nil, nil
	}
	f, err := b.filter(ctx, beacons.Merge(config))
	if err != nil {
		kept.at = before // the next turn reads them again
		return nil, err
	}
	var events []*data.Map
	for _, event := range entries {
		if b.name == "wtmp" {
			kept.name(event, f.types)
		}
		fits, err := f.wants(event.Value("user"))
		if err != nil {
			return nil, err
		}
		if fits {
			events = append(events, event)
		}
	}
	return events, nil
}

// next returns the entries that were added to a file since the last turn.
func (p *place) next(path string) ([]*data.Map, error) {
	file, info, err := beacons.OpenFile(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	before := p.file
	p.file = info
	switch {
	case before == nil:
		p.at = info.Size()
	case info.Size() < p.at, !os.SameFile(before, info): // it was rotated
		p.at = 0
	}
	var entries []*data.Map
	for buf := make([]byte, size); len(entries) < mostEntries; p.at += size {
		switch _, err := file.ReadAt(buf, p.at); {
		case errors.Is(err, io.EOF):
			return entries, nil
		case err != nil:
			return nil, err
		}
		entries = append(entries, parse(buf))
	}
	return entries, nil
}

// parse returns an entry as an event.
func parse(b []byte) *data.Map {
	order := binary.NativeEndian
	text := func(from, n int) string {
		return strings.ToValidUTF8(strings.Trim(string(b[from:from+n]), "\x00"), "\uFFFD")
	}
	short := func(at int) int64 { return int64(int16(order.Uint16(b[at:]))) }
	long := func(at int) int64 { return int64(int32(order.Uint32(b[at:]))) }
	return data.NewMap("type", short(0), "PID", long(4), "line", text(8, 32), "inittab", text(40, 4),
		"user", text(44, 32), "hostname", text(76, 256), "exit_status", short(332), "session", short(334),
		"time", long(336), "addr", long(340))
}

// types are the numbers of logins and logouts in the file.
type types struct{ login, logout any }

// name adds what an entry of wtmp means, and to a logout its user.
func (p *place) name(event *data.Map, t types) {
	if p.users == nil {
		p.users = map[string]any{}
	}
	line := event.Text("line")
	switch kind := event.Value("type"); {
	case data.Equal(kind, t.login):
		event.Set("action", "login")
		p.users[line] = event.Value("user")
	case data.Equal(kind, t.logout):
		event.Set("action", "logout")
		if user, ok := p.users[line]; ok {
			event.Set("user", user)
			delete(p.users, line)
		}
	}
}

// A filter selects the events of a configuration.
type filter struct {
	users    *data.Map // by name, with those of the groups; empty for all
	defaults *data.Map
	types    types
	now      time.Time
}

func (b beacon) filter(ctx context.Context, set *data.Map) (filter, error) {
	f := filter{users: data.NewMap(), types: types{int64(7), int64(8)}, now: time.Now()}
	if users, ok := set.Value("users").(*data.Map); ok {
		f.users = users.Clone()
	}
	f.defaults, _ = set.Value("defaults").(*data.Map)
	own, _ := set.Value("ut_type").(*data.Map)
	if v, ok := own.Get("login"); ok {
		f.types.login = v
	}
	if v, ok := own.Get("logout"); ok {
		f.types.logout = v
	}
	groups, _ := set.Value("groups").(*data.Map)
	for name, options := range groups.All() {
		group, ok, err := calls.GroupInfo(ctx, b.env, name)
		switch {
		case err != nil:
			return f, err
		case !ok:
			b.env.Log.Warnf("Group %s does not exist, ignoring.", data.Str(name))
		}
		for _, member := range group.Members {
			if !f.users.Has(member) {
				f.users.Set(member, options)
			}
		}
	}
	return f, nil
}

// wants reports whether the entries of a user are reported now.
func (f filter) wants(user any) (bool, error) {
	limits := f.defaults
	if f.users.Len() > 0 {
		v, ok := f.users.Get(user)
		if !ok {
			return false, nil
		}
		if own, ok := v.(*data.Map); ok && own.Has("time_range") {
			limits = own
		}
	}
	if !limits.Has("time_range") {
		return true, nil
	}
	window, _ := limits.Value("time_range").(*data.Map)
	start, err := schedule.Date(data.Str(window.Value("start")), f.now)
	if err != nil {
		return false, err
	}
	end, err := schedule.Date(data.Str(window.Value("end")), f.now)
	return err == nil && !f.now.Before(start) && !f.now.After(end), err
}

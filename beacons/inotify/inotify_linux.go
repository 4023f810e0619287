package inotify

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sirupsen/logrus"
	"golang.org/x/sys/unix"

	"github.com/brineproject/brine/beacons"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/match"
)

// Plugin returns the beacon inotify.
func Plugin() loader.Plugin {
	return beacons.Plugin("inotify", "",
		func(env *loader.Env) (beacons.Beacon, error) { return files{env}, nil })
}

type files struct{ env *loader.Env }

var _ beacons.Closer = files{}

func (files) Validate(config any) (bool, string) { return beacons.Verdict(fault(config)) }

// A notifier is what a configured beacon keeps between its turns.
type notifier struct {
	*kernel        // nil before the first turn and while it is closed
	rules   []rule // of inotify, in the order of the configuration; nil before the first turn
	byPath  map[string]*rule
}

// open opens inotify if it is closed, and reports whether it was.
func (n *notifier) open(log logrus.FieldLogger) (opened bool, err error) {
	if n.kernel != nil {
		return false, nil
	}
	n.kernel, err = newKernel(log)
	return true, err
}

// Close ends all watches.
func (n *notifier) Close() error {
	if n.kernel == nil {
		return nil
	}
	k := n.kernel
	n.kernel = nil
	return k.Close()
}

// standardMask is what is watched if the configuration has no mask.
const standardMask = unix.IN_CREATE | unix.IN_DELETE | unix.IN_MODIFY

func (f files) Beacon(ctx context.Context, config any) ([]*data.Map, error) {
	n, _, err := beacons.State[notifier](ctx)
	if err != nil {
		return nil, err
	}
	set := beacons.Merge(config)
	if n.byPath == nil {
		paths, _ := set.Value("files").(*data.Map)
		n.setRules(f.rules(paths))
	}
	if _, err := n.open(f.env.Log); err != nil {
		return nil, err
	}
	events, err := n.read()
	if err != nil {
		return nil, err
	}
	if set.Value("coalesce") == true {
		events = coalesced(events)
	}
	reported := f.report(n, nil, events)
	n.arrange()
	return reported, nil
}

// coalesced returns events without those that are there already.
func coalesced(events []event) []event {
	seen := map[event]bool{}
	return slices.DeleteFunc(events, func(e event) bool {
		was := seen[e]
		seen[e] = true
		return was
	})
}

// report appends the events for the master to reported, and follows directories that come and go.
func (f files) report(n *notifier, reported []*data.Map, events []event) []*data.Map {
	for i, e := range events {
		w := n.watches[e.watch]
		if w == nil {
			continue
		}
		dir := w.path
		path := filepath.Join(dir, e.name)
		inside := n.follow(w, e, events[i+1:])
		switch {
		case w.ended && e.mask&unix.IN_IGNORED != 0: // by the beacon itself
		case n.excluded(path, dir):
			f.env.Log.Infof("Excluding %s from event for %s", path, dir)
		default:
			reported = append(reported, data.NewMap("tag", dir, "path", path, "change", maskName(e.mask)))
		}
		reported = f.report(n, reported, inside)
	}
	return reported
}

// follow keeps the watches right after an event, as pyinotify does: new directories are watched with
// auto_add, and what is in them already counts as created; ended watches are forgotten. later are the
// events after it.
func (k *kernel) follow(w *watch, e event, later []event) []event {
	path := filepath.Join(w.path, e.name)
	switch {
	case e.mask&unix.IN_IGNORED != 0:
		k.forget(e.watch)
	case e.mask&unix.IN_ISDIR == 0:
	case e.mask&unix.IN_MOVED_FROM != 0:
		if to := k.target(later, e.cookie); to != "" {
			k.rename(path, to)
		} else {
			k.end(path, false)
		}
	case !w.autoAdd:
	case e.mask&unix.IN_MOVED_TO != 0:
		_ = k.add(path, *w, true) // what it cannot watch is in the log
	case e.mask&unix.IN_CREATE != 0:
		return k.enter(path, *w)
	}
	return nil
}

// target returns the path to which a move in later events leads, "" if it is not watched.
func (k *kernel) target(later []event, cookie uint32) string {
	for _, e := range later {
		if e.cookie == cookie && e.mask&unix.IN_MOVED_TO != 0 && k.watches[e.watch] != nil {
			return filepath.Join(k.watches[e.watch].path, e.name)
		}
	}
	return ""
}

// enter watches a new directory and returns events for what is in it.
func (k *kernel) enter(path string, w watch) []event {
	if k.isWatched(path) {
		return nil
	}
	if err := k.addOne(path, w); err != nil {
		return nil // it is in the log
	}
	id, there := k.paths[path]
	if !there {
		return nil // excluded, or gone
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil
	}
	var events []event
	for _, entry := range entries {
		mask := uint32(unix.IN_CREATE)
		if entry.IsDir() {
			mask |= unix.IN_ISDIR
		}
		events = append(events, event{watch: id, mask: mask, name: entry.Name()})
	}
	return events
}

// A rule is what is configured for a path.
type rule struct {
	path    string
	watch   watch
	recurse bool
	exclude []func(path string) bool // events that are not reported
}

// rules returns what is configured.
func (f files) rules(paths *data.Map) []rule {
	var rules []rule
	for key, v := range paths.All() {
		options, _ := v.(*data.Map)
		r := rule{path: data.Str(key), recurse: data.Truth(options.Value("recurse")), watch: watch{
			mask: maskOf(options), autoAdd: data.Truth(options.Value("auto_add")), exclude: exclusionOf(options)}}
		list, _ := options.Value("exclude").([]any)
		for _, one := range list {
			if excludes := f.excluding(one); excludes != nil {
				r.exclude = append(r.exclude, excludes)
			}
		}
		rules = append(rules, r)
	}
	return rules
}

func (n *notifier) setRules(rules []rule) {
	n.rules, n.byPath = rules, map[string]*rule{}
	for i := range rules {
		n.byPath[rules[i].path] = &rules[i]
	}
}

// excluded reports whether the configuration excludes an event for path in the watched directory.
func (n *notifier) excluded(path, dir string) bool {
	for n.byPath[dir] == nil {
		up := filepath.Dir(dir)
		if up == dir {
			return false
		}
		dir = up
	}
	return slices.ContainsFunc(n.byPath[dir].exclude,
		func(excludes func(string) bool) bool { return excludes(path) })
}

// excluding returns which paths an entry of exclude, a path, a pattern or a regular expression,
// excludes; nil for none.
func (f files) excluding(one any) func(path string) bool {
	if m, ok := one.(*data.Map); ok && m.Len() > 0 {
		key, v := m.At(0)
		options, _ := v.(*data.Map)
		if !data.Truth(options.Value("regex")) {
			return nil // as in Salt
		}
		re, err := beacons.CompileSearch(data.Str(key))
		if err != nil {
			f.env.Log.Warnf("Failed to compile regex: %s", data.Str(key))
			return nil
		}
		return re.Match
	}
	pattern := data.Str(one)
	if strings.Contains(pattern, "*") {
		return func(path string) bool { return loader.Glob(pattern, path) }
	}
	return func(path string) bool { return strings.HasPrefix(path, pattern) }
}

// arrange watches the configured paths that exist. A file that was put in the place of another one is
// watched instead of it.
func (n *notifier) arrange() {
	for _, r := range n.rules {
		if n.isWatched(r.path) {
			continue
		}
		if err := n.add(r.path, r.watch, r.recurse); err != nil {
			return // there are no more watches
		}
	}
}

// exclusionOf returns which directories are not watched. As in Salt each entry of exclude is a regular
// expression for this.
func exclusionOf(options *data.Map) exclusion {
	list, _ := options.Value("exclude").([]any)
	var filters []*match.Regexp
	for _, one := range list {
		if m, ok := one.(*data.Map); ok && m.Len() > 0 {
			one, _ = m.At(0)
		}
		if re, err := match.CompileRegexp(data.Str(one)); err == nil {
			filters = append(filters, re)
		}
	}
	if len(filters) == 0 {
		return nil
	}
	return func(path string) bool {
		return slices.ContainsFunc(filters, func(re *match.Regexp) bool { return re.Match(path) })
	}
}

// Close ends the watches until the next turn.
func (files) Close(ctx context.Context, _ any) error {
	n, _, err := beacons.State[notifier](ctx)
	if err != nil {
		return err
	}
	return n.Close()
}

// A flag is a bit of a mask with its name in the configuration.
type flag struct {
	name string
	bit  uint32
}

// flags returns the bits of masks that the kernel sends or accepts.
func flags() []flag {
	return []flag{
		{"access", unix.IN_ACCESS}, {"modify", unix.IN_MODIFY}, {"attrib", unix.IN_ATTRIB},
		{"close_write", unix.IN_CLOSE_WRITE}, {"close_nowrite", unix.IN_CLOSE_NOWRITE},
		{"open", unix.IN_OPEN}, {"moved_from", unix.IN_MOVED_FROM}, {"moved_to", unix.IN_MOVED_TO},
		{"create", unix.IN_CREATE}, {"delete", unix.IN_DELETE}, {"delete_self", unix.IN_DELETE_SELF},
		{"move_self", unix.IN_MOVE_SELF}, {"unmount", unix.IN_UNMOUNT}, {"ignored", unix.IN_IGNORED},
		{"onlydir", unix.IN_ONLYDIR}, {"dont_follow", unix.IN_DONT_FOLLOW},
		{"excl_unlink", unix.IN_EXCL_UNLINK}, {"oneshot", unix.IN_ONESHOT},
	}
}

// maskOf returns the mask of a configured path.
func maskOf(options *data.Map) uint32 {
	list, ok := options.Value("mask").([]any)
	if !ok {
		return standardMask
	}
	var mask uint32
	for _, name := range list {
		for _, f := range flags() {
			if f.name == name {
				mask |= f.bit
			}
		}
	}
	return mask
}

// maskName returns the name of an event as pyinotify has it: IN_CREATE|IN_ISDIR.
func maskName(mask uint32) string {
	name := ""
	for _, f := range flags() {
		if mask&f.bit != 0 && f.bit != unix.IN_ISDIR {
			name = "IN_" + strings.ToUpper(f.name)
			break
		}
	}
	if mask&unix.IN_ISDIR != 0 {
		name += "|IN_ISDIR"
	}
	return name
}

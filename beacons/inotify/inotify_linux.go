package inotify

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

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

// notifier is the instance of inotify of a configured beacon, nil before the first turn and while it
// is closed.
type notifier struct{ *kernel }

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
	if n.kernel == nil {
		if n.kernel, err = newKernel(); err != nil {
			return nil, err
		}
	}
	set := beacons.Merge(config)
	paths, _ := set.Value("files").(*data.Map)
	events, err := n.read()
	if err != nil {
		return nil, err
	}
	if set.Value("coalesce") == true {
		events = coalesced(events)
	}
	reported := f.report(n.kernel, events, paths)
	return reported, f.arrange(n.kernel, paths)
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

// report returns the events for the master, and follows directories that come and go.
func (f files) report(k *kernel, events []event, paths *data.Map) []*data.Map {
	var reported []*data.Map
	for i := 0; i < len(events); i++ { // new directories add events
		e := events[i]
		if e.mask&unix.IN_Q_OVERFLOW != 0 {
			f.env.Log.Warn("inotify: too many events at once; some are lost")
			continue
		}
		w := k.watches[e.watch]
		if w == nil {
			continue
		}
		if more := k.follow(w, e); len(more) > 0 {
			events = slices.Insert(events, i+1, more...)
		}
		path := filepath.Join(w.path, e.name)
		if f.excluded(path, w.path, paths) {
			f.env.Log.Infof("Excluding %s from event for %s", path, w.path)
			continue
		}
		reported = append(reported, data.NewMap("tag", w.path, "path", path, "change", maskName(e.mask)))
	}
	return reported
}

// follow keeps the watches right after an event, as pyinotify does: new directories are watched with
// auto_add, and what is in them already counts as created; ended watches are forgotten.
func (k *kernel) follow(w *watch, e event) []event {
	path := filepath.Join(w.path, e.name)
	switch {
	case e.mask&unix.IN_IGNORED != 0:
		delete(k.watches, e.watch)
	case e.mask&unix.IN_ISDIR == 0 || !w.autoAdd:
	case e.mask&unix.IN_MOVED_TO != 0:
		_ = k.add(path, *w, true) // it may have gone again
	case e.mask&unix.IN_CREATE != 0:
		return k.enter(path, *w)
	}
	return nil
}

// enter watches a new directory and returns events for what is in it.
func (k *kernel) enter(path string, w watch) []event {
	if _, there := k.has(path); there {
		return nil
	}
	if err := k.addOne(path, w); err != nil {
		return nil
	}
	var id int32
	for wd, one := range k.watches {
		if one.path == path {
			id = wd
		}
	}
	if id == 0 {
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

// excluded reports whether the configuration excludes an event for path in the watched directory.
func (f files) excluded(path, dir string, paths *data.Map) bool {
	for !paths.Has(dir) {
		up := filepath.Dir(dir)
		if up == dir {
			return false
		}
		dir = up
	}
	options, _ := paths.Value(dir).(*data.Map)
	list, _ := options.Value("exclude").([]any)
	for _, one := range list {
		if f.excludes(one, path) {
			return true
		}
	}
	return false
}

// excludes reports whether an entry of exclude, a path, a pattern or a regular expression, excludes a
// path.
func (f files) excludes(one any, path string) bool {
	if m, ok := one.(*data.Map); ok && m.Len() > 0 {
		key, v := m.At(0)
		options, _ := v.(*data.Map)
		if !data.Truth(options.Value("regex")) {
			return false // as in Salt
		}
		re, err := match.CompileRegexp(`[\s\S]*?(?:` + data.Str(key) + `)`)
		if err != nil {
			f.env.Log.Warnf("Failed to compile regex: %s", data.Str(key))
			return false
		}
		return re.Match(path)
	}
	pattern := data.Str(one)
	if strings.Contains(pattern, "*") {
		return loader.Glob(pattern, path)
	}
	return strings.HasPrefix(path, pattern)
}

// arrange watches the configured paths that exist.
func (f files) arrange(k *kernel, paths *data.Map) error {
	var errs []error
	for key, v := range paths.All() {
		path := data.Str(key)
		options, _ := v.(*data.Map)
		w := watch{mask: maskOf(options), autoAdd: data.Truth(options.Value("auto_add")),
			exclude: f.exclusion(options)}
		if _, there := k.has(path); there || !exists(path) {
			continue
		}
		errs = append(errs, k.add(path, w, data.Truth(options.Value("recurse"))))
	}
	return errors.Join(errs...)
}

// exclusion returns which directories are not watched. As in Salt each entry of exclude is a regular
// expression for this.
func (f files) exclusion(options *data.Map) exclusion {
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
			if f.name == name && f.name != "ignored" && f.name != "unmount" { // which the kernel only sends
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

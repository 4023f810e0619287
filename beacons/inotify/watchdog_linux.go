package inotify

import (
	"context"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/brineproject/brine/beacons"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Watchdog returns the beacon watchdog.
func Watchdog() loader.Plugin {
	return beacons.Plugin("watchdog", "",
		func(env *loader.Env) (beacons.Beacon, error) { return directories{env}, nil })
}

// directories watches directories, without those below them.
type directories struct{ env *loader.Env }

var _ beacons.Closer = directories{}

func (directories) Validate(config any) (bool, string) {
	return beacons.Verdict(directoriesFault(config))
}

// directoryMask is what the library watchdog asks the kernel for.
const directoryMask = unix.IN_MODIFY | unix.IN_ATTRIB | unix.IN_MOVED_FROM | unix.IN_MOVED_TO |
	unix.IN_CREATE | unix.IN_DELETE | unix.IN_DELETE_SELF | unix.IN_DONT_FOLLOW | unix.IN_CLOSE_WRITE

func (d directories) Beacon(ctx context.Context, config any) ([]*data.Map, error) {
	n, _, err := beacons.State[notifier](ctx)
	if err != nil {
		return nil, err
	}
	paths, _ := beacons.Merge(config).Value("directories").(*data.Map)
	switch opened, err := n.open(d.env.Log); {
	case err != nil:
		return nil, err
	case opened:
		watchAll(n.kernel, paths)
		return nil, nil
	}
	events, err := n.read()
	if err != nil {
		return nil, err
	}
	var reported []*data.Map
	for i, e := range events {
		w := n.watches[e.watch]
		if w == nil {
			continue
		}
		options, _ := paths.Value(w.path).(*data.Map)
		masks, ok := options.Value("mask").([]any)
		if !ok || len(masks) == 0 {
			masks = directoryMasks()
		}
		for _, c := range changes(w.path, events, i) {
			if slices.Contains(masks, any(c.mask)) {
				reported = append(reported, data.NewMap("tag", "watchdog", "path", c.path, "change", c.did))
			}
		}
		if e.mask&unix.IN_IGNORED != 0 {
			n.forget(e.watch)
		}
	}
	watchAll(n.kernel, paths)
	return reported, nil
}

// watchAll watches the directories that exist and are not watched yet.
func watchAll(k *kernel, paths *data.Map) {
	for key := range paths.All() {
		path := data.Str(key)
		if k.isWatched(path) {
			continue
		}
		if err := k.addOne(path, watch{mask: directoryMask}); err != nil {
			return // there are no more watches
		}
	}
}

// A change is an event of the library watchdog.
type change struct{ mask, did, path string }

// changes returns the events of watchdog for the event i of a directory
// (watchdog/observers/inotify.py, queue_events).
func changes(dir string, events []event, i int) []change {
	e := events[i]
	path := filepath.Join(dir, e.name)
	modified := change{"modify", "modified", dir}
	switch {
	case e.mask&unix.IN_MOVED_FROM != 0:
		if to := partner(events[i+1:], e.cookie, unix.IN_MOVED_TO); to {
			return []change{{"move", "moved", path}, modified, modified}
		}
		return []change{{"delete", "deleted", path}, modified}
	case e.mask&unix.IN_MOVED_TO != 0:
		if partner(events[:i], e.cookie, unix.IN_MOVED_FROM) {
			return nil // reported with the other
		}
		return []change{{"create", "created", path}, modified}
	case e.mask&(unix.IN_ATTRIB|unix.IN_MODIFY) != 0:
		return []change{{"modify", "modified", path}}
	case e.mask&unix.IN_DELETE != 0:
		return []change{{"delete", "deleted", path}, modified}
	case e.mask&unix.IN_CREATE != 0:
		return []change{{"create", "created", path}, modified}
	case e.mask&unix.IN_CLOSE_WRITE != 0:
		return []change{modified}
	case e.mask&unix.IN_DELETE_SELF != 0:
		return []change{{"delete", "deleted", dir}}
	}
	return nil
}

// partner reports whether events have the other half of a move.
func partner(events []event, cookie, mask uint32) bool {
	return slices.ContainsFunc(events, func(e event) bool { return e.cookie == cookie && e.mask&mask != 0 })
}

// Close ends the watches until the next turn.
func (d directories) Close(ctx context.Context, config any) error { return files(d).Close(ctx, config) }

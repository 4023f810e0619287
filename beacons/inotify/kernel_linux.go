package inotify

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sirupsen/logrus"
	"golang.org/x/sys/unix"
)

// A kernel is an instance of inotify (inotify(7)).
type kernel struct {
	fd      int
	log     logrus.FieldLogger
	watches map[int32]*watch // by descriptor
	paths   map[string]int32 // descriptors by path; several paths may be one file
	failed  map[string]bool  // paths that could not be watched, which is logged once
	// inotify_add_watch of the kernel, unless a test limits it
	addWatch func(fd int, path string, mask uint32) (int, error)
}

// A watch is a watched file or directory.
type watch struct {
	mask    uint32
	autoAdd bool // also watch the directories that are made or moved in it
	exclude exclusion

	path  string
	also  []string // other paths of the same file
	is    identity
	ended bool // the kernel was told to end it
}

// An exclusion reports whether a path is not watched; nil excludes none.
type exclusion func(path string) bool

// An event is what happened to a watched file, or to a file in a watched directory.
type event struct {
	watch  int32
	mask   uint32
	cookie uint32
	name   string // in the directory; "" for the watched file itself
}

func newKernel(log logrus.FieldLogger) (*kernel, error) {
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("open inotify: %w", err)
	}
	return &kernel{fd: fd, log: log, watches: map[int32]*watch{}, paths: map[string]int32{},
		failed: map[string]bool{}, addWatch: unix.InotifyAddWatch}, nil
}

// Close ends all watches.
func (k *kernel) Close() error { return unix.Close(k.fd) }

// read returns the events since the last call, at most about a megabyte of them. Lost events are
// logged.
func (k *kernel) read() ([]event, error) {
	var events []event
	buf := make([]byte, 64<<10)
	for range 16 {
		n, err := unix.Read(k.fd, buf)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			return events, nil
		case err != nil:
			return nil, fmt.Errorf("read events of inotify: %w", err)
		}
		for _, e := range parse(buf[:n]) {
			if e.mask&unix.IN_Q_OVERFLOW != 0 {
				k.log.Warn("inotify: too many events at once; some are lost")
				continue
			}
			events = append(events, e)
		}
	}
	return events, nil
}

// parse returns the events in a buffer of the kernel.
func parse(b []byte) []event {
	var events []event
	for len(b) >= unix.SizeofInotifyEvent {
		order := binary.NativeEndian
		e := event{watch: int32(order.Uint32(b)), mask: order.Uint32(b[4:]), cookie: order.Uint32(b[8:])}
		length := int(order.Uint32(b[12:]))
		b = b[unix.SizeofInotifyEvent:]
		if length > len(b) {
			return events
		}
		name, _, _ := bytes.Cut(b[:length], []byte{0})
		e.name, b = string(name), b[length:]
		events = append(events, e)
	}
	return events
}

// errFull is returned when the kernel gives no more watches.
var errFull = errors.New("there are no more watches (sysctl fs.inotify.max_user_watches)")

// add watches a path, or changes its watch. With recurse it also watches the directories below. A path
// that cannot be watched is logged, once; the error is errFull when no other can be either.
func (k *kernel) add(path string, w watch, recurse bool) error {
	if !recurse {
		return k.addOne(path, w)
	}
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() {
		return k.addOne(path, w)
	}
	return k.addBelow(path, w)
}

// addBelow watches a directory and those below it. As with pyinotify each is read before it is
// watched, so that it is not reported as opened by itself.
func (k *kernel) addBelow(path string, w watch) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil //nolint:nilerr // it has gone meanwhile, or may not be read
	}
	if err := k.addOne(path, w); err != nil {
		return err
	}
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		if err := k.addBelow(filepath.Join(path, entry.Name()), w); err != nil {
			return err
		}
	}
	return nil
}

// addOne watches one path, unless it is excluded. If another file was there before, the watch of that
// one ends, with those below it.
func (k *kernel) addOne(path string, w watch) error {
	if w.exclude != nil && w.exclude(path) {
		return nil
	}
	if w.autoAdd {
		w.mask |= unix.IN_CREATE
	}
	is, there := identify(path, w.mask)
	if !there {
		return nil
	}
	if before := k.at(path); before != nil && before.is != is {
		k.end(path, true)
	}
	id, err := k.addWatch(k.fd, path, w.mask)
	switch {
	case errors.Is(err, unix.ENOENT):
		return nil // it has gone meanwhile
	case errors.Is(err, unix.ENOSPC):
		k.complain("", "inotify: cannot watch %s and others: %v", path, errFull)
		return errFull
	case err != nil:
		k.complain(path, "inotify: cannot watch %s: %v", path, err)
		return nil
	}
	delete(k.failed, "")
	delete(k.failed, path)
	w.path, w.is, w.also, w.ended = path, is, nil, false
	if before := k.watches[int32(id)]; before != nil && before.path != path {
		w.also = append(slices.Clone(before.also), before.path)
	}
	k.watches[int32(id)] = &w
	k.paths[path] = int32(id)
	return nil
}

// at returns the watch of a path, nil if there is none.
func (k *kernel) at(path string) *watch {
	id, ok := k.paths[path]
	if !ok {
		return nil
	}
	return k.watches[id]
}

// isWatched reports whether the file that is now at a path is watched.
func (k *kernel) isWatched(path string) bool {
	w := k.at(path)
	if w == nil {
		return false
	}
	is, there := identify(path, w.mask)
	return there && w.is == is
}

// complain logs a message about a path that cannot be watched, once until it can.
func (k *kernel) complain(path, format string, args ...any) {
	if !k.failed[path] {
		k.failed[path] = true
		k.log.Errorf(format, args...)
	}
}

// forget removes a watch that the kernel has ended.
func (k *kernel) forget(id int32) {
	w := k.watches[id]
	delete(k.watches, id)
	for _, path := range append(w.also, w.path) {
		if k.paths[path] == id {
			delete(k.paths, path)
		}
	}
}

// end ends the watches of a path and of those below it. With drain their events of before are still
// reported.
func (k *kernel) end(path string, drain bool) {
	for below, id := range k.within(path) {
		delete(k.paths, below)
		w := k.watches[id]
		if w == nil || w.path != below {
			continue // it is another path of the same file
		}
		_, err := unix.InotifyRmWatch(k.fd, uint32(id))
		if drain {
			w.ended = err == nil
		} else {
			delete(k.watches, id)
		}
	}
}

// rename changes the paths of watches after a directory was renamed.
func (k *kernel) rename(from, to string) {
	for below, id := range k.within(from) {
		delete(k.paths, below)
		path := to + strings.TrimPrefix(below, from)
		k.paths[path] = id
		if w := k.watches[id]; w != nil && w.path == below {
			w.path = path
		}
	}
}

// within returns the descriptors of a path and those below it.
func (k *kernel) within(path string) map[string]int32 {
	found := map[string]int32{}
	for one, id := range k.paths {
		if one == path || strings.HasPrefix(one, strings.TrimSuffix(path, "/")+"/") {
			found[one] = id
		}
	}
	return found
}

// An identity is what tells a file from another one at the same path.
type identity struct{ device, inode uint64 }

// identify returns the identity of a file: of a link with the mask dont_follow, else of what it leads to.
func identify(path string, mask uint32) (is identity, there bool) {
	var stat unix.Stat_t
	read := unix.Stat
	if mask&unix.IN_DONT_FOLLOW != 0 {
		read = unix.Lstat
	}
	if err := read(path, &stat); err != nil {
		return identity{}, false
	}
	return identity{uint64(stat.Dev), stat.Ino}, true //nolint:unconvert // it has 32 bits on MIPS
}

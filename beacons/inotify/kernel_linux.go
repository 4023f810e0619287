package inotify

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// A kernel is an instance of inotify (inotify(7)).
type kernel struct {
	fd      int
	watches map[int32]*watch // by descriptor
}

// A watch is a watched file or directory.
type watch struct {
	path    string
	mask    uint32
	autoAdd bool // also watch the directories that are made or moved in it
	exclude exclusion
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

func newKernel() (*kernel, error) {
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("open inotify: %w", err)
	}
	return &kernel{fd, map[int32]*watch{}}, nil
}

// Close ends all watches.
func (k *kernel) Close() error { return unix.Close(k.fd) }

// read returns the events since the last call, at most about a megabyte of them.
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
		events = append(events, parse(buf[:n])...)
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

// add watches a path, or changes its watch. With recurse it also watches the directories below.
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
	errs := []error{k.addOne(path, w)}
	for _, entry := range entries {
		if entry.IsDir() {
			errs = append(errs, k.addBelow(filepath.Join(path, entry.Name()), w))
		}
	}
	return errors.Join(errs...)
}

// addOne watches one path, unless it is excluded.
func (k *kernel) addOne(path string, w watch) error {
	if w.exclude != nil && w.exclude(path) {
		return nil
	}
	mask := w.mask
	if w.autoAdd {
		mask |= unix.IN_CREATE
	}
	id, err := unix.InotifyAddWatch(k.fd, path, mask)
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.EACCES), errors.Is(err, unix.ENOTDIR):
		return nil
	case err != nil:
		return fmt.Errorf("watch %s: %w", path, err)
	}
	w.path = path
	k.watches[int32(id)] = &w
	return nil
}

// has reports whether a path is watched.
func (k *kernel) has(path string) (*watch, bool) {
	for _, w := range k.watches {
		if w.path == path {
			return w, true
		}
	}
	return nil, false
}

// exists reports whether a path exists, after links.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

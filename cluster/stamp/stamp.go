// Package stamp tells whether a file has changed since a directory was listed, without reading it.
package stamp

import (
	"io/fs"
	"time"
)

// Settled is how old the time of a file must be before each later change is sure to alter it.
const Settled = 2 * time.Second

// A Stamp describes a file so that each change of it shows, except one within a tick of the clock. The
// zero value is that of no file.
type Stamp struct {
	size, modified, changed int64
	inode                   uint64
	mode                    fs.FileMode
}

// Of returns the stamp of a file.
func Of(info fs.FileInfo) Stamp {
	s := Stamp{size: info.Size(), modified: info.ModTime().UnixNano(), mode: info.Mode()}
	s.inode, s.changed = inodeOf(info)
	return s
}

// IsFresh reports whether the file was so new at a time that it can have changed after it without
// another stamp.
func (s Stamp) IsFresh(at time.Time) bool {
	since := at.Add(-Settled).UnixNano()
	return s.modified > since || s.changed > since
}

// IsLink reports whether the file is a symbolic link, whose stamp says nothing about its target.
func (s Stamp) IsLink() bool { return s.mode&fs.ModeSymlink != 0 }

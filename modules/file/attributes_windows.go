package file

import (
	"context"
	"os"

	"golang.org/x/sys/windows"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/loader"
)

// getAttributes returns whether a file has each of the attributes of Windows, such as hidden.
//
// CLI Example:
//
//	salt '*' file.get_attributes 'c:\\temp\\a.txt'
func getAttributes(_ context.Context, a pathArgs) (any, error) {
	bits, _, err := attributesOf(a.Path)
	if err != nil {
		return nil, err
	}
	ret := data.NewMap()
	for _, at := range []struct {
		name string
		bit  uint32
	}{{"archive", 0x20}, {"reparsePoint", 0x400}, {"compressed", 0x800}, {"directory", 0x10},
		{"encrypted", 0x4000}, {"hidden", 0x2}, {"normal", 0x80}, {"notIndexed", 0x2000},
		{"offline", 0x1000}, {"readonly", 0x1}, {"system", 0x4}, {"temporary", 0x100}} {
		ret.Set(at.name, bits&at.bit != 0)
	}
	link := false
	if info, err := os.Lstat(a.Path); err == nil {
		link = info.Mode()&os.ModeSymlink != 0
	}
	const reparse, directory = 0x400, 0x10
	ret.Set("mountedVolume", bits&reparse != 0 && bits&directory != 0 && !link)
	ret.Set("symbolicLink", link)
	return ret, nil
}

func attributesOf(path string) (bits uint32, name *uint16, err error) {
	if !paths.Exists(path) {
		return 0, nil, loader.Execution("Path not found: %s", path)
	}
	if name, err = windows.UTF16PtrFromString(path); err == nil {
		bits, err = windows.GetFileAttributes(name)
	}
	return bits, name, err
}

type setAttributesArgs struct {
	Path       string
	Archive    any `default:"None"`
	Hidden     any `default:"None"`
	Normal     any `default:"None"`
	NotIndexed any `name:"notIndexed" default:"None"`
	Readonly   any `default:"None"`
	System     any `default:"None"`
	Temporary  any `default:"None"`
}

// setAttributes sets or clears attributes of a file. None leaves one as it is, and normal clears all.
//
// CLI Example:
//
//	salt '*' file.set_attributes 'c:\\temp\\a.txt' readonly=True hidden=True
func setAttributes(_ context.Context, a setAttributesArgs) (any, error) {
	bits, name, err := attributesOf(a.Path)
	if err != nil {
		return nil, err
	}
	wanted := []struct {
		v   any
		bit uint32
	}{{a.Archive, 0x20}, {a.Hidden, 0x2}, {a.NotIndexed, 0x2000}, {a.Readonly, 0x1},
		{a.System, 0x4}, {a.Temporary, 0x100}}
	if data.Truth(a.Normal) {
		bits = windows.FILE_ATTRIBUTE_NORMAL
	}
	for _, w := range wanted {
		switch {
		case data.Truth(w.v) && data.Truth(a.Normal):
			return nil, loader.Execution("Normal attribute may not be used with any other attributes")
		case data.Truth(w.v):
			bits |= w.bit
		case w.v != nil:
			bits &^= w.bit
		}
	}
	return windows.SetFileAttributes(name, bits) == nil, nil
}

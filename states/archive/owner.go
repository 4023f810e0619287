package archive

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/state/change"
)

// own sets the user and group of what was unpacked.
func (e *extraction) own(ctx context.Context) error {
	if !data.Truth(e.a.User) && !data.Truth(e.a.Group) {
		return nil
	}
	dirs, rest := e.of("top_level_dirs"), append(e.of("top_level_files"),
		e.of("top_level_links")...)
	if on := data.Str(e.a.EnforceOwnershipOn); data.Truth(e.a.EnforceOwnershipOn) {
		if dirs, rest = nil, []string{on}; paths.IsDir(on) {
			dirs, rest = rest, nil
		}
	}
	o := &ownerChange{e: e}
	for _, dir := range dirs {
		if err := o.dir(ctx, dir); err != nil {
			return err
		}
	}
	for _, file := range rest {
		o.file(ctx, file)
	}
	e.owned = o
	return nil
}

// An ownerChange records the outcome of changing owners.
type ownerChange struct {
	e               *extraction
	missing, failed []string
}

// full returns a path below the directory. An absolute path is returned as it is.
func (o *ownerChange) full(path string) string {
	if path != "" && path == data.Str(o.e.a.EnforceOwnershipOn) {
		return path
	}
	return join(o.e.name, path)
}

func (o *ownerChange) dir(ctx context.Context, dir string) error {
	full := o.full(dir)
	if !paths.IsDir(full) {
		if !change.Test(ctx) {
			o.missing = append(o.missing, full)
		}
		return nil
	}
	var recurse []any
	if data.Truth(o.e.a.User) {
		recurse = append(recurse, "user")
	}
	if data.Truth(o.e.a.Group) {
		recurse = append(recurse, "group")
	}
	result, err := o.e.state(ctx, "file.directory",
		data.NewMap("user", o.e.a.User, "group", o.e.a.Group, "recurse", recurse), full)
	if err != nil {
		return err
	}
	if data.Truth(result.Value("changes")) {
		o.e.changes().Set("updated ownership", true)
	}
	if r := result.Value("result"); !data.Truth(r) && !(r == nil && change.Test(ctx)) {
		o.failed = append(o.failed, full)
	}
	return nil
}

func (o *ownerChange) file(ctx context.Context, file string) {
	full := o.full(file)
	info, err := os.Lstat(full)
	if err != nil {
		if !change.Test(ctx) {
			if errors.Is(err, fs.ErrNotExist) {
				o.missing = append(o.missing, full)
			}
			o.failed = append(o.failed, full)
		}
		return
	}
	uid, gid := ids(info)
	if (o.e.uid == -1 || o.e.uid == uid) && (o.e.gid == -1 || o.e.gid == gid) {
		return
	}
	if !change.Test(ctx) && os.Lchown(full, int(o.e.uid), int(o.e.gid)) != nil {
		o.failed = append(o.failed, file)
		return
	}
	o.e.changes().Set("updated ownership", true)
}

// report reports the paths whose owner could not be set.
func (o *ownerChange) report() {
	if o == nil {
		return
	}
	e := o.e
	if o.missing != nil {
		if !data.Truth(e.a.IfMissing) {
			e.ret.Set("result", false)
		}
		e.appendComment("\n\nWhile trying to enforce user/group ownership, the following paths were missing:\n" + bullets(o.missing))
	}
	if o.failed != nil {
		e.ret.Set("result", false)
		e.appendComment("\n\nWhile trying to enforce user/group ownership, Salt was unable to change ownership on the following paths:\n" + bullets(o.failed))
	}
}

package file

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/state/change"
)

type hardlinkArgs struct {
	Name     string
	Target   string
	Force    bool      `default:"False"`
	Makedirs bool      `default:"False"`
	User     any       `default:"None"`
	Group    any       `default:"None"`
	DirMode  any       `default:"None"`
	Kwargs   *data.Map `kwargs:"kwargs"`
}

// hardlink creates a hard link to a file.
//
// target
//
//	The existing file.
//
// force
//
//	Replace another file of that name.
//
// makedirs, user, group, dir_mode
//
//	Create missing parent directories with these owners and this mode.
//
//	/etc/grub.conf:
//	  file.hardlink:
//	    - target: /boot/grub/grub.conf
func (m links) hardlink(ctx context.Context, a hardlinkArgs) (any, error) {
	a.Name = home(a.Name)
	a.DirMode = normalMode(a.DirMode)
	if a.Name == "" {
		return change.Failed(a.Name, "Must provide name to file.hardlink"), nil
	}
	owners := symlinkArgs{Name: a.Name, User: a.User, Group: a.Group, Kwargs: a.Kwargs}
	wrong, err := m.wrongOwners(ctx, &owners)
	if err != nil {
		return nil, err
	}
	a.User, a.Group = owners.User, owners.Group
	if !filepath.IsAbs(a.Target) {
		wrong = append(wrong, "Specified target "+a.Target+" is not an absolute path")
	}
	if len(wrong) > 0 {
		return change.Failed(a.Name, sentences(wrong)), nil
	}
	if change.Test(ctx) {
		return m.hardlinkForecast(ctx, a)
	}
	return m.hardlinked(ctx, a)
}

// sentences joins error messages. If there are several, each ends with a full stop.
func sentences(wrong []string) string {
	text := strings.Join(wrong, ". ")
	if len(wrong) > 1 {
		text += "."
	}
	return text
}

// hardlinkForecast returns the result of test mode.
func (m links) hardlinkForecast(ctx context.Context, a hardlinkArgs) (any, error) {
	switch {
	case !paths.Exists(a.Target):
		return change.Failed(a.Name, "Target "+a.Target+" for hard link does not exist"), nil
	case paths.IsDir(a.Target):
		return change.Failed(a.Name, "Unable to hard link from directory "+a.Target), nil
	case paths.IsDir(a.Name):
		return change.Failed(a.Name, "Unable to hard link to directory "+a.Name), nil
	case !paths.Exists(a.Name):
		return change.Would(a.Name, data.NewMap("new", a.Name), "Hard link "+a.Name+" to "+a.Target+
			" is set for creation"), nil
	}
	many, err := loader.CallAs[bool](ctx, m.env, "file.is_hardlink", []any{a.Name}, nil)
	switch {
	case err != nil:
		return nil, err
	case many && sameFile(a.Name, a.Target):
		return change.Unchanged(a.Name, "The hard link "+a.Name+" is presently targetting "+
			a.Target), nil
	case many:
		return change.Would(a.Name, data.NewMap("change", a.Name), "Link "+a.Name+
			" target is set to be changed to "+a.Target), nil
	case a.Force:
		return change.Would(a.Name, nil, "The file or directory "+a.Name+
			" is set for removal to make way for a new hard link targeting "+a.Target), nil
	}
	return change.Failed(a.Name, "File or directory exists where the hard link "+a.Name+
		" should be. Did you mean to use force?"), nil
}

// sameFile reports whether two paths are names of the same file, without following links.
func sameFile(a, b string) bool {
	x, err := os.Lstat(a)
	if err != nil {
		return false
	}
	y, err := os.Lstat(b)
	return err == nil && os.SameFile(x, y)
}

func (m links) hardlinked(ctx context.Context, a hardlinkArgs) (any, error) {
	switch dir := dirname(a.Name); {
	case paths.IsDir(a.Name):
		return change.Failed(a.Name, "Unable to hard link to directory "+a.Name), nil
	case paths.IsDir(a.Target):
		return change.Failed(a.Name, "Unable to hard link from directory "+a.Target), nil
	case !paths.Exists(a.Target):
		return change.Failed(a.Name, "Target "+a.Target+" for hard link does not exist"), nil
	case paths.IsDir(dir):
	case !a.Makedirs:
		return change.Failed(a.Name, "Directory "+dir+" for hard link is not present"), nil
	default:
		owned := calls.Owned{User: a.User, Group: a.Group, Mode: a.DirMode}
		if err := calls.MakeDirs(ctx, m.env, a.Name, owned); err != nil {
			return nil, err
		}
	}
	return m.relink(ctx, a)
}

// relink creates the link. It first removes the existing file if that is another link or may be
// removed.
func (m links) relink(ctx context.Context, a hardlinkArgs) (any, error) {
	many, err := loader.CallAs[bool](ctx, m.env, "file.is_hardlink", []any{a.Name}, nil)
	if err != nil {
		return nil, err
	}
	changes := data.NewMap()
	done, failed := "Created new hard link ", "Unable to create new hard link "
	switch linked := many; {
	case linked && sameFile(a.Name, a.Target):
		return change.Unchanged(a.Name, "Target of hard link "+a.Name+" is already pointing to "+
			a.Target), nil
	case linked:
		done, failed = "Set target of hard link ", "Unable to set target of hard link "
	case paths.IsFile(a.Name) && !a.Force:
		return change.Failed(a.Name, "File exists where the hard link "+a.Name+" should be"), nil
	case paths.IsFile(a.Name):
		changes.Set("forced", "File for hard link was forcibly replaced")
	case paths.Exists(a.Name):
		return change.Unchanged(a.Name, ""), nil
	}
	if paths.LinkExists(a.Name) && paths.Exists(a.Name) {
		if err := os.Remove(a.Name); err != nil {
			return nil, loader.OSError(err)
		}
	}
	if _, err := m.call(ctx, "file.link", nil, a.Target, a.Name); err != nil {
		if loader.KindOf(err) != loader.KindExecution {
			return nil, err
		}
		return change.New(a.Name, false, changes, failed+a.Name+" -> "+a.Target+": "+
			err.Error()), nil
	}
	changes.Set("new", a.Name)
	return change.New(a.Name, true, changes, done+a.Name+" -> "+a.Target), nil
}

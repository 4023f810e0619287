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

type symlinkArgs struct {
	Name                  string
	Target                string
	Force                 bool      `default:"False"`
	Backupname            any       `default:"None"`
	Makedirs              bool      `default:"False"`
	User                  any       `default:"None"`
	Group                 any       `default:"None"`
	Mode                  any       `default:"None"`
	WinOwner              any       `default:"None"`
	WinPerms              any       `default:"None"`
	WinDenyPerms          any       `default:"None"`
	WinInheritance        any       `default:"None"`
	Atomic                bool      `default:"False"`
	DisallowCopyAndUnlink bool      `default:"False"`
	InheritUserAndGroup   bool      `default:"False"`
	Kwargs                *data.Map `kwargs:"kwargs"`
}

// symlink creates a symbolic link.
//
// target
//
//	The path that the link points to.
//
// force, atomic, backupname
//
//	Replace an existing file; replace it atomically; rename it first.
//
// makedirs, mode
//
//	Create missing parent directories with this mode.
//
// user, group, inherit_user_and_group
//
//	The owner of the link. Default: the minion's user, or with inherit_user_and_group the current
//	owner.
//
//	/etc/grub.conf:
//	  file.symlink:
//	    - target: /boot/grub/grub.conf
func (m links) symlink(ctx context.Context, a symlinkArgs) (any, error) { return m.linked(ctx, a) }

func (m links) linked(ctx context.Context, a symlinkArgs) (*data.Map, error) {
	a.Name = home(a.Name)
	if a.Name == "" {
		return change.Failed(a.Name, "Must provide name to file.symlink"), nil
	}
	a.Mode = normalMode(a.Mode)
	complaint, err := m.linkOwners(ctx, &a)
	if err != nil {
		return nil, err
	}
	if complaint != "" {
		return change.Failed(a.Name, complaint), nil
	}
	if change.Test(ctx) {
		return m.linkForecast(ctx, a)
	}
	if dir := dirname(a.Name); !paths.IsDir(dir) {
		if !a.Makedirs {
			return change.Failed(a.Name, "Directory "+dir+" for symlink is not present"), nil
		}
		owned := calls.Owned{User: a.User, Group: a.Group, Mode: a.Mode}
		if err := calls.MakeDirs(ctx, m.env, a.Name, owned); err != nil {
			return nil, err
		}
	}
	return m.link(ctx, a)
}

// linkOwners completes user and group and returns a message if they are invalid.
func (m links) linkOwners(ctx context.Context, a *symlinkArgs) (string, error) {
	wrong, err := m.wrongOwners(ctx, a)
	return sentences(wrong), err
}

// wrongOwners completes user and group of a link. It returns messages about invalid owners and an
// invalid name.
func (m links) wrongOwners(ctx context.Context, a *symlinkArgs) ([]string, error) {
	a.User = m.ownerOf(a.User, a.Kwargs)
	if onWindows {
		a.User = m.ownerOnWindows(a.WinOwner, a.User, a.Group, a.Name)
	}
	if a.InheritUserAndGroup && paths.IsLink(a.Name) {
		user, group, err := m.owners(ctx, a.Name)
		if err != nil {
			return nil, err
		}
		if a.User == nil {
			a.User = user
		}
		if a.Group == nil {
			a.Group = group
		}
	}
	var err error
	if a.User, a.Group, err = m.completeOwners(ctx, a.User, a.Group); err != nil {
		return nil, err
	}
	var wrong []string
	for _, who := range []struct {
		ask  func(context.Context, *loader.Env, any) (int64, bool, error)
		word string
		v    any
	}{{calls.UserToUID, "User", a.User}, {calls.GroupToGID, "Group", a.Group}} {
		if onWindows && !data.Truth(who.v) {
			continue
		}
		_, known, err := who.ask(ctx, m.env, who.v)
		if err != nil {
			return nil, err
		}
		if !known {
			wrong = append(wrong, who.word+" "+data.Str(who.v)+" does not exist")
		}
	}
	if !filepath.IsAbs(a.Name) {
		wrong = append(wrong, notAbsolute(a.Name))
	}
	return wrong, nil
}

// linkForecast returns the result of test mode.
func (m links) linkForecast(ctx context.Context, a symlinkArgs) (*data.Map, error) {
	var result any
	comment, changes := "", data.NewMap()
	to, err := os.Readlink(a.Name)
	switch {
	case err == nil && to != a.Target:
		changes.Set("change", a.Name)
		comment = "Link " + a.Name + " target is set to be changed to " + a.Target
	case err == nil:
		user, group, err := m.owners(ctx, a.Name)
		if err != nil {
			return nil, err
		}
		result, comment = true, "The symlink "+a.Name+" is present"
		if !a.owns(user, group) {
			now := data.Str(user) + ":" + data.Str(group)
			result = nil
			changes.Set("ownership", now)
			comment += ", but the ownership of the symlink would be changed from " + now + " to " +
				data.Str(a.User) + ":" + data.Str(a.Group)
		}
	case !paths.LinkExists(a.Name):
		changes.Set("new", a.Name)
		comment = "Symlink " + a.Name + " to " + a.Target + " is set for creation"
	case a.Force:
		comment = "The file or directory " + a.Name +
			" is set for removal to make way for a new symlink targeting " + a.Target
	default:
		result, comment = false, "File or directory exists where the symlink "+a.Name+
			" should be. Did you mean to use force?"
	}
	if dir := dirname(a.Name); !paths.IsDir(dir) {
		if a.Makedirs {
			comment += "\n" + dir + " will be created"
		} else {
			comment += "\nDirectory " + dir + " for symlink is not present"
		}
	}
	return change.New(a.Name, result, changes, comment), nil
}

func (m links) link(ctx context.Context, a symlinkArgs) (*data.Map, error) {
	to, err := os.Readlink(a.Name)
	switch {
	case err == nil && filepath.Clean(to) == filepath.Clean(a.Target):
		return m.ownLink(ctx, a)
	case err == nil: // Salt 3006.18 removes a link to another target, 3006.0 refused without force
		a.Force = true
	case paths.Exists(a.Name):
		if failed, err := m.makeWay(ctx, a); err != nil || failed != nil {
			return failed, err
		}
	}
	if _, err := m.call(ctx, "file.symlink", data.NewMap("force", a.Force, "atomic", a.Atomic),
		a.Target, a.Name); err != nil {
		return change.Failed(a.Name, "Unable to create new symlink "+a.Name+" -> "+a.Target+": "+
			err.Error()), nil
	}
	ret := change.New(a.Name, true, data.NewMap("new", a.Name), "Created new symlink "+a.Name+
		" -> "+a.Target)
	owned, err := m.setLinkOwners(ctx, a)
	if err == nil && !owned {
		ret.Set("result", false)
		ret.Set("comment", ret.Text("comment")+", but was unable to set ownership to "+
			data.Str(a.User)+":"+data.Str(a.Group))
	}
	return ret, err
}

// ownLink corrects the owner of a link with the right target.
func (m links) ownLink(ctx context.Context, a symlinkArgs) (*data.Map, error) {
	who := data.Str(a.User) + ":" + data.Str(a.Group)
	user, group, err := m.owners(ctx, a.Name)
	if err != nil {
		return nil, err
	}
	if a.owns(user, group) {
		return change.Unchanged(a.Name, "Symlink "+a.Name+" is present and owned by "+who), nil
	}
	owned, err := m.setLinkOwners(ctx, a)
	switch {
	case err != nil:
		return nil, err
	case !owned:
		return change.Failed(a.Name, "Failed to set ownership of symlink "+a.Name+" to "+who), nil
	}
	return change.New(a.Name, true, data.NewMap("ownership", who), "Set ownership of symlink "+
		a.Name+" to "+who), nil
}

// owns reports whether the owners of a link are those wanted. On Windows any is, unless one is named.
func (a symlinkArgs) owns(user, group any) bool {
	if onWindows {
		return !data.Truth(a.User) || strings.EqualFold(data.Str(user), data.Str(a.User))
	}
	return user == a.User && group == a.Group
}

// setLinkOwners sets the owner of the link and reports whether it is as desired.
func (m links) setLinkOwners(ctx context.Context, a symlinkArgs) (bool, error) {
	for range 2 {
		user, group, err := m.owners(ctx, a.Name)
		if err != nil || a.owns(user, group) {
			return err == nil, err
		}
		if _, err := m.call(ctx, "file.lchown", nil, a.Name, a.User, a.Group); err != nil {
			return false, nil //nolint:nilerr // reported as an owner that could not be set
		}
	}
	return false, nil
}

// makeWay renames an existing file in the place of the link, or reports that it is in the way.
func (m links) makeWay(ctx context.Context, a symlinkArgs) (*data.Map, error) {
	if a.Backupname == nil {
		if a.Force || a.Atomic {
			return nil, nil
		}
		kind := "File system entry"
		if paths.IsFile(a.Name) {
			kind = "File"
		} else if paths.IsDir(a.Name) {
			kind = "Directory"
		}
		return change.Failed(a.Name, kind+" exists where the symlink "+a.Name+" should be"), nil
	}
	backup := data.Str(a.Backupname)
	if !filepath.IsAbs(backup) {
		if strings.ContainsAny(backup, separators) {
			return change.Failed(a.Name, "Backupname must be an absolute path or a file name: "+
				backup), nil
		}
		backup = filepath.Join(dirname(filepath.Clean(a.Name)), backup)
	}
	if paths.LinkExists(backup) {
		if !a.Force {
			return change.Failed(a.Name, "Symlink & backup dest exists and Force not set. "+a.Name+
				" -> "+a.Target+" - backup: "+backup), nil
		}
		if _, err := m.call(ctx, "file.remove", nil, backup); err != nil {
			return nil, err
		}
	}
	if _, err := m.call(ctx, "file.move",
		data.NewMap("disallow_copy_and_unlink", a.DisallowCopyAndUnlink), a.Name,
		backup); err != nil {
		return change.Failed(a.Name, "Unable to rename "+a.Name+" to backup "+backup+" -> : "+
			err.Error()), nil
	}
	return nil, nil
}

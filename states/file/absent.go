package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

type anyArgs struct {
	Name   string
	Kwargs *data.Map `kwargs:"kwargs"`
}

// absent removes a file, a link, or a directory with its contents.
//
//	/etc/old.conf:
//	  file.absent: []
func (m places) absent(ctx context.Context, a anyArgs) (change.Result, error) {
	name := home(a.Name)
	switch {
	case name == "":
		return change.Refuse(name, "Must provide name to file.absent")
	case !filepath.IsAbs(name):
		return change.Refuse(name, notAbsolute(name))
	case filepath.Dir(name) == name:
		return change.Refuse(name, `Refusing to make "`+name+`" absent`)
	}
	return change.Thing[string]{
		Name: name,
		Look: func(context.Context) (string, error) { return kindOf(name) },
		Wants: func(kind string) *data.Map {
			return change.When(kind != "", data.NewMap("removed", name))
		},
		Apply: func(ctx context.Context, _ string) error {
			_, err := m.call(ctx, "file.remove", data.NewMap("force", true), name)
			return change.Except(err, loader.KindExecution)
		},
		Say: func(o change.Outcome[string]) any {
			switch {
			case o.Err != nil:
				return nil
			case o.Stage == change.StageSame:
				return "File " + name + " is not present"
			case o.Stage == change.StageWould:
				return o.Before + " " + name + " is set for removal"
			case o.Stage == change.StageDone:
				return "Removed " + strings.ToLower(o.Before) + " " + name
			}
			return "Failed to remove " + strings.ToLower(o.Before) + " " + name
		},
	}.Ensure(ctx)
}

// kindOf returns File or Directory, or "" if neither exists.
func kindOf(name string) (string, error) {
	info, err := os.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", change.Reason(fmt.Sprintf("Could not determine whether %s is present: %s", name,
			err))
	case info.IsDir():
		return "Directory", nil
	}
	return "File", nil
}

// exists fails if there is no such file or directory.
//
//	/etc/fstab:
//	  file.exists: []
func (m places) exists(_ context.Context, a anyArgs) (any, error) {
	name := home(a.Name)
	switch {
	case name == "":
		return change.Failed(name, "Must provide name to file.exists"), nil
	case !paths.Exists(name):
		return change.Failed(name, "Specified path "+name+" does not exist"), nil
	}
	return change.Unchanged(name, "Path "+name+" exists"), nil
}

// missing fails if there is such a file or directory.
//
//	/etc/nologin:
//	  file.missing: []
func (m places) missing(_ context.Context, a anyArgs) (any, error) {
	name := home(a.Name)
	if name == "" {
		return change.Failed(name, "Must provide name to file.missing"), nil
	}
	_, err := os.Stat(name)
	switch {
	case err == nil:
		return change.Failed(name, "Specified path "+name+" exists"), nil
	case !errors.Is(err, fs.ErrNotExist):
		return change.Failed(name, "Could not determine whether "+name+" is missing: "+
			err.Error()), nil
	}
	return change.Unchanged(name, "Path "+name+" is missing"), nil
}

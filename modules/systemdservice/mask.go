package systemdservice

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"syscall"

	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

type maskArgs struct {
	Name    string
	Runtime bool `default:"False"`
	Root    any  `default:"None"`
}

// mask masks a service, so that nothing can start it.
//
// runtime : False
//
//	Mask only until the next boot.
//
// root
//
//	A directory to use as the root directory.
//
// CLI Example:
//
//	salt '*' service.mask nginx
//	salt '*' service.mask nginx runtime=True
func (m *module) mask(ctx context.Context, a maskArgs) (any, error) {
	if err := m.refresh(ctx, a.Name); err != nil {
		return nil, err
	}
	o, err := m.toggleMask(ctx, "mask", a)
	if err != nil {
		return nil, err
	}
	if o.Retcode != 0 {
		return nil, loader.ExecutionInfo("Failed to mask service '"+a.Name+"'", o.Stdout)
	}
	return true, nil
}

// unmask removes the mask of a service.
//
// runtime : False
//
//	Remove the mask until the next boot instead of the permanent one.
//
// root
//
//	A directory to use as the root directory.
//
// CLI Example:
//
//	salt '*' service.unmask nginx
//	salt '*' service.unmask nginx runtime=True
func (m *module) unmask(ctx context.Context, a maskArgs) (any, error) {
	on, err := m.masked(ctx, a)
	if err != nil || on == false {
		return err == nil, err
	}
	o, err := m.toggleMask(ctx, "unmask", a)
	if err != nil {
		return nil, err
	}
	if o.Retcode != 0 {
		return nil, loader.Execution("Failed to unmask service '%s'", a.Name)
	}
	return true, nil
}

func (m *module) toggleMask(ctx context.Context, action string, a maskArgs) (calls.Ran, error) {
	if a.Runtime {
		action += " --runtime"
	}
	line, err := m.acting(ctx, false, a.Root, action, a.Name)
	if err != nil {
		return calls.Ran{}, err
	}
	return m.run(ctx, calls.Run{MergeStderr: true}, line)
}

// masked reports whether a service is masked.
//
// runtime : False
//
//	Check the mask until the next boot instead of the permanent one.
//
// root
//
//	A directory to use as the root directory.
//
// CLI Example:
//
//	salt '*' service.masked nginx
//	salt '*' service.masked nginx runtime=True
func (m *module) masked(ctx context.Context, a maskArgs) (any, error) {
	if err := m.refresh(ctx, a.Name); err != nil {
		return nil, err
	}
	dir := "/etc"
	if a.Runtime {
		dir = "/run"
	}
	path := m.at(a.Root, dir+"/systemd/system/"+unitName(a.Name))
	target, err := os.Readlink(path)
	switch {
	case errors.Is(err, syscall.EINVAL):
		m.env.Log.Debugf("The unit %s is not masked: %s is a file", a.Name, path)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, loader.Execution("read the mask of %s: %w", a.Name, err)
	}
	return target == "/dev/null", nil
}

// removeMasks removes the selected masks of a unit.
func (m *module) removeMasks(
	ctx context.Context, name string, lasting, runtime bool, root any,
) error {
	for _, kind := range []struct{ wanted, runtime bool }{{lasting, false}, {runtime, true}} {
		if !kind.wanted {
			continue
		}
		if _, err := m.unmask(ctx, maskArgs{name, kind.runtime, root}); err != nil {
			return err
		}
	}
	return nil
}

// lines yields the lines of a system file, none if it cannot be read.
func (m *module) lines(path string) iter.Seq[string] {
	src, _ := os.ReadFile(m.at(nil, path))
	return func(yield func(string) bool) {
		for line := range bytes.Lines(src) {
			if !yield(string(line)) {
				return
			}
		}
	}
}

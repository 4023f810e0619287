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
)

type maskArgs struct {
	Name    string
	Runtime bool `default:"False"`
	Root    any  `default:"None"`
}

// mask has a service not be started by anything.
//
// runtime : False
//
//	Only until the next boot.
//
// root
//
//	A directory to take for /.
//
// CLI Example:
//
//	salt '*' service.mask nginx
//	salt '*' service.mask nginx runtime=True
func (m *module) mask(ctx context.Context, a maskArgs) (any, error) {
	if err := m.refresh(ctx, a.Name); err != nil {
		return nil, err
	}
	o, err := m.turnMask(ctx, "mask", a)
	if err != nil {
		return nil, err
	}
	if o.code != 0 {
		return nil, loader.ExecutionInfo("Failed to mask service '"+a.Name+"'", o.stdout)
	}
	return true, nil
}

// unmask takes the mask of a service away.
//
// runtime : False
//
//	That until the next boot, and not the lasting one.
//
// root
//
//	A directory to take for /.
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
	o, err := m.turnMask(ctx, "unmask", a)
	if err != nil {
		return nil, err
	}
	if o.code != 0 {
		return nil, loader.Execution("Failed to unmask service '%s'", a.Name)
	}
	return true, nil
}

func (m *module) turnMask(ctx context.Context, action string, a maskArgs) (outcome, error) {
	if a.Runtime {
		action += " --runtime"
	}
	line, err := m.acting(ctx, false, a.Root, action, a.Name)
	if err != nil {
		return outcome{}, err
	}
	return m.run(ctx, line, "redirect_stderr", true)
}

// masked tells whether a service is masked.
//
// runtime : False
//
//	Ask for the mask until the next boot, and not for the lasting one.
//
// root
//
//	A directory to take for /.
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

// takeMasks takes the masks of a unit away that are named.
func (m *module) takeMasks(ctx context.Context, name string, lasting, runtime bool, root any) error {
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

// lines yields the lines of a file of the system, none where it cannot be read.
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

// Package blockdev is Salt's state blockdev: how block devices are read and written, and their file
// systems (salt/states/blockdev.py). It uses the module disk.
//
// Differences from Salt: test mode of tuned reports a device that is already as desired. False for
// read-only means read-write, and the reverse. Read-ahead is rounded down to whole pages, as the
// kernel does. The change of formatted has the old type of the file system.
package blockdev

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state blockdev. It loads only if the module disk does.
func Plugin() loader.Plugin { return loader.Plugin{Name: "blockdev", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	if !env.Functions.Has("disk.tune") {
		//nolint:staticcheck // Salt's text
		return nil, errors.New("Cannot load the blockdev state module: disk execution module not found")
	}
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("formatted", m.formatted),
		loader.F("tuned", m.tuned),
	}}, nil
}

type tunedArgs struct {
	Name   string
	Kwargs *data.Map `kwargs:"kwargs"`
}

// tuned sets how a block device is read and written.
//
// read-ahead, filesystem-read-ahead
//
//	How far to read ahead, in sectors of 512 bytes.
//
// read-only, read-write
//
//	True: allow no writes, or allow them.
//
//	/dev/vg/master-data:
//	  blockdev.tuned:
//	    - read-only: True
//	    - read-ahead: 1024
func (m *module) tuned(ctx context.Context, a tunedArgs) (change.Result, error) {
	wanted, err := settings(a.Kwargs)
	if err != nil {
		return change.Result{}, err
	}
	return change.Thing[*data.Map]{
		Name:  a.Name,
		Look:  func(ctx context.Context) (*data.Map, error) { return m.values(ctx, a.Name) },
		Wants: func(now *data.Map) *data.Map { return differences(wanted, now) },
		Apply: func(ctx context.Context, _ *data.Map) error {
			return change.Do(ctx, m.env, "disk.tune", []any{a.Name}, arguments(wanted))
		},
		Silent: true,
		Texts: change.Texts{
			Same:   "Block device " + a.Name + " already in correct state",
			Would:  "Changes to " + a.Name + " will be applied ",
			Done:   "Block device " + a.Name + " successfully modified ",
			Failed: "Failed to modify block device " + a.Name,
		},
	}.Ensure(ctx)
}

// values returns what disk.dump tells of a device.
func (m *module) values(ctx context.Context, device string) (*data.Map, error) {
	is, err := change.Ask[bool](ctx, m.env, "file.is_blkdev", []any{device}, nil)
	switch {
	case err != nil:
		return nil, err
	case !is:
		return nil, change.Reason("Changes to " + device + " cannot be applied. Not a block device.")
	}
	values, err := calls.Found[*data.Map](ctx, m.env, "disk.dump", []any{device}, nil)
	if err == nil && values.Len() == 0 {
		return nil, change.Reason("Failed to modify block device " + device)
	}
	return values, change.Raise(err)
}

// A setting is one value of a device.
type setting struct {
	key    string // the argument: read-ahead
	value  any    // as given
	report string // the value's name in disk.dump: getra
	want   string // what disk.dump is to report
}

// settings returns the arguments as settings. An unknown argument raises the exception of disk.tune.
func settings(kwargs *data.Map) (all []setting, err error) {
	for key, v := range kwargs.All() {
		s := setting{key: data.Str(key), value: v}
		switch s.key {
		case "read-ahead", "filesystem-read-ahead":
			s.report, s.want = "getfra", data.Str(v)
			if s.key == "read-ahead" {
				s.report = "getra"
			}
			if n, err := loader.Int(v); err == nil {
				page := int64(os.Getpagesize() / 512)
				s.want = data.Str(n / page * page)
			}
		case "read-only", "read-write":
			s.report, s.want = "getro", "0"
			if data.Truth(v) == (s.key == "read-only") {
				s.want = "1"
			}
		default:
			return nil, loader.Invocation("Invalid keyword arguments: %s=%s", s.key, data.Str(v))
		}
		all = append(all, s)
	}
	return all, nil
}

// differences returns the changes that bring a device from now to its settings.
func differences(wanted []setting, now *data.Map) *data.Map {
	changes := data.NewMap()
	for _, s := range wanted {
		is := now.Text(s.report)
		if is == s.want {
			continue
		}
		from, to := is, s.want
		if _, ok := s.value.(bool); ok {
			from, to = data.Str((is == "1") == (s.key != "read-write")),
				data.Str((s.want == "1") == (s.key != "read-write"))
		}
		changes.Set(s.key, "Changed from "+from+" to "+to)
	}
	return changes
}

// arguments returns the settings as arguments of disk.tune, which knows only True for read-only and
// read-write.
func arguments(wanted []setting) *data.Map {
	kwargs := data.NewMap()
	for _, s := range wanted {
		switch {
		case s.report != "getro":
			kwargs.Set(s.key, s.value)
		case s.want == "1":
			kwargs.Set("read-only", true)
		default:
			kwargs.Set("read-write", true)
		}
	}
	return kwargs
}

type formattedArgs struct {
	Name   string
	FsType string    `default:"'ext4'"`
	Force  any       `default:"False"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// formatted creates a file system on a device, unless it has one of that type. All data on the
// device is lost.
//
// fs_type
//
//	Its type, such as ext4 or xfs.
//
// force
//
//	True: also on something that is not a partition, for ext and xfs.
//
// Further arguments are those of disk.format.
//
//	/dev/vg/master-data:
//	  blockdev.formatted:
//	    - fs_type: xfs
func (m *module) formatted(ctx context.Context, a formattedArgs) (change.Result, error) {
	return change.Thing[string]{
		Name: a.Name,
		Look: func(ctx context.Context) (string, error) {
			if _, err := os.Stat(a.Name); err != nil {
				return "", change.Reason(a.Name + " does not exist")
			}
			now, err := m.kind(ctx, a.Name)
			if err == nil && now != a.FsType && process.Find("mkfs."+a.FsType) == "" {
				return now, change.Reason("Invalid fs_type: " + a.FsType)
			}
			return now, change.Except(err, loader.KindExecution)
		},
		Wants: func(now string) *data.Map {
			return change.When(now != a.FsType, change.OldNew(now, a.FsType))
		},
		Apply: func(ctx context.Context, _ string) error { return m.format(ctx, a) },
		Changed: func(before, after string) *data.Map {
			return change.When(before != after, data.NewMap("new", after, "old", before))
		},
		Silent: true,
		Texts: change.Texts{
			Same:   a.Name + " already formatted with " + a.FsType,
			Would:  "Changes to " + a.Name + " will be applied ",
			Done:   a.Name + " has been formatted with " + a.FsType,
			Failed: "Failed to format " + a.Name,
		},
	}.Ensure(ctx)
}

// The new type may take a while to become visible.
const (
	attempts = 10
	pause    = 3 * time.Second
)

// format creates the file system, and waits until its type is visible.
func (m *module) format(ctx context.Context, a formattedArgs) error {
	kwargs := data.NewMap("force", a.Force)
	kwargs.Update(a.Kwargs)
	if err := change.Do(ctx, m.env, "disk.format", []any{a.Name, a.FsType}, kwargs); err != nil {
		return err
	}
	for range attempts {
		now, err := m.kind(ctx, a.Name)
		if err != nil || now != "" {
			return change.Except(err, loader.KindExecution)
		}
		select {
		case <-ctx.Done():
			return change.Raise(ctx.Err())
		case <-time.After(pause):
		}
	}
	return nil
}

// unknownType is the return code of blkid for a device without a known type.
const unknownType = 2

// readable returns an error for a device that cannot be read: for it, blkid returns unknownType, too.
func readable(device string) error {
	f, err := os.Open(device)
	if err == nil {
		_, err = f.Read(make([]byte, 512))
		err = errors.Join(err, f.Close())
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return loader.Execution("look up the file system of %s: %w", device, err)
	}
	return nil
}

// kind returns the type of the file system on a device, "" for none. If blkid cannot tell, that is an
// error, so that no file system is overwritten.
func (m *module) kind(ctx context.Context, device string) (string, error) {
	if err := process.PlainOperands(device); err != nil {
		return "", loader.Execution("%w", err)
	}
	ran, err := calls.RunAll(ctx, m.env, calls.Run{
		Argv: []string{"blkid", "-o", "value", "-s", "TYPE", device}, IgnoreRetcode: true})
	switch {
	case err != nil:
		return "", err
	case ran.Retcode == unknownType:
		return "", readable(device)
	case ran.Retcode != 0:
		return "", loader.Execution("look up the file system of %s: blkid returned %d: %s", device,
			ran.Retcode, ran.Stderr)
	}
	return ran.Stdout, nil
}

package docker

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/docker/translate"
	"github.com/brineproject/brine/state/change"
)

// volume returns what the engine lists of a volume, or nil.
func (m *module) volume(ctx context.Context, name any) (*data.Map, error) {
	all, err := ask[*data.Map](ctx, m, "volumes", nil)
	if err != nil {
		return nil, err
	}
	list, _ := all.Value("Volumes").([]any)
	for _, one := range list {
		if v := dict(one); v.Value("Name") == name {
			return v, nil
		}
	}
	return nil, nil
}

type volumePresentArgs struct {
	Name       any
	Driver     any  `default:"None"`
	DriverOpts any  `default:"None"`
	Force      bool `default:"False"`
}

// volumePresent makes sure that there is a volume.
//
// driver
//
//	Its driver. A volume with another one is an error, unless force is given.
//
// driver_opts
//
//	Options of the driver for a new volume.
//
// force
//
//	Replace a volume that has another driver. Its content is lost.
//
// An example:
//
//	volume_foo:
//	  docker_volume.present:
//	    - name: foo
//	    - driver: local
//	    - driver_opts:
//	      - type: tmpfs
func (m *module) volumePresent(ctx context.Context, a volumePresentArgs) (*data.Map, error) {
	r := newResult(a.Name)
	options := a.DriverOpts
	if dict, ok := translate.Dictlist(options); ok {
		options = dict
	}
	now, err := m.volume(ctx, a.Name)
	if err != nil {
		return nil, err
	}
	other := now != nil && a.Driver != nil && now.Value("Driver") != a.Driver
	name := data.Str(a.Name)
	switch {
	case now != nil && !other:
		return r.end(true, "Volume '"+name+"' already exists."), nil
	case other && !a.Force:
		verdict := any(false)
		if change.Test(ctx) {
			verdict = nil
		}
		return r.end(verdict, "Driver for existing volume '"+name+"' ('"+now.Text("Driver")+"') does not match specified driver ('"+
			data.Str(a.Driver)+"') and force is False"), nil
	case other && change.Test(ctx):
		return r.end(nil, "The volume '"+name+"' will be replaced with a new one using the driver '"+data.Str(a.Driver)+"'"), nil
	case change.Test(ctx):
		return r.end(nil, "The volume '"+name+"' will be created"), nil
	}
	if other {
		if err := m.do(ctx, "remove_volume", nil, a.Name); err != nil {
			return r.end(false, "Failed to remove volume '"+name+"': "+err.Error()), nil
		}
		r.changes.Set("removed", true)
	}
	made, err := ask[any](ctx, m, "create_volume", data.NewMap("driver", a.Driver, "driver_opts", options), a.Name)
	if err != nil {
		return r.end(false, "Failed to create volume '"+name+"': "+err.Error()), nil
	}
	r.changes.Set("created", made)
	if now, err = m.volume(ctx, a.Name); err != nil || now == nil {
		return r.end(false, "Failed to create volume '"+name+"': it is not there"), err
	}
	return r.end(true, ""), nil
}

type volumeAbsentArgs struct {
	Name   any
	Driver any `default:"None"`
}

// volumeAbsent makes sure that there is no volume of that name. driver is ignored.
//
// An example:
//
//	volume_foo:
//	  docker_volume.absent:
//	    - name: foo
func (m *module) volumeAbsent(ctx context.Context, a volumeAbsentArgs) (*data.Map, error) {
	r := newResult(a.Name)
	now, err := m.volume(ctx, a.Name)
	name := data.Str(a.Name)
	switch {
	case err != nil:
		return nil, err
	case now == nil:
		return r.end(true, "Volume '"+name+"' already absent"), nil
	case change.Test(ctx):
		return r.end(nil, "The volume '"+name+"' will be removed"), nil
	}
	if err := m.do(ctx, "remove_volume", nil, a.Name); err != nil {
		return r.end(false, "Failed to remove volume '"+name+"': "+err.Error()), nil
	}
	r.changes.Set("removed", true)
	return r.end(true, ""), nil
}

package lvm

import (
	"context"
	"math"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

type lvPresentArgs struct {
	Name       string
	Vgname     any       `default:"None"`
	Size       any       `default:"None"`
	Extents    any       `default:"None"`
	Snapshot   any       `default:"None"`
	Pv         any       `default:"''"`
	Thinvolume any       `default:"False"`
	Thinpool   any       `default:"False"`
	Force      any       `default:"False"`
	Resizefs   any       `default:"False"`
	Kwargs     *data.Map `kwargs:"kwargs"`
}

// lvPresent creates a logical volume, or resizes it.
//
// size
//
//	Its size in megabytes, or with one of the letters S (sectors of 512 bytes), M, G, T, P.
//
// extents
//
//	Its number of extents instead, or a percentage for a new volume, such as 100%FREE.
//
// snapshot
//
//	The name of a new volume, which is a snapshot of the volume name.
//
// pv
//
//	The physical volume to use.
//
// thinvolume, thinpool
//
//	True: create a thin volume, with vgname as group/pool, or a thin pool.
//
// force
//
//	True: answer all questions with yes, and allow a volume to shrink.
//
// resizefs
//
//	True: resize the file system together with the volume.
//
// Further arguments are those of lvm.lvcreate.
//
//	lvroot:
//	  lvm.lv_present:
//	    - vgname: my_vg
//	    - size: 10G
//	    - stripes: 5
//	    - stripesize: 8K
func (m *module) lvPresent(ctx context.Context, a lvPresentArgs) (change.Result, error) {
	if data.Truth(a.Extents) && data.Truth(a.Size) {
		return change.Refuse(a.Name, "Only one of extents or size can be specified.")
	}
	l, err := newLogical(a)
	if err != nil {
		return change.Result{}, err
	}
	of := "Logical Volume " + l.name
	return change.Thing[extent]{
		Name:  a.Name,
		Look:  func(ctx context.Context) (extent, error) { return m.look(ctx, l) },
		Wants: l.wants,
		Apply: func(ctx context.Context, now extent) (err error) {
			l.before = &now
			l.output, err = m.bring(ctx, l, now)
			return err
		},
		Changed: func(before, after extent) *data.Map {
			if before.there {
				return change.When(before.megabytes != after.megabytes, data.NewMap("resized", l.output))
			}
			return change.When(after.there, data.NewMap("created", l.output))
		},
		Say: func(o change.Outcome[extent]) any {
			switch {
			case o.Stage == change.StageWould && !o.Before.there:
				return of + " is set to be created"
			case o.Stage == change.StageDone && !o.Before.there:
				return "Created " + of
			case o.Stage == change.StageSame && strings.Contains(data.Str(a.Extents), "%"):
				return of + " already present, " + data.Str(a.Extents) + " won't be resized."
			}
			return l.failure(o)
		},
		Silent: true,
		Texts: change.Texts{
			Same:  of + " already present",
			Would: of + " is set to be resized",
			Done:  "Resized " + of,
		},
	}.Ensure(ctx)
}

// An extent is the size of a logical volume.
type extent struct {
	there     bool
	megabytes float64
	extents   int64
}

// A logical is a logical volume as it should be.
type logical struct {
	lvPresentArgs
	name   string // of the volume: that of the snapshot, if it is one
	origin any    // the volume that it is a snapshot of, or nil
	path   string
	before *extent // its size before the change; nil before that
	output any     // what the function returned that changed it
	megabytes,
	stripes float64
}

func newLogical(a lvPresentArgs) (*logical, error) {
	l := &logical{lvPresentArgs: a, name: a.Name, stripes: 1}
	if data.Truth(a.Snapshot) {
		l.name, l.origin = data.Str(a.Snapshot), a.Name
	}
	group := data.Str(a.Vgname)
	if data.Truth(a.Thinvolume) {
		group, _, _ = strings.Cut(group, "/")
	}
	l.path = "/dev/" + group + "/" + l.name
	if n, err := loader.Int(a.Kwargs.Value("stripes")); err == nil && n > 1 {
		l.stripes = float64(n)
	}
	var err error
	if data.Truth(a.Size) {
		l.megabytes, err = megabytes(data.Str(a.Size))
	}
	return l, err
}

// look reads the size of the volume.
func (m *module) look(ctx context.Context, l *logical) (extent, error) {
	all, err := m.display(ctx, "lvdisplay", l.path)
	info, there := all.Value(l.path).(*data.Map)
	if err != nil || !there {
		return extent{}, err
	}
	now := extent{there: true}
	if now.extents, err = loader.Int(info.Value("Current Logical Extents Associated")); err != nil {
		return now, change.Raise(err)
	}
	if now.megabytes, err = megabytes(info.Text("Logical Volume Size") + "s"); err != nil {
		return now, change.Raise(err)
	}
	if l.before == nil && !data.Truth(l.Force) && l.shrinks(now) {
		return now, change.Reason("To reduce a Logical Volume option 'force' must be True.")
	}
	return now, nil
}

// size returns the desired size of an existing volume: megabytes, and extents.
func (l *logical) size(now extent) (float64, int64) {
	switch {
	case data.Truth(l.Size):
		unit := now.megabytes / float64(max(now.extents, 1)) * l.stripes
		if unit <= 0 {
			return l.megabytes, now.extents
		}
		return math.Ceil(l.megabytes/unit) * unit, now.extents
	case data.Truth(l.Extents):
		if n, err := loader.Int(l.Extents); err == nil {
			return now.megabytes, n
		}
	}
	return now.megabytes, now.extents
}

func (l *logical) shrinks(now extent) bool {
	size, extents := l.size(now)
	return size < now.megabytes || extents < now.extents
}

// wants returns what differs. After a change, it is enough that the volume has been created or has
// another size, because a program of LVM may round it further.
func (l *logical) wants(now extent) *data.Map {
	size, extents := l.size(now)
	switch {
	case !now.there:
		return data.NewMap("created", l.path)
	case l.before != nil && (!l.before.there || l.before.megabytes != now.megabytes):
		return nil
	}
	return change.When(size != now.megabytes || extents != now.extents,
		data.NewMap("resized", l.path))
}

// bring creates or resizes the volume, and returns what the function returned.
func (m *module) bring(ctx context.Context, l *logical, now extent) (any, error) {
	if now.there {
		kwargs := data.NewMap("lvpath", l.path, "resizefs", l.Resizefs, "force", l.Force)
		if data.Truth(l.Size) {
			kwargs.Set("size", l.Size)
		} else {
			kwargs.Set("extents", l.Extents)
		}
		return m.call("lvresize", kwargs)(ctx)
	}
	kwargs := data.NewMap("size", l.Size, "extents", l.Extents, "snapshot", l.origin, "pv", l.Pv,
		"thinvolume", l.Thinvolume, "thinpool", l.Thinpool, "force", l.Force)
	kwargs.Update(l.Kwargs)
	return m.call("lvcreate", kwargs, l.name, l.Vgname)(ctx)
}

// failure returns the comment for a volume that was not changed, or nil.
func (l *logical) failure(o change.Outcome[extent]) any {
	if o.Stage != change.StageFailed || o.Err != nil {
		return nil
	}
	complaint := data.Str(l.output)
	if said, ok := l.output.(*data.Map); ok {
		complaint = said.Text("Output from lvresize")
		if !o.Before.there {
			complaint = said.Text("Output from lvcreate")
		}
	}
	if o.Before.there {
		return "Failed to resize Logical Volume " + l.name + ".\nError: " + complaint
	}
	return "Failed to create Logical Volume " + l.name + ". Error: " + complaint
}

// megabytes converts a size with a unit, of which megabytes is the default.
func megabytes(size string) (float64, error) {
	text := strings.ToLower(size)
	unit, number := byte('m'), text
	if n := len(text); n > 0 && !digit(text[n-1]) {
		if unit, number = text[n-1], text[:n-1]; unit == 'b' && n > 1 {
			unit, number = text[n-2], text[:n-2]
		}
	}
	if number == "" || !digit(number[len(number)-1]) {
		return 0, loader.Exception("salt.exceptions.ArgumentValueError", "Size %s is invalid.", size)
	}
	n, err := loader.Int(number)
	if err != nil {
		return 0, err
	}
	factor, ok := map[byte]float64{'s': 1.0 / 2048, 'm': 1, 'g': 1 << 10, 't': 1 << 20, 'p': 1 << 30}[unit]
	if !ok {
		return 0, loader.Exception("salt.exceptions.ArgumentValueError", "Unit %c is invalid.", unit)
	}
	return float64(n) * factor, nil
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

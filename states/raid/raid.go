// Package raid is Salt's state raid: RAID arrays of Linux (salt/states/mdadm_raid.py). It uses the
// module raid.
//
// After a change, each state looks again.
package raid

import (
	"context"
	"errors"
	"slices"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/process"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state raid. It is available on Linux with the program mdadm.
func Plugin() loader.Plugin { return loader.Plugin{Name: "raid", File: "mdadm_raid", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	switch {
	case env.GrainsNow().Text("kernel") != "Linux":
		return nil, errors.New("Only supported on Linux") //nolint:staticcheck // Salt's text
	case process.Find("mdadm") == "":
		return nil, errors.New("Unable to locate command: mdadm") //nolint:staticcheck // Salt's text
	}
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("absent", m.absent),
		loader.F("present", m.present),
	}}, nil
}

type presentArgs struct {
	Name    string
	Level   any
	Devices []any
	Kwargs  *data.Map `kwargs:"kwargs"`
}

// An array is what exists of a RAID array.
type array struct {
	info    *data.Map // what mdadm reports of it; nil if it is not there
	members []any     // the devices with a superblock
	fresh   []any     // those without
	missing []any
}

// verb returns what has to be done before devices are added: "" for nothing.
func (r array) verb() string {
	switch {
	case r.info != nil:
		return ""
	case len(r.members) > 0:
		return "assembled"
	}
	return "created"
}

// added returns the devices to add to the array.
func (r array) added() []any {
	if r.verb() == "created" {
		return nil
	}
	return r.fresh
}

// present keeps a RAID array. It is assembled if devices belong to one already, and else created.
// Devices without a superblock are added to it.
//
// level
//
//	The RAID level of a new array.
//
// devices
//
//	A list of devices; the word missing stands for one that is to be added later.
//
// Further arguments become options of mdadm.
//
//	/dev/md0:
//	  raid.present:
//	    - level: 5
//	    - devices: [/dev/xvdd, /dev/xvde, /dev/xvdf]
//	    - chunk: 256
//	    - run: True
func (m *module) present(ctx context.Context, a presentArgs) (change.Result, error) {
	added, text := []any{}, ""
	bring := func(ctx context.Context, now array, test bool) (any, error) {
		kwargs := a.Kwargs.Clone()
		if test {
			kwargs.Set("test_mode", true)
		}
		if now.verb() == "assembled" {
			return change.Ask[any](ctx, m.env, "raid.assemble", []any{a.Name, now.members}, kwargs)
		}
		devices := slices.Clone(now.fresh)
		for range now.missing {
			devices = append(devices, "missing")
		}
		return change.Ask[any](ctx, m.env, "raid.create", []any{a.Name, a.Level, devices}, kwargs)
	}
	return change.Thing[array]{
		Name: a.Name,
		Look: func(ctx context.Context) (array, error) { return m.look(ctx, a) },
		Wants: func(now array) *data.Map {
			if now.verb() != "" {
				return data.NewMap("array", now.verb())
			}
			return change.When(len(now.fresh) > 0, data.NewMap("added", now.fresh))
		},
		Apply: func(ctx context.Context, now array) error {
			text = "Raid " + a.Name + " already present."
			if verb := now.verb(); verb != "" {
				text = "Raid " + a.Name + " " + verb + "."
				if _, err := bring(ctx, now, false); err != nil {
					return err
				}
				there, err := m.arrays(ctx)
				switch {
				case err != nil:
					return err
				case !there.Has(a.Name):
					text = "Raid " + a.Name + " failed to be " + verb + "."
					return change.Reason(text)
				}
				if err := change.Do(ctx, m.env, "raid.save_config", nil, nil); err != nil {
					return err
				}
			}
			return m.add(ctx, a.Name, now.added(), &added, &text)
		},
		Changed: func(before, after array) *data.Map {
			changes := &data.Map{}
			if before.info == nil {
				changes.Update(after.info)
			}
			if len(added) > 0 && len(added) == len(before.added()) {
				changes.Set("added", added)
			}
			return changes
		},
		Silent: true,
		Say: func(o change.Outcome[array]) any {
			now := o.Before
			missing := ""
			if len(now.missing) > 0 {
				missing = " Missing devices: " + data.Repr(now.missing)
			}
			switch {
			case o.Stage == change.StageSame:
				return "Raid " + a.Name + " already present." + missing
			case o.Stage == change.StageWould:
				would := "Raid " + a.Name + " already present."
				if verb := now.verb(); verb != "" {
					command, err := bring(ctx, now, true)
					if err != nil {
						return err.Error()
					}
					would = "Raid will be " + verb + " with: " + data.Str(command)
				}
				if list := now.added(); len(list) > 0 {
					would += " New devices will be added: " + data.Repr(list)
				}
				return would + missing
			case text != "":
				return text + missing
			}
			return nil
		},
	}.Ensure(ctx)
}

// add adds devices to an array one by one, and reports on each.
func (m *module) add(ctx context.Context, name string, devices []any, added *[]any, text *string) error {
	var failed error
	for _, device := range devices {
		ok, err := change.Ask[bool](ctx, m.env, "raid.add", []any{name, device}, nil)
		switch {
		case err != nil:
			return err
		case ok:
			*text += " Added new device " + data.Str(device) + " to " + name + ".\n"
			*added = append(*added, device)
		default:
			*text += " Unable to add " + data.Str(device) + " to " + name + ".\n"
			failed = change.Reason(*text)
		}
	}
	return failed
}

func (m *module) arrays(ctx context.Context) (*data.Map, error) {
	arrays, err := change.Ask[*data.Map](ctx, m.env, "raid.list", nil, nil)
	return arrays, failure(err)
}

// failure makes a failing mdadm the comment of the state.
func failure(err error) error {
	if loader.KindOf(err) == loader.KindExecution {
		return change.Reason(err.Error())
	}
	return err
}

// look reads the array, and the superblocks of the devices.
func (m *module) look(ctx context.Context, a presentArgs) (array, error) {
	arrays, err := m.arrays(ctx)
	if err != nil {
		return array{}, err
	}
	var now array
	now.info, _ = arrays.Value(a.Name).(*data.Map)
	by := &data.Map{} // devices by the UUID of their array
	for _, device := range a.Devices {
		there := false
		if device != "missing" {
			if there, err = change.Ask[bool](ctx, m.env, "file.access", []any{device, "f"}, nil); err != nil {
				return now, err
			}
		}
		if !there {
			now.missing = append(now.missing, device)
			continue
		}
		block, err := change.Ask[*data.Map](ctx, m.env, "raid.examine", []any{device},
			data.NewMap("quiet", true))
		if err != nil {
			return now, failure(err)
		}
		if uuid, ok := block.Get("MD_UUID"); ok {
			by.Set(uuid, append(data.ListOf(by.Value(uuid)), device))
		} else {
			now.fresh = append(now.fresh, device)
		}
	}
	var uuids []string
	for uuid, devices := range by.All() {
		uuids, now.members = append(uuids, data.Str(uuid)), data.ListOf(devices)
	}
	slices.Sort(uuids)
	switch {
	case len(uuids) > 1:
		return now, change.Reason("Devices are a mix of RAID constituents with multiple MD_UUIDs: " +
			data.Repr(data.Values(uuids)) + ".")
	case len(uuids) == 1 && now.info != nil && now.info.Text("uuid") != uuids[0]:
		return now, change.Reason("Devices MD_UUIDs: " + uuids[0] + " differs from present RAID uuid " +
			now.info.Text("uuid") + ".")
	case now.info == nil && len(uuids) == 0 && len(now.fresh) == 0:
		return now, change.Reason("All devices are missing: " + data.Repr(append([]any{}, now.missing...)) +
			".")
	}
	return now, nil
}

type absentArgs struct{ Name string }

// absent destroys a RAID array, with the superblocks of its members.
//
//	/dev/md0:
//	  raid.absent
func (m *module) absent(ctx context.Context, a absentArgs) (change.Result, error) {
	return change.Thing[bool]{
		Name: a.Name,
		Look: func(ctx context.Context) (bool, error) {
			arrays, err := m.arrays(ctx)
			return arrays.Has(a.Name), err
		},
		Wants: func(there bool) *data.Map { return change.When(there, data.NewMap(a.Name, "destroyed")) },
		Apply: func(ctx context.Context, _ bool) error {
			return failure(change.Do(ctx, m.env, "raid.destroy", []any{a.Name}, nil))
		},
		Changed: func(bool, bool) *data.Map { return nil }, // as in Salt
		Silent:  true,
		Texts: change.Texts{
			Same:   "Raid " + a.Name + " already absent",
			Would:  "Raid " + a.Name + " is set to be destroyed",
			Done:   "Raid " + a.Name + " has been destroyed",
			Failed: "Raid " + a.Name + " failed to be destroyed",
		},
	}.Ensure(ctx)
}

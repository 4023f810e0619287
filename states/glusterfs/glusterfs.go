// Package glusterfs is Salt's state glusterfs: peers and volumes of a pool of GlusterFS
// (salt/states/glusterfs.py). It uses the module glusterfs.
//
// Differences from Salt: test mode neither adds bricks nor says that a started volume would be
// started. A started volume is under changes; Salt has it under change. After a change, each state
// looks again.
package glusterfs

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state glusterfs. It is available where the module is.
func Plugin() loader.Plugin { return loader.Plugin{Name: "glusterfs", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	if !env.Functions.Has("glusterfs.list_volumes") {
		return nil, errors.New("glusterfs module could not be loaded")
	}
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("add_volume_bricks", m.addVolumeBricks),
		loader.F("max_op_version", m.maxOpVersion),
		loader.F("op_version", m.opVersion),
		loader.F("peered", m.peered),
		loader.F("started", m.started),
		loader.F("volume_present", m.volumePresent),
	}}, nil
}

var plain = regexp.MustCompile(`^[a-zA-Z0-9._-]+$`)

type nameArgs struct{ Name string }

// peered keeps a host in the pool. This host itself is in it.
//
//	peer-cluster:
//	  glusterfs.peered:
//	    - name: two
func (m *module) peered(ctx context.Context, a nameArgs) (change.Result, error) {
	if !plain.MatchString(a.Name) {
		return change.Refuse(a.Name, "Invalid characters in peer name.")
	}
	if own, err := m.own(ctx, a.Name); err != nil {
		return change.Result{}, err
	} else if own {
		return change.Leave(a.Name, "Peering with localhost is not needed")
	}
	return change.Thing[*data.Map]{
		Name: a.Name,
		Look: func(ctx context.Context) (*data.Map, error) {
			return change.Ask[*data.Map](ctx, m.env, "glusterfs.peer_status", nil, nil)
		},
		Wants: func(peers *data.Map) *data.Map {
			return change.When(!hasPeer(peers, a.Name), data.NewMap("new", a.Name))
		},
		Apply: func(ctx context.Context, _ *data.Map) error {
			ok, err := change.Ask[bool](ctx, m.env, "glusterfs.peer", []any{a.Name}, nil)
			if err == nil && !ok {
				err = change.Reason("Failed to peer with " + a.Name + ", please check logs for errors")
			}
			return err
		},
		Changed: func(before, after *data.Map) *data.Map {
			return change.When(hasPeer(after, a.Name), change.OldNew(before, after))
		},
		Silent: true,
		Texts: change.Texts{
			Same:  "Host " + a.Name + " already peered",
			Would: "Peer " + a.Name + " will be added.",
			Done:  "Host " + a.Name + " successfully peered",
			Failed: "Host " + a.Name +
				" was successfully peered but did not appear in the list of peers",
		},
	}.Ensure(ctx)
}

func hasPeer(peers *data.Map, name string) bool {
	for _, v := range peers.All() {
		peer, _ := v.(*data.Map)
		if names, _ := peer.Value("hostnames").([]any); slices.Contains(names, any(name)) {
			return true
		}
	}
	return false
}

// own reports whether a name is one of this host. A name without an address is none.
func (m *module) own(ctx context.Context, name string) (bool, error) {
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", name)
	if err != nil {
		return false, nil //nolint:nilerr // gluster says so if it needs an address
	}
	var mine []any
	for _, fun := range []string{"network.ip_addrs", "network.ip_addrs6"} {
		list, err := change.Ask[[]any](ctx, m.env, fun, nil, nil)
		if err != nil {
			return false, err
		}
		mine = append(mine, list...)
	}
	return slices.ContainsFunc(found, func(ip netip.Addr) bool {
		return ip.Unmap().IsLoopback() || slices.Contains(mine, any(ip.Unmap().String()))
	}), nil
}

// volumes returns what glusterfs.info says.
func (m *module) volumes(ctx context.Context) (*data.Map, error) {
	volumes, err := change.Ask[*data.Map](ctx, m.env, "glusterfs.info", nil, nil)
	if err == nil && volumes == nil {
		err = change.Reason("gluster does not list its volumes")
	}
	return volumes, err
}

// running reports whether a volume is started.
func running(volumes *data.Map, name string) bool {
	volume, _ := volumes.Value(name).(*data.Map)
	return volume.Text("status") == "1"
}

type volumeArgs struct {
	Name      string
	Bricks    any
	Stripe    any `default:"False"`
	Replica   any `default:"False"`
	DeviceVg  any `default:"False"`
	Transport any `default:"'tcp'"`
	Start     any `default:"False"`
	Force     any `default:"False"`
	Arbiter   any `default:"False"`
}

// volumePresent keeps a volume. The bricks of one that is there are not compared.
//
// bricks
//
//	A list of HOST:PATH.
//
// replica
//
//	The number of copies.
//
// arbiter
//
//	True: each third brick has metadata only. It needs three copies.
//
// start
//
//	True: keep it started.
//
// stripe, device_vg, transport, force
//
//	As in glusterfs.create_volume.
//
//	volume2:
//	  glusterfs.volume_present:
//	    - bricks:
//	      - host1:/srv/gluster/drive2
//	      - host2:/srv/gluster/drive3
//	    - replica: 2
//	    - start: True
func (m *module) volumePresent(ctx context.Context, a volumeArgs) (change.Result, error) {
	if !plain.MatchString(a.Name) {
		return change.Refuse(a.Name, "Invalid characters in volume name.")
	}
	start := data.Truth(a.Start)
	return change.Thing[*data.Map]{
		Name: a.Name,
		Look: m.volumes,
		Wants: func(volumes *data.Map) *data.Map {
			wants := &data.Map{}
			if !volumes.Has(a.Name) {
				wants.Set("created", a.Name)
			}
			if start && !running(volumes, a.Name) {
				wants.Set("started", a.Name)
			}
			return wants
		},
		Apply: func(ctx context.Context, volumes *data.Map) error { return m.makeVolume(ctx, a, volumes) },
		Changed: func(before, after *data.Map) *data.Map {
			switch {
			case !before.Has(a.Name) && after.Has(a.Name):
				return change.OldNew(keys(before), keys(after))
			case !running(before, a.Name) && running(after, a.Name):
				return change.OldNew("stopped", "started")
			}
			return nil
		},
		Silent: true,
		Say:    func(o change.Outcome[*data.Map]) any { return a.say(o, start) },
	}.Ensure(ctx)
}

// makeVolume creates and starts a volume.
func (m *module) makeVolume(ctx context.Context, a volumeArgs, volumes *data.Map) error {
	if !volumes.Has(a.Name) {
		ok, err := change.Ask[bool](ctx, m.env, "glusterfs.create_volume", []any{a.Name, a.Bricks, a.Stripe,
			a.Replica, a.DeviceVg, a.Transport, false, a.Force, a.Arbiter}, nil)
		if err == nil && !ok {
			err = change.Reason("Creation of volume " + a.Name + " failed")
		}
		if err != nil {
			return err
		}
	}
	if !data.Truth(a.Start) {
		return nil
	}
	_, err := change.Ask[bool](ctx, m.env, "glusterfs.start_volume", []any{a.Name}, nil)
	return err
}

func (a volumeArgs) say(o change.Outcome[*data.Map], start bool) any {
	text := "Volume " + a.Name + " already exists"
	if !o.Before.Has(a.Name) {
		text = "Volume " + a.Name + " is created"
	}
	switch o.Stage {
	case change.StageWould:
		if o.Before.Has(a.Name) {
			return text + " and will be started"
		}
		text = "Volume " + a.Name + " will be created"
		if start {
			text += " and started"
		}
	case change.StageSame:
		if start {
			text += " and is started"
		}
	case change.StageDone:
		switch {
		case start && o.Before.Has(a.Name):
			text += " and is now started"
		case start:
			text += " and is started"
		}
	case change.StageFailed:
		if o.Err != nil {
			return nil
		}
		text += " but failed to start. Check logs for further information"
	}
	return text
}

func keys(m *data.Map) []any {
	list := []any{}
	for key := range m.All() {
		list = append(list, key)
	}
	return list
}

// started keeps a volume started. It must be there.
//
//	mycluster:
//	  glusterfs.started
func (m *module) started(ctx context.Context, a nameArgs) (change.Result, error) {
	return change.Thing[*data.Map]{
		Name: a.Name,
		Look: func(ctx context.Context) (*data.Map, error) {
			volumes, err := m.volumes(ctx)
			if err == nil && !volumes.Has(a.Name) {
				err = change.Reason("Volume " + a.Name + " does not exist")
			}
			return volumes, err
		},
		Wants: func(volumes *data.Map) *data.Map {
			return change.When(!running(volumes, a.Name), change.OldNew("stopped", "started"))
		},
		Apply: func(ctx context.Context, _ *data.Map) error {
			return change.Do(ctx, m.env, "glusterfs.start_volume", []any{a.Name}, nil)
		},
		Silent: true,
		Texts: change.Texts{
			Same:   "Volume " + a.Name + " is already started",
			Would:  "Volume " + a.Name + " will be started",
			Done:   "Volume " + a.Name + " is started",
			Failed: "Failed to start volume " + a.Name,
		},
	}.Ensure(ctx)
}

type bricksArgs struct {
	Name   string
	Bricks []any
}

// addVolumeBricks keeps bricks in a volume. It must be there, and started.
//
// bricks
//
//	A list of HOST:PATH.
//
//	myvolume:
//	  glusterfs.add_volume_bricks:
//	    - bricks:
//	      - host1:/srv/gluster/drive1
//	      - host2:/srv/gluster/drive2
func (m *module) addVolumeBricks(ctx context.Context, a bricksArgs) (change.Result, error) {
	return change.Thing[[]any]{
		Name: a.Name,
		Look: func(ctx context.Context) ([]any, error) { return m.bricks(ctx, a.Name) },
		Wants: func(bricks []any) *data.Map {
			missing := slices.DeleteFunc(slices.Clone(a.Bricks),
				func(v any) bool { return slices.Contains(bricks, any(data.Str(v))) })
			return change.When(len(missing) > 0, change.OldNew(bricks, slices.Concat(bricks, missing)))
		},
		Apply: func(ctx context.Context, _ []any) error {
			return change.Do(ctx, m.env, "glusterfs.add_volume_bricks", []any{a.Name, a.Bricks}, nil)
		},
		Changed: func(before, after []any) *data.Map {
			return change.When(len(before) != len(after), change.OldNew(before, after))
		},
		Texts: change.Texts{
			Same:   "Bricks already added in volume " + a.Name,
			Would:  "Bricks will be added to volume " + a.Name,
			Done:   "Bricks successfully added to volume " + a.Name,
			Failed: "Adding bricks to volume " + a.Name + " failed",
		},
	}.Ensure(ctx)
}

// bricks returns the bricks of a started volume.
func (m *module) bricks(ctx context.Context, name string) ([]any, error) {
	volumes, err := m.volumes(ctx)
	switch {
	case err != nil:
		return nil, err
	case !volumes.Has(name):
		return nil, change.Reason("Volume " + name + " does not exist")
	case !running(volumes, name):
		return nil, change.Reason("Volume " + name + " is not started")
	}
	list := []any{}
	volume, _ := volumes.Value(name).(*data.Map)
	if bricks, ok := volume.Value("bricks").(*data.Map); ok {
		for _, v := range bricks.All() {
			brick, _ := v.(*data.Map)
			list = append(list, brick.Value("path"))
		}
	}
	return list, nil
}

type versionArgs struct {
	Name    string
	Version int64
}

// opVersion keeps the op-version of all volumes.
//
// name
//
//	A volume, whose op-version is looked at.
//
// version
//
//	The op-version.
//
//	myvolume:
//	  glusterfs.op_version:
//	    - version: 100000
func (m *module) opVersion(ctx context.Context, a versionArgs) (change.Result, error) {
	version := strconv.FormatInt(a.Version, 10)
	return m.version(ctx, a.Name, a.Version, change.Texts{
		Same: "Glusterfs cluster.op-version for " + a.Name + " already set to " + version,
		Would: "An attempt would be made to set the cluster.op-version for " + a.Name + " to " +
			version + ".",
	})
}

// maxOpVersion keeps the op-version of all volumes at the highest that all peers have.
//
// name
//
//	A volume, whose op-version is looked at.
//
//	myvolume:
//	  glusterfs.max_op_version
func (m *module) maxOpVersion(ctx context.Context, a nameArgs) (change.Result, error) {
	highest, err := m.number(ctx, "glusterfs.get_max_op_version")
	if err != nil {
		return change.Refuse(a.Name, err.Error())
	}
	version := strconv.FormatInt(highest, 10)
	return m.version(ctx, a.Name, highest, change.Texts{
		Same: "The cluster.op-version is already set to the cluster.max-op-version of " + version,
		Would: "An attempt would be made to set the cluster.op-version to " +
			version + ".",
	})
}

func (m *module) version(
	ctx context.Context, name string, version int64, texts change.Texts,
) (change.Result, error) {
	said := ""
	return change.Thing[int64]{
		Name: name,
		Look: func(ctx context.Context) (int64, error) {
			return m.number(ctx, "glusterfs.get_op_version", name)
		},
		Wants: func(now int64) *data.Map {
			return change.When(now != version, change.OldNew(now, version))
		},
		Apply: func(ctx context.Context, _ int64) error {
			v, err := change.Ask[any](ctx, m.env, "glusterfs.set_op_version", []any{version}, nil)
			if err == nil {
				said, err = answer(v)
			}
			return err
		},
		Silent: true,
		Texts:  texts,
		Say: func(o change.Outcome[int64]) any {
			if o.Stage == change.StageDone {
				return said
			}
			return nil
		},
	}.Ensure(ctx)
}

// number calls a function that returns a number, or False and a reason.
func (m *module) number(ctx context.Context, fun string, args ...any) (int64, error) {
	v, err := change.Ask[any](ctx, m.env, fun, args, nil)
	if err != nil {
		return 0, err
	}
	text, err := answer(v)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(text), 10, 64)
}

// answer returns the text of an answer, or the error in False and a reason.
func answer(v any) (string, error) {
	if pair, ok := v.(data.Tuple); ok && len(pair) == 2 && pair[0] == false {
		return "", change.Reason(data.Str(pair[1]))
	}
	return data.Str(v), nil
}

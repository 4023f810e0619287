package glusterfs

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// listVolumes returns the names of the volumes; None if gluster fails.
//
// CLI Example:
//
//	salt '*' glusterfs.list_volumes
func (m *module) listVolumes(ctx context.Context, _ noArgs) (any, error) {
	answer, err := m.ask(ctx, "volume", "list")
	if err != nil || !answer.ok() {
		return nil, err
	}
	volumes := []any{}
	for _, v := range answer.all("volume") {
		volumes = append(volumes, v.text)
	}
	return volumes, nil
}

type infoArgs struct {
	Name any `default:"None"`
}

// info returns what gluster says of volumes, by their names; None if gluster fails.
//
// name
//
//	Only this volume.
//
// CLI Example:
//
//	salt '*' glusterfs.info
func (m *module) info(ctx context.Context, a infoArgs) (any, error) {
	volumes, err := m.volumes(ctx, a.Name)
	if err != nil || volumes == nil {
		return nil, err
	}
	return volumes, nil
}

// volumes returns volumes by name, nil if gluster fails.
func (m *module) volumes(ctx context.Context, name any) (*data.Map, error) {
	words := []string{"volume", "info"}
	if name != nil {
		words = append(words, data.Str(name))
	}
	answer, err := m.ask(ctx, words...)
	if err != nil || !answer.ok() {
		return nil, err
	}
	all := &data.Map{}
	for _, volume := range answer.all("volume") {
		one := volume.values()
		bricks, options := &data.Map{}, &data.Map{}
		for i, brick := range volume.all("brick") {
			b := data.NewMap("path", brick.text)
			for _, item := range brick.children {
				if item.tag != "name" {
					b.Set(item.tag, item.text)
				}
			}
			for _, attribute := range brick.attributes {
				b.Set(attribute.Name.Local, attribute.Value)
			}
			bricks.Set("brick"+strconv.Itoa(i+1), b)
		}
		for _, option := range volume.all("option") {
			options.Set(option.child("name").str(), option.child("value").text)
		}
		one.Set("bricks", bricks)
		one.Set("options", options)
		all.Set(volume.child("name").str(), one)
	}
	return all, nil
}

// status returns the bricks of a volume, its servers of NFS and its healers, by the host that each is
// on; None if gluster fails.
//
// CLI Example:
//
//	salt '*' glusterfs.status myvolume
func (m *module) status(ctx context.Context, a nameArgs) (any, error) {
	answer, err := m.ask(ctx, "volume", "status", a.Name)
	if err != nil || !answer.ok() {
		return nil, err
	}
	const nfs, healer = "NFS Server", "Self-heal Daemon"
	hosts := map[string]string{}
	for _, n := range answer.all("node") {
		if name := n.child("hostname").str(); name != nfs && name != healer {
			hosts[n.child("peerid").str()] = name
		}
	}
	bricks, servers, healers := &data.Map{}, &data.Map{}, &data.Map{}
	for _, n := range answer.all("node") {
		name, peer := n.child("hostname").str(), n.child("peerid").str()
		one := n.values()
		one.Set("online", n.child("status").str() == "1")
		one.Set("host", n.child("hostname").text)
		switch name {
		case nfs:
			servers.Set(hosts[peer], one)
		case healer:
			healers.Set(hosts[peer], one)
		default:
			bricks.Set(name+":"+n.child("path").str(), one)
		}
	}
	return data.NewMap("bricks", bricks, "nfs", servers, "healers", healers), nil
}

type createArgs struct {
	Name      string
	Bricks    []any
	Stripe    any    `default:"False"`
	Replica   any    `default:"False"`
	DeviceVg  any    `default:"False"`
	Transport string `default:"'tcp'"`
	Start     any    `default:"False"`
	Force     any    `default:"False"`
	Arbiter   any    `default:"False"`
}

// createVolume creates a volume, and returns whether that succeeded.
//
// bricks
//
//	A list of HOST:PATH, or one.
//
// stripe
//
//	The number of bricks that share a file.
//
// replica
//
//	The number of copies.
//
// device_vg
//
//	True: the brick is a volume group.
//
// transport
//
//	tcp, rdma, or tcp,rdma.
//
// start
//
//	True: also start it.
//
// force
//
//	True: also on the file system of the root directory.
//
// arbiter
//
//	True: each third brick has metadata only. It needs three copies.
//
// CLI Example:
//
//	salt host1 glusterfs.create_volume newvolume host1:/brick
//	salt host1 glusterfs.create_volume vol2 '["host1:/brick", "host2:/brick"]' replica=2 start=True
func (m *module) createVolume(ctx context.Context, a createArgs) (any, error) {
	bricks, err := a.check()
	if err != nil {
		return nil, err
	}
	words := []string{"volume", "create", a.Name}
	add := func(needed any, more ...string) {
		if data.Truth(needed) {
			words = append(words, more...)
		}
	}
	add(a.Stripe, "stripe", data.Str(a.Stripe))
	add(a.Replica, "replica", data.Str(a.Replica))
	add(a.Arbiter, "arbiter", "1")
	add(a.DeviceVg, "device", "vg")
	add(a.Transport != "tcp", "transport", a.Transport)
	words = append(words, bricks...)
	add(a.Force, "force")
	if ok, err := m.do(ctx, words...); err != nil || !ok || !data.Truth(a.Start) {
		return ok, err
	}
	return m.startVolume(ctx, startArgs{Name: a.Name})
}

// check returns the bricks of a volume to create.
func (a createArgs) check() ([]string, error) {
	if data.Truth(a.DeviceVg) && len(a.Bricks) > 1 {
		return nil, loader.Invocation("Block device backend volume does not support multiple bricks")
	}
	bricks := make([]string, len(a.Bricks))
	for i, v := range a.Bricks {
		bricks[i] = data.Str(v)
		_, path, ok := strings.Cut(bricks[i], ":")
		if !ok || strings.Contains(path, ":") {
			return nil, loader.Invocation("Brick syntax is <peer>:<path> got %s", bricks[i])
		}
		if !strings.HasPrefix(path, "/") {
			return nil, loader.Invocation("Brick paths must start with / in %s", bricks[i])
		}
	}
	if data.Truth(a.Arbiter) && !data.Equal(a.Replica, int64(3)) {
		return nil, loader.Invocation("Arbiter configuration only valid in replica 3 volume")
	}
	return bricks, nil
}

type startArgs struct {
	Name  string
	Force any `default:"False"`
}

// startVolume starts a volume, and returns whether it is started.
//
// force
//
//	True: also if it is started already.
//
// CLI Example:
//
//	salt '*' glusterfs.start_volume mycluster
func (m *module) startVolume(ctx context.Context, a startArgs) (any, error) {
	running, there, err := m.running(ctx, a.Name)
	switch force := data.Truth(a.Force); {
	case err != nil || !there:
		return false, err
	case running && !force:
		return true, nil
	case force:
		return m.do(ctx, "volume", "start", a.Name, "force")
	}
	return m.do(ctx, "volume", "start", a.Name)
}

// running returns whether a volume is started, and whether it is there. It logs that it is not.
func (m *module) running(ctx context.Context, name string) (running, there bool, err error) {
	volumes, err := m.volumes(ctx, nil)
	if err != nil {
		return false, false, err
	}
	volume, there := volumes.Value(name).(*data.Map)
	if !there {
		m.env.Log.Error("there is no volume " + name + " of glusterfs")
	}
	return volume.Text("status") == "1", there, nil
}

// stopVolume stops a volume, and returns whether it is stopped.
//
// force
//
//	True: also if it is in use.
//
// CLI Example:
//
//	salt '*' glusterfs.stop_volume mycluster
func (m *module) stopVolume(ctx context.Context, a startArgs) (any, error) {
	running, there, err := m.running(ctx, a.Name)
	switch {
	case err != nil || !there:
		return false, err
	case !running:
		return true, nil
	case data.Truth(a.Force):
		return m.do(ctx, "volume", "stop", a.Name, "force")
	}
	return m.do(ctx, "volume", "stop", a.Name)
}

type deleteArgs struct {
	Target string
	Stop   any `default:"True"`
}

// deleteVolume deletes a volume, and returns whether that succeeded.
//
// stop
//
//	False: only if it is stopped.
//
// CLI Example:
//
//	salt '*' glusterfs.delete_volume myvolume
func (m *module) deleteVolume(ctx context.Context, a deleteArgs) (any, error) {
	running, there, err := m.running(ctx, a.Target)
	if err != nil || !there || running && !data.Truth(a.Stop) {
		return false, err
	}
	if running {
		if ok, err := m.do(ctx, "volume", "stop", a.Target, "force"); err != nil || !ok {
			return false, err
		}
	}
	return m.do(ctx, "volume", "delete", a.Target)
}

type bricksArgs struct {
	Name   string
	Bricks []any
}

// addVolumeBricks adds bricks to a volume, except those that it has, and returns whether it has them.
//
// bricks
//
//	A list of HOST:PATH, or one.
//
// CLI Example:
//
//	salt '*' glusterfs.add_volume_bricks myvolume host2:/brick
func (m *module) addVolumeBricks(ctx context.Context, a bricksArgs) (any, error) {
	volumes, err := m.volumes(ctx, nil)
	volume, there := volumes.Value(a.Name).(*data.Map)
	if err != nil || !there {
		return false, err
	}
	var has []any
	if bricks, ok := volume.Value("bricks").(*data.Map); ok {
		for _, v := range bricks.All() {
			has = append(has, v.(*data.Map).Value("path"))
		}
	}
	words := []string{"volume", "add-brick", a.Name}
	for _, brick := range a.Bricks {
		if !slices.Contains(has, any(data.Str(brick))) {
			words = append(words, data.Str(brick))
		}
	}
	if len(words) == 3 {
		return true, nil
	}
	return m.do(ctx, words...)
}

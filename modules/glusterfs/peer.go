package glusterfs

import (
	"context"
	"regexp"
	"slices"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// peerStatus returns the peers by their UUIDs, each with its hostnames and its state; None if gluster
// fails.
//
// CLI Example:
//
//	salt '*' glusterfs.peer_status
func (m *module) peerStatus(ctx context.Context, _ noArgs) (any, error) {
	answer, err := m.ask(ctx, "peer", "status")
	if err != nil || !answer.ok() {
		return nil, err
	}
	peers := &data.Map{}
	for _, peer := range answer.all("peer") {
		one, names := &data.Map{}, []any{}
		for _, item := range peer.children {
			switch item.tag {
			case "hostname":
				names = append(names, item.text)
			case "hostnames":
				for _, name := range item.children {
					if !slices.Contains(names, name.text) {
						names = append(names, name.text)
					}
				}
			case "uuid":
			default:
				one.Set(item.tag, item.text)
			}
		}
		all := data.NewMap("hostnames", names)
		all.Update(one)
		peers.Set(peer.child("uuid").str(), all)
	}
	return peers, nil
}

var peerName = regexp.MustCompile(`^[a-zA-Z0-9._-]+$`)

// peer adds a host to the pool, and returns whether it is in it.
//
// CLI Example:
//
//	salt 'one.gluster.*' glusterfs.peer two
func (m *module) peer(ctx context.Context, a nameArgs) (any, error) {
	if !peerName.MatchString(a.Name) {
		return nil, loader.Invocation("Invalid characters in peer name \"%s\"", a.Name)
	}
	return m.do(ctx, "peer", "probe", a.Name)
}

// getVersion returns the version of GlusterFS.
//
// CLI Example:
//
//	salt '*' glusterfs.get_version
func (m *module) getVersion(ctx context.Context, _ noArgs) (any, error) {
	text, _, _, err := m.version(ctx)
	return text, err
}

// option returns the value of an option of volumes, or False and the error of gluster.
func (m *module) option(ctx context.Context, volume, name string) (any, error) {
	answer, err := m.ask(ctx, "volume", "get", volume, name)
	if err != nil {
		return nil, err
	}
	if !answer.ok() {
		return data.Tuple{false, answer.child("opErrstr").text}, nil
	}
	var result any = &data.Map{}
	for _, list := range answer.all("volGetopts") {
		for _, item := range list.children {
			switch item.tag {
			case "Value":
				result = item.text
			case "Opt":
				for _, value := range item.children {
					if value.tag == "Value" {
						result = value.text
					}
				}
			}
		}
	}
	return result, nil
}

// getOpVersion returns the op-version of a volume; False and the error of gluster if that fails.
//
// CLI Example:
//
//	salt '*' glusterfs.get_op_version myvolume
func (m *module) getOpVersion(ctx context.Context, a nameArgs) (any, error) {
	return m.option(ctx, a.Name, "cluster.op-version")
}

// getMaxOpVersion returns the highest op-version that all peers have; False and a reason if that
// fails. GlusterFS must be 3.10 or newer.
//
// CLI Example:
//
//	salt '*' glusterfs.get_max_op_version
func (m *module) getMaxOpVersion(ctx context.Context, _ noArgs) (any, error) {
	text, major, minor, err := m.version(ctx)
	switch {
	case err != nil:
		return nil, err
	case major < 3 || major == 3 && minor < 10:
		return data.Tuple{false, "Glusterfs version must be 3.10+.  Your version is " + text + "."}, nil
	}
	return m.option(ctx, "all", "cluster.max-op-version")
}

type versionArgs struct{ Version any }

// setOpVersion sets the op-version of all volumes. It returns what gluster says; False and the error
// if that fails.
//
// CLI Example:
//
//	salt '*' glusterfs.set_op_version 100000
func (m *module) setOpVersion(ctx context.Context, a versionArgs) (any, error) {
	answer, err := m.ask(ctx, "volume", "set", "all", "cluster.op-version", data.Str(a.Version))
	if err != nil {
		return nil, err
	}
	if !answer.ok() {
		return data.Tuple{false, answer.child("opErrstr").text}, nil
	}
	return answer.child("output").text, nil
}

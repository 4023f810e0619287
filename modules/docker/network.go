package docker

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/docker"
	"github.com/brineproject/brine/internal/docker/spec"
	"github.com/brineproject/brine/internal/docker/translate"
	"github.com/brineproject/brine/loader"
)

type networksArgs struct {
	Names any `default:"None"`
	IDs   any `name:"ids" default:"None"`
}

// networks returns the networks with the containers that are connected to them.
//
// names, ids
//
//	Only those with these names or IDs, which may be parts.
//
// CLI Example:
//
//	salt myminion docker.networks names=network-web
//	salt myminion docker.networks ids=1f9d2454d0872b68dd9e8744c6e7a4c66b86f10abaccc21e14f7f014f729b2bc
func (m *module) networks(ctx context.Context, a networksArgs) ([]any, error) {
	wanted := data.NewMap()
	if names := words(a.Names); len(names) > 0 {
		wanted.Set("name", data.Values(names))
	}
	if ids := words(a.IDs); len(ids) > 0 {
		wanted.Set("id", data.Values(ids))
	}
	query, err := filters(wanted)
	if err != nil {
		return nil, err
	}
	v, err := m.ask(ctx, "networks", docker.Request{Method: http.MethodGet, Path: "/networks", Query: query})
	if err != nil {
		return nil, err
	}
	for _, one := range list(v) {
		n := dict(one)
		// a network may be gone since it was listed
		if info, err := m.network(ctx, n.Text("Id")); err == nil && data.Truth(info.Value("Containers")) {
			n.Set("Containers", info.Value("Containers"))
		}
	}
	return list(v), nil
}

type networkArgs struct {
	NetworkID string `name:"network_id"`
}

// inspectNetwork returns what the engine knows about a network.
//
// CLI Example:
//
//	salt myminion docker.inspect_network 1f9d2454d0872b68dd9e8744c6e7a4c66b86f10abaccc21e14f7f014f729b2bc
func (m *module) inspectNetwork(ctx context.Context, a networkArgs) (*data.Map, error) {
	return m.get(ctx, "inspect_network", "networks", a.NetworkID, "")
}

func (m *module) network(ctx context.Context, name string) (*data.Map, error) {
	return m.inspectNetwork(ctx, networkArgs{name})
}

type createNetworkArgs struct {
	Name string
	translateArgs
	Kwargs *data.Map `kwargs:"kwargs"`
}

// createNetwork makes a network. The further arguments are those of docker_network.present.
//
// driver, driver_opts
//
//	The driver of the network and its options.
//
// subnet, gateway, iprange, aux_addresses
//
//	The addresses of the network. ipam_pools is a list of dictionaries with these keys, for several pools.
//
// enable_ipv6, internal, attachable, labels
//
//	Further properties.
//
// CLI Example:
//
//	salt myminion docker.create_network web_network driver=bridge
//	salt myminion docker.create_network macvlan_network driver=macvlan driver_opts="{'parent':'eth0'}" gateway=172.20.0.1 subnet=172.20.0.0/24
func (m *module) createNetwork(ctx context.Context, a createNetworkArgs) (any, error) {
	kwargs, err := translate.Network(clean(a.Kwargs), a.options())
	if err != nil {
		return nil, err
	}
	if !kwargs.Has("ipam") {
		if err := gatherIPAM(kwargs); err != nil {
			return nil, err
		}
	}
	e, err := m.engine(ctx)
	if err != nil {
		return nil, err
	}
	body, err := spec.Network(a.Name, kwargs, e.Version())
	if err != nil {
		return nil, m.unable("create_network", err)
	}
	return m.ask(ctx, "create_network", docker.Request{Method: http.MethodPost, Path: "/networks/create", Body: body})
}

// gatherIPAM replaces the arguments about addresses by ipam.
func gatherIPAM(kwargs *data.Map) error {
	own := data.NewMap()
	for _, name := range append([]string{"ipam_driver", "ipam_opts"}, translate.PoolArgs()...) {
		if v, ok := kwargs.Get(name); ok {
			own.Set(name, v)
			kwargs.Delete(name)
		}
	}
	pools := list(kwargs.Value("ipam_pools"))
	kwargs.Delete("ipam_pools")
	if len(pools) == 0 && own.Len() == 0 {
		return nil
	}
	ipam, err := translate.IPAM(pools, own)
	if err == nil {
		kwargs.Set("ipam", ipam)
	}
	return err
}

// removeNetwork removes a network.
//
// CLI Example:
//
//	salt myminion docker.remove_network mynet
func (m *module) removeNetwork(ctx context.Context, a networkArgs) (bool, error) {
	if a.NetworkID == "" {
		return false, loader.Execution("Resource ID was not provided")
	}
	_, err := m.ask(ctx, "remove_network", docker.Request{Method: http.MethodDelete, Path: docker.Path("networks", a.NetworkID)})
	return err == nil, err
}

type connectArgs struct {
	Container string
	NetID     string    `name:"net_id"`
	Kwargs    *data.Map `kwargs:"kwargs"`
}

// connectContainerToNetwork connects a container to a network.
//
// aliases, links
//
//	Further names of the container there, and containers that it reaches by other names.
//
// ipv4_address, ipv6_address, link_local_ips, driver_opt, mac_address
//
//	Its addresses there, and options of the driver.
//
// CLI Example:
//
//	salt myminion docker.connect_container_to_network web-1 mynet
//	salt myminion docker.connect_container_to_network web-1 mynet ipv4_address=10.20.0.10
func (m *module) connectContainerToNetwork(ctx context.Context, a connectArgs) (bool, error) {
	const action = "connect_container_to_network"
	e, err := m.engine(ctx)
	if err != nil {
		return false, err
	}
	end, err := spec.Endpoint("NetworkApiMixin.connect_container_to_network()", clean(a.Kwargs), e.Version())
	if err != nil {
		return false, m.unable(action, err)
	}
	if a.Container == "" || a.NetID == "" {
		return false, loader.Execution("Resource ID was not provided")
	}
	_, err = m.ask(ctx, action, docker.Request{Method: http.MethodPost, Path: docker.Path("networks", a.NetID, "connect"),
		Body: data.NewMap("Container", a.Container, "EndpointConfig", end)})
	return err == nil, err
}

type disconnectArgs struct {
	Container string
	NetworkID string `name:"network_id"`
}

// disconnect disconnects a container from a network.
//
// CLI Example:
//
//	salt myminion docker.disconnect_container_from_network web-1 mynet
func (m *module) disconnect(ctx context.Context, a disconnectArgs) (bool, error) {
	if a.Container == "" || a.NetworkID == "" {
		return false, loader.Execution("Resource ID was not provided")
	}
	_, err := m.ask(ctx, "disconnect_container_from_network", docker.Request{Method: http.MethodPost,
		Path: docker.Path("networks", a.NetworkID, "disconnect"), Body: data.NewMap("Container", a.Container)})
	return err == nil, err
}

// disconnectAll disconnects all running containers from a network, and returns their names.
//
// CLI Example:
//
//	salt myminion docker.disconnect_all_containers_from_network mynet
func (m *module) disconnectAll(ctx context.Context, a networkArgs) ([]any, error) {
	names, err := m.connected(ctx, connectedArgs{Name: a.NetworkID})
	if err != nil {
		return nil, err
	}
	done, failed := []any{}, []any{}
	for _, name := range list(names) {
		_, err := m.disconnect(ctx, disconnectArgs{data.Str(name), a.NetworkID})
		switch {
		case err == nil:
			done = append(done, name)
		case docker.StatusOf(err) != http.StatusNotFound:
			failed = append(failed, err.Error())
		}
	}
	if len(failed) > 0 {
		return nil, loader.ExecutionInfo("One or more containers failed to be removed", data.NewMap("removed", done, "errors", failed))
	}
	return done, nil
}

type connectedArgs struct {
	Name    string
	Verbose bool `default:"False"`
}

// connected returns the names of the running containers that are connected to a network.
//
// verbose
//
//	A dictionary with their addresses.
//
// CLI Example:
//
//	salt myminion docker.connected net_name
func (m *module) connected(ctx context.Context, a connectedArgs) (any, error) {
	n, err := m.network(ctx, a.Name)
	if err != nil {
		return nil, err
	}
	found := data.NewMap()
	for id, one := range dict(n.Value("Containers")).All() {
		c := dict(one)
		name, ok := c.Get("Name")
		if !ok {
			continue
		}
		c.Delete("Name")
		c.Set("Id", id)
		found.Set(name, c)
	}
	if a.Verbose {
		return found, nil
	}
	names := data.Texts(found.Keys())
	slices.SortStableFunc(names, strings.Compare)
	return data.Values(names), nil
}

type volumesArgs struct {
	Filters any `default:"None"`
}

// volumes returns the volumes.
//
// filters
//
//	A dictionary of the engine's filters, such as {dangling: True}.
//
// CLI Example:
//
//	salt myminion docker.volumes filters="{'dangling': True}"
func (m *module) volumes(ctx context.Context, a volumesArgs) (any, error) {
	query, err := filters(dict(a.Filters))
	if err != nil {
		return nil, err
	}
	if !data.Truth(a.Filters) {
		query = nil
	}
	return m.ask(ctx, "volumes", docker.Request{Method: http.MethodGet, Path: "/volumes", Query: query})
}

type createVolumeArgs struct {
	Name       any
	Driver     any `default:"None"`
	DriverOpts any `default:"None"`
}

// createVolume makes a volume.
//
// driver, driver_opts
//
//	The driver and its options, a dictionary.
//
// CLI Example:
//
//	salt myminion docker.create_volume my_volume driver=local
func (m *module) createVolume(ctx context.Context, a createVolumeArgs) (any, error) {
	body, err := spec.Volume(a.Name, a.Driver, a.DriverOpts)
	if err != nil {
		return nil, m.unable("create_volume", err)
	}
	return m.ask(ctx, "create_volume", docker.Request{Method: http.MethodPost, Path: "/volumes/create", Body: body})
}

// removeVolume removes a volume.
//
// CLI Example:
//
//	salt myminion docker.remove_volume my_volume
func (m *module) removeVolume(ctx context.Context, a nameArgs) (bool, error) {
	if a.Name == "" {
		return false, loader.Execution("Resource ID was not provided")
	}
	_, err := m.ask(ctx, "remove_volume", docker.Request{Method: http.MethodDelete, Path: docker.Path("volumes", a.Name)})
	return err == nil, err
}

// inspectVolume returns what the engine knows about a volume.
//
// CLI Example:
//
//	salt myminion docker.inspect_volume my_volume
func (m *module) inspectVolume(ctx context.Context, a nameArgs) (*data.Map, error) {
	return m.get(ctx, "inspect_volume", "volumes", a.Name, "")
}

package mine

import (
	"context"
	"net/netip"
	"slices"

	"github.com/brineproject/brine/data"
)

type getDockerArgs struct {
	Interfaces      any  `default:"None"`
	Cidrs           any  `default:"None"`
	WithContainerID bool `name:"with_container_id" default:"False"`
}

// getDocker returns where the published ports of containers are, by image and port, from what the minions
// have sent of docker.ps.
//
// interfaces
//
//	For a port that is published on all addresses of its host: only those of these network interfaces.
//
// cidrs
//
//	For such a port: only addresses in these networks.
//
// with_container_id
//
//	Pairs of an address and the ID of the container, instead of addresses.
//
// CLI Example:
//
//	salt '*' mine.get_docker
//	salt '*' mine.get_docker interfaces='["eth0", "eth1"]' cidrs='["107.170.147.0/24", "172.17.42.0/24"]'
func (m *module) getDocker(ctx context.Context, a getDockerArgs) (*data.Map, error) {
	v, err := m.get(ctx, getArgs{Tgt: "*", Fun: "docker.ps", TgtType: "glob"})
	if err != nil {
		return nil, err
	}
	images := data.NewMap()
	hosts, _ := v.(*data.Map)
	if hosts == nil {
		return images, nil
	}
	for _, one := range hosts.All() {
		containers, ok := one.(*data.Map)
		if !ok {
			continue
		}
		own := addresses(containers.Value("host"), listed(a.Interfaces), listed(a.Cidrs))
		for key, one := range containers.All() {
			if c, ok := one.(*data.Map); ok && key != "host" {
				addPorts(images, c, own, a.WithContainerID)
			}
		}
	}
	return images, nil
}

// listed returns v as texts: those of a list, or v alone.
func listed(v any) []string {
	if !data.Truth(v) {
		return nil
	}
	if list, ok := v.([]any); ok {
		return data.Texts(list)
	}
	return []string{data.Str(v)}
}

// addresses returns the IPv4 addresses of a host that are wanted.
func addresses(host any, interfaces, cidrs []string) []string {
	all, _ := data.Lookup(host, "interfaces", ":")
	known, _ := all.(*data.Map)
	if known == nil {
		return nil
	}
	var found []string
	for name, one := range known.All() {
		if len(interfaces) > 0 && !slices.Contains(interfaces, data.Str(name)) {
			continue
		}
		inet, _ := data.Lookup(one, "inet", ":")
		list, _ := inet.([]any)
		for _, entry := range list {
			address, _ := data.Lookup(entry, "address", ":")
			if s, ok := address.(string); ok && !slices.Contains(found, s) && within(s, cidrs) {
				found = append(found, s)
			}
		}
	}
	return found
}

// within reports whether an address is in one of the networks, if there are any.
func within(address string, cidrs []string) bool {
	addr, err := netip.ParseAddr(address)
	return len(cidrs) == 0 || err == nil && slices.ContainsFunc(cidrs, func(cidr string) bool {
		network, err := netip.ParsePrefix(cidr)
		return err == nil && network.Contains(addr)
	})
}

// addPorts adds the published ports of a container.
func addPorts(images, container *data.Map, own []string, withID bool) {
	id, _ := data.Lookup(container.Value("Info"), "Id", ":")
	image := container.Value("Image")
	if !images.Has(image) {
		images.Set(image, data.NewMap())
	}
	ports, _ := container.Value("Ports").([]any)
	for _, one := range ports {
		port, ok := one.(*data.Map)
		if !ok {
			continue
		}
		hosts := own
		if ip := port.Text("IP"); ip == "" {
			continue
		} else if ip != "0.0.0.0" {
			hosts = []string{ip}
		}
		for _, host := range hosts {
			var where any = host + ":" + data.Str(port.Value("PublicPort"))
			if withID {
				where = data.Tuple{where, id}
			}
			addWhere(images.Value(image).(*data.Map), port.Value("PrivatePort"), where)
		}
	}
}

func addWhere(image *data.Map, port, where any) {
	v4, _ := image.Value("ipv4").(*data.Map)
	if v4 == nil {
		v4 = data.NewMap()
		image.Set("ipv4", v4)
	}
	all, _ := v4.Value(port).([]any)
	if !slices.ContainsFunc(all, func(one any) bool { return data.Equal(one, where) }) {
		v4.Set(port, append(all, where))
	}
}

package testdocker

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

type network struct {
	id    string
	octet int // second byte of its subnet
	count int // addresses given so far
	spec  object
}

func (n *network) name() string { return textOf(n.spec["Name"]) }

func (e *Engine) addNetwork(name string, asked object) *network {
	n := &network{id: e.id("network"), octet: 17 + len(e.networks)}
	for _, other := range e.networks {
		n.octet = max(n.octet, other.octet+1)
	}
	ipam := object{"Driver": "default", "Options": nil, "Config": []any{}}
	if given := dict(asked["IPAM"]); len(given) > 0 {
		maps.Copy(ipam, clone(given))
	}
	if len(listOf(ipam["Config"])) == 0 {
		ipam["Config"] = []any{object{"Subnet": fmt.Sprintf("172.%d.0.0/16", n.octet), "Gateway": fmt.Sprintf("172.%d.0.1", n.octet)}}
	}
	n.spec = object{"Name": name, "Id": n.id, "Created": created, "Scope": "local", "Driver": "bridge", "EnableIPv6": false, "IPAM": ipam,
		"Internal": false, "Attachable": false, "Ingress": false, "ConfigFrom": object{"Network": ""}, "ConfigOnly": false,
		"Options": object{}, "Labels": object{}}
	for _, key := range []string{"Driver", "EnableIPv6", "Internal", "Attachable", "Ingress", "Options", "Labels"} {
		if v, ok := asked[key]; ok && v != nil {
			n.spec[key] = v
		}
	}
	e.networks = append(e.networks, n)
	return n
}

func (e *Engine) network(name string) (*network, error) {
	for _, n := range e.networks {
		if n.id == name || n.name() == name || len(name) > 3 && strings.HasPrefix(n.id, name) {
			return n, nil
		}
	}
	return nil, refuse(http.StatusNotFound, "network %s not found", name)
}

func noAddress() object {
	return object{"NetworkID": "", "EndpointID": "", "Gateway": "", "IPAddress": "", "IPPrefixLen": 0, "IPv6Gateway": "",
		"GlobalIPv6Address": "", "GlobalIPv6PrefixLen": 0, "MacAddress": ""}
}

// endpoint returns what connects a container to a network.
func (n *network) endpoint(c *container, asked object) object {
	end := object{"IPAMConfig": nil, "Links": nil, "Aliases": nil, "DriverOpts": nil}
	maps.Copy(end, noAddress())
	maps.Copy(end, clone(asked))
	if !slices.Contains([]string{"bridge", "host", "none"}, n.name()) {
		end["Aliases"] = append(listOf(end["Aliases"]), c.id[:12])
	}
	return end
}

// join gives a running container its address in a network.
func (e *Engine) join(c *container, name string) {
	n, err := e.network(name)
	if err != nil {
		return
	}
	n.count++
	end := c.ends[name]
	address := textOf(dict(end["IPAMConfig"])["IPv4Address"])
	if address == "" {
		address = fmt.Sprintf("172.%d.0.%d", n.octet, n.count+1)
	}
	config := listOf(dict(n.spec["IPAM"])["Config"])
	if len(config) == 0 { // host and none
		address = ""
	} else {
		end["Gateway"] = textOf(dict(config[0])["Gateway"])
	}
	end["NetworkID"], end["EndpointID"] = n.id, fmt.Sprintf("%s%04d", n.id[:60], n.count)
	end["IPAddress"], end["IPPrefixLen"], end["MacAddress"] = address, 16, fmt.Sprintf("02:42:ac:%02x:00:%02x", n.octet, n.count+1)
}

func (e *Engine) describeNetwork(n *network, withContainers bool) object {
	d := clone(n.spec)
	in := object{}
	for _, c := range e.containers {
		if end, ok := c.ends[n.name()]; ok && c.running() && withContainers {
			in[c.id] = object{"Name": c.name, "EndpointID": end["EndpointID"], "MacAddress": end["MacAddress"],
				"IPv4Address": textOf(end["IPAddress"]) + "/16", "IPv6Address": ""}
		}
	}
	d["Containers"] = in
	return d
}

func (e *Engine) listNetworks(r call, _ string) (any, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := []any{}
	for _, n := range e.networks {
		names, ids := r.filters("name"), r.filters("id")
		if len(names) > 0 && !slices.Contains(names, n.name()) || len(ids) > 0 && !slices.Contains(ids, n.id) {
			continue
		}
		all = append(all, e.describeNetwork(n, false))
	}
	return all, nil
}

func (e *Engine) inspectNetwork(_ call, name string) (any, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n, err := e.network(name)
	if err != nil {
		return nil, err
	}
	return e.describeNetwork(n, true), nil
}

func (e *Engine) createNetwork(c call, _ string) (any, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	name := textOf(c.body["Name"])
	if _, err := e.network(name); err == nil {
		return nil, refuse(http.StatusConflict, "network with name %s already exists", name)
	}
	if driver := textOf(c.body["Driver"]); driver != "" && driver != "bridge" && driver != "macvlan" {
		return nil, refuse(http.StatusNotFound, "plugin %q not found", driver)
	}
	n := e.addNetwork(name, c.body)
	return object{"\x00": http.StatusCreated, "Id": n.id, "Warning": ""}, nil
}

func (e *Engine) removeNetwork(_ call, name string) (any, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n, err := e.network(name)
	if err != nil {
		return nil, err
	}
	if slices.Contains([]string{"bridge", "host", "none"}, n.name()) {
		return nil, refuse(http.StatusForbidden, "%s is a pre-defined network and cannot be removed", n.name())
	}
	if len(dict(e.describeNetwork(n, true)["Containers"])) > 0 {
		return nil, refuse(http.StatusForbidden, "error while removing network: network %s id %s has active endpoints", n.name(), n.id)
	}
	e.networks = slices.DeleteFunc(e.networks, func(o *network) bool { return o == n })
	return status(http.StatusNoContent), nil
}

func (e *Engine) pruneNetworks(call, string) (any, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	gone := []any{}
	e.networks = slices.DeleteFunc(e.networks, func(n *network) bool {
		own := !slices.Contains([]string{"bridge", "host", "none"}, n.name())
		used := slices.ContainsFunc(e.containers, func(c *container) bool { _, ok := c.ends[n.name()]; return ok })
		if own && !used {
			gone = append(gone, n.name())
		}
		return own && !used
	})
	return object{"NetworksDeleted": gone}, nil
}

func (e *Engine) connect(r call, name string) (any, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n, err := e.network(name)
	if err != nil {
		return nil, err
	}
	c, err := e.container(textOf(r.body["Container"]))
	if err != nil {
		return nil, err
	}
	if _, ok := c.ends[n.name()]; ok && c.running() {
		return nil, refuse(http.StatusForbidden, "endpoint with name %s already exists in network %s", c.name, n.name())
	}
	asked := dict(r.body["EndpointConfig"])
	if address := textOf(dict(asked["IPAMConfig"])["IPv4Address"]); address == "999.0.0.1" {
		return nil, refuse(http.StatusBadRequest, "invalid IPv4 address: %s", address)
	}
	c.ends[n.name()] = n.endpoint(c, asked)
	if c.running() {
		e.join(c, n.name())
	}
	return status(http.StatusOK), nil
}

func (e *Engine) disconnect(r call, name string) (any, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n, err := e.network(name)
	if err != nil {
		return nil, err
	}
	c, err := e.container(textOf(r.body["Container"]))
	if err != nil {
		return nil, err
	}
	if _, ok := c.ends[n.name()]; !ok {
		return nil, refuse(http.StatusForbidden, "container %s is not connected to network %s", c.id, n.name())
	}
	delete(c.ends, n.name())
	return status(http.StatusOK), nil
}

package spec

import (
	"errors"
	"slices"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// known returns an error for arguments that a function of docker's client does not have.
func known(function string, args *data.Map, names []string) error {
	for k := range args.All() {
		if !slices.Contains(names, data.Str(k)) {
			return errors.New(function + " got an unexpected keyword argument '" + data.Str(k) + "'")
		}
	}
	return nil
}

// Endpoint returns what connects a container to a network. function is named in errors.
func Endpoint(function string, args *data.Map, version string) (*data.Map, error) {
	if err := known(function, args, ConnectArgs()); err != nil {
		return nil, err
	}
	end, ipam := data.NewMap(), data.NewMap()
	set := func(to *data.Map, key, name string) {
		if v := args.Value(name); data.Truth(v) {
			to.Set(key, v)
		}
	}
	set(end, "Aliases", "aliases")
	if v := args.Value("links"); data.Truth(v) {
		links, err := Links(v)
		if err != nil {
			return nil, err
		}
		end.Set("Links", links)
	}
	set(ipam, "IPv4Address", "ipv4_address")
	set(ipam, "IPv6Address", "ipv6_address")
	if since(version, "", "1.25") != nil && data.Truth(args.Value("mac_address")) {
		return nil, refused("mac_address is not supported for API version < 1.25")
	}
	set(end, "MacAddress", "mac_address")
	if v := args.Value("link_local_ips"); v != nil {
		ipam.Set("LinkLocalIPs", v)
	}
	if ipam.Len() > 0 {
		end.Set("IPAMConfig", ipam)
	}
	if v := args.Value("driver_opt"); data.Truth(v) {
		if !isDict(v) {
			return nil, errors.New("driver_opt must be a dictionary")
		}
		end.Set("DriverOpts", v)
	}
	return end, nil
}

// Network returns the body of a request that creates a network.
func Network(name any, args *data.Map, version string) (*data.Map, error) {
	names := []string{"driver", "options", "ipam", "check_duplicate", "internal", "labels", "enable_ipv6", "attachable",
		"scope", "ingress"}
	if err := known("NetworkApiMixin.create_network()", args, names); err != nil {
		return nil, err
	}
	for _, key := range []string{"options", "labels"} {
		if v := args.Value(key); v != nil && !isDict(v) {
			return nil, errors.New(key + " must be a dictionary")
		}
	}
	body := data.NewMap("Name", name, "Driver", args.Value("driver"), "Options", args.Value("options"),
		"IPAM", args.Value("ipam"), "CheckDuplicate", args.Value("check_duplicate"), "Labels", args.Value("labels"))
	if data.Truth(args.Value("enable_ipv6")) {
		body.Set("EnableIPv6", true)
	}
	if data.Truth(args.Value("internal")) {
		body.Set("Internal", true)
	}
	body.Set("Attachable", args.Value("attachable"))
	for _, later := range []struct{ name, key, first string }{{"ingress", "Ingress", "1.29"}, {"scope", "Scope", "1.30"}} {
		v := args.Value(later.name)
		if v == nil {
			continue
		}
		if since(version, "", later.first) != nil {
			return nil, refused("%s is not supported in API version < %s", later.name, later.first)
		}
		body.Set(later.key, v)
	}
	return body, nil
}

// Volume returns the body of a request that creates a volume.
func Volume(name, driver, options any) (*data.Map, error) {
	if options != nil && !isDict(options) {
		return nil, loader.TypeError("driver_opts must be a dictionary")
	}
	return data.NewMap("Name", name, "Driver", driver, "DriverOpts", options), nil
}

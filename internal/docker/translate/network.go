package translate

import (
	"slices"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// PoolArgs returns the arguments that describe a pool of addresses.
func PoolArgs() []string { return []string{"subnet", "iprange", "gateway", "aux_addresses"} }

func networks() translator {
	return translator{
		aliases: [][2]string{
			{"driver_opt", "options"}, {"driver_opts", "options"}, {"ipv6", "enable_ipv6"},
			{"ip_range", "iprange"}, {"aux_address", "aux_addresses"},
		},
		funcs: map[string]func(any, call) (any, error){
			"driver": text, "options": keyValues("="), "ipam": dictionary, "check_duplicate": truth,
			"internal": truth, "labels": labels, "enable_ipv6": truth, "attachable": truth, "ingress": truth,
			"ipam_driver": text, "ipam_opts": keyValues("="), "ipam_pools": pools,
			"subnet": subnet, "iprange": subnet, "gateway": gateway, "aux_addresses": auxAddresses,
		},
		merge: func(*data.Map) {},
		finish: func(args *data.Map, _ call, _ *data.Map) error {
			if !args.Has("check_duplicate") {
				args.Set("check_duplicate", true)
			}
			return nil
		},
	}
}

// pools translates the arguments of each pool. Addresses are always checked there.
func pools(v any, c call) (any, error) {
	list, ok := v.([]any)
	if !ok || slices.ContainsFunc(list, func(item any) bool { _, ok := item.(*data.Map); return !ok }) {
		return nil, invalidf("ipam_pools must be a list of dictionaries")
	}
	if c.skips("ipam_pools") {
		return v, nil
	}
	known := map[string]func(any, call) (any, error){
		"subnet": subnet, "iprange": subnet, "gateway": gateway, "aux_addresses": auxAddresses,
		"driver": text, "options": keyValues("="), "labels": labels,
	}
	for _, item := range list {
		pool := item.(*data.Map)
		for _, k := range pool.Keys() {
			key, _ := k.(string)
			if c.skips(key) {
				continue
			}
			if name := poolName(key); name != key {
				pool.Set(name, pool.Value(key))
				pool.Delete(key)
				key = name
			}
			if convert := known[key]; convert != nil {
				v, err := convert(pool.Value(key), call{})
				if err != nil {
					return nil, err
				}
				pool.Set(key, v)
			}
		}
	}
	return v, nil
}

func poolName(key string) string {
	switch key {
	case "ip_range":
		return "iprange"
	case "aux_address":
		return "aux_addresses"
	}
	return key
}

func subnet(v any, c call) (any, error) {
	s := data.Str(v)
	if c.anyAddress {
		return s, nil
	}
	return s, checkSubnet(s)
}

func gateway(v any, c call) (any, error) {
	s := data.Str(v)
	if c.anyAddress {
		return s, nil
	}
	return s, checkIP(s)
}

func auxAddresses(v any, c call) (any, error) {
	all, err := keyValues("=")(v, c)
	if err != nil || c.anyAddress {
		return all, err
	}
	for _, addr := range all.(*data.Map).All() {
		if err := checkIP(addr); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// IPAM returns the configuration of a network's addresses, from pools and from the arguments of one more
// (salt/utils/dockermod, create_ipam_config).
func IPAM(pools []any, given *data.Map) (*data.Map, error) {
	args := given.Clone()
	for _, pair := range [][2]string{{"ipam_driver", "driver"}, {"ipam_opts", "options"}} {
		if v, ok := args.Get(pair[0]); ok {
			args.Delete(pair[0])
			if !args.Has(pair[1]) {
				args.Set(pair[1], v)
			}
		}
	}
	if dict, ok := Dictlist(args.Value("options")); ok {
		args.Set("options", dict)
	}
	own := data.NewMap()
	for _, name := range PoolArgs() {
		if v, ok := args.Get(name); ok {
			own.Set(name, v)
			args.Delete(name)
		}
	}
	if own.Len() > 0 {
		pools = append([]any{own}, pools...)
	}
	return ipamConfig(pools, args)
}

func ipamConfig(pools []any, args *data.Map) (*data.Map, error) {
	config := []any{}
	for _, one := range pools {
		pool, err := poolOf(one)
		if err != nil {
			return nil, err
		}
		config = append(config, pool)
	}
	for k := range args.All() {
		if !slices.Contains([]any{"driver", "options", "pool_configs"}, k) {
			return nil, loader.TypeError("IPAMConfig.__init__() got an unexpected keyword argument '%s'", data.Str(k))
		}
	}
	driver, ok := args.Get("driver")
	if !ok {
		driver = "default"
	}
	ipam := data.NewMap("Driver", driver, "Config", config)
	if options := args.Value("options"); data.Truth(options) {
		if _, ok := options.(*data.Map); !ok {
			return nil, loader.TypeError("IPAMConfig options must be a dictionary")
		}
		ipam.Set("Options", options)
	}
	return ipam, nil
}

// poolOf returns a pool with the API's names and without what it does not set.
func poolOf(v any) (*data.Map, error) {
	names := data.NewMap("subnet", "Subnet", "iprange", "IPRange", "gateway", "Gateway", "aux_addresses", "AuxiliaryAddresses")
	given, ok := v.(*data.Map)
	if !ok {
		return nil, loader.TypeError("a pool of addresses must be a dictionary, not %s", data.Repr(v))
	}
	for k := range given.All() {
		if !names.Has(k) {
			return nil, loader.TypeError("IPAMPool.__init__() got an unexpected keyword argument '%s'", data.Str(k))
		}
	}
	pool := data.NewMap()
	for k, name := range names.All() {
		if v := given.Value(k); v != nil {
			pool.Set(name, v)
		}
	}
	return pool, nil
}

package spec

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// A rule says how one argument reaches the host's configuration.
type rule struct {
	name, key string
	empty     bool                   // a false value counts too; only None does not
	kind      string                 // type that the value must have: int, list, dict, str, string
	first     string                 // version of the API that is needed
	convert   func(any) (any, error) // nil leaves the value as it is
}

// hostRules are the arguments in the order in which docker's client looks at them.
func hostRules() []rule {
	return []rule{
		{name: "mem_limit", key: "Memory", empty: true, convert: sizeOf},
		{name: "memswap_limit", key: "MemorySwap", empty: true, convert: sizeOf},
		{name: "mem_reservation", key: "MemoryReservation", convert: sizeOf},
		{name: "kernel_memory", key: "KernelMemory", convert: sizeOf},
		{name: "mem_swappiness", key: "MemorySwappiness", empty: true, kind: "int"},
		{name: "shm_size", key: "ShmSize", empty: true, convert: shmSize},
		{name: "pid_mode", key: "PidMode"},
		{name: "ipc_mode", key: "IpcMode"},
		{name: "privileged", key: "Privileged"},
		{name: "oom_kill_disable", key: "OomKillDisable"},
		{name: "oom_score_adj", key: "OomScoreAdj", kind: "int"},
		{name: "publish_all_ports", key: "PublishAllPorts"},
		{name: "read_only", key: "ReadonlyRootfs", empty: true},
		{name: "dns_search", key: "DnsSearch"},
		{name: "network_mode", key: "NetworkMode", empty: true, convert: networkMode},
		{name: "restart_policy", key: "RestartPolicy", kind: "dict"},
		{name: "cap_add", key: "CapAdd"},
		{name: "cap_drop", key: "CapDrop"},
		{name: "devices", key: "Devices", convert: devices},
		{name: "group_add", key: "GroupAdd", convert: texts},
		{name: "dns", key: "Dns", empty: true},
		{name: "dns_opt", key: "DnsOptions", empty: true},
		{name: "security_opt", key: "SecurityOpt", empty: true, kind: "list"},
		{name: "sysctls", key: "Sysctls", kind: "dict", convert: textValues},
		{name: "volumes_from", key: "VolumesFrom", empty: true, convert: commaList},
		{name: "binds", key: "Binds", empty: true, convert: binds},
		{name: "port_bindings", key: "PortBindings", empty: true, convert: portBindings},
		{name: "extra_hosts", key: "ExtraHosts", empty: true, convert: extraHosts},
		{name: "links", key: "Links", empty: true, convert: Links},
		{name: "lxc_conf", key: "LxcConf", empty: true, convert: lxcConf},
		{name: "cgroup_parent", key: "CgroupParent", empty: true},
		{name: "ulimits", key: "Ulimits", empty: true, kind: "list", convert: ulimits},
		{name: "log_config", key: "LogConfig", empty: true, kind: "LogConfig", convert: logConfig},
		{name: "cpu_quota", key: "CpuQuota", kind: "int"},
		{name: "cpu_period", key: "CpuPeriod", kind: "int"},
		{name: "cpu_shares", key: "CpuShares", kind: "int"},
		{name: "cpuset_cpus", key: "CpusetCpus"},
		{name: "cpuset_mems", key: "CpusetMems", kind: "str"},
		{name: "cpu_rt_period", key: "CPURealtimePeriod", kind: "int", first: "1.25"},
		{name: "cpu_rt_runtime", key: "CPURealtimeRuntime", kind: "int", first: "1.25"},
		{name: "blkio_weight", key: "BlkioWeight", kind: "int"},
		{name: "blkio_weight_device", key: "BlkioWeightDevice", kind: "list"},
		{name: "device_read_bps", key: "BlkioDeviceReadBps", kind: "list"},
		{name: "device_write_bps", key: "BlkioDeviceWriteBps", kind: "list"},
		{name: "device_read_iops", key: "BlkioDeviceReadIOps", kind: "list"},
		{name: "device_write_iops", key: "BlkioDeviceWriteIOps", kind: "list"},
		{name: "tmpfs", key: "Tmpfs", convert: tmpfs},
		{name: "userns_mode", key: "UsernsMode", convert: onlyHost("userns_mode")},
		{name: "uts_mode", key: "UTSMode", convert: onlyHost("uts_mode")},
		{name: "pids_limit", key: "PidsLimit", kind: "int"},
		{name: "isolation", key: "Isolation", kind: "string"},
		{name: "auto_remove", key: "AutoRemove", first: "1.25"},
		{name: "storage_opt", key: "StorageOpt", empty: true},
		{name: "init", key: "Init", empty: true, first: "1.25"},
		{name: "init_path", key: "InitPath", empty: true, first: "1.25"},
		{name: "volume_driver", key: "VolumeDriver", empty: true},
		{name: "cpu_count", key: "CpuCount", kind: "int", first: "1.25"},
		{name: "cpu_percent", key: "CpuPercent", kind: "int", first: "1.25"},
		{name: "nano_cpus", key: "NanoCpus", kind: "int", first: "1.25"},
		{name: "runtime", key: "Runtime", first: "1.25"},
		{name: "mounts", key: "Mounts", empty: true, first: "1.30"},
		{name: "device_cgroup_rules", key: "DeviceCgroupRules", empty: true, kind: "list", first: "1.28"},
		{name: "device_requests", key: "DeviceRequests", empty: true, kind: "list", first: "1.40", convert: deviceRequests},
		{name: "cgroupns", key: "CgroupnsMode"},
	}
}

// Host returns the configuration that the host of a container needs. version is that of the API.
func Host(args *data.Map, version string) (*data.Map, error) {
	if args.Value("network_mode") == "host" && data.Truth(args.Value("port_bindings")) {
		return nil, refused(`"host" network_mode is incompatible with port_bindings`)
	}
	host := data.NewMap()
	for _, r := range hostRules() {
		v, given := args.Get(r.name)
		if r.name == "network_mode" {
			given, v = true, orElse(v, "default")
		}
		if !given || v == nil || !r.empty && !data.Truth(v) {
			continue
		}
		v, err := r.apply(v, version)
		if err != nil {
			return nil, err
		}
		host.Set(r.key, v)
	}
	return host, nil
}

func (r rule) apply(v any, version string) (any, error) {
	fits := map[string]func(any) bool{"int": isInt, "list": isList, "dict": isDict, "LogConfig": isDict, "str": isText,
		"string": isText}[r.kind]
	if fits != nil && !fits(v) {
		return nil, wrongType(r.name, v, r.kind)
	}
	if r.first != "" {
		if err := since(version, r.name, r.first); err != nil {
			return nil, err
		}
	}
	if r.convert == nil {
		return v, nil
	}
	return r.convert(v)
}

func orElse(v, other any) any {
	if data.Truth(v) {
		return v
	}
	return other
}

func networkMode(v any) (any, error) { return v, nil }

func shmSize(v any) (any, error) {
	if isText(v) {
		return sizeOf(v)
	}
	return v, nil
}

func onlyHost(name string) func(any) (any, error) {
	return func(v any) (any, error) {
		if v != "host" {
			return nil, wrongValue(name, v)
		}
		return v, nil
	}
}

func texts(v any) (any, error) {
	list, err := loader.Elements(v)
	return data.Values(data.Texts(list)), err
}

func textValues(v any) (any, error) {
	all := data.NewMap()
	for k, v := range v.(*data.Map).All() {
		all.Set(k, data.Str(v))
	}
	return all, nil
}

func commaList(v any) (any, error) {
	if s, ok := v.(string); ok {
		return data.Values(strings.Split(s, ",")), nil
	}
	return v, nil
}

func devices(v any) (any, error) {
	list, err := loader.Elements(v)
	if err != nil {
		return nil, err
	}
	all := []any{}
	for _, one := range list {
		line, ok := one.(string)
		if m, isMap := one.(*data.Map); isMap {
			all = append(all, m)
			continue
		}
		if !ok {
			return nil, refused("Invalid device type <class '%s'>", loader.TypeName(one))
		}
		parts := strings.Split(line, ":")
		m := data.NewMap("PathOnHost", parts[0], "PathInContainer", parts[0], "CgroupPermissions", "rwm")
		if len(parts) > 1 {
			m.Set("PathInContainer", parts[1])
		}
		if len(parts) > 2 {
			m.Set("CgroupPermissions", parts[2])
		}
		all = append(all, m)
	}
	return all, nil
}

func binds(v any) (any, error) {
	dict, ok := v.(*data.Map)
	if !ok {
		if isList(v) {
			return v, nil
		}
		return nil, fmt.Errorf("'%s' object has no attribute 'items'", loader.TypeName(v))
	}
	all := []any{}
	for host, v := range dict.All() {
		m, ok := v.(*data.Map)
		if !ok {
			all = append(all, data.Str(host)+":"+data.Str(v)+":rw")
			continue
		}
		if m.Has("ro") && m.Has("mode") {
			return nil, fmt.Errorf(`Binding cannot contain both "ro" and "mode": %s`, data.Repr(m)) //nolint:staticcheck // docker's text
		}
		if !m.Has("bind") {
			return nil, errors.New("'bind'")
		}
		all = append(all, data.Str(host)+":"+m.Text("bind")+":"+bindMode(m))
	}
	return all, nil
}

func bindMode(m *data.Map) string {
	mode := "rw"
	if ro, ok := m.Get("ro"); ok {
		if data.Truth(ro) {
			mode = "ro"
		}
	} else if m.Has("mode") {
		mode = m.Text("mode")
	}
	spread := m.Text("propagation")
	if !slices.Contains([]string{"rshared", "shared", "rslave", "slave", "rprivate", "private"}, spread) {
		return mode
	}
	if mode == "" {
		return spread
	}
	return mode + "," + spread
}

func portBindings(v any) (any, error) {
	dict, ok := v.(*data.Map)
	if !ok {
		return nil, fmt.Errorf("'%s' object has no attribute 'items'", loader.TypeName(v))
	}
	all := data.NewMap()
	for port, v := range dict.All() {
		key := data.Str(port)
		if !strings.Contains(key, "/") {
			key += "/tcp"
		}
		list, ok := v.([]any)
		if !ok {
			list = []any{v}
		}
		bound := []any{}
		for _, one := range list {
			b, err := portBinding(one)
			if err != nil {
				return nil, err
			}
			bound = append(bound, b)
		}
		all.Set(key, bound)
	}
	return all, nil
}

// portBinding returns a port of the host. It is given as a port, as address and port, as one of them, or as a
// dictionary.
func portBinding(v any) (*data.Map, error) {
	var ip, port any = "", ""
	switch v := v.(type) {
	case data.Tuple:
		switch {
		case len(v) == 2:
			ip, port = v[0], v[1]
		case len(v) == 1 && isText(v[0]):
			ip = v[0]
		case len(v) == 1:
			port = v[0]
		}
	case *data.Map:
		if !v.Has("HostPort") {
			return nil, errors.New(data.Str(v))
		}
		port = v.Value("HostPort")
		if v.Has("HostIp") {
			ip = v.Value("HostIp")
		}
	default:
		port = v
	}
	if port == nil {
		port = ""
	}
	return data.NewMap("HostIp", ip, "HostPort", data.Str(port)), nil
}

func extraHosts(v any) (any, error) {
	dict, ok := v.(*data.Map)
	if !ok {
		return v, nil
	}
	return sortedPairs(dict, func(k, v string) string { return k + ":" + v }), nil
}

// Links returns links in the form of the API, sorted.
func Links(v any) (any, error) {
	dict, ok := v.(*data.Map)
	if !ok {
		list, isList := v.([]any)
		if !isList {
			return nil, fmt.Errorf("links must be a dictionary, not %s", data.Repr(v))
		}
		dict = data.NewMap()
		for _, item := range list {
			pair, err := loader.Elements(item)
			if err != nil || len(pair) != 2 {
				return nil, fmt.Errorf("a link must have a container and an alias, not %s", data.Repr(item))
			}
			dict.Set(pair[0], pair[1])
		}
	}
	return sortedPairs(dict, func(k, v string) string {
		if v == "" {
			return k
		}
		return k + ":" + v
	}), nil
}

func sortedPairs(dict *data.Map, join func(k, v string) string) []any {
	lines := []string{}
	for _, k := range slices.Sorted(slices.Values(data.Texts(dict.Keys()))) {
		v := dict.Value(k)
		if v == nil {
			v = ""
		}
		lines = append(lines, join(k, data.Str(v)))
	}
	return data.Values(lines)
}

func lxcConf(v any) (any, error) {
	dict, ok := v.(*data.Map)
	if !ok {
		return v, nil
	}
	all := []any{}
	for k, v := range dict.All() {
		all = append(all, data.NewMap("Key", k, "Value", data.Str(v)))
	}
	return all, nil
}

// either returns the value under the first of two keys.
func either(m *data.Map, a, b string) any {
	if v, ok := m.Get(a); ok {
		return v
	}
	return m.Value(b)
}

func ulimits(v any) (any, error) {
	all := []any{}
	for _, one := range v.([]any) {
		m, ok := one.(*data.Map)
		if !ok {
			return nil, fmt.Errorf("a ulimit must be a dictionary, not %s", data.Repr(one))
		}
		name, soft, hard := either(m, "name", "Name"), either(m, "soft", "Soft"), either(m, "hard", "Hard")
		switch {
		case !isText(name):
			return nil, errors.New("Ulimit.name must be a string") //nolint:staticcheck // docker's text
		case data.Truth(soft) && !isInt(soft):
			return nil, errors.New("Ulimit.soft must be an integer") //nolint:staticcheck // docker's text
		case data.Truth(hard) && !isInt(hard):
			return nil, errors.New("Ulimit.hard must be an integer") //nolint:staticcheck // docker's text
		}
		all = append(all, data.NewMap("Name", name, "Soft", soft, "Hard", hard))
	}
	return all, nil
}

func logConfig(v any) (any, error) {
	m := v.(*data.Map)
	config := orElse(either(m, "config", "Config"), data.NewMap())
	if !isDict(config) {
		return nil, errors.New("LogConfig.config must be a dictionary")
	}
	return data.NewMap("Type", either(m, "type", "Type"), "Config", config), nil
}

func tmpfs(v any) (any, error) {
	if isDict(v) {
		return v, nil
	}
	list, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("Expected tmpfs value to be either a list or a dict, found: %s", loader.TypeName(v)) //nolint:staticcheck // docker's text
	}
	all := data.NewMap()
	for _, one := range list {
		line, ok := one.(string)
		if !ok {
			return nil, fmt.Errorf("Expected item in tmpfs list to be a string, found: %s", loader.TypeName(one)) //nolint:staticcheck // docker's text
		}
		name, options, _ := strings.Cut(line, ":")
		all.Set(name, options)
	}
	return all, nil
}

func deviceRequests(v any) (any, error) {
	all := []any{}
	for _, one := range v.([]any) {
		m, ok := one.(*data.Map)
		if !ok {
			return nil, fmt.Errorf("a device request must be a dictionary, not %s", data.Repr(one))
		}
		request := data.NewMap()
		for _, field := range []struct {
			name, key, kind string
			fits            func(any) bool
			empty           any
		}{
			{"driver", "Driver", "a string", isText, ""},
			{"count", "Count", "an integer", isInt, int64(0)},
			{"device_ids", "DeviceIDs", "a list", isList, []any{}},
			{"capabilities", "Capabilities", "a list", isList, []any{}},
			{"options", "Options", "a dict", isDict, data.NewMap()},
		} {
			v := either(m, field.name, field.key)
			if v == nil {
				v = field.empty
			}
			if !field.fits(v) {
				return nil, fmt.Errorf("DeviceRequest.%s must be %s", field.name, field.kind)
			}
			request.Set(field.key, v)
		}
		all = append(all, request)
	}
	return all, nil
}

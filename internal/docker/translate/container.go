package translate

import (
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
)

func containers() translator {
	return translator{
		aliases: [][2]string{
			{"cmd", "command"}, {"cpuset", "cpuset_cpus"}, {"dns_option", "dns_opt"}, {"env", "environment"},
			{"expose", "ports"}, {"interactive", "stdin_open"}, {"ipc", "ipc_mode"}, {"label", "labels"},
			{"memory", "mem_limit"}, {"memory_swap", "memswap_limit"}, {"publish", "port_bindings"},
			{"publish_all", "publish_all_ports"}, {"restart", "restart_policy"}, {"rm", "auto_remove"},
			{"sysctl", "sysctls"}, {"security_opts", "security_opt"}, {"ulimit", "ulimits"},
			{"user_ns_mode", "userns_mode"}, {"volume", "volumes"}, {"workdir", "working_dir"},
		},
		funcs: map[string]func(any, call) (any, error){
			"auto_remove": truth, "binds": binds, "blkio_weight": integer, "blkio_weight_device": weights,
			"cap_add": list, "cap_drop": list, "command": command, "cpuset_cpus": text, "cpuset_mems": text,
			"cpu_group": integer, "cpu_period": integer, "cpu_shares": integer, "detach": truth,
			"device_read_bps": rates(false), "device_read_iops": rates(true),
			"device_write_bps": rates(false), "device_write_iops": rates(true),
			"devices": list, "dns_opt": list, "dns_search": list, "dns": servers, "domainname": text,
			"entrypoint": command, "environment": keyValues("="), "extra_hosts": hosts, "group_add": list,
			"host_config": dictionary, "hostname": text, "ipc_mode": text, "isolation": text, "labels": labels,
			"links": keyValues(":"), "log_driver": text, "log_opt": keyValues("="), "lxc_conf": keyValues("="),
			"mac_address": text, "mem_limit": size, "mem_swappiness": integer, "memswap_limit": size,
			"name": text, "network_disabled": truth, "network_mode": text, "oom_kill_disable": truth,
			"oom_score_adj": integer, "pid_mode": text, "pids_limit": integer, "port_bindings": bindings,
			"ports": ports, "privileged": truth, "publish_all_ports": truth, "read_only": truth,
			"restart_policy": restartPolicy, "security_opt": list, "shm_size": size, "stdin_open": truth,
			"stop_signal": text, "stop_timeout": integer, "storage_opt": keyValues("="),
			"sysctls": keyValues("="), "tmpfs": dictionary, "tty": truth, "ulimits": ulimits, "user": user,
			"userns_mode": text, "volume_driver": text, "volumes": volumes, "volumes_from": list,
			"working_dir": workingDir,
		},
		merge:  mergeLog,
		finish: finishContainer,
	}
}

func binds(v any, _ call) (any, error) {
	switch v := v.(type) {
	case *data.Map, []any:
		return v, nil
	case string:
		return data.Values(splitTrim(v, ",", -1)), nil
	}
	return nil, invalidf("'%s' is not a dictionary or list of bind definitions", data.Str(v))
}

func weights(v any, _ call) (any, error) {
	all, err := records(v, []string{"Path", "Weight"})
	if err != nil {
		return nil, err
	}
	for _, m := range all {
		n, ok := number(m.Value("Weight"))
		if !ok {
			return nil, invalidf("Weight '%s' for path '%s' is not an integer", m.Text("Weight"), m.Text("Path"))
		}
		m.Set("Weight", n)
	}
	return values(all), nil
}

func servers(v any, c call) (any, error) {
	all := words(v)
	for _, server := range all {
		if err := checkIP(server); err != nil && !c.anyAddress {
			return nil, err
		}
	}
	return data.Values(all), nil
}

func hosts(v any, c call) (any, error) {
	all, err := keyValues(":")(v, c)
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

func restartPolicy(v any, _ call) (any, error) {
	all, err := records(v, []string{"Name", "MaximumRetryCount"}, "0")
	if err != nil {
		return nil, err
	}
	if len(all) != 1 {
		return nil, invalidf("Only one policy is permitted")
	}
	n, ok := number(all[0].Value("MaximumRetryCount"))
	if !ok {
		return nil, invalidf("Retry count '%s' is non-numeric", all[0].Text("MaximumRetryCount"))
	}
	all[0].Set("MaximumRetryCount", n)
	return all[0], nil
}

func ulimits(v any, _ call) (any, error) {
	var all []any
	for _, word := range words(v) {
		name, limits, ok := strings.Cut(word, "=")
		if !ok {
			return nil, invalidf("Ulimit definition '%s' is not in the format type=soft_limit[:hard_limit]", word)
		}
		soft, hard, ok := strings.Cut(limits, ":")
		if !ok {
			hard = soft
		}
		softly, isSoft := number(strings.TrimSpace(soft))
		hardly, isHard := number(strings.TrimSpace(hard))
		if !isSoft || !isHard {
			return nil, invalidf("Limit '%s' contains non-numeric value(s)", word)
		}
		all = append(all, data.NewMap("Name", strings.TrimSpace(name), "Soft", softly, "Hard", hardly))
	}
	return all, nil
}

func user(v any, _ call) (any, error) {
	n, ok := whole(v)
	if !ok {
		if n, ok = number(v); ok {
			v = n
		}
	}
	if _, isText := v.(string); !ok && !isText {
		return nil, invalidf("Value must be a username or uid")
	}
	if ok && n < 0 {
		return nil, invalidf("'%d' is an invalid uid", n)
	}
	return v, nil
}

func volumes(v any, _ call) (any, error) {
	all := words(v)
	for _, dir := range all {
		if !path.IsAbs(dir) {
			return nil, invalidf("'%s' is not an absolute path", dir)
		}
	}
	return data.Values(all), nil
}

func workingDir(v any, _ call) (any, error) {
	dir, ok := v.(string)
	switch {
	case !ok:
		return nil, pathError(v)
	case !path.IsAbs(dir):
		return nil, invalidf("'%s' is not an absolute path", dir)
	}
	return v, nil
}

// mergeLog joins the arguments of logging into one.
func mergeLog(args *data.Map) {
	driver, hasDriver := args.Get("log_driver")
	opt, hasOpt := args.Get("log_opt")
	args.Delete("log_driver")
	args.Delete("log_opt")
	if args.Has("log_config") || !hasDriver && !hasOpt {
		return
	}
	if !hasDriver {
		driver = "none"
	}
	if !hasOpt {
		opt = data.NewMap()
	}
	args.Set("log_config", data.NewMap("Type", driver, "Config", opt))
}

// finishContainer checks what excludes each other, and derives volumes from binds and open ports from
// published ones.
func finishContainer(args *data.Map, c call, bad *data.Map) error {
	if args.Value("port_bindings") != nil && data.Truth(args.Value("publish_all_ports")) {
		args.Delete("port_bindings")
		bad.Set("port_bindings", "Cannot be used when publish_all_ports=True")
	}
	if args.Value("hostname") != nil && args.Value("network_mode") == "host" {
		args.Delete("hostname")
		bad.Set("hostname", "Cannot be used when network_mode=True")
	}
	if args.Value("binds") != nil && !c.skips("binds", "volume", "volumes") {
		if err := addVolumes(args); err != nil {
			return err
		}
	}
	if args.Value("port_bindings") != nil && !c.skips("port_bindings", "expose", "ports") {
		return openPorts(args)
	}
	return nil
}

// addVolumes adds the directories in the container that are bound to some of the host.
func addVolumes(args *data.Map) error {
	found, err := boundVolumes(args.Value("binds"))
	if err != nil || len(found) == 0 {
		return err
	}
	var all []string
	if given, ok := args.Get("volumes"); ok {
		list, ok := given.([]any)
		if !ok {
			return errOther
		}
		all = data.Texts(list)
	}
	for _, dir := range found {
		if !slices.Contains(all, dir) {
			all = append(all, dir)
		}
	}
	slices.Sort(all)
	args.Set("volumes", data.Values(all))
	return nil
}

func boundVolumes(v any) ([]string, error) {
	var found []string
	switch v := v.(type) {
	case *data.Map:
		for _, one := range v.All() {
			if m, ok := one.(*data.Map); ok && m.Has("bind") {
				found = append(found, m.Text("bind"))
			}
		}
	case []any:
		for _, one := range v {
			bind, ok := one.(string)
			if !ok {
				return nil, errOther
			}
			if parts := splitTrim(bind, ":", -1); len(parts) > 1 {
				found = append(found, parts[1])
			}
		}
	}
	return found, nil
}

func pathError(v any) error {
	return errors.New("expected str, bytes or os.PathLike object, not " + typeName(v))
}

func typeName(v any) string {
	switch v.(type) {
	case nil:
		return "NoneType"
	case bool:
		return "bool"
	case int64, int:
		return "int"
	case float64:
		return "float"
	case []any:
		return "list"
	case *data.Map:
		return "dict"
	}
	return "object"
}

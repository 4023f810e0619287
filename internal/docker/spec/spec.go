// Package spec makes the bodies of requests to Docker Engine of translated arguments. The arguments have
// the names, the checks and the error texts of docker's client for Python, which Salt passes them to.
//
// host.go has what concerns the host (HostConfig), container.go the container itself, network.go networks and
// what connects a container to one, and bytes.go sizes.
package spec

import (
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/docker"
	"github.com/brineproject/brine/loader"
)

// A Refused argument is one that docker's client itself refuses. Its text is shown as it is; other errors say
// what could not be done.
type Refused struct{ text string }

func (e *Refused) Error() string { return e.text }

func refused(format string, args ...any) error { return &Refused{fmt.Sprintf(format, args...)} }

// CreateArgs returns the names of the arguments that describe a container, without those about its host.
func CreateArgs() []string {
	return []string{"image", "command", "hostname", "user", "detach", "stdin_open", "tty", "ports", "environment",
		"volumes", "network_disabled", "name", "entrypoint", "working_dir", "domainname", "host_config", "mac_address",
		"labels", "stop_signal", "networking_config", "healthcheck", "stop_timeout", "use_config_proxy", "platform"}
}

// HostArgs returns the names of the arguments about the host of a container.
func HostArgs() []string {
	return []string{"binds", "port_bindings", "lxc_conf", "publish_all_ports", "links", "privileged", "dns", "dns_search",
		"volumes_from", "network_mode", "restart_policy", "cap_add", "cap_drop", "devices", "extra_hosts", "read_only",
		"pid_mode", "ipc_mode", "security_opt", "ulimits", "log_config", "mem_limit", "memswap_limit", "mem_reservation",
		"kernel_memory", "mem_swappiness", "cgroup_parent", "group_add", "cpu_quota", "cpu_period", "blkio_weight",
		"blkio_weight_device", "device_read_bps", "device_write_bps", "device_read_iops", "device_write_iops",
		"oom_kill_disable", "shm_size", "sysctls", "tmpfs", "oom_score_adj", "dns_opt", "cpu_shares", "cpuset_cpus",
		"userns_mode", "uts_mode", "pids_limit", "isolation", "auto_remove", "storage_opt", "init", "init_path",
		"volume_driver", "cpu_count", "cpu_percent", "nano_cpus", "cpuset_mems", "runtime", "mounts", "cpu_rt_period",
		"cpu_rt_runtime", "device_cgroup_rules", "device_requests", "cgroupns"}
}

// ConnectArgs returns the names of the arguments that connect a container to a network.
func ConnectArgs() []string {
	return []string{"aliases", "links", "ipv4_address", "ipv6_address", "link_local_ips", "driver_opt", "mac_address"}
}

// LogArgs returns the names of the arguments of logs.
func LogArgs() []string {
	return []string{"stdout", "stderr", "stream", "timestamps", "tail", "since", "follow", "until"}
}

// since refuses an argument that the engine's API is too old for.
func since(version, name, first string) error {
	if docker.VersionLess(version, first) {
		return refused("%s param is not supported in API versions < %s", name, first)
	}
	return nil
}

func wrongType(name string, v any, expected string) error {
	return fmt.Errorf("Invalid type for %s param: expected %s but found <class '%s'>", //nolint:staticcheck // docker's text
		name, expected, loader.TypeName(v))
}

func wrongValue(name string, v any) error {
	return fmt.Errorf("Invalid value for %s param: %s", name, data.Str(v)) //nolint:staticcheck // docker's text
}

func isInt(v any) bool {
	switch v.(type) {
	case int64, int, bool:
		return true
	}
	return false
}

func isText(v any) bool { _, ok := v.(string); return ok }
func isList(v any) bool { _, ok := v.([]any); return ok }
func isDict(v any) bool { _, ok := v.(*data.Map); return ok }

package spec

import (
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/process"
)

// Container returns the body of a request that creates a container. host is what Host returned. version is
// that of the API.
func Container(image string, args, host *data.Map, version string) (*data.Map, error) {
	if args.Value("stop_timeout") != nil && since(version, "stop_timeout", "1.25") != nil {
		return nil, refused("stop_timeout was only introduced in API version 1.25")
	}
	health, err := healthcheck(args.Value("healthcheck"), version)
	if err != nil {
		return nil, err
	}
	command, err := commandOf(args.Value("command"))
	if err != nil {
		return nil, err
	}
	entrypoint, err := commandOf(args.Value("entrypoint"))
	if err != nil {
		return nil, err
	}
	attached := !data.Truth(args.Value("detach"))
	open := attached && data.Truth(args.Value("stdin_open"))
	return data.NewMap(
		"Hostname", args.Value("hostname"),
		"Domainname", args.Value("domainname"),
		"ExposedPorts", exposed(args.Value("ports")),
		"User", userOf(args.Value("user")),
		"Tty", orFalse(args, "tty"),
		"OpenStdin", orFalse(args, "stdin_open"),
		"StdinOnce", open,
		"AttachStdin", open,
		"AttachStdout", attached,
		"AttachStderr", attached,
		"Env", Environment(args.Value("environment")),
		"Cmd", command,
		"Image", image,
		"Volumes", keys(args.Value("volumes")),
		"NetworkDisabled", orFalse(args, "network_disabled"),
		"Entrypoint", entrypoint,
		"WorkingDir", args.Value("working_dir"),
		"HostConfig", host,
		"NetworkingConfig", args.Value("networking_config"),
		"MacAddress", args.Value("mac_address"),
		"Labels", labels(args.Value("labels")),
		"StopSignal", args.Value("stop_signal"),
		"Healthcheck", health,
		"StopTimeout", args.Value("stop_timeout"),
	), nil
}

func orFalse(args *data.Map, name string) any {
	v, ok := args.Get(name)
	if !ok {
		return false
	}
	return v
}

func userOf(v any) any {
	if v == nil {
		return nil
	}
	return data.Str(v)
}

// commandOf splits a command line as a shell would.
func commandOf(v any) (any, error) {
	line, ok := v.(string)
	if !ok {
		return v, nil
	}
	words, err := process.Words(line)
	return data.Values(words), err
}

// Environment returns variables as the API takes them. A variable without value is one that the engine
// takes from its own.
func Environment(v any) any {
	dict, ok := v.(*data.Map)
	if !ok {
		return v
	}
	all := []any{}
	for k, v := range dict.All() {
		if v == nil {
			all = append(all, data.Str(k))
		} else {
			all = append(all, data.Str(k)+"="+data.Str(v))
		}
	}
	return all
}

func exposed(v any) any {
	list, ok := v.([]any)
	if !ok {
		return v
	}
	all := data.NewMap()
	for _, one := range list {
		port, protocol := one, "tcp"
		if pair, ok := one.(data.Tuple); ok && len(pair) > 0 {
			port = pair[0]
			if len(pair) == 2 {
				protocol = data.Str(pair[1])
			}
		}
		all.Set(data.Str(port)+"/"+protocol, data.NewMap())
	}
	return all
}

// keys returns a dictionary with the volumes as keys.
func keys(v any) any {
	if one, ok := v.(string); ok {
		v = []any{one}
	}
	list, ok := v.([]any)
	if !ok {
		return v
	}
	all := data.NewMap()
	for _, one := range list {
		all.Set(one, data.NewMap())
	}
	return all
}

func labels(v any) any {
	list, ok := v.([]any)
	if !ok {
		return v
	}
	all := data.NewMap()
	for _, one := range list {
		all.Set(one, "")
	}
	return all
}

func healthcheck(v any, version string) (any, error) {
	m, ok := v.(*data.Map)
	if !ok || m.Len() == 0 {
		return v, nil
	}
	if m.Has("StartPeriod") && since(version, "", "1.29") != nil {
		return nil, refused("healthcheck start period was introduced in API version 1.29")
	}
	test := either(m, "test", "Test")
	if line, ok := test.(string); ok {
		test = []any{"CMD-SHELL", line}
	}
	return data.NewMap("Test", test, "Interval", either(m, "interval", "Interval"), "Timeout", either(m, "timeout", "Timeout"),
		"Retries", either(m, "retries", "Retries"), "StartPeriod", either(m, "start_period", "StartPeriod")), nil
}

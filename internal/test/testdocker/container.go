package testdocker

import (
	"encoding/binary"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

type container struct {
	id, name, image string // image is an ID
	status          string // created, running, paused or exited
	code            int
	config, host    object
	ends            map[string]object // endpoints by the names of networks
	output          string
}

func (e *Engine) container(name string) (*container, error) {
	for _, c := range e.containers {
		if c.id == name || c.name == strings.TrimPrefix(name, "/") || len(name) > 3 && strings.HasPrefix(c.id, name) {
			return c, nil
		}
	}
	return nil, refuse(http.StatusNotFound, "No such container: %s", name)
}

func (e *Engine) createContainer(c call, _ string) (any, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	img, err := e.image(textOf(c.body["Image"]))
	if err != nil {
		return nil, err
	}
	name := c.URL.Query().Get("name")
	if other, err := e.container(name); err == nil && name != "" {
		return nil, refuse(http.StatusConflict, `Conflict. The container name "/%s" is already in use by container "%s". `+
			`You have to remove (or rename) that container to be able to reuse that name.`, name, other.id)
	}
	made := &container{id: e.id("container"), name: name, image: img.id, status: "created", ends: map[string]object{}}
	if name == "" {
		made.name = fmt.Sprintf("quirky_%d", e.made)
	}
	made.host = hostConfig(dict(c.body["HostConfig"]))
	made.config = config(c.body, img.config, made.id)
	if err := e.firstNetwork(made, dict(dict(c.body["NetworkingConfig"])["EndpointsConfig"])); err != nil {
		return nil, err
	}
	e.containers = append(e.containers, made)
	return object{"\x00": http.StatusCreated, "Id": made.id, "Warnings": []any{}}, nil
}

// config returns the configuration of a container: what is asked for over what its image has.
func config(asked, img object, id string) object {
	c := object{"Hostname": id[:12], "Domainname": "", "User": "", "AttachStdin": false, "AttachStdout": true,
		"AttachStderr": true, "Tty": false, "OpenStdin": false, "StdinOnce": false, "Env": nil, "Cmd": nil, "Image": "",
		"Volumes": nil, "WorkingDir": "", "Entrypoint": nil, "OnBuild": nil, "Labels": object{}}
	maps.Copy(c, clone(img))
	for k, v := range clone(asked) {
		switch k {
		case "HostConfig", "NetworkingConfig":
		case "NetworkDisabled":
			if v == true {
				c[k] = v
			}
		case "Labels", "Volumes", "ExposedPorts":
			all := clone(dict(c[k]))
			maps.Copy(all, dict(v))
			c[k] = all
		case "Env":
			c[k] = mergeEnv(listOf(v), listOf(img["Env"]))
		default:
			c[k] = v
		}
	}
	return c
}

func mergeEnv(own, img []any) []any {
	all := slices.Clone(own)
	for _, v := range img {
		name, _, _ := strings.Cut(textOf(v), "=")
		if !slices.ContainsFunc(own, func(o any) bool { return strings.HasPrefix(textOf(o), name+"=") }) {
			all = append(all, v)
		}
	}
	return all
}

func hostConfig(asked object) object {
	h := object{"Binds": nil, "NetworkMode": "default", "PortBindings": object{}, "RestartPolicy": object{"Name": "", "MaximumRetryCount": 0},
		"AutoRemove": false, "VolumesFrom": nil, "CapAdd": nil, "CapDrop": nil, "Dns": []any{}, "DnsOptions": []any{},
		"DnsSearch": []any{}, "ExtraHosts": nil, "GroupAdd": nil, "IpcMode": "private", "Links": nil, "OomScoreAdj": 0,
		"PidMode": "", "Privileged": false, "PublishAllPorts": false, "ReadonlyRootfs": false, "SecurityOpt": nil,
		"ShmSize": 67108864, "Runtime": "runc", "CpuShares": 0, "Memory": 0, "CpuPeriod": 0, "CpuQuota": 0, "CpusetCpus": "",
		"CpusetMems": "", "Devices": []any{}, "MemorySwap": 0, "OomKillDisable": nil, "PidsLimit": nil, "Ulimits": nil,
		"LogConfig": object{"Type": "json-file", "Config": object{}}}
	maps.Copy(h, clone(asked))
	return h
}

func (e *Engine) firstNetwork(c *container, asked object) error {
	mode := textOf(c.host["NetworkMode"])
	if mode == "default" {
		mode = "bridge"
	}
	if strings.HasPrefix(mode, "container:") {
		return nil
	}
	n, err := e.network(mode)
	if err != nil {
		return err
	}
	c.ends[n.name()] = n.endpoint(c, dict(asked[mode]))
	return nil
}

func (c *container) running() bool { return c.status == "running" || c.status == "paused" }

func (e *Engine) describe(c *container) object {
	state := object{"Status": c.status, "Running": c.running(), "Paused": c.status == "paused", "Restarting": false,
		"OOMKilled": false, "Dead": false, "Pid": 0, "ExitCode": c.code, "Error": "", "StartedAt": never, "FinishedAt": never}
	if c.running() {
		state["Pid"], state["StartedAt"] = 4711, created
	}
	argv := append(slices.Clone(listOf(c.config["Entrypoint"])), listOf(c.config["Cmd"])...)
	path := ""
	if len(argv) > 0 {
		path, argv = textOf(argv[0]), argv[1:]
	}
	host := clone(c.host)
	if links := listOf(host["Links"]); len(links) > 0 {
		for i, link := range links {
			from, alias, _ := strings.Cut(textOf(link), ":")
			links[i] = "/" + from + ":/" + c.name + "/" + alias
		}
	}
	return object{"Id": c.id, "Created": created, "Path": path, "Args": argv, "State": state, "Image": c.image,
		"Name": "/" + c.name, "RestartCount": 0, "Driver": "overlay2", "Platform": "linux", "HostConfig": host,
		"Config": c.config, "NetworkSettings": object{"Networks": c.ends, "Ports": c.ports()}}
}

func (c *container) ports() object {
	ports := object{}
	if !c.running() {
		return ports
	}
	for port := range dict(c.config["ExposedPorts"]) {
		ports[port] = nil
	}
	maps.Copy(ports, dict(c.host["PortBindings"]))
	return ports
}

func (e *Engine) inspectContainer(_ call, name string) (any, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	c, err := e.container(name)
	if err != nil {
		return nil, err
	}
	return clone(e.describe(c)), nil
}

func (e *Engine) listContainers(r call, _ string) (any, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := []any{}
	for _, c := range slices.Backward(e.containers) {
		names := r.filters("name")
		if !r.flag("all") && !c.running() || len(names) > 0 && !slices.Contains(names, c.name) {
			continue
		}
		text := map[string]string{"created": "Created", "running": "Up 2 minutes", "paused": "Up 2 minutes (Paused)",
			"exited": fmt.Sprintf("Exited (%d) 2 minutes ago", c.code)}[c.status]
		all = append(all, object{"Id": c.id, "Names": []any{"/" + c.name}, "Image": c.config["Image"], "ImageID": c.image,
			"Command": "sh", "Created": epoch, "Ports": []any{}, "Labels": c.config["Labels"], "State": c.status,
			"Status": text, "HostConfig": object{"NetworkMode": c.host["NetworkMode"]}, "Mounts": []any{}})
	}
	return clone(all), nil
}

// change runs do on a container.
func (e *Engine) change(name string, do func(c *container) (any, error)) (any, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	c, err := e.container(name)
	if err != nil {
		return nil, err
	}
	return do(c)
}

func (e *Engine) start(_ call, name string) (any, error) { return e.change(name, e.run) }

func (e *Engine) run(c *container) (any, error) {
	if c.running() {
		return status(http.StatusNotModified), nil
	}
	argv := append(slices.Clone(listOf(c.config["Entrypoint"])), listOf(c.config["Cmd"])...)
	program := ""
	if len(argv) > 0 {
		program = textOf(argv[0])
	}
	c.status, c.code = "exited", 0
	switch program {
	case "missing":
		c.status, c.code = "created", 127
		return nil, refuse(http.StatusBadRequest,
			`failed to create task for container: exec: "missing": executable file not found in $PATH: unknown`)
	case "true":
	case "false":
		c.code = 1
	case "exit":
		c.code, _ = strconv.Atoi(textOf(argv[1]))
	case "echo":
		words := make([]string, len(argv)-1)
		for i, v := range argv[1:] {
			words[i] = textOf(v)
		}
		c.output = strings.Join(words, " ") + "\n"
	default:
		c.status = "running"
		for name := range c.ends {
			e.join(c, name)
		}
	}
	if c.status == "exited" && c.host["AutoRemove"] == true {
		e.drop(c)
	}
	return status(http.StatusNoContent), nil
}

func (e *Engine) end(c *container, code int) {
	c.status, c.code = "exited", code
	for _, end := range c.ends {
		maps.Copy(end, noAddress())
	}
	if c.host["AutoRemove"] == true {
		e.drop(c)
	}
}

func (e *Engine) drop(c *container) {
	e.containers = slices.DeleteFunc(e.containers, func(o *container) bool { return o == c })
}

func (e *Engine) stop(_ call, name string) (any, error) {
	return e.change(name, func(c *container) (any, error) {
		if !c.running() {
			return status(http.StatusNotModified), nil
		}
		e.end(c, 137)
		return status(http.StatusNoContent), nil
	})
}

func (e *Engine) kill(r call, name string) (any, error) {
	return e.change(name, func(c *container) (any, error) {
		if !c.running() {
			return nil, refuse(http.StatusConflict, "Cannot kill container: %s: Container %s is not running", name, c.id)
		}
		if s := r.URL.Query().Get("signal"); s == "" || s == "KILL" || s == "SIGKILL" || s == "9" {
			e.end(c, 137)
		}
		return status(http.StatusNoContent), nil
	})
}

func (e *Engine) restart(_ call, name string) (any, error) {
	return e.change(name, func(c *container) (any, error) {
		if c.running() {
			c.status = "exited"
		}
		return e.run(c)
	})
}

func (e *Engine) pause(_ call, name string) (any, error) {
	return e.change(name, func(c *container) (any, error) {
		if c.status != "running" {
			return nil, refuse(http.StatusConflict, "Container %s is not running", c.id)
		}
		c.status = "paused"
		return status(http.StatusNoContent), nil
	})
}

func (e *Engine) unpause(_ call, name string) (any, error) {
	return e.change(name, func(c *container) (any, error) {
		if c.status != "paused" {
			return nil, refuse(http.StatusConflict, "Container %s is not paused", c.id)
		}
		c.status = "running"
		return status(http.StatusNoContent), nil
	})
}

func (e *Engine) rename(r call, name string) (any, error) {
	return e.change(name, func(c *container) (any, error) {
		to := r.URL.Query().Get("name")
		if other, err := e.container(to); err == nil {
			return nil, refuse(http.StatusConflict, `Conflict. The container name "/%s" is already in use by container "%s".`, to, other.id)
		}
		c.name = to
		return status(http.StatusNoContent), nil
	})
}

func (e *Engine) wait(_ call, name string) (any, error) {
	return e.change(name, func(c *container) (any, error) {
		if c.running() {
			e.end(c, 0)
		}
		return object{"StatusCode": c.code}, nil
	})
}

func (e *Engine) removeContainer(r call, name string) (any, error) {
	return e.change(name, func(c *container) (any, error) {
		if c.running() && !r.flag("force") {
			return nil, refuse(http.StatusConflict, "You cannot remove a running container %s. Stop the container before "+
				"attempting removal or force remove", c.id)
		}
		e.drop(c)
		return status(http.StatusNoContent), nil
	})
}

func (e *Engine) pruneContainers(call, string) (any, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	gone := []any{}
	for _, c := range slices.Clone(e.containers) {
		if !c.running() {
			gone = append(gone, c.id)
			e.drop(c)
		}
	}
	return object{"ContainersDeleted": gone, "SpaceReclaimed": 0}, nil
}

// frame returns output as the API frames it.
func frame(stream byte, text []byte) []byte {
	header := []byte{stream, 0, 0, 0, 0, 0, 0, 0}
	binary.BigEndian.PutUint32(header[4:], uint32(len(text)))
	return append(header, text...)
}

func (e *Engine) logs(r call, name string) (any, error) {
	return e.change(name, func(c *container) (any, error) {
		var text []byte
		if r.flag("stdout") && c.output != "" {
			text = append(text, frame(1, []byte(c.output))...)
		}
		if c.config["Tty"] == true {
			text = []byte(c.output)
		}
		return text, nil
	})
}

func (e *Engine) top(_ call, name string) (any, error) {
	return e.change(name, func(c *container) (any, error) {
		if !c.running() {
			return nil, refuse(http.StatusConflict, "Container %s is not running", c.id)
		}
		return object{"Titles": []any{"UID", "PID", "CMD"}, "Processes": []any{[]any{"root", "4711", "sleep 60"}}}, nil
	})
}

func (e *Engine) changes(_ call, name string) (any, error) {
	return e.change(name, func(*container) (any, error) {
		return []any{object{"Path": "/root", "Kind": 0}, object{"Path": "/root/new", "Kind": 1}, object{"Path": "/tmp/old", "Kind": 2}}, nil
	})
}

func (e *Engine) export(_ call, name string) (any, error) {
	return e.change(name, func(*container) (any, error) { return []byte(strings.Repeat("tar of "+name+"\n", 100)), nil })
}

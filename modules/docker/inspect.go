package docker

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/docker"
	"github.com/brineproject/brine/loader"
)

// inspectContainer returns what the engine knows about a container.
//
// CLI Example:
//
//	salt myminion docker.inspect_container mycontainer
func (m *module) inspectContainer(ctx context.Context, a nameArgs) (*data.Map, error) {
	return m.get(ctx, "inspect_container", "containers", a.Name, "json")
}

func (m *module) container(ctx context.Context, name string) (*data.Map, error) {
	return m.inspectContainer(ctx, nameArgs{name})
}

// inspectImage returns what the engine knows about an image.
//
// CLI Example:
//
//	salt myminion docker.inspect_image busybox
func (m *module) inspectImage(ctx context.Context, a nameArgs) (*data.Map, error) {
	found, err := m.get(ctx, "inspect_image", "images", a.Name, "json")
	if err != nil {
		return nil, err
	}
	humanSizes(found, "Size", "VirtualSize")
	return found, nil
}

// inspect returns what the engine knows about a container, or else about the image, the volume or the
// network of that name.
//
// CLI Example:
//
//	salt myminion docker.inspect mycontainer
func (m *module) inspect(ctx context.Context, a nameArgs) (*data.Map, error) {
	for _, look := range []func() (*data.Map, error){
		func() (*data.Map, error) { return m.container(ctx, a.Name) },
		func() (*data.Map, error) { return m.inspectImage(ctx, a) },
		func() (*data.Map, error) { return m.inspectVolume(ctx, a) },
		func() (*data.Map, error) { return m.network(ctx, a.Name) },
	} {
		found, err := look()
		if docker.StatusOf(err) != http.StatusNotFound {
			return found, err
		}
	}
	return nil, loader.Execution("Error 404: No such image/container/volume/network: %s", a.Name)
}

func stateOf(container *data.Map) string {
	s := dict(container.Value("State"))
	switch {
	case data.Truth(s.Value("Paused")):
		return "paused"
	case data.Truth(s.Value("Running")):
		return "running"
	}
	return "stopped"
}

// state returns whether a container is running, paused or stopped.
//
// CLI Example:
//
//	salt myminion docker.state mycontainer
func (m *module) state(ctx context.Context, a nameArgs) (string, error) {
	found, err := m.container(ctx, a.Name)
	if err != nil {
		return "", err
	}
	return stateOf(found), nil
}

// exists returns whether there is a container with this name or ID.
//
// CLI Example:
//
//	salt myminion docker.exists mycontainer
func (m *module) exists(ctx context.Context, a nameArgs) (bool, error) {
	_, err := m.container(ctx, a.Name)
	if docker.StatusOf(err) != 0 {
		return false, nil
	}
	return err == nil, err
}

// pid returns the process ID of a container's main program on this host.
//
// CLI Example:
//
//	salt myminion docker.pid mycontainer
func (m *module) pid(ctx context.Context, a nameArgs) (any, error) {
	found, err := m.container(ctx, a.Name)
	if err != nil {
		return nil, err
	}
	return dict(found.Value("State")).Value("Pid"), nil
}

type psArgs struct {
	Filters any       `default:"None"`
	Kwargs  *data.Map `kwargs:"kwargs"`
}

// ps returns the running containers by their IDs.
//
// filters
//
//	A dictionary of the engine's filters, such as {label: KEY} or {status: exited}.
//
// all
//
//	Containers that do not run too.
//
// verbose
//
//	What docker.inspect_container says about each, under Info.
//
// host
//
//	The network interfaces of this host too, under host.
//
// CLI Example:
//
//	salt '*' docker.ps
//	salt '*' docker.ps all=True
//	salt '*' docker.ps filters="{'label': 'role=web'}"
func (m *module) ps(ctx context.Context, a psArgs) (*data.Map, error) {
	query, err := filters(dict(a.Filters))
	if err != nil {
		return nil, err
	}
	if !data.Truth(a.Filters) {
		query = url.Values{}
	}
	query.Set("all", "1")
	v, err := m.ask(ctx, "containers", docker.Request{Method: http.MethodGet, Path: "/containers/json", Query: query})
	if err != nil {
		return nil, err
	}
	found, others := data.NewMap(), data.NewMap()
	for _, one := range list(v) {
		c := dict(one)
		id, ok := c.Get("Id")
		if !ok {
			continue
		}
		c.Delete("Id")
		to := others
		if isUp(c) {
			to = found
		}
		to.Set(id, renamed(c, map[string]string{"Created": "Time_Created_Epoch"}))
	}
	if data.Truth(a.Kwargs.Value("all")) {
		found.Update(others)
	}
	if data.Truth(a.Kwargs.Value("verbose")) {
		for id, c := range found.All() {
			info, err := m.container(ctx, data.Str(id))
			if err != nil {
				return nil, err
			}
			c.(*data.Map).Set("Info", info)
		}
	}
	if data.Truth(a.Kwargs.Value("host")) {
		interfaces, err := loader.CallAs[*data.Map](ctx, m.env, "network.interfaces", nil, nil)
		if err != nil {
			return nil, err
		}
		found.Set("host", data.NewMap("interfaces", interfaces))
	}
	return found, nil
}

// isUp reports whether a container of a list runs. Podman leaves the text empty that Salt looks at.
func isUp(c *data.Map) bool {
	text := strings.ToLower(c.Text("Status"))
	return strings.HasPrefix(text, "up ") || text == "" && (c.Text("State") == "running" || c.Text("State") == "paused")
}

// renamed returns a copy with other keys, and with the local time of its creation.
func renamed(m *data.Map, keys map[string]string) *data.Map {
	other := data.NewMap()
	for k, v := range m.All() {
		if name, ok := keys[data.Str(k)]; ok {
			k = name
		}
		other.Set(k, v)
	}
	if epoch, ok := other.Value("Time_Created_Epoch").(int64); ok {
		other.Set("Time_Created_Local", time.Unix(epoch, 0).Format("2006-01-02 15:04:05 MST"))
	}
	return other
}

// humanSizes adds readable sizes.
func humanSizes(m *data.Map, keys ...string) {
	for _, key := range keys {
		if v, ok := m.Get(key); ok {
			m.Set(key+"_Human", human(v))
		}
	}
}

func human(v any) string {
	n, err := loader.Int(v)
	if err != nil {
		return "unknown"
	}
	if n < 1024 {
		return fmt.Sprintf("%d bytes", n)
	}
	size := float64(n) / 1024
	for _, unit := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if size < 1024 {
			return fmt.Sprintf("%3.1f %s", size, unit)
		}
		size /= 1024
	}
	return fmt.Sprintf("%3.1f PiB", size)
}

type listArgs struct {
	Kwargs *data.Map `kwargs:"kwargs"`
}

// listContainers returns the names of running containers.
//
// all
//
//	Those that do not run too.
//
// CLI Example:
//
//	salt '*' docker.list_containers
//	salt '*' docker.list_containers all=True
func (m *module) listContainers(ctx context.Context, a listArgs) ([]any, error) {
	all, err := m.ps(ctx, psArgs{Kwargs: data.NewMap("all", a.Kwargs.Value("all"))})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, c := range all.All() {
		for _, name := range list(c.(*data.Map).Value("Names")) {
			names = append(names, strings.TrimLeft(data.Str(name), "/"))
		}
	}
	slices.Sort(names)
	return data.Values(slices.Compact(names)), nil
}

// diff returns the files of a container that changed since it was made, by Changed, Added and Deleted.
//
// CLI Example:
//
//	salt myminion docker.diff mycontainer
func (m *module) diff(ctx context.Context, a nameArgs) (*data.Map, error) {
	v, err := m.ask(ctx, "diff", docker.Request{Method: http.MethodGet, Path: docker.Path("containers", a.Name, "changes")})
	if err != nil {
		return nil, err
	}
	found := data.NewMap()
	for _, one := range list(v) {
		c := dict(one)
		key := "Unknown"
		if kind, ok := c.Value("Kind").(int64); ok && kind >= 0 && kind < 3 {
			key = []string{"Changed", "Added", "Deleted"}[kind]
		}
		found.Set(key, append(list(found.Value(key)), c.Value("Path")))
	}
	return found, nil
}

// logs returns what a container printed.
//
// timestamps
//
//	The time in front of each line.
//
// tail
//
//	The number of last lines, or all.
//
// since, until
//
//	Times as seconds since 1970.
//
// CLI Example:
//
//	salt myminion docker.logs mycontainer
//	salt myminion docker.logs mycontainer tail=100 timestamps=True
func (m *module) logs(ctx context.Context, a logsArgs) (string, error) {
	kwargs := clean(a.Kwargs)
	if kwargs.Has("stream") {
		return "", loader.Invocation("The 'stream' argument is not supported")
	}
	return m.logsOf(ctx, a.Name, kwargs, false)
}

type logsArgs struct {
	Name   string
	Kwargs *data.Map `kwargs:"kwargs"`
}

// logsOf returns what a container printed. With follow it waits until the container ends.
func (m *module) logsOf(ctx context.Context, name string, kwargs *data.Map, follow bool) (string, error) {
	query, err := logsQuery(kwargs)
	if err != nil {
		return "", err
	}
	if follow {
		query.Set("follow", "1")
	}
	found, err := m.container(ctx, name)
	if err != nil {
		return "", err
	}
	e, err := m.engine(ctx)
	if err != nil {
		return "", err
	}
	resp, err := e.Do(ctx, docker.Request{Method: http.MethodGet, Path: docker.Path("containers", name, "logs"), Query: query,
		Endless: follow || query.Get("follow") == "1"})
	if err != nil {
		return "", m.failed("logs", err)
	}
	defer resp.Body.Close()
	var text strings.Builder
	if data.Truth(dict(found.Value("Config")).Value("Tty")) {
		err = docker.Output(resp.Body, &text)
	} else {
		err = docker.Frames(resp.Body, &text, &text)
	}
	return text.String(), m.failed("logs", err)
}

func logsQuery(kwargs *data.Map) (url.Values, error) {
	query := url.Values{"stdout": {"1"}, "stderr": {"1"}, "timestamps": {"0"}, "follow": {"0"}, "tail": {"all"}}
	for k, v := range kwargs.All() {
		switch k {
		case "stdout", "stderr", "timestamps", "follow":
			query.Set(k.(string), flag(v))
		case "tail":
			if n, ok := v.(int64); ok && n >= 0 {
				query.Set("tail", strconv.FormatInt(n, 10))
			}
		case "since", "until":
			if v == nil {
				continue
			}
			n, err := loader.Float(v)
			if err != nil || n <= 0 {
				return nil, loader.Execution("%s value should be datetime or positive int/float, not <class '%s'>", k, loader.TypeName(v))
			}
			query.Set(k.(string), strconv.FormatFloat(n, 'f', -1, 64))
		default:
			return nil, loader.Execution("Unable to perform logs: ContainerApiMixin.logs() got an unexpected keyword argument '%s'", data.Str(k))
		}
	}
	return query, nil
}

type portArgs struct {
	Name        string
	PrivatePort any `default:"None"`
}

// port returns the published ports of a container, or of all containers that a pattern with *, ? and [
// matches.
//
// private_port
//
//	Only this port of the container, such as 5000 or 5000/tcp.
//
// CLI Example:
//
//	salt myminion docker.port mycontainer
//	salt myminion docker.port mycontainer 5000
//	salt myminion docker.port mycontainer 5000/udp
func (m *module) port(ctx context.Context, a portArgs) (any, error) {
	pattern, err := portPattern(a.PrivatePort)
	if err != nil {
		return nil, err
	}
	isPattern := strings.ContainsAny(a.Name, "*?[")
	names := []any{a.Name}
	if isPattern {
		if names, err = m.listContainers(ctx, listArgs{data.NewMap("all", true)}); err != nil {
			return nil, err
		}
	}
	all := data.NewMap()
	for _, name := range names {
		if isPattern && !loader.Glob(a.Name, data.Str(name)) {
			continue
		}
		c, err := m.container(ctx, data.Str(name))
		if err != nil {
			return nil, err
		}
		ports := data.NewMap()
		for port, bound := range dict(dict(c.Value("NetworkSettings")).Value("Ports")).All() {
			if loader.Glob(pattern, data.Str(port)) {
				ports.Set(port, bound)
			}
		}
		all.Set(name, ports)
	}
	if isPattern {
		return all, nil
	}
	return all.Value(a.Name), nil
}

func portPattern(v any) (string, error) {
	switch v := v.(type) {
	case nil:
		return "*", nil
	case int64:
		return strconv.FormatInt(v, 10) + "/*", nil
	case string:
		number, protocol, _ := strings.Cut(v, "/")
		protocol = strings.ToLower(protocol)
		if _, err := strconv.ParseUint(number, 10, 32); err == nil && (protocol == "tcp" || protocol == "udp") {
			return number + "/" + protocol, nil
		}
	}
	return "", loader.Invocation("Invalid private_port '%s'. Must either be a port number, or be in port/protocol notation (e.g. 5000/tcp)",
		data.Str(v))
}

// top returns the processes of a container.
//
// CLI Example:
//
//	salt myminion docker.top mycontainer
func (m *module) top(ctx context.Context, a nameArgs) ([]any, error) {
	found, err := m.get(ctx, "top", "containers", a.Name, "top")
	if err != nil {
		return nil, err
	}
	titles := list(found.Value("Titles"))
	all := []any{}
	for _, one := range list(found.Value("Processes")) {
		process := data.NewMap()
		for i, v := range list(one) {
			if i < len(titles) {
				process.Set(titles[i], v)
			}
		}
		all = append(all, process)
	}
	return all, nil
}

// info returns what the engine says about itself and its host.
//
// CLI Example:
//
//	salt myminion docker.info
func (m *module) info(ctx context.Context, _ struct{}) (any, error) {
	return m.ask(ctx, "info", docker.Request{Method: http.MethodGet, Path: "/info"})
}

var numbers = regexp.MustCompile(`^[\d.]+`)

// version returns the versions of the engine and of its API.
//
// CLI Example:
//
//	salt myminion docker.version
func (m *module) version(ctx context.Context, _ struct{}) (*data.Map, error) {
	v, err := m.ask(ctx, "version", docker.Request{Method: http.MethodGet, Path: "/version"})
	if err != nil {
		return nil, err
	}
	found := dict(v)
	for _, key := range []string{"Version", "ApiVersion"} {
		parts := data.Tuple{}
		for part := range strings.SplitSeq(numbers.FindString(found.Text(key)), ".") {
			if n, err := strconv.ParseInt(part, 10, 64); err == nil {
				parts = append(parts, n)
			}
		}
		if len(parts) > 0 {
			found.Set(key+"Info", parts)
		}
	}
	return found, nil
}

package docker

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/docker"
	"github.com/brineproject/brine/internal/docker/spec"
	"github.com/brineproject/brine/internal/docker/translate"
	"github.com/brineproject/brine/loader"
)

type translateArgs struct {
	SkipTranslate    any  `default:"None"`
	IgnoreCollisions bool `default:"False"`
	ValidateIPAddrs  bool `name:"validate_ip_addrs" default:"True"`
	ClientTimeout    any  `default:"60"`
}

func (a translateArgs) options() translate.Options {
	return translate.Options{Skip: a.SkipTranslate, Collisions: a.IgnoreCollisions, AnyAddress: !a.ValidateIPAddrs}
}

type clientArgs struct {
	Limit any `default:"None"`
}

// getClientArgs returns the names of the arguments that docker.create and other functions know, by what
// they are about.
//
// limit
//
//	Only these of create_container, host_config, connect_container_to_network, logs, create_network,
//	ipam_config.
//
// CLI Example:
//
//	salt myminion docker.get_client_args
//	salt myminion docker.get_client_args logs
func (m *module) getClientArgs(_ context.Context, a clientArgs) (*data.Map, error) {
	limit := words(a.Limit)
	found := data.NewMap()
	for _, group := range []struct {
		name string
		args []string
	}{
		{"create_container", spec.CreateArgs()}, {"host_config", spec.HostArgs()},
		{"connect_container_to_network", spec.ConnectArgs()}, {"logs", spec.LogArgs()},
		{"create_network", nil}, {"ipam_config", translate.PoolArgs()},
	} {
		if len(limit) == 0 || slices.Contains(limit, group.name) {
			found.Set(group.name, data.Values(group.args))
		}
	}
	return found, nil
}

// words returns a list, or the parts of a text with commas.
func words(v any) []string {
	if l, ok := v.([]any); ok {
		return data.Texts(l)
	}
	var parts []string
	if data.Truth(v) {
		for part := range strings.SplitSeq(data.Str(v), ",") {
			parts = append(parts, strings.TrimSpace(part))
		}
	}
	return parts
}

// body returns the body of a request that creates a container, and whether the container removes itself.
func (m *module) body(ctx context.Context, image string, a translateArgs, given *data.Map) (body *data.Map, platform any, err error) {
	given = clean(given)
	ends := dict(given.Value("networks"))
	given.Delete("networks")
	mode := given.Value("network_mode")
	kwargs, err := translate.Container(given, a.options())
	if err != nil {
		return nil, nil, err
	}
	e, err := m.engine(ctx)
	if err != nil {
		return nil, nil, err
	}
	if conf, ok := ends.Get(mode); ok {
		end, err := spec.Endpoint("EndpointConfig.__init__()", dict(conf), e.Version())
		if err != nil {
			return nil, nil, m.unable("create_endpoint_config", err)
		}
		kwargs.Set("networking_config", data.NewMap("EndpointsConfig", data.NewMap(mode, end)))
	}
	own, about := data.NewMap(), data.NewMap()
	var unused []string
	for k, v := range kwargs.All() {
		switch name := data.Str(k); {
		case slices.Contains(spec.HostArgs(), name):
			about.Set(k, v)
		case slices.Contains(spec.CreateArgs(), name):
			own.Set(k, v)
		default:
			unused = append(unused, name)
		}
	}
	if len(unused) > 0 {
		m.env.Log.Warnf("docker: the engine does not know the arguments %s", strings.Join(unused, ", "))
	}
	host, err := spec.Host(about, e.Version())
	if err != nil {
		return nil, nil, m.unable("create_host_config", err)
	}
	host.Update(dict(own.Value("host_config")))
	if use, ok := own.Get("use_config_proxy"); !ok || data.Truth(use) {
		if err := m.addProxies(own); err != nil {
			return nil, nil, err
		}
	}
	body, err = spec.Container(image, own, host, e.Version())
	if err != nil {
		return nil, nil, m.unable("create_container", err)
	}
	return body, own.Value("platform"), nil
}

// unable returns the error of docker's client for Python as Salt shows it.
func (m *module) unable(action string, err error) error {
	if _, ok := errors.AsType[*spec.Refused](err); ok {
		return loader.Execution("%w", err)
	}
	return loader.Execution("Unable to perform %s: %w", action, err)
}

// addProxies adds the proxies of docker's config.json to the variables of a container.
func (m *module) addProxies(own *data.Map) error {
	config, err := readConfig()
	if err != nil {
		return loader.Execution("%w", err)
	}
	proxies := config.Proxies()
	if len(proxies) == 0 {
		return nil
	}
	given, _ := spec.Environment(own.Value("environment")).([]any)
	own.Set("environment", append(data.Values(proxies), given...))
	return nil
}

type createArgs struct {
	Image string
	Name  any  `default:"None"`
	Start bool `default:"False"`
	translateArgs
	Kwargs *data.Map `kwargs:"kwargs"`
}

// create makes a container and returns its ID and name. The further arguments are those of
// docker_container.running.
//
// image
//
//	The image, which is pulled if it is not there.
//
// name
//
//	The name; the engine chooses one if there is none.
//
// start
//
//	Start the container too.
//
// skip_translate
//
//	Arguments to pass to the engine as they are, or True for all.
//
// ignore_collisions
//
//	Accept an argument and its alias, and take the argument.
//
// validate_ip_addrs
//
//	Refuse what is no address of the network.
//
// CLI Example:
//
//	salt myminion docker.create busybox:latest name=mycontainer cmd='sleep 60' publish=8080:80
//	salt myminion docker.create busybox:latest binds=/srv/www:/www:ro start=True
func (m *module) create(ctx context.Context, a createArgs) (*data.Map, error) {
	defer m.mine(ctx)
	ret, _, err := m.make(ctx, a)
	if err != nil || !a.Start {
		return ret, err
	}
	if _, err := m.start(ctx, nameArgs{ret.Text("Name")}); err != nil {
		if loader.KindOf(err) != loader.KindExecution {
			return nil, err
		}
		return nil, loader.ExecutionInfo("Failed to start container after creation", data.NewMap("response", ret, "error", err.Error()))
	}
	ret.Set("Started", true)
	return ret, nil
}

// make pulls the image if needed and creates the container. autoRemove tells whether it removes itself when
// it ends.
func (m *module) make(ctx context.Context, a createArgs) (ret *data.Map, autoRemove bool, err error) {
	kwargs := a.Kwargs.Clone()
	inspect, ok := kwargs.Get("inspect")
	kwargs.Delete("inspect")
	if !ok || data.Truth(inspect) {
		id, err := m.resolveImageID(ctx, nameArgs{a.Image})
		if err != nil {
			return nil, false, err
		}
		if id == false {
			if _, err := m.pull(ctx, pullArgs{Image: a.Image, ClientTimeout: a.ClientTimeout}); err != nil {
				return nil, false, err
			}
		}
	}
	body, platform, err := m.body(ctx, a.Image, a.translateArgs, kwargs)
	if err != nil {
		return nil, false, err
	}
	query := url.Values{}
	if a.Name != nil {
		query.Set("name", data.Str(a.Name))
	}
	if data.Truth(platform) {
		query.Set("platform", data.Str(platform))
	}
	started := time.Now()
	v, err := m.ask(ctx, "create_container", docker.Request{Method: http.MethodPost, Path: "/containers/create", Query: query, Body: body})
	if err != nil {
		return nil, false, err
	}
	ret = dict(v)
	ret.Set("Time_Elapsed", time.Since(started).Seconds())
	name := a.Name
	if name == nil {
		found, err := m.container(ctx, ret.Text("Id"))
		if err != nil {
			return nil, false, m.undo(ctx, ret.Text("Id"), err)
		}
		name = strings.TrimLeft(found.Text("Name"), "/")
	}
	ret.Set("Name", data.Str(name))
	return ret, data.Truth(dict(body.Value("HostConfig")).Value("AutoRemove")), nil
}

// undo removes a new container whose name nobody knows, and returns why.
func (m *module) undo(ctx context.Context, id string, why error) error {
	_, err := m.ask(context.WithoutCancel(ctx), "remove_container",
		docker.Request{Method: http.MethodDelete, Path: docker.Path("containers", id)})
	if err != nil {
		m.env.Log.WithError(err).Warnf("docker: remove container %s", id)
	}
	return why
}

type runContainerArgs struct {
	Image string
	Name  any `default:"None"`
	translateArgs
	Bg       bool      `default:"False"`
	Replace  bool      `default:"False"`
	Force    bool      `default:"False"`
	Networks any       `default:"None"`
	Kwargs   *data.Map `kwargs:"kwargs"`
}

// runContainer makes a container, starts it, and returns what it printed and its exit code once it has
// ended. The further arguments are those of docker.create.
//
// bg
//
//	Leave the container running in the background.
//
// replace, force
//
//	Remove a container of that name first; with force even one that runs.
//
// networks
//
//	Networks to connect the container to: a list of names, or a dictionary of networks and what
//	docker.connect_container_to_network knows.
//
// CLI Example:
//
//	salt myminion docker.run_container busybox cmd='sh -c "uname -a"'
func (m *module) runContainer(ctx context.Context, a runContainerArgs) (*data.Map, error) {
	defer m.mine(ctx)
	networks, err := networksOf(a.Networks)
	if err != nil {
		return nil, err
	}
	removed, err := m.makeRoom(ctx, a)
	if err != nil {
		return nil, err
	}
	kwargs := a.Kwargs.Clone()
	logs := data.NewMap()
	for _, name := range spec.LogArgs() {
		if v, ok := kwargs.Get(name); ok {
			logs.Set(name, v)
			kwargs.Delete(name)
		}
	}
	started := time.Now()
	ret, autoRemove, err := m.make(ctx, createArgs{Image: a.Image, Name: a.Name, translateArgs: a.translateArgs, Kwargs: kwargs})
	if err != nil {
		return nil, err
	}
	ret.Delete("Time_Elapsed")
	if removed != nil {
		name := ret.Value("Name")
		ret.Delete("Name")
		ret.Set("Replaces", removed)
		ret.Set("Name", name)
	}
	if err := m.launch(ctx, ret, networks, autoRemove); err != nil {
		if loader.KindOf(err) != loader.KindExecution {
			return nil, err
		}
		return nil, loader.ExecutionInfo(err.Error(), data.NewMap("return", ret))
	}
	if a.Bg {
		ret.Set("Time_Elapsed", time.Since(started).Seconds())
		return ret, nil
	}
	m.collect(ctx, ret, started, autoRemove)
	return ret, nil
}

// makeRoom removes a container that has the name already, if that is wanted.
func (m *module) makeRoom(ctx context.Context, a runContainerArgs) ([]any, error) {
	if a.Name == nil {
		return nil, nil
	}
	name := data.Str(a.Name)
	pre, err := m.state(ctx, nameArgs{name})
	switch {
	case docker.StatusOf(err) != 0:
		return nil, nil
	case err != nil:
		return nil, err
	case pre == "running" && (!a.Replace || !a.Force):
		return nil, loader.Execution("Container '%s' exists and is running. Run with replace=True and force=True to force removal of the "+
			"existing container.", name)
	case !a.Replace:
		return nil, loader.Execution("Container '%s' exists. Run with replace=True to remove the existing container", name)
	}
	return m.rm(ctx, rmArgs{Name: name, Force: a.Force})
}

// networksOf returns networks by their names, with what connects the container to each.
func networksOf(v any) (*data.Map, error) {
	networks := data.NewMap()
	if line, ok := v.(string); ok {
		for name := range strings.SplitSeq(line, ",") {
			networks.Set(name, data.NewMap())
		}
		return networks, nil
	}
	if !data.Truth(v) {
		return networks, nil
	}
	given, ok := v.(*data.Map)
	if !ok {
		return nil, loader.Invocation("Invalid format for networks argument")
	}
	for _, conf := range given.All() {
		if _, ok := conf.(*data.Map); !ok {
			return nil, loader.Invocation("Invalid format for networks argument")
		}
	}
	return given, nil
}

// launch connects a new container to its networks and starts it.
func (m *module) launch(ctx context.Context, ret, networks *data.Map, autoRemove bool) error {
	id := ret.Text("Id")
	for name, conf := range networks.All() {
		_, err := m.connectContainerToNetwork(ctx, connectArgs{Container: id, NetID: data.Str(name), Kwargs: conf.(*data.Map)})
		if err != nil {
			if autoRemove {
				_, rmErr := m.rm(ctx, rmArgs{Name: id})
				if rmErr != nil {
					return loader.Execution("%w\nFailed to auto_remove container: %s", err, rmErr)
				}
			}
			return err
		}
	}
	_, err := m.start(ctx, nameArgs{id})
	if autoRemove && docker.StatusOf(err) == http.StatusNotFound {
		return nil // it has ended and is gone
	}
	return err
}

// collect waits for a container and adds to ret what it printed and its exit code.
func (m *module) collect(ctx context.Context, ret *data.Map, started time.Time, autoRemove bool) {
	warn := func(text string) { ret.Set("Warnings", append(slices.Clone(list(ret.Value("Warnings"))), text)) }
	id := ret.Text("Id")
	text, err := m.logsOf(ctx, id, data.NewMap(), true)
	if err != nil {
		warn("Failed to get logs from container. This may be because the container exited before Salt was able to attach to " +
			"it to retrieve the logs. Consider setting auto_remove to False.")
	}
	ret.Set("Time_Elapsed", time.Since(started).Seconds())
	ret.Set("Logs", text)
	if autoRemove {
		return
	}
	found, err := m.container(ctx, id)
	if err != nil {
		warn("Failed to inspect container after running")
		return
	}
	state := dict(found.Value("State"))
	if state.Value("Status") != "exited" {
		warn("Container state is not 'exited'")
	}
	ret.Set("ExitCode", state.Value("ExitCode"))
}

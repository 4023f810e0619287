package docker

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/docker"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// Swarm returns Salt's module swarm: a host's part in a swarm of Docker Engine, and the services of the
// swarm (salt/modules/swarm.py). It connects as the module docker does.
//
// Differences from Salt: published_port is the port of the hosts, and target_port that of the
// containers; Salt swaps them. hostname has an effect. An address to listen on may lack its port. A
// service without ports has information too.
func Swarm() loader.Plugin { return loader.Plugin{Name: "swarm", New: newSwarm} }

type swarm struct{ *module }

func newSwarm(env *loader.Env) (*loader.Module, error) {
	m := swarm{&module{env: env, limits: usual()}}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("joinswarm", m.joinswarm).Secret("token"),
		loader.F("leave_swarm", m.leaveSwarm),
		loader.F("node_ls", m.nodeLs),
		loader.F("remove_node", m.removeNode),
		loader.F("remove_service", m.removeService),
		loader.F("service_create", m.serviceCreate),
		loader.F("swarm_init", m.swarmInit),
		loader.F("swarm_service_info", m.swarmServiceInfo),
		loader.F("swarm_tokens", m.swarmTokens),
		loader.F("update_node", m.updateNode),
	}}, nil
}

// host returns the minion's id, which Salt's texts have.
func (m swarm) host() string { return data.Str(m.env.Option("id")) }

// given reports whether there is a value for each argument.
func given(values ...any) bool {
	for _, v := range values {
		if v == nil {
			return false
		}
	}
	return true
}

func fault(text string) *data.Map { return data.NewMap("Error", text) }

func (m swarm) post(ctx context.Context, action string, path []string, query url.Values, body *data.Map) error {
	_, err := m.ask(ctx, action, docker.Request{Method: http.MethodPost, Path: docker.Path(path...), Query: query,
		Body: body})
	return err
}

// swarmTokens returns the tokens with which managers and workers join the swarm.
//
// CLI Example:
//
//	salt '*' swarm.swarm_tokens
func (m swarm) swarmTokens(ctx context.Context, _ struct{}) (any, error) {
	found, err := m.ask(ctx, "inspect_swarm", docker.Request{Method: http.MethodGet, Path: docker.Path("swarm")})
	all, _ := found.(*data.Map)
	return all.Value("JoinTokens"), err
}

type initArgs struct {
	AdvertiseAddr   any `default:"None"`
	ListenAddr      any `default:"None"`
	ForceNewCluster any `default:"None"`
}

// listen returns an address to listen on, with the port of swarms if it has none.
func listen(address any) string {
	text := data.Str(address)
	if text == "" || strings.Contains(strings.TrimPrefix(text[strings.LastIndexByte(text, ']')+1:], "]"), ":") {
		return text
	}
	return text + ":2377"
}

// swarmInit makes the host the manager of a new swarm, and returns the tokens to join it.
//
// advertise_addr
//
//	The address under which others reach the host.
//
// listen_addr
//
//	The address, or the interface, to listen on: 0.0.0.0, 192.168.1.1:4567, eth0:4567.
//
// force_new_cluster
//
//	True: make a new swarm of a host that is a manager already.
//
// CLI Example:
//
//	salt '*' swarm.swarm_init advertise_addr='192.168.50.10' listen_addr='0.0.0.0' force_new_cluster=False
func (m swarm) swarmInit(ctx context.Context, a initArgs) (any, error) {
	if !given(a.AdvertiseAddr, a.ListenAddr, a.ForceNewCluster) {
		return fault("Please make sure you are passing advertise_addr, listen_addr and force_new_cluster correctly."), nil
	}
	err := m.post(ctx, "init_swarm", []string{"swarm", "init"}, nil, data.NewMap("AdvertiseAddr", data.Str(a.AdvertiseAddr),
		"ListenAddr", listen(a.ListenAddr), "ForceNewCluster", data.Truth(a.ForceNewCluster)))
	var refused *docker.Error
	switch {
	case errors.As(err, &refused) && strings.Contains(refused.Message, "This node is already part of a swarm."):
		return data.NewMap("Comment", refused.Message, "result", false), nil
	case errors.As(err, &refused):
		return data.NewMap("Error", refused.Message, "result", false), nil
	case err != nil:
		return nil, err
	}
	tokens, err := m.swarmTokens(ctx, struct{}{})
	return data.NewMap("Comment", "Docker swarm has been initialized on "+m.host()+
		" and the worker/manager Join token is below", "Tokens", tokens), err
}

type joinArgs struct {
	RemoteAddr any `default:"None"`
	ListenAddr any `default:"None"`
	Token      any `default:"None"`
}

// joinswarm makes the host join a swarm.
//
// remote_addr
//
//	The address of a manager.
//
// listen_addr
//
//	The address, or the interface, to listen on.
//
// token
//
//	One of the tokens of swarm.swarm_tokens.
//
// CLI Example:
//
//	salt '*' swarm.joinswarm remote_addr=192.168.50.10 listen_addr='0.0.0.0' token='SWMTKN-1-64tux2g0701r84'
func (m swarm) joinswarm(ctx context.Context, a joinArgs) (any, error) {
	if !given(a.RemoteAddr, a.ListenAddr, a.Token) {
		return fault("Please make sure this minion is not part of a swarm and you are passing remote_addr, " +
			"listen_addr and token correctly."), nil
	}
	err := m.post(ctx, "join_swarm", []string{"swarm", "join"}, nil, data.NewMap("RemoteAddrs",
		[]any{data.Str(a.RemoteAddr)}, "ListenAddr", listen(a.ListenAddr), "JoinToken", data.Str(a.Token)))
	if err != nil {
		return nil, err
	}
	return data.NewMap("Comment", m.host()+" has joined the Swarm", "Manager_Addr", a.RemoteAddr), nil
}

type leaveArgs struct {
	Force any `default:"False"`
}

// leaveSwarm makes the host leave its swarm.
//
// force
//
//	True: also if it is a manager, or in no swarm.
//
// CLI Example:
//
//	salt '*' swarm.leave_swarm force=False
func (m swarm) leaveSwarm(ctx context.Context, a leaveArgs) (any, error) {
	force := data.Truth(a.Force)
	err := m.post(ctx, "leave_swarm", []string{"swarm", "leave"}, url.Values{"force": {flag(force)}}, nil)
	status := docker.StatusOf(err)
	if force && (status == http.StatusNotAcceptable || status == http.StatusServiceUnavailable) {
		err = nil // it is in no swarm
	}
	if err != nil {
		return nil, err
	}
	return data.NewMap("Comment", m.host()+" has left the swarm"), nil
}

type serviceArgs struct {
	Image         any `default:"None"`
	Name          any `default:"None"`
	Command       any `default:"None"`
	Hostname      any `default:"None"`
	Replicas      any `default:"None"`
	TargetPort    any `default:"None"`
	PublishedPort any `default:"None"`
}

// serviceCreate creates a service of the swarm.
//
// command
//
//	What the containers run. Default: what the image says.
//
// hostname
//
//	The host name of the containers.
//
// replicas
//
//	The number of containers.
//
// target_port, published_port
//
//	The port in the containers, and the port of the hosts that leads to it.
//
// CLI Example:
//
//	salt '*' swarm.service_create image=httpd name=Test_Service command=None hostname=salthttpd replicas=6 target_port=80 published_port=8080
func (m swarm) serviceCreate(ctx context.Context, a serviceArgs) (any, error) {
	replicas, err1 := number(a.Replicas)
	target, err2 := number(a.TargetPort)
	published, err3 := number(a.PublishedPort)
	if !given(a.Image, a.Name) || err1 != nil || err2 != nil || err3 != nil {
		return fault("Please make sure you are passing arguments correctly [image, name, command, hostname, replicas, " +
			"target_port and published_port]"), nil
	}
	container := data.NewMap("Image", data.Str(a.Image))
	switch command := a.Command.(type) {
	case []any:
		container.Set("Command", data.Values(data.Texts(command)))
	case string:
		words, err := process.Words(command)
		if err != nil {
			return nil, loader.Execution("read the command: %w", err)
		}
		container.Set("Command", data.Values(words))
	}
	if name := calls.Text(a.Hostname); name != "" {
		container.Set("Hostname", name)
	}
	port := data.NewMap("Protocol", "tcp", "PublishedPort", published, "TargetPort", target)
	err := m.post(ctx, "create_service", []string{"services", "create"}, nil, data.NewMap("Name", data.Str(a.Name),
		"TaskTemplate", data.NewMap("ContainerSpec", container),
		"Mode", data.NewMap("Replicated", data.NewMap("Replicas", replicas)),
		"EndpointSpec", data.NewMap("Ports", []any{port})))
	if err != nil {
		return nil, err
	}
	return data.NewMap("Info", m.host()+" has a Docker Swarm Service running named "+data.Str(a.Name), "Minion", m.host(),
		"Name", a.Name, "Image", a.Image, "Command", a.Command, "Hostname", a.Hostname, "Replicas", a.Replicas,
		"Target_Port", a.TargetPort, "Published_Port", a.PublishedPort), nil
}

// number returns a whole number that is not negative.
func number(v any) (int64, error) {
	if v == nil {
		return 0, loader.Execution("a number is missing")
	}
	f, err := loader.Float(v)
	if err != nil || f < 0 || f != float64(int64(f)) {
		return 0, loader.Execution("%s is no number", data.Repr(v))
	}
	return int64(f), nil
}

type serviceNameArgs struct {
	ServiceName any `default:"None"`
}

// swarmServiceInfo returns what the swarm says of a service.
//
// CLI Example:
//
//	salt '*' swarm.swarm_service_info service_name=Test_Service
func (m swarm) swarmServiceInfo(ctx context.Context, a serviceNameArgs) (any, error) {
	name := calls.Text(a.ServiceName)
	if name == "" {
		return fault("service_name arg is missing?"), nil
	}
	found, err := m.get(ctx, "inspect_service", "services", name, "")
	if err != nil {
		return nil, err
	}
	port := &data.Map{}
	ports, _ := within(found, "Spec", "EndpointSpec", "Ports").([]any)
	if len(ports) > 0 {
		port, _ = ports[len(ports)-1].(*data.Map)
	}
	return data.NewMap("Service Name", within(found, "Spec", "Name"),
		"Replicas", within(found, "Spec", "Mode", "Replicated", "Replicas"), "Service ID", found.Value("ID"),
		"Network", within(found, "Endpoint", "VirtualIPs"), "Network Mode", within(found, "Spec", "EndpointSpec", "Mode"),
		"Creation Date", found.Value("CreatedAt"), "Update Date", found.Value("UpdatedAt"),
		"Published Port", port.Value("PublishedPort"), "Target Port", port.Value("TargetPort"),
		"Published Mode", port.Value("PublishMode"), "Protocol", port.Value("Protocol"),
		"Docker Image", within(found, "Spec", "TaskTemplate", "ContainerSpec", "Image"), "Minion Id", m.host(),
		"Version", within(found, "Version", "Index")), nil
}

// within returns the value at a path of keys.
func within(m *data.Map, path ...string) any {
	for _, key := range path[:len(path)-1] {
		m, _ = m.Value(key).(*data.Map)
	}
	return m.Value(path[len(path)-1])
}

type removeServiceArgs struct {
	Service any `default:"None"`
}

// removeService removes a service of the swarm.
//
// CLI Example:
//
//	salt '*' swarm.remove_service service=Test_Service
func (m swarm) removeService(ctx context.Context, a removeServiceArgs) (any, error) {
	name := calls.Text(a.Service)
	if name == "" {
		return fault("service arg is missing?"), nil
	}
	_, err := m.ask(ctx, "remove_service", docker.Request{Method: http.MethodDelete, Path: docker.Path("services", name)})
	if err != nil {
		return nil, err
	}
	return data.NewMap("Service Deleted", true, "Minion ID", m.host()), nil
}

type nodeArgs struct {
	Server any `default:"None"`
}

// nodeLs returns what the swarm says of a host. The minion must be a manager.
//
// server
//
//	The host's name.
//
// CLI Example:
//
//	salt '*' swarm.node_ls server=minion1
func (m swarm) nodeLs(ctx context.Context, a nodeArgs) (any, error) {
	name := calls.Text(a.Server)
	if name == "" {
		return fault("The server arg is missing or you not targeting a Manager node?"), nil
	}
	query, err := filters(data.NewMap("name", name))
	if err != nil {
		return nil, err
	}
	found, err := m.ask(ctx, "nodes", docker.Request{Method: http.MethodGet, Path: docker.Path("nodes"), Query: query})
	if err != nil {
		return nil, err
	}
	info := &data.Map{}
	for _, v := range data.ListOf(found) {
		node, _ := v.(*data.Map)
		info.Update(data.NewMap("Docker Version", within(node, "Description", "Engine", "EngineVersion"),
			"Platform", within(node, "Description", "Platform"), "Hostname", within(node, "Description", "Hostname"),
			"ID", node.Value("ID"), "Roles", within(node, "Spec", "Role"), "Availability", within(node, "Spec", "Availability"),
			"Status", node.Value("Status"), "Version", within(node, "Version", "Index")))
	}
	return info, nil
}

type removeNodeArgs struct {
	NodeID any `name:"node_id" default:"None"`
	Force  any `default:"False"`
}

// removeNode removes a host from the swarm, and returns True. The minion must be a manager.
//
// node_id
//
//	The ID that swarm.node_ls returns.
//
// force
//
//	True: also if it is up.
//
// CLI Example:
//
//	salt '*' swarm.remove_node node_id=z4gjbe9rwmqahc2a91snvolm5 force=false
func (m swarm) removeNode(ctx context.Context, a removeNodeArgs) (any, error) {
	id := calls.Text(a.NodeID)
	if id == "" {
		return fault("Is the node_id and/or force=True/False missing?"), nil
	}
	force := a.Force == true || a.Force == "True"
	_, err := m.ask(ctx, "remove_node", docker.Request{Method: http.MethodDelete, Path: docker.Path("nodes", id),
		Query: url.Values{"force": {flag(force)}}})
	return err == nil, err
}

type updateNodeArgs struct {
	Availability any `default:"None"`
	NodeName     any `default:"None"`
	Role         any `default:"None"`
	NodeID       any `name:"node_id" default:"None"`
	Version      any `default:"None"`
}

// updateNode changes a host of the swarm. The minion must be a manager.
//
// availability
//
//	active, pause or drain.
//
// node_name
//
//	The host's name.
//
// role
//
//	manager or worker.
//
// node_id, version
//
//	What swarm.node_ls returns.
//
// CLI Example:
//
//	salt '*' swarm.update_node availability=drain node_name=minion2 role=worker node_id=3k9x7t8m4pel9c0nqr3iajnzp version=19
func (m swarm) updateNode(ctx context.Context, a updateNodeArgs) (any, error) {
	if !given(a.Availability, a.NodeName, a.Role, a.NodeID, a.Version) {
		return fault("Make sure all args are passed [availability, node_name, role, node_id, version]"), nil
	}
	spec := data.NewMap("Availability", a.Availability, "Name", a.NodeName, "Role", a.Role)
	err := m.post(ctx, "update_node", []string{"nodes", data.Str(a.NodeID), "update"},
		url.Values{"version": {data.Str(a.Version)}}, spec)
	if err != nil {
		return nil, err
	}
	return data.NewMap("Node Information", spec), nil
}

// Package docker is Salt's module docker, also named dockerng and moby: containers, images, networks and
// volumes of Docker Engine (salt/modules/dockermod.py). It speaks the engine's API itself and needs neither
// Python's docker nor, but for login and logout, the program docker. Podman's service has the same API: its
// socket goes into docker.url or DOCKER_HOST.
//
// client.go connects to the engine. inspect.go, create.go and lifecycle.go are about containers, image.go,
// pull.go, build.go and save.go about images, network.go about networks and volumes. compare.go compares,
// exec.go runs programs, copy.go copies files, login.go signs in to registries, and salt.go rejects what
// needs a Salt in the container.
//
// Differences from Salt: what was read is never kept for later calls of a job. Images are loaded and saved,
// programs run and files copied through the API. A command line with characters that a shell interprets is
// read by a shell in the container and not by one of the host; the execution drivers lxc-attach and nsenter
// are not there. login passes the password on standard input. insecure_registry has no effect, as the
// engine decides. mac_address works with every version of the engine. A failure to renew docker.ps in the
// mine is logged. DOCKER_CERT_PATH and DOCKER_TLS_VERIFY are respected, and docker.timeout is the number of
// seconds to wait for the engine. An engine that is silent for ten minutes while it pulls or pushes an
// image, or for an hour while it builds, loads or saves one, is given up; a longer docker.timeout counts there
// too. docker.inspect finds images, networks and volumes too. apply, call,
// highstate, sls and sls_build, which bring a Salt in Python into the container, are rejected.
package docker

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/docker"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

// Plugin returns the module docker.
func Plugin() loader.Plugin {
	return loader.Plugin{Name: "docker", File: "dockermod", Aliases: []string{"dockerng", "moby"}, New: newModule}
}

// engine is what the functions need of an engine.
type engine interface {
	Call(ctx context.Context, r docker.Request) (any, error)
	Do(ctx context.Context, r docker.Request) (*http.Response, error)
	Exec(ctx context.Context, container string, cmd docker.Command) (docker.Ran, error)
	Version() string
	WithTimeout(limit time.Duration) *docker.Client
}

type module struct {
	env    *loader.Env
	limits limits

	mu      sync.Mutex
	options settings       // of client
	client  *docker.Client // nil before the first use
}

func newModule(env *loader.Env) (*loader.Module, error) { return usual().newModule(env) }

func (l limits) newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env: env, limits: l}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("apply", m.apply).Def("apply_"),
		loader.F("build", m.build),
		loader.F("call", m.call),
		loader.F("commit", m.commit),
		loader.F("compare_container", m.compareContainers),
		loader.F("compare_container_networks", m.compareContainerNetworks),
		loader.F("compare_containers", m.compareContainers),
		loader.F("compare_networks", m.compareNetworks),
		loader.F("connect_container_to_network", m.connectContainerToNetwork),
		loader.F("connected", m.connected),
		loader.F("copy_from", m.copyFrom),
		loader.F("copy_to", m.copyTo),
		loader.F("cp", m.copyFrom),
		loader.F("create", m.create),
		loader.F("create_network", m.createNetwork),
		loader.F("create_volume", m.createVolume),
		loader.F("dangling", m.dangling),
		loader.F("depends", m.depends),
		loader.F("diff", m.diff),
		loader.F("disconnect_all_containers_from_network", m.disconnectAll),
		loader.F("disconnect_container_from_network", m.disconnect),
		loader.F("exists", m.exists),
		loader.F("export", m.export),
		loader.F("freeze", m.pause),
		loader.F("get_client_args", m.getClientArgs),
		loader.F("highstate", m.highstate),
		loader.F("history", m.history),
		loader.F("images", m.images),
		loader.F("import", m.importImage).Def("import_"),
		loader.F("info", m.info),
		loader.F("inspect", m.inspect),
		loader.F("inspect_container", m.inspectContainer),
		loader.F("inspect_image", m.inspectImage),
		loader.F("inspect_network", m.inspectNetwork),
		loader.F("inspect_volume", m.inspectVolume),
		loader.F("kill", m.kill),
		loader.F("layers", m.layers),
		loader.F("list_containers", m.listContainers),
		loader.F("list_tags", m.listTags),
		loader.F("load", m.load),
		loader.F("login", m.login),
		loader.F("logout", m.logout),
		loader.F("logs", m.logs),
		loader.F("networks", m.networks),
		loader.F("pause", m.pause),
		loader.F("pid", m.pid),
		loader.F("port", m.port),
		loader.F("prune", m.prune),
		loader.F("ps", m.ps).Def("ps_"),
		loader.F("pull", m.pull),
		loader.F("push", m.push),
		loader.F("remove_network", m.removeNetwork),
		loader.F("remove_volume", m.removeVolume),
		loader.F("rename", m.rename),
		loader.F("resolve_image_id", m.resolveImageID),
		loader.F("resolve_tag", m.resolveTag),
		loader.F("restart", m.restart),
		loader.F("retcode", m.retcode),
		loader.F("rm", m.rm).Def("rm_"),
		loader.F("rmi", m.rmi),
		loader.F("run", m.run),
		loader.F("run_all", m.runAll),
		loader.F("run_container", m.runContainer),
		loader.F("run_stderr", m.runStderr),
		loader.F("run_stdout", m.runStdout),
		loader.F("save", m.save),
		loader.F("script", m.script),
		loader.F("script_retcode", m.scriptRetcode),
		loader.F("search", m.search),
		loader.F("signal", m.signal).Def("signal_"),
		loader.F("sls", m.sls),
		loader.F("sls_build", m.slsBuild),
		loader.F("start", m.start).Def("start_"),
		loader.F("state", m.state),
		loader.F("stop", m.stop),
		loader.F("tag", m.tag).Def("tag_"),
		loader.F("top", m.top),
		loader.F("unfreeze", m.unpause),
		loader.F("unpause", m.unpause),
		loader.F("version", m.version),
		loader.F("volumes", m.volumes),
		loader.F("wait", m.wait),
	}}, nil
}

type nameArgs struct {
	Name string
}

// clean returns keyword arguments without those that the minion adds.
func clean(kwargs *data.Map) *data.Map {
	own := data.NewMap()
	for k, v := range kwargs.All() {
		if name, ok := k.(string); ok && !strings.HasPrefix(name, "__") {
			own.Set(k, v)
		}
	}
	return own
}

// only returns an error for keyword arguments other than those named.
func only(kwargs *data.Map, names ...string) error {
	var wrong []string
	for k, v := range clean(kwargs).All() {
		known := false
		for _, name := range names {
			known = known || name == k
		}
		if !known {
			wrong = append(wrong, data.Str(k)+"="+data.Str(v))
		}
	}
	if len(wrong) > 0 {
		return loader.Invocation("The following keyword arguments are not valid: %s", strings.Join(wrong, ", "))
	}
	return nil
}

// dict returns v as a dictionary, or an empty one.
func dict(v any) *data.Map {
	m, _ := v.(*data.Map)
	if m == nil {
		m = data.NewMap()
	}
	return m
}

// list returns v as a list, or an empty one.
func list(v any) []any { l, _ := v.([]any); return l }

// mine sends the containers to the mine after a change, unless docker.update_mine forbids it.
func (m *module) mine(ctx context.Context) {
	wanted, err := calls.Option[any](ctx, m.env, "docker.update_mine", true)
	if err == nil && data.Truth(wanted) && m.env.Functions.Has("mine.send") {
		_, err = m.env.Call(ctx, "mine.send", []any{"docker.ps"}, data.NewMap("verbose", true, "all", true, "host", true))
	}
	if err != nil {
		m.env.Log.WithError(err).Warn("send docker.ps to the mine")
	}
}

// Package dockercompose is Salt's module dockercompose: services that a file of Docker Compose describes
// (salt/modules/dockercompose.py). It runs the program docker-compose, or docker compose, of version 2;
// Salt needs the library of version 1.
//
// dockercompose.go runs the program, and file.go reads and writes the file.
//
// Differences from Salt: a file is checked before it replaces another, so that a wrong definition changes
// nothing. service_upsert replaces a service that is there. A tag replaces the one behind the last colon of
// an image, not behind that of a port.
package dockercompose

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// Plugin returns the module dockercompose. It is available on hosts with docker-compose or docker.
func Plugin() loader.Plugin { return loader.Plugin{Name: "dockercompose", New: newModule} }

type module struct {
	env     *loader.Env
	program []string
}

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env: env}
	switch {
	case process.Find("docker-compose") != "":
		m.program = []string{"docker-compose"}
	case process.Find("docker") != "":
		m.program = []string{"docker", "compose"}
	default:
		return nil, errors.New("dockercompose needs the program docker-compose or docker")
	}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("build", m.build),
		loader.F("create", m.create),
		loader.F("get", m.get),
		loader.F("kill", m.kill),
		loader.F("pause", m.pause),
		loader.F("ps", m.ps),
		loader.F("pull", m.pull),
		loader.F("restart", m.restart),
		loader.F("rm", m.rm),
		loader.F("service_create", m.serviceCreate),
		loader.F("service_remove", m.serviceRemove),
		loader.F("service_set_tag", m.serviceSetTag),
		loader.F("service_upsert", m.serviceUpsert),
		loader.F("start", m.start),
		loader.F("stop", m.stop),
		loader.F("unpause", m.unpause),
		loader.F("up", m.up),
	}}, nil
}

// outcome returns a result in the form of all functions. value is nil for none.
func outcome(status bool, message string, value any) *data.Map {
	ret := data.NewMap("status", status, "message", message)
	if value != nil {
		ret.Set("return", value)
	}
	return ret
}

func failed(message string) *data.Map { return outcome(false, message, nil) }

// compose runs the program for a file. The project is named after the directory.
func (m *module) compose(ctx context.Context, file string, words ...string) (calls.Ran, error) {
	dir := filepath.Dir(file)
	argv := slices.Concat(m.program, []string{"--project-directory", dir, "--file", file}, words)
	return calls.RunAll(ctx, m.env, calls.Run{Argv: argv, Dir: dir})
}

// refusal returns the result for a run that failed, nil for others.
func refusal(ran calls.Ran, command string) *data.Map {
	if ran.Retcode == 0 {
		return nil
	}
	text := ran.Stderr
	if text == "" {
		text = ran.Stdout
	}
	return outcome(false, "Docker-compose command "+command+" failed", text)
}

type pathArgs struct{ Path string }

type servicesArgs struct {
	Path         string
	ServiceNames []any `default:"None"`
}

// run runs a command of the program for services; all if there are none. value is the result of a
// success.
func (m *module) run(ctx context.Context, a servicesArgs, message string, value any, words ...string) (any, error) {
	file := m.find(a.Path)
	if file == "" {
		return failed("Could not find docker-compose file at " + a.Path), nil
	}
	names := data.Texts(a.ServiceNames)
	if err := process.PlainOperands(names...); err != nil {
		return nil, loader.Execution("%w", err)
	}
	ran, err := m.compose(ctx, file, slices.Concat(words, names)...)
	if err != nil {
		return nil, err
	}
	if no := refusal(ran, words[0]); no != nil {
		return no, nil
	}
	return outcome(true, message, value), nil
}

// pull fetches the images of services.
//
// service_names
//
//	A list of services. Default: all.
//
// CLI Example:
//
//	salt myminion dockercompose.pull /path/where/docker-compose/stored
//	salt myminion dockercompose.pull /path/where/docker-compose/stored '[janus]'
func (m *module) pull(ctx context.Context, a servicesArgs) (any, error) {
	return m.run(ctx, a, "Pulling containers images via docker-compose succeeded", nil, "pull")
}

// build builds the images of services.
//
// service_names
//
//	A list of services. Default: all.
//
// CLI Example:
//
//	salt myminion dockercompose.build /path/where/docker-compose/stored
func (m *module) build(ctx context.Context, a servicesArgs) (any, error) {
	return m.run(ctx, a, "Building containers images via docker-compose succeeded", nil, "build")
}

// restart restarts the containers of services.
//
// service_names
//
//	A list of services. Default: all.
//
// CLI Example:
//
//	salt myminion dockercompose.restart /path/where/docker-compose/stored
func (m *module) restart(ctx context.Context, a servicesArgs) (any, error) {
	return m.run(ctx, a, "Restarting containers via docker-compose", &data.Map{}, "restart")
}

// stop stops the containers of services.
//
// service_names
//
//	A list of services. Default: all.
//
// CLI Example:
//
//	salt myminion dockercompose.stop /path/where/docker-compose/stored
func (m *module) stop(ctx context.Context, a servicesArgs) (any, error) {
	return m.run(ctx, a, "Stopping containers via docker-compose", &data.Map{}, "stop")
}

// pause pauses the containers of services.
//
// service_names
//
//	A list of services. Default: all.
//
// CLI Example:
//
//	salt myminion dockercompose.pause /path/where/docker-compose/stored
func (m *module) pause(ctx context.Context, a servicesArgs) (any, error) {
	return m.run(ctx, a, "Pausing containers via docker-compose", &data.Map{}, "pause")
}

// unpause continues the paused containers of services.
//
// service_names
//
//	A list of services. Default: all.
//
// CLI Example:
//
//	salt myminion dockercompose.unpause /path/where/docker-compose/stored
func (m *module) unpause(ctx context.Context, a servicesArgs) (any, error) {
	return m.run(ctx, a, "Un-Pausing containers via docker-compose", &data.Map{}, "unpause")
}

// start starts the existing containers of services.
//
// service_names
//
//	A list of services. Default: all.
//
// CLI Example:
//
//	salt myminion dockercompose.start /path/where/docker-compose/stored
func (m *module) start(ctx context.Context, a servicesArgs) (any, error) {
	return m.run(ctx, a, "Starting containers via docker-compose", &data.Map{}, "start")
}

// kill kills the containers of services.
//
// service_names
//
//	A list of services. Default: all.
//
// CLI Example:
//
//	salt myminion dockercompose.kill /path/where/docker-compose/stored
func (m *module) kill(ctx context.Context, a servicesArgs) (any, error) {
	return m.run(ctx, a, "Killing containers via docker-compose", &data.Map{}, "kill")
}

// rm removes the stopped containers of services.
//
// service_names
//
//	A list of services. Default: all.
//
// CLI Example:
//
//	salt myminion dockercompose.rm /path/where/docker-compose/stored
func (m *module) rm(ctx context.Context, a servicesArgs) (any, error) {
	return m.run(ctx, a, "Removing stopped containers via docker-compose", nil, "rm", "--force")
}

// up creates and starts the containers of services. The result says for each container what happened.
//
// service_names
//
//	A list of services. Default: all.
//
// CLI Example:
//
//	salt myminion dockercompose.up /path/where/docker-compose/stored
func (m *module) up(ctx context.Context, a servicesArgs) (any, error) {
	file := m.find(a.Path)
	if file == "" {
		return failed("Could not find docker-compose file at " + a.Path), nil
	}
	before, no, err := m.containers(ctx, file)
	if err != nil || no != nil {
		return no, err
	}
	plan := &data.Map{}
	ret, err := m.run(ctx, a, "Adding containers via docker-compose", plan, "up", "--detach")
	if err != nil {
		return nil, err
	}
	after, no, err := m.containers(ctx, file)
	if err != nil || no != nil {
		return no, err
	}
	for name, v := range after.All() {
		if what := made(before, name, v.(container)); what != "" {
			plan.Set(name, what)
		}
	}
	return ret, nil
}

// made returns what happened to a container.
func made(before *data.Map, name any, now container) string {
	old, was := before.Value(name).(container)
	switch {
	case !was:
		return "Creating container"
	case old.ID != now.ID:
		return "Re-creating container"
	case old.State != now.State && now.State == "running":
		return "Starting container"
	case now.State == "running":
		return "Container is up to date"
	}
	return ""
}

// A container is what docker-compose says of one.
type container struct {
	ID, Name, Command, State string
	ExitCode                 int
	Publishers               []publisher
}

type publisher struct {
	URL           string
	TargetPort    int
	PublishedPort int
	Protocol      string
}

// containers returns the containers of a file by their names, or the result for a failure.
func (m *module) containers(ctx context.Context, file string) (found, no *data.Map, err error) {
	ran, err := m.compose(ctx, file, "ps", "--all", "--format", "json")
	if err != nil {
		return nil, nil, err
	}
	if no := refusal(ran, "ps"); no != nil {
		return nil, no, nil
	}
	list, err := containersOf(ran.Stdout)
	if err != nil {
		return nil, nil, loader.Execution("read the containers of %s: %w", file, err)
	}
	slices.SortFunc(list, func(a, b container) int { return strings.Compare(a.Name, b.Name) })
	found = &data.Map{}
	for _, c := range list {
		found.Set(c.Name, c)
	}
	return found, nil, nil
}

// containersOf reads a list, or a container on each line: releases differ.
func containersOf(text string) ([]container, error) {
	var list []container
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "[") {
		return list, json.Unmarshal([]byte(text), &list)
	}
	for line := range strings.Lines(text) {
		var c container
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}

// longestCommand is the length from which ps shortens a command.
const longestCommand = 30

// ps returns the containers of the services.
//
// CLI Example:
//
//	salt myminion dockercompose.ps /path/where/docker-compose/stored
func (m *module) ps(ctx context.Context, a pathArgs) (any, error) {
	file := m.find(a.Path)
	if file == "" {
		return failed("Could not find docker-compose file at " + a.Path), nil
	}
	found, no, err := m.containers(ctx, file)
	if err != nil || no != nil {
		return no, err
	}
	all := &data.Map{}
	for name, v := range found.All() {
		c := v.(container)
		command := strings.Trim(c.Command, `"`)
		if len(command) > longestCommand {
			command = command[:longestCommand-4] + " ..."
		}
		all.Set(name, data.NewMap("id", c.ID, "name", c.Name, "command", command, "state", c.state(), "ports", c.ports()))
	}
	return outcome(true, "Listing docker-compose containers", all), nil
}

// state returns the state in the words of the library.
func (c container) state() string {
	switch c.State {
	case "running":
		return "Up"
	case "exited":
		return fmt.Sprintf("Exit %d", c.ExitCode)
	case "":
		return ""
	}
	return strings.ToUpper(c.State[:1]) + c.State[1:]
}

func (c container) ports() string {
	var list []string
	for _, p := range c.Publishers {
		text := fmt.Sprintf("%d/%s", p.TargetPort, p.Protocol)
		if p.PublishedPort != 0 {
			text = fmt.Sprintf("%s:%d->%s", p.URL, p.PublishedPort, text)
		}
		list = append(list, text)
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

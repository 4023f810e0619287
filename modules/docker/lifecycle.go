package docker

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/docker"
	"github.com/brineproject/brine/loader"
)

// shutdownTimeout is the number of seconds that a container has to stop.
const shutdownTimeout = 10

// isIn returns the result for a container whose state does not change.
func isIn(state, comment string) *data.Map {
	return data.NewMap("result", false, "state", data.NewMap("old", state, "new", state), "comment", comment)
}

// bring asks for a change of a container's state, and returns the states before and after.
func (m *module) bring(ctx context.Context, name, action, expected string, query url.Values, more time.Duration) (*data.Map, error) {
	pre, err := m.state(ctx, nameArgs{name})
	if err != nil {
		return nil, err
	}
	if action != "restart" && pre == expected {
		return isIn(expected, "Container '"+name+"' already "+expected), nil
	}
	if err := m.post(ctx, action, name, query, more); err != nil {
		return nil, err
	}
	return m.outcome(ctx, name, pre, expected)
}

func (m *module) outcome(ctx context.Context, name string, pre any, expected string) (*data.Map, error) {
	var post any
	if s, err := m.state(ctx, nameArgs{name}); err == nil {
		post = s
	} else if loader.KindOf(err) != loader.KindExecution {
		return nil, err
	}
	return data.NewMap("result", post == expected, "state", data.NewMap("old", pre, "new", post)), nil
}

// kill ends a container at once.
//
// CLI Example:
//
//	salt myminion docker.kill mycontainer
func (m *module) kill(ctx context.Context, a nameArgs) (*data.Map, error) {
	defer m.mine(ctx)
	return m.bring(ctx, a.Name, "kill", "stopped", nil, 0)
}

// pause suspends the processes of a container.
//
// CLI Example:
//
//	salt myminion docker.pause mycontainer
func (m *module) pause(ctx context.Context, a nameArgs) (*data.Map, error) {
	defer m.mine(ctx)
	pre, err := m.state(ctx, a)
	if err != nil {
		return nil, err
	}
	if pre == "stopped" {
		return isIn(pre, "Container '"+a.Name+"' is stopped, cannot pause"), nil
	}
	return m.bring(ctx, a.Name, "pause", "paused", nil, 0)
}

// unpause resumes the processes of a container.
//
// CLI Example:
//
//	salt myminion docker.unpause mycontainer
func (m *module) unpause(ctx context.Context, a nameArgs) (*data.Map, error) {
	defer m.mine(ctx)
	pre, err := m.state(ctx, a)
	if err != nil {
		return nil, err
	}
	if pre == "stopped" {
		return isIn(pre, "Container '"+a.Name+"' is stopped, cannot unpause"), nil
	}
	return m.bring(ctx, a.Name, "unpause", "running", nil, 0)
}

type restartArgs struct {
	Name    string
	Timeout int64 `default:"10"`
}

// restart stops a container and starts it again.
//
// timeout
//
//	Seconds that it has to stop by itself.
//
// CLI Example:
//
//	salt myminion docker.restart mycontainer
//	salt myminion docker.restart mycontainer timeout=20
func (m *module) restart(ctx context.Context, a restartArgs) (*data.Map, error) {
	ret, err := m.bring(ctx, a.Name, "restart", "running", wait(a.Timeout), time.Duration(a.Timeout)*time.Second)
	if err == nil && ret.Value("result") == true {
		ret.Set("restarted", true)
	}
	return ret, err
}

func wait(seconds int64) url.Values { return url.Values{"t": {strconv.FormatInt(seconds, 10)}} }

type signalArgs struct {
	Name   string
	Signal any
}

// signal sends a signal to a container's main program.
//
// CLI Example:
//
//	salt myminion docker.signal mycontainer SIGHUP
func (m *module) signal(ctx context.Context, a signalArgs) (bool, error) {
	defer m.mine(ctx)
	err := m.post(ctx, "kill", a.Name, url.Values{"signal": {data.Str(a.Signal)}}, 0)
	return err == nil, err
}

// start starts a container.
//
// CLI Example:
//
//	salt myminion docker.start mycontainer
func (m *module) start(ctx context.Context, a nameArgs) (*data.Map, error) {
	defer m.mine(ctx)
	pre, err := m.state(ctx, a)
	if err != nil {
		return nil, err
	}
	if pre == "paused" {
		return isIn(pre, "Container '"+a.Name+"' is paused, cannot start"), nil
	}
	return m.bring(ctx, a.Name, "start", "running", nil, 0)
}

type stopArgs struct {
	Name    string
	Timeout any       `default:"None"`
	Kwargs  *data.Map `kwargs:"kwargs"`
}

// stop stops a container.
//
// timeout
//
//	Seconds that it has to stop by itself. None takes those of the container, or else 10.
//
// unpause
//
//	Resume a paused container first; otherwise such a container is left as it is.
//
// CLI Example:
//
//	salt myminion docker.stop mycontainer
//	salt myminion docker.stop mycontainer unpause=True
//	salt myminion docker.stop mycontainer timeout=20
func (m *module) stop(ctx context.Context, a stopArgs) (*data.Map, error) {
	defer m.mine(ctx)
	found, err := m.container(ctx, a.Name)
	if err != nil {
		return nil, err
	}
	timeout := a.Timeout
	if timeout == nil {
		if timeout = dict(found.Value("Config")).Value("StopTimeout"); timeout == nil {
			timeout = int64(shutdownTimeout)
		}
	}
	seconds, err := loader.Int(timeout)
	if err != nil {
		return nil, loader.Invocation("timeout must be a number of seconds, not %s", data.Repr(timeout))
	}
	pre := stateOf(found)
	if pre == "paused" {
		if !data.Truth(a.Kwargs.Value("unpause")) {
			return isIn(pre, "Container '"+a.Name+"' is paused, run with unpause=True to unpause before stopping"), nil
		}
		ret, err := m.bring(ctx, a.Name, "unpause", "running", nil, 0)
		if err != nil || ret.Value("result") == false {
			dict(ret).Set("comment", "Failed to unpause container '"+a.Name+"'")
			return ret, err
		}
	}
	ret, err := m.bring(ctx, a.Name, "stop", "stopped", wait(seconds), time.Duration(seconds)*time.Second)
	if err != nil {
		return nil, err
	}
	dict(ret.Value("state")).Set("old", pre)
	return ret, nil
}

type waitArgs struct {
	Name                 string
	IgnoreAlreadyStopped bool `default:"False"`
	FailOnExitStatus     bool `default:"False"`
}

// wait waits until a container stops, and returns its exit status.
//
// ignore_already_stopped
//
//	A container that is stopped already, or absent, is a success.
//
// fail_on_exit_status
//
//	An exit status other than 0 is a failure.
//
// CLI Example:
//
//	salt myminion docker.wait mycontainer
func (m *module) wait(ctx context.Context, a waitArgs) (*data.Map, error) {
	pre, err := m.state(ctx, nameArgs{a.Name})
	if err != nil {
		if loader.KindOf(err) != loader.KindExecution {
			return nil, err
		}
		return data.NewMap("result", a.IgnoreAlreadyStopped, "comment", "Container '"+a.Name+"' absent"), nil
	}
	response, err := m.ask(ctx, "wait", docker.Request{Method: http.MethodPost, Path: docker.Path("containers", a.Name,
		"wait"), Endless: true})
	if err != nil {
		return nil, err
	}
	ret, err := m.outcome(ctx, a.Name, pre, "stopped")
	if err != nil {
		return nil, err
	}
	ret.Set("exit_status", response)
	if pre == "stopped" {
		ret.Set("result", a.IgnoreAlreadyStopped)
		ret.Set("comment", "Container '"+a.Name+"' already stopped")
	}
	if a.FailOnExitStatus && ret.Value("result") == true {
		ret.Set("result", exitCode(response) == 0)
	}
	return ret, nil
}

// exitCode returns the code of the engine's answer to wait. Salt compares the whole answer with 0, so that
// every container fails.
func exitCode(response any) int64 {
	if m, ok := response.(*data.Map); ok {
		response = m.Value("StatusCode")
	}
	n, err := loader.Int(response)
	if err != nil {
		return -1
	}
	return n
}

type rmArgs struct {
	Name    string
	Force   bool      `default:"False"`
	Volumes bool      `default:"False"`
	Kwargs  *data.Map `kwargs:"kwargs"`
}

// rm removes a container and returns the IDs of those that are gone.
//
// force
//
//	Kill it if it runs.
//
// volumes
//
//	Remove its anonymous volumes too.
//
// stop, timeout
//
//	Stop it if it runs; the seconds that it has for that.
//
// CLI Example:
//
//	salt myminion docker.rm mycontainer
//	salt myminion docker.rm mycontainer force=True
func (m *module) rm(ctx context.Context, a rmArgs) ([]any, error) {
	defer m.mine(ctx)
	if err := only(a.Kwargs, "stop", "timeout"); err != nil {
		return nil, err
	}
	found, err := m.container(ctx, a.Name)
	if err != nil {
		return nil, err
	}
	stop := data.Truth(a.Kwargs.Value("stop"))
	if stateOf(found) == "running" && !a.Force && !stop {
		return nil, loader.Execution("Container '%s' is running, use force=True to forcibly remove this container", a.Name)
	}
	gone := false
	if stop && !a.Force {
		if _, err := m.stop(ctx, stopArgs{Name: a.Name, Timeout: a.Kwargs.Value("timeout")}); err != nil {
			return nil, err
		}
		gone = data.Truth(dict(found.Value("HostConfig")).Value("AutoRemove"))
	}
	pre, err := m.ids(ctx)
	if err != nil {
		return nil, err
	}
	if !gone {
		_, err := m.ask(ctx, "remove_container", docker.Request{Method: http.MethodDelete, Path: docker.Path("containers", a.Name),
			Query: url.Values{"v": {flag(a.Volumes)}, "link": {"0"}, "force": {flag(a.Force)}}})
		if err != nil {
			return nil, err
		}
	}
	post, err := m.ids(ctx)
	if err != nil {
		return nil, err
	}
	return without(pre, post), nil
}

// ids returns the IDs of all containers.
func (m *module) ids(ctx context.Context) ([]any, error) {
	all, err := m.ps(ctx, psArgs{Kwargs: data.NewMap("all", true)})
	if err != nil {
		return nil, err
	}
	return all.Keys(), nil
}

// without returns the elements of a that b does not have.
func without(a, b []any) []any {
	left := []any{}
	for _, v := range a {
		if !slices.Contains(b, v) {
			left = append(left, v)
		}
	}
	return left
}

type renameArgs struct {
	Name    string
	NewName string
}

// rename gives a container another name.
//
// CLI Example:
//
//	salt myminion docker.rename foo bar
func (m *module) rename(ctx context.Context, a renameArgs) (bool, error) {
	before, err := m.container(ctx, a.Name)
	if err != nil {
		return false, err
	}
	id := before.Text("Id")
	if err := m.post(ctx, "rename", id, url.Values{"name": {a.NewName}}, 0); err != nil {
		return false, err
	}
	after, err := m.container(ctx, a.NewName)
	return err == nil && after.Text("Id") == id, err
}

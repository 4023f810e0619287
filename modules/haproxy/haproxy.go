// Package haproxy is Salt's module haproxy: the servers and backends of HAProxy, over its admin socket
// (salt/modules/haproxyconn.py and the library haproxyctl).
//
// Differences from Salt: set_weight sets the weight, which Salt's does not. A backend has its own servers
// only, and not those of backends whose name begins with its name. The status in haproxy.get_backend is
// complete (no check, UP 1/2). An error of HAProxy is one of enable_server, disable_server and set_weight
// too. wait_state waits between its looks at the socket.
package haproxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/clock"
	"github.com/brineproject/brine/loader"
)

// Plugin returns the module haproxy.
func Plugin() loader.Plugin {
	return loader.Plugin{Name: "haproxy", File: "haproxyconn", New: newModule}
}

type module struct{}

func newModule(*loader.Env) (*loader.Module, error) {
	m := &module{}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("disable_server", m.disableServer),
		loader.F("enable_server", m.enableServer),
		loader.F("get_backend", m.getBackend),
		loader.F("get_sessions", m.getSessions),
		loader.F("get_weight", m.getWeight),
		loader.F("list_backends", m.listBackends),
		loader.F("list_frontends", m.listFrontends),
		loader.F("list_servers", m.listServers),
		loader.F("set_state", m.setState),
		loader.F("set_weight", m.setWeight),
		loader.F("show_backends", m.showBackends),
		loader.F("show_frontends", m.showFrontends),
		loader.F("wait_state", m.waitState),
	}}, nil
}

// Limits of a command.
const (
	limit     = 10 * time.Second
	maxAnswer = 64 << 20 // bytes
	pause     = 500 * time.Millisecond
)

// send sends a command to the socket of HAProxy and returns the answer.
func send(ctx context.Context, socket, command string) (string, error) {
	info, err := os.Stat(socket)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", loader.Exception("AssertionError", "%s does not exist.", socket)
	case err != nil:
		return "", loader.OSError(err)
	case info.Mode()&fs.ModeSocket == 0:
		return "", loader.Exception("AssertionError", "%s is not a socket.", socket)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	c, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil {
		return "", loader.Execution("connect to HAProxy: %w", err)
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	if _, err := io.WriteString(c, command+"\r\n"); err != nil {
		return "", loader.Execution("send a command to %s: %w", socket, err)
	}
	text, err := io.ReadAll(io.LimitReader(c, maxAnswer+1))
	switch {
	case err != nil:
		return "", loader.Execution("read the answer of HAProxy from %s: %w", socket, err)
	case len(text) > maxAnswer:
		return "", loader.Execution("the answer of HAProxy has more than %d bytes", maxAnswer)
	}
	return string(text), nil
}

// word is the form of the names in HAProxy's configuration. Other signs could end a command.
var word = regexp.MustCompile(`^[A-Za-z0-9_.:-]+$`)

// server returns BACKEND/SERVER for a command.
func server(backend, name string) (string, error) {
	for _, part := range []string{backend, name} {
		if !word.MatchString(part) {
			return "", loader.Invocation("%q is not a name of HAProxy", part)
		}
	}
	return backend + "/" + name, nil
}

// A row is a line of the statistics.
type row struct{ proxy, name, status, weight, in, out, sessions string }

// text returns the line of haproxy.list_servers.
func (r row) text() string {
	return fmt.Sprintf("Name: %s Status: %s Weight: %s bIn: %s bOut: %s", r.name, r.status, r.weight, r.in,
		r.out)
}

// parse reads the statistics: a line with the names of the columns and a line for each frontend, backend
// and server.
func parse(text string) ([]row, error) {
	head, rest, _ := strings.Cut(text, "\n")
	head, ok := strings.CutPrefix(head, "# ")
	if !ok {
		return nil, loader.Exception("Exception", "Could not parse columns from HAProxy output")
	}
	columns := strings.Split(strings.TrimSpace(head), ",")
	var rows []row
	for line := range strings.Lines(rest) {
		fields := strings.Split(strings.TrimRight(line, "\r\n"), ",")
		get := func(name string) string {
			if i := slices.Index(columns, name); i >= 0 && i < len(fields) {
				return fields[i]
			}
			return ""
		}
		if len(fields) > 1 {
			rows = append(rows, row{get("pxname"), get("svname"), get("status"), get("weight"), get("bin"),
				get("bout"), get("scur")})
		}
	}
	return rows, nil
}

func statistics(ctx context.Context, socket string) ([]row, error) {
	text, err := send(ctx, socket, "show stat")
	if err != nil {
		return nil, err
	}
	return parse(text)
}

// servers returns the rows of a backend without that of the backend itself.
func servers(ctx context.Context, socket, backend string) ([]row, error) {
	rows, err := statistics(ctx, socket)
	return slices.DeleteFunc(rows, func(r row) bool { return r.proxy != backend || r.name == "BACKEND" }), err
}

// proxies returns the names of the proxies with a row of this name: FRONTEND or BACKEND.
func proxies(ctx context.Context, socket, kind string) ([]string, error) {
	rows, err := statistics(ctx, socket)
	var names []string
	for _, r := range rows {
		if r.name == kind {
			names = append(names, r.proxy)
		}
	}
	return names, err
}

type listArgs struct {
	Backend   string
	Socket    string `default:"'/var/run/haproxy.sock'"`
	Objectify any    `default:"False"`
}

// listServers returns a text with a line for each server of a backend: its name, status, weight and bytes
// in and out.
//
// objectify
//
//	True: a list of the lines.
//
// socket
//
//	The socket of HAProxy (stats socket), for this and the other functions. Those that change something
//	need level
//	admin there.
//
// CLI Example:
//
//	salt '*' haproxy.list_servers mysql
func (m *module) listServers(ctx context.Context, a listArgs) (any, error) {
	rows, err := servers(ctx, a.Socket, a.Backend)
	if err != nil {
		return nil, err
	}
	lines := make([]string, len(rows))
	for i, r := range rows {
		lines[i] = r.text()
	}
	if data.Truth(a.Objectify) {
		return data.Values(lines), nil
	}
	return strings.Join(lines, "\n"), nil
}

type waitArgs struct {
	Backend string
	Server  string
	Value   string  `default:"'up'"`
	Timeout float64 `default:"300"`
	Socket  string  `default:"'/var/run/haproxy.sock'"`
}

// waitState waits until a server has a status, and returns whether it has it before timeout seconds have
// passed. Case does not count.
//
// CLI Example:
//
//	salt '*' haproxy.wait_state mysql server01 up 60
func (m *module) waitState(ctx context.Context, a waitArgs) (any, error) {
	end := time.Now().Add(time.Duration(a.Timeout * float64(time.Second)))
	for time.Now().Before(end) {
		rows, err := servers(ctx, a.Socket, a.Backend)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(rows, func(r row) bool { return r.name == a.Server })
		if i < 0 {
			return nil, loader.Exception("KeyError", "%s", data.Repr(a.Server))
		}
		if strings.EqualFold(rows[i].status, a.Value) {
			return true, nil
		}
		if err := clock.Sleep(ctx, min(pause, time.Until(end))); err != nil {
			return nil, err
		}
	}
	return false, nil
}

type backendArgs struct {
	Backend string
	Socket  string `default:"'/var/run/haproxy.sock'"`
}

// getBackend returns the servers of a backend by name, each with status, weight, bin and bout.
//
// CLI Example:
//
//	salt '*' haproxy.get_backend mysql
func (m *module) getBackend(ctx context.Context, a backendArgs) (any, error) {
	rows, err := servers(ctx, a.Socket, a.Backend)
	if err != nil {
		return nil, err
	}
	return table(rows), nil
}

func table(rows []row) *data.Map {
	all := &data.Map{}
	for _, r := range rows {
		all.Set(r.name, data.NewMap("status", r.status, "weight", number(r.weight), "bin", number(r.in),
			"bout", number(r.out)))
	}
	return all
}

// number returns a count: 0 if there is none, and a text that is not a number as it is.
func number(text string) any {
	if text == "" {
		return int64(0)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return text
	}
	return n
}

type serverArgs struct {
	Name    string
	Backend string
	Socket  string `default:"'/var/run/haproxy.sock'"`
}

// enableServer lets HAProxy use a server of a backend again, and returns the lines of its servers by the
// name of the backend. The backend * stands for all.
//
// CLI Example:
//
//	salt '*' haproxy.enable_server web1.example.com www
func (m *module) enableServer(ctx context.Context, a serverArgs) (any, error) {
	return m.switchServer(ctx, "enable", a)
}

// disableServer puts a server of a backend into maintenance, and returns the lines of its servers by the
// name of the backend. The backend * stands for all.
//
// CLI Example:
//
//	salt '*' haproxy.disable_server db1.example.com mysql
func (m *module) disableServer(ctx context.Context, a serverArgs) (any, error) {
	return m.switchServer(ctx, "disable", a)
}

func (m *module) switchServer(ctx context.Context, verb string, a serverArgs) (any, error) {
	backends := []string{a.Backend}
	if a.Backend == "*" {
		var err error
		if backends, err = proxies(ctx, a.Socket, "BACKEND"); err != nil {
			return nil, err
		}
	}
	results := &data.Map{}
	for _, backend := range backends {
		of, err := server(backend, a.Name)
		if err != nil {
			return nil, err
		}
		answer, err := send(ctx, a.Socket, verb+" server "+of)
		if err != nil {
			return nil, err
		}
		if text := strings.TrimSpace(answer); text != "" && (a.Backend != "*" || text != "No such server.") {
			return nil, loader.Execution("%s server %s: %s", verb, of, text)
		}
		lines, err := m.listServers(ctx, listArgs{Backend: backend, Socket: a.Socket})
		if err != nil {
			return nil, err
		}
		results.Set(backend, lines)
	}
	return results, nil
}

// getWeight returns HAProxy's text on the weight of a server.
//
// CLI Example:
//
//	salt '*' haproxy.get_weight web1.example.com www
func (m *module) getWeight(ctx context.Context, a serverArgs) (any, error) {
	of, err := server(a.Backend, a.Name)
	if err != nil {
		return nil, err
	}
	text, err := send(ctx, a.Socket, "get weight "+of)
	return text, err
}

type weightArgs struct {
	Name    string
	Backend string
	Weight  any    `default:"0"`
	Socket  string `default:"'/var/run/haproxy.sock'"`
}

// setWeight sets the weight of a server, and returns HAProxy's text on it. weight is a number, or one with
// a percent sign.
//
// CLI Example:
//
//	salt '*' haproxy.set_weight web1.example.com www 13
func (m *module) setWeight(ctx context.Context, a weightArgs) (any, error) {
	of, err := server(a.Backend, a.Name)
	if err != nil {
		return nil, err
	}
	weight := data.Str(a.Weight)
	if !regexp.MustCompile(`^[0-9]+%?$`).MatchString(weight) {
		return nil, loader.Invocation("%q is not a weight", weight)
	}
	answer, err := send(ctx, a.Socket, "set weight "+of+" "+weight)
	if err != nil {
		return nil, err
	}
	if text := strings.TrimSpace(answer); text != "" {
		return nil, loader.Execution("set weight %s: %s", of, text)
	}
	return m.getWeight(ctx, serverArgs{a.Name, a.Backend, a.Socket})
}

type stateArgs struct {
	Name    string
	Backend string
	State   string
	Socket  string `default:"'/var/run/haproxy.sock'"`
}

// setState sets the administrative state of a server: ready, drain or maint. It returns HAProxy's answer,
// which is a line end after a success.
//
// CLI Example:
//
//	salt '*' haproxy.set_state web1.example.com www maint
func (m *module) setState(ctx context.Context, a stateArgs) (any, error) {
	of, err := server(a.Backend, a.Name)
	if err != nil {
		return nil, err
	}
	if !word.MatchString(a.State) {
		return nil, loader.Invocation("%q is not a state", a.State)
	}
	return send(ctx, a.Socket, "set server "+of+" state "+a.State)
}

type socketArgs struct {
	Socket string `default:"'/var/run/haproxy.sock'"`
}

// showFrontends returns a text with the name of a frontend on each line.
//
// CLI Example:
//
//	salt '*' haproxy.show_frontends
func (m *module) showFrontends(ctx context.Context, a socketArgs) (any, error) {
	names, err := proxies(ctx, a.Socket, "FRONTEND")
	return strings.Join(names, "\n"), err
}

// listFrontends returns the names of the frontends.
//
// CLI Example:
//
//	salt '*' haproxy.list_frontends
func (m *module) listFrontends(ctx context.Context, a socketArgs) (any, error) {
	names, err := proxies(ctx, a.Socket, "FRONTEND")
	return data.Values(names), err
}

// showBackends returns a text with the name of a backend on each line.
//
// CLI Example:
//
//	salt '*' haproxy.show_backends
func (m *module) showBackends(ctx context.Context, a socketArgs) (any, error) {
	names, err := proxies(ctx, a.Socket, "BACKEND")
	return strings.Join(names, "\n"), err
}

type backendsArgs struct {
	Servers any    `default:"True"`
	Socket  string `default:"'/var/run/haproxy.sock'"`
}

// listBackends returns the backends by name, each with its servers as in haproxy.get_backend.
//
// servers
//
//	False: only the names, as a list.
//
// CLI Example:
//
//	salt '*' haproxy.list_backends
func (m *module) listBackends(ctx context.Context, a backendsArgs) (any, error) {
	names, err := proxies(ctx, a.Socket, "BACKEND")
	if err != nil || !data.Truth(a.Servers) {
		return data.Values(names), err
	}
	all := &data.Map{}
	for _, name := range names {
		rows, err := servers(ctx, a.Socket, name)
		if err != nil {
			return nil, err
		}
		all.Set(name, table(rows))
	}
	return all, nil
}

// getSessions returns the number of current sessions of a server as a text, or None if it is not there.
//
// CLI Example:
//
//	salt '*' haproxy.get_sessions web1.example.com www
func (m *module) getSessions(ctx context.Context, a serverArgs) (any, error) {
	rows, err := servers(ctx, a.Socket, a.Backend)
	for _, r := range rows {
		if r.name == a.Name {
			return r.sessions, nil
		}
	}
	return nil, err
}

package docker

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/docker"
	"github.com/brineproject/brine/internal/pyjson"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

// clientTimeout is the number of seconds that Salt waits for the engine.
const clientTimeout = 60

// limits say how long an engine may be silent during a request that takes it long. Salt's client has no
// limit there, or runs the program docker, which has none.
type limits struct {
	transfer time.Duration // while it pulls or pushes an image
	work     time.Duration // while it builds, loads, saves, copies, commits or prunes
}

// usual returns the limits of the module.
func usual() limits { return limits{transfer: 10 * time.Minute, work: time.Hour} }

// settings are what a client is made of.
type settings struct {
	url, version string
	timeout      time.Duration
	secured      bool
	tls          docker.TLS
}

// engine returns the client of the engine that the options name.
func (m *module) engine(ctx context.Context) (engine, error) {
	s, err := m.settings(ctx)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.client != nil && m.options == s {
		return m.client, nil
	}
	o := docker.Options{URL: s.url, Version: s.version, Timeout: s.timeout}
	if s.secured {
		o.TLS = &s.tls
	}
	c, err := docker.New(ctx, o)
	if err != nil {
		return nil, loader.Execution("%w", err)
	}
	if m.client != nil {
		m.client.Close()
	}
	m.client, m.options = c, s
	return c, nil
}

// forget drops the client, so that the next call asks the engine for its version again.
func (m *module) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.client != nil {
		m.client.Close()
	}
	m.client = nil
}

func (m *module) settings(ctx context.Context) (settings, error) {
	s := settings{timeout: clientTimeout * time.Second}
	for name, to := range map[string]*string{"docker.url": &s.url, "docker.version": &s.version} {
		v, err := calls.Option[any](ctx, m.env, name, nil)
		if err != nil {
			return s, err
		}
		if data.Truth(v) {
			*to = data.Str(v)
		}
	}
	v, err := calls.Option[any](ctx, m.env, "docker.timeout", nil)
	if err != nil {
		return s, err
	}
	if data.Truth(v) {
		n, err := loader.Float(v)
		if err != nil || n < 0 || n > 1e6 {
			return s, loader.Invocation("docker.timeout must be a number of seconds, not %s", data.Repr(v))
		}
		s.timeout = time.Duration(n * float64(time.Second))
	}
	if s.url == "" {
		s.url = os.Getenv("DOCKER_HOST")
	}
	s.tls, s.secured = environmentTLS()
	return s, m.machine(ctx, &s)
}

// environmentTLS returns the certificates that docker's programs take from the environment. The engine's
// certificate is verified, unless DOCKER_TLS_VERIFY is set and empty.
func environmentTLS() (docker.TLS, bool) {
	dir := os.Getenv("DOCKER_CERT_PATH")
	verify, given := os.LookupEnv("DOCKER_TLS_VERIFY")
	if dir == "" && verify == "" {
		return docker.TLS{}, false
	}
	if dir == "" {
		home, _ := os.UserHomeDir()
		dir = filepath.Join(home, ".docker")
	}
	return docker.TLS{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem"),
		CA: filepath.Join(dir, "ca.pem"), NoVerify: given && verify == ""}, true
}

// within returns the engine and a request for it that pulls or pushes an image. The argument client_timeout
// is the number of seconds for which the engine may be silent, unless it has its default.
func (m *module) within(ctx context.Context, r docker.Request, timeout any) (engine, docker.Request, error) {
	e, err := m.engine(ctx)
	if err != nil {
		return nil, r, err
	}
	r.Silence = m.limits.transfer
	if timeout == nil || data.Equal(timeout, int64(clientTimeout)) {
		return e, r, nil
	}
	n, err := loader.Float(timeout)
	if err != nil || !(n > 0 && n <= 1e6) {
		return nil, r, loader.Invocation("client_timeout must be a number of seconds, not %s", data.Repr(timeout))
	}
	r.Silence = 0
	return e.WithTimeout(time.Duration(n * float64(time.Second))), r, nil
}

// machine takes address and certificates from docker-machine if the option docker.machine names one.
func (m *module) machine(ctx context.Context, s *settings) error {
	name, err := calls.Option[any](ctx, m.env, "docker.machine", nil)
	if err != nil || !data.Truth(name) {
		return err
	}
	ran, err := calls.RunAll(ctx, m.env, calls.Run{Argv: []string{"docker-machine", "inspect", "--", data.Str(name)}})
	if err != nil {
		return err
	}
	v, err := pyjson.Load(ran.Stdout)
	if err != nil {
		return loader.Execution("Docker machine %s failed: %s", data.Str(name), err)
	}
	auth, _ := data.Lookup(v, "HostOptions:AuthOptions", ":")
	address, _ := data.Lookup(v, "Driver:IPAddress", ":")
	files, ok := auth.(*data.Map)
	if !ok || address == nil {
		return loader.Execution("Docker machine %s failed: its description names no address or certificates", data.Str(name))
	}
	s.url = "https://" + data.Str(address) + ":2376"
	s.secured = true
	s.tls = docker.TLS{Cert: files.Text("ClientCertPath"), Key: files.Text("ClientKeyPath"), CA: files.Text("CaCertPath")}
	return nil
}

// failed returns the error of a request in Salt's words. action is the name that docker's client for Python
// has for the request.
func (m *module) failed(action string, err error) error {
	var refused *docker.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused):
		return loader.Execution("%w", err)
	case loader.KindOf(err) != loader.KindExecution:
		return err
	}
	m.forget()
	return loader.Execution("Unable to perform %s: %w", action, err)
}

// ask sends a request and returns the answer.
func (m *module) ask(ctx context.Context, action string, r docker.Request) (any, error) {
	e, err := m.engine(ctx)
	if err != nil {
		return nil, err
	}
	v, err := e.Call(ctx, r)
	return v, m.failed(action, err)
}

// get asks for one thing by its name.
func (m *module) get(ctx context.Context, action, kind, name, what string) (*data.Map, error) {
	if name == "" {
		return nil, loader.Execution("Resource ID was not provided")
	}
	path := docker.Path(kind, name)
	if what != "" {
		path = docker.Path(kind, name, what)
	}
	v, err := m.ask(ctx, action, docker.Request{Method: http.MethodGet, Path: path})
	if err != nil {
		return nil, err
	}
	found, ok := v.(*data.Map)
	if !ok {
		return nil, loader.Execution("Unable to perform %s: the engine's answer is no dictionary", action)
	}
	return found, nil
}

// post asks for a change of a container.
func (m *module) post(ctx context.Context, action, name string, query url.Values, more time.Duration) error {
	if name == "" {
		return loader.Execution("Resource ID was not provided")
	}
	_, err := m.ask(ctx, action, docker.Request{Method: http.MethodPost, Path: docker.Path("containers", name, action),
		Query: query, Patient: more})
	return err
}

// filters returns the parameter filters of a request.
func filters(given *data.Map) (url.Values, error) {
	all := data.NewMap()
	for k, v := range given.All() {
		switch one := v.(type) {
		case bool:
			v = []any{map[bool]string{true: "true", false: "false"}[one]}
		case []any:
			v = data.Values(data.Texts(one))
		default:
			v = []any{data.Str(one)}
		}
		all.Set(k, v)
	}
	text, err := pyjson.Append(nil, all, pyjson.Options{Comma: ",", Colon: ":"})
	if err != nil {
		return nil, loader.Execution("encode the filters: %w", err)
	}
	return url.Values{"filters": {string(text)}}, nil
}

func flag(v any) string {
	if data.Truth(v) {
		return "1"
	}
	return "0"
}

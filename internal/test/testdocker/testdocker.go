// Package testdocker is an engine of Docker for tests, by the documented API. It keeps containers, images,
// networks and volumes in memory, and its answers have the fields and the error texts of Docker Engine 24.
// IDs follow from the order of requests, so that recorded answers stay the same.
//
// Containers do not run. One whose command is true, false, echo or exit ends at once, with the output and
// the code that such a command has; any other runs until it is stopped. Programs in containers (exec) do
// run, on this host, and files in containers are those of this host below Root.
//
// container.go, image.go, network.go and volume.go have the requests by their objects, and exec.go those
// that run programs and copy files.
package testdocker

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// object is a JSON object.
type object = map[string]any

// An Engine is the state of an engine.
type Engine struct {
	Root string // the files of all containers are those below this directory

	mu         sync.Mutex
	made       int // objects made so far
	containers []*container
	images     []*image
	networks   []*network
	volumes    []object
	execs      map[string]*program
	asked      []string
}

// New returns an engine with the networks that each engine has, and the image busybox.
func New() *Engine {
	e := &Engine{execs: map[string]*program{}}
	for _, name := range []string{"bridge", "host", "none"} {
		driver := name
		if name == "none" {
			driver = "null"
		}
		n := e.addNetwork(name, object{"Driver": driver})
		if name != "bridge" {
			n.spec["IPAM"] = object{"Driver": "default", "Options": nil, "Config": []any{}}
		}
	}
	e.addImage("busybox", "latest", "")
	return e
}

// Listen serves the engine on a unix socket until the test ends. It returns the URL.
func (e *Engine) Listen(t testing.TB) string {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "docker.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: e, ReadHeaderTimeout: time.Minute}
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close(); <-done })
	return "unix://" + socket
}

// Asked returns the requests that may have changed something, each with its method, path and body, and
// forgets them.
func (e *Engine) Asked() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	asked := e.asked
	e.asked = nil
	return asked
}

// refusal is an error that the engine answers with.
type refusal struct {
	status int
	text   string
}

func (r refusal) Error() string { return r.text }

func refuse(status int, format string, args ...any) error {
	return refusal{status, fmt.Sprintf(format, args...)}
}

// call is one request.
type call struct {
	*http.Request
	body object
	w    http.ResponseWriter
}

func (c call) flag(name string) bool {
	v := c.URL.Query().Get(name)
	return v == "1" || strings.EqualFold(v, "true")
}

// filters returns the values of a filter.
func (c call) filters(name string) []string {
	var all map[string][]string
	_ = json.Unmarshal([]byte(c.URL.Query().Get("filters")), &all)
	return all[name]
}

// answered is returned by functions that wrote the answer themselves.
type answered struct{}

// status is an answer without body.
type status int

var routes = []struct {
	method, path string
	do           func(e *Engine, c call, name string) (any, error)
}{
	{"GET", `/version`, (*Engine).version},
	{"GET", `/info`, (*Engine).info},
	{"GET", `/containers/json`, (*Engine).listContainers},
	{"POST", `/containers/create`, (*Engine).createContainer},
	{"POST", `/containers/prune`, (*Engine).pruneContainers},
	{"GET", `/containers/(.+)/json`, (*Engine).inspectContainer},
	{"POST", `/containers/(.+)/start`, (*Engine).start},
	{"POST", `/containers/(.+)/stop`, (*Engine).stop},
	{"POST", `/containers/(.+)/kill`, (*Engine).kill},
	{"POST", `/containers/(.+)/restart`, (*Engine).restart},
	{"POST", `/containers/(.+)/pause`, (*Engine).pause},
	{"POST", `/containers/(.+)/unpause`, (*Engine).unpause},
	{"POST", `/containers/(.+)/rename`, (*Engine).rename},
	{"POST", `/containers/(.+)/wait`, (*Engine).wait},
	{"POST", `/containers/(.+)/exec`, (*Engine).makeExec},
	{"GET", `/containers/(.+)/logs`, (*Engine).logs},
	{"GET", `/containers/(.+)/top`, (*Engine).top},
	{"GET", `/containers/(.+)/changes`, (*Engine).changes},
	{"GET", `/containers/(.+)/export`, (*Engine).export},
	{"GET", `/containers/(.+)/archive`, (*Engine).getArchive},
	{"HEAD", `/containers/(.+)/archive`, (*Engine).getArchive},
	{"PUT", `/containers/(.+)/archive`, (*Engine).putArchive},
	{"DELETE", `/containers/(.+)`, (*Engine).removeContainer},
	{"POST", `/exec/(.+)/start`, (*Engine).startExec},
	{"GET", `/exec/(.+)/json`, (*Engine).inspectExec},
	{"POST", `/commit`, (*Engine).commit},
	{"POST", `/build`, (*Engine).build},
	{"POST", `/build/prune`, (*Engine).pruneBuild},
	{"GET", `/images/json`, (*Engine).listImages},
	{"GET", `/images/search`, (*Engine).search},
	{"POST", `/images/create`, (*Engine).pull},
	{"POST", `/images/load`, (*Engine).load},
	{"POST", `/images/prune`, (*Engine).pruneImages},
	{"GET", `/images/(.+)/json`, (*Engine).inspectImage},
	{"GET", `/images/(.+)/history`, (*Engine).history},
	{"GET", `/images/(.+)/get`, (*Engine).save},
	{"POST", `/images/(.+)/tag`, (*Engine).tag},
	{"POST", `/images/(.+)/push`, (*Engine).push},
	{"DELETE", `/images/(.+)`, (*Engine).removeImage},
	{"GET", `/networks`, (*Engine).listNetworks},
	{"POST", `/networks/create`, (*Engine).createNetwork},
	{"POST", `/networks/prune`, (*Engine).pruneNetworks},
	{"POST", `/networks/(.+)/connect`, (*Engine).connect},
	{"POST", `/networks/(.+)/disconnect`, (*Engine).disconnect},
	{"GET", `/networks/(.+)`, (*Engine).inspectNetwork},
	{"DELETE", `/networks/(.+)`, (*Engine).removeNetwork},
	{"GET", `/volumes`, (*Engine).listVolumes},
	{"POST", `/volumes/create`, (*Engine).createVolume},
	{"POST", `/volumes/prune`, (*Engine).pruneVolumes},
	{"GET", `/volumes/(.+)`, (*Engine).inspectVolume},
	{"DELETE", `/volumes/(.+)`, (*Engine).removeVolume},
}

var versioned = regexp.MustCompile(`^/v1\.\d+`)

// ServeHTTP answers one request.
func (e *Engine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := versioned.ReplaceAllString(r.URL.Path, "")
	c := call{Request: r, w: w}
	if r.Header.Get("Content-Type") == "application/json" {
		text, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		if err == nil && len(text) > 0 {
			err = json.Unmarshal(text, &c.body)
		}
		if err != nil {
			answer(w, nil, refuse(http.StatusBadRequest, "invalid JSON: %v", err))
			return
		}
	}
	e.note(c, path)
	for _, route := range routes {
		found := regexp.MustCompile("^" + route.path + "$").FindStringSubmatch(path)
		if found == nil || r.Method != route.method {
			continue
		}
		name := ""
		if len(found) > 1 {
			name = found[1]
		}
		v, err := route.do(e, c, name)
		answer(w, v, err)
		return
	}
	answer(w, nil, refuse(http.StatusNotFound, "page not found"))
}

func (e *Engine) note(c call, path string) {
	if c.Method == http.MethodGet || c.Method == http.MethodHead || strings.HasPrefix(path, "/exec/") {
		return
	}
	line := c.Method + " " + path
	if q := c.URL.Query(); len(q) > 0 {
		line += "?" + q.Encode()
	}
	if c.body != nil {
		text, _ := json.Marshal(c.body)
		line += " " + string(text)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.asked = append(e.asked, line)
}

func answer(w http.ResponseWriter, v any, err error) {
	if r, ok := errors.AsType[refusal](err); ok {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(r.status)
		_ = json.NewEncoder(w).Encode(object{"message": r.text})
		return
	}
	switch v := v.(type) {
	case answered:
	case status:
		w.WriteHeader(int(v))
	case []byte:
		_, _ = w.Write(v)
	default:
		w.Header().Set("Content-Type", "application/json")
		if m, ok := v.(object); ok && m["\x00"] != nil {
			w.WriteHeader(m["\x00"].(int))
			delete(m, "\x00")
		}
		_ = json.NewEncoder(w).Encode(v)
	}
}

// stream answers with messages, one a line, each sent at once.
func (c call) stream(events ...object) (any, error) {
	c.w.Header().Set("Content-Type", "application/json")
	for _, event := range events {
		_, _ = c.w.Write(append(message(event), '\r', '\n'))
		c.w.(http.Flusher).Flush()
	}
	return answered{}, nil
}

// message returns a message as JSON. What it is about comes first, as clients look at the first key.
func message(event object) []byte {
	rest := maps.Clone(event)
	for _, key := range []string{"errorDetail", "status", "stream"} {
		v, ok := event[key]
		if !ok {
			continue
		}
		delete(rest, key)
		first, _ := json.Marshal(object{key: v})
		if len(rest) == 0 {
			return first
		}
		others, _ := json.Marshal(rest)
		return append(append(first[:len(first)-1], ','), others[1:]...)
	}
	text, _ := json.Marshal(event)
	return text
}

// id returns the ID of the next object.
func (e *Engine) id(kind string) string {
	e.made++
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", kind, e.made))
	return hex.EncodeToString(sum[:])
}

const (
	created = "2024-05-01T10:00:00Z"
	epoch   = 1714557600
	never   = "0001-01-01T00:00:00Z"
)

func (e *Engine) version(call, string) (any, error) {
	return object{"Version": "24.0.7", "ApiVersion": "1.43", "MinAPIVersion": "1.12", "Os": "linux", "Arch": "amd64"}, nil
}

func (e *Engine) info(call, string) (any, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return object{"ID": "engine", "Containers": len(e.containers), "Images": len(e.images), "Driver": "overlay2", "Name": "host"}, nil
}

// clone returns a deep copy by way of JSON.
func clone[T any](v T) T {
	var other T
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &other)
	}
	if err != nil {
		panic(err) // what the engine keeps is JSON
	}
	return other
}

func dict(v any) object {
	m, _ := v.(object)
	if m == nil {
		m = object{}
	}
	return m
}

func listOf(v any) []any { list, _ := v.([]any); return list }

func textOf(v any) string { s, _ := v.(string); return s }

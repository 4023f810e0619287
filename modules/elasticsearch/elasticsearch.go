// Package elasticsearch is Salt's module elasticsearch: indices, documents, templates, pipelines and
// snapshots of Elasticsearch, over its HTTP API (salt/modules/elasticsearch.py).
//
// elasticsearch.go sends the requests, functions.go has the functions.
//
// Differences from Salt: no request for the state of the server goes before each other one. Search
// templates are scripts, as from Elasticsearch 5.6 on; Salt's functions do not work with the current
// library. flush_synced uses its argument index. An index that is there already is none to create, also in
// the words of newer servers.
package elasticsearch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pyjson"
	"github.com/brineproject/brine/internal/rest"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

// Plugin returns the module elasticsearch.
func Plugin() loader.Plugin { return loader.Plugin{Name: "elasticsearch", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("alias_create", m.aliasCreate).Secret("profile"),
		loader.F("alias_delete", m.aliasDelete).Secret("profile"),
		loader.F("alias_exists", m.aliasExists).Secret("profile"),
		loader.F("alias_get", m.aliasGet).Secret("profile"),
		loader.F("cluster_get_settings", m.clusterGetSettings).Secret("profile"),
		loader.F("cluster_health", m.clusterHealth).Secret("profile"),
		loader.F("cluster_put_settings", m.clusterPutSettings).Secret("profile"),
		loader.F("cluster_stats", m.clusterStats).Secret("profile"),
		loader.F("document_create", m.documentCreate).Secret("profile"),
		loader.F("document_delete", m.documentDelete).Secret("profile"),
		loader.F("document_exists", m.documentExists).Secret("profile"),
		loader.F("document_get", m.documentGet).Secret("profile"),
		loader.F("flush_synced", m.flushSynced).Secret("profile"),
		loader.F("index_close", m.indexClose).Secret("profile"),
		loader.F("index_create", m.indexCreate).Secret("profile"),
		loader.F("index_delete", m.indexDelete).Secret("profile"),
		loader.F("index_exists", m.indexExists).Secret("profile"),
		loader.F("index_get", m.indexGet).Secret("profile"),
		loader.F("index_get_settings", m.indexGetSettings).Secret("profile"),
		loader.F("index_open", m.indexOpen).Secret("profile"),
		loader.F("index_put_settings", m.indexPutSettings).Secret("profile"),
		loader.F("index_template_create", m.indexTemplateCreate).Secret("profile"),
		loader.F("index_template_delete", m.indexTemplateDelete).Secret("profile"),
		loader.F("index_template_exists", m.indexTemplateExists).Secret("profile"),
		loader.F("index_template_get", m.indexTemplateGet).Secret("profile"),
		loader.F("info", m.info).Secret("profile"),
		loader.F("mapping_create", m.mappingCreate).Secret("profile"),
		loader.F("mapping_delete", m.mappingDelete).Secret("profile"),
		loader.F("mapping_get", m.mappingGet).Secret("profile"),
		loader.F("node_info", m.nodeInfo).Secret("profile"),
		loader.F("ping", m.ping).Secret("profile"),
		loader.F("pipeline_create", m.pipelineCreate).Secret("profile"),
		loader.F("pipeline_delete", m.pipelineDelete).Secret("profile"),
		loader.F("pipeline_get", m.pipelineGet).Secret("profile"),
		loader.F("pipeline_simulate", m.pipelineSimulate).Secret("profile"),
		loader.F("repository_create", m.repositoryCreate).Secret("profile"),
		loader.F("repository_delete", m.repositoryDelete).Secret("profile"),
		loader.F("repository_get", m.repositoryGet).Secret("profile"),
		loader.F("repository_verify", m.repositoryVerify).Secret("profile"),
		loader.F("search_template_create", m.searchTemplateCreate).Secret("profile"),
		loader.F("search_template_delete", m.searchTemplateDelete).Secret("profile"),
		loader.F("search_template_get", m.searchTemplateGet).Secret("profile"),
		loader.F("snapshot_create", m.snapshotCreate).Secret("profile"),
		loader.F("snapshot_delete", m.snapshotDelete).Secret("profile"),
		loader.F("snapshot_get", m.snapshotGet).Secret("profile"),
		loader.F("snapshot_restore", m.snapshotRestore).Secret("profile"),
		loader.F("snapshot_status", m.snapshotStatus).Secret("profile"),
	}}, nil
}

// A connection is where to send requests.
type connection struct {
	Hosts   any `default:"None"`
	Profile any `default:"None"`
}

// A cluster is a connection whose profile has been read.
type cluster struct {
	hosts          []any
	secure         bool
	user, password string
	options        rest.Options
}

// cluster reads a profile: a dictionary, or the option of a name.
func (m *module) cluster(ctx context.Context, c connection) (cluster, error) {
	given := c.Profile
	if given == nil {
		given = "elasticsearch"
	}
	if name, ok := given.(string); ok {
		v, err := calls.Option[any](ctx, m.env, name, nil)
		if err != nil {
			return cluster{}, err
		}
		given = v
	}
	all := cluster{options: rest.Options{Timeout: 10 * time.Second}}
	hosts := c.Hosts
	if p, ok := given.(*data.Map); ok && p.Len() > 0 {
		for _, name := range []string{"hosts", "host"} {
			if v := p.Value(name); data.Truth(v) {
				hosts = v
			}
		}
		all.secure = data.Truth(p.Value("use_ssl"))
		all.options.CA = calls.Text(p.Value("ca_certs"))
		all.options.Insecure = p.Has("verify_certs") && !data.Truth(p.Value("verify_certs"))
		all.user, all.password = calls.Text(p.Value("username")), calls.Text(p.Value("password"))
		if all.password == "" {
			all.user = ""
		}
		if seconds, err := loader.Float(p.Value("timeout")); err == nil && seconds > 0 {
			all.options.Timeout = time.Duration(seconds * float64(time.Second))
		}
		if proxies, ok := p.Value("proxies").(*data.Map); ok && proxies.Len() > 0 {
			all.options.Proxy = through(proxies)
		}
	}
	if all.hosts = data.ListOf(hosts); len(all.hosts) == 0 {
		all.hosts = []any{"127.0.0.1:9200"}
	}
	return all, nil
}

// through returns the proxy of a request, from a dictionary of addresses by scheme.
func through(proxies *data.Map) func(*http.Request) (*url.URL, error) {
	return func(r *http.Request) (*url.URL, error) {
		text := proxies.Text(r.URL.Scheme)
		if text == "" {
			return nil, nil
		}
		u, err := url.Parse(text)
		if err != nil {
			return nil, errors.New("the address of the proxy is invalid")
		}
		return u, nil
	}
}

// address returns the base address of a host, which may be HOST, HOST:PORT, an address, or a dictionary.
func (c cluster) address(host any) (string, error) {
	if of, ok := host.(*data.Map); ok {
		text := of.Text("host")
		if port := of.Value("port"); port != nil {
			text += ":" + data.Str(port)
		}
		if data.Truth(of.Value("use_ssl")) {
			text = "https://" + text
		}
		host = text
	}
	text := data.Str(host)
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" {
		return "", loader.Invocation("a host of Elasticsearch is not one")
	}
	if u.Port() == "" && u.Scheme != "https" {
		u.Host += ":9200"
	}
	if c.secure {
		u.Scheme = "https"
	}
	u.RawQuery, u.Fragment = "", ""
	return strings.TrimRight(u.String(), "/"), nil
}

// public returns the hosts without what may be secret.
func (c cluster) public() []any {
	all := make([]any, len(c.hosts))
	for i, h := range c.hosts {
		text, ok := h.(string)
		if !ok {
			address, err := c.address(h)
			if err != nil {
				address = "?"
			}
			text = address
		}
		if strings.Contains(text, "@") {
			text = rest.Public(text)
		}
		all[i] = text
	}
	return all
}

// A request is a request to the server.
type request struct {
	method  string   // "" means GET
	path    []string // parts, of which empty ones are left out
	query   []any    // names and values in turn; None is left out
	body    any      // JSON, or a value for it; nil has none
	what    string   // what cannot be done if it fails
	missing bool     // the result for what is not there is None
}

// part returns a part of a path: texts of a list with commas between them, and none for None.
func part(v any) string {
	if v == nil {
		return ""
	}
	return strings.Join(data.TextsOf(v), ",")
}

// kind returns the type of a document in an address.
func kind(v any) string {
	if text := calls.Text(v); text != "" {
		return text
	}
	return "_doc"
}

func escaped(text string) (string, error) {
	p, err := rest.Part(data.Repr(text), text)
	if err != nil {
		return "", loader.Execution("%w", err)
	}
	return strings.NewReplacer("%2C", ",", "%2A", "*").Replace(p), nil
}

// line returns the path and the parameters.
func (r request) line() (string, error) {
	line := ""
	for _, p := range r.path {
		if p == "" {
			continue
		}
		one, err := escaped(p)
		if err != nil {
			return "", err
		}
		line += "/" + one
	}
	values := url.Values{}
	for i := 0; i < len(r.query); i += 2 {
		switch v := r.query[i+1].(type) {
		case nil:
		case bool:
			values.Set(data.Str(r.query[i]), fmt.Sprint(v))
		default:
			values.Set(data.Str(r.query[i]), strings.Join(data.TextsOf(v), ","))
		}
	}
	if len(values) > 0 {
		line += "?" + values.Encode()
	}
	return line, nil
}

// refusal is an answer of the server that is no success.
type refusal struct {
	error
	status  int
	message string
}

func (r *refusal) Unwrap() error { return r.error }

// refused reports whether the server refused something with this message.
func refused(err error, messages ...string) bool {
	r, ok := errors.AsType[*refusal](err)
	for _, text := range messages {
		if ok && r.message == text {
			return true
		}
	}
	return false
}

// ask sends a request and returns the value of the answer.
func (m *module) ask(ctx context.Context, at connection, r request) (any, error) {
	a, err := m.send(ctx, at, r)
	if err != nil {
		return nil, err
	}
	if a.OK() {
		v, err := a.JSON()
		if err != nil {
			return nil, loader.Execution("%s: %w", r.what, err)
		}
		return v, nil
	}
	if a.Status == http.StatusNotFound && r.missing {
		return nil, nil
	}
	return nil, r.refusal(a)
}

func (r request) refusal(a *rest.Answer) error {
	message := string(a.Body)
	if v, err := a.JSON(); err == nil {
		of, _ := v.(*data.Map)
		switch e := of.Value("error").(type) {
		case *data.Map:
			message = e.Text("type")
		case string:
			message = e
		}
	}
	if len(message) > 1000 {
		message = message[:1000]
	}
	return &refusal{loader.Execution("%s, server returned code %d with message %s", r.what, a.Status, message),
		a.Status, message}
}

// send sends a request to the first host that answers.
func (m *module) send(ctx context.Context, at connection, r request) (*rest.Answer, error) {
	all, err := m.cluster(ctx, at)
	if err != nil {
		return nil, err
	}
	line, err := r.line()
	if err != nil {
		return nil, err
	}
	q := rest.Request{Method: r.method, User: all.user, Password: all.password,
		Header: map[string]string{"Content-Type": "application/json"}}
	if data.Truth(r.body) {
		if q.Body, err = asJSON(r.body); err != nil {
			return nil, err
		}
	}
	c, err := rest.New(all.options)
	if err != nil {
		return nil, loader.Execution("%w", err)
	}
	defer c.Close()
	var last error
	for _, host := range all.hosts {
		base, err := all.address(host)
		if err != nil {
			return nil, err
		}
		q.URL = base + line
		a, err := c.Do(ctx, q)
		if err == nil {
			return a, nil
		}
		last = err
	}
	return nil, loader.Execution("Could not connect to Elasticsearch host/ cluster %s due to %s",
		data.Repr(all.public()), last)
}

func asJSON(v any) ([]byte, error) {
	if text, ok := v.(string); ok {
		return []byte(text), nil
	}
	b, err := pyjson.Append(nil, v, pyjson.Options{Comma: ",", Colon: ":"})
	if err != nil {
		return nil, loader.Execution("write a request to Elasticsearch: %w", err)
	}
	return b, nil
}

func fromJSON(text string) (any, error) {
	v, err := pyjson.Load(text)
	if err != nil {
		return nil, loader.Invocation("the body is not JSON: %w", err)
	}
	return v, nil
}

// there sends a request of HEAD, and returns whether the thing is there.
func (m *module) there(ctx context.Context, at connection, r request) (any, error) {
	a, err := m.send(ctx, at, r)
	switch {
	case err != nil:
		return nil, err
	case a.OK():
		return true, nil
	case a.Status == http.StatusNotFound:
		return false, nil
	}
	return nil, r.refusal(a)
}

// acknowledged returns a value of an answer, or False.
func acknowledged(v any, name string) any {
	of, _ := v.(*data.Map)
	if !of.Has(name) {
		return false
	}
	return of.Value(name)
}

// acked sends a request and returns a value of the answer.
func (m *module) acked(ctx context.Context, at connection, r request, name string) (any, error) {
	v, err := m.ask(ctx, at, r)
	if err != nil {
		return nil, err
	}
	return acknowledged(v, name), nil
}

// removed deletes something, and returns True also if it was not there.
func (m *module) removed(ctx context.Context, at connection, r request) (any, error) {
	r.method, r.missing = http.MethodDelete, true
	v, err := m.ask(ctx, at, r)
	if err != nil || v == nil {
		return err == nil, err
	}
	return acknowledged(v, "acknowledged"), nil
}

// body returns the body of a request: what is given, or the text of a file of the file server.
func (m *module) body(ctx context.Context, body, source any) (any, error) {
	switch {
	case !data.Truth(source):
		return body, nil
	case data.Truth(body):
		return nil, loader.Invocation("Either body or source should be specified but not both.")
	}
	saltenv := m.env.Option("saltenv")
	if saltenv == nil {
		saltenv = "base"
	}
	v, err := m.env.Call(ctx, "cp.get_file_str", []any{source}, data.NewMap("saltenv", saltenv))
	if err != nil {
		return nil, err
	}
	text, ok := v.(string)
	if !ok {
		return nil, loader.Execution("%s is not on the file server", data.Str(source))
	}
	return text, nil
}

// settings returns the path and the parameters of a request for the settings of indices. names are the
// arguments besides index that belong to the path.
func settings(fun string, kwargs *data.Map, names ...string) (path []string, query []any, err error) {
	path = []string{part(kwargs.Value("index")), "_settings"}
	for _, name := range names {
		path = append(path, part(kwargs.Value(name)))
	}
	for k, v := range kwargs.All() {
		switch name := data.Str(k); name {
		case "index":
		case "allow_no_indices", "expand_wildcards", "flat_settings", "ignore_unavailable", "include_defaults",
			"local",
			"master_timeout", "preserve_existing", "timeout":
			query = append(query, name, v)
		default:
			if !strings.HasPrefix(name, "__") && (name != "name" || len(names) == 0) {
				return nil, nil, loader.TypeError("%s() got an unexpected keyword argument '%s'", fun, name)
			}
		}
	}
	return path, query, nil
}

type pingArgs struct {
	AllowFailure any `default:"False"`
	connection
}

// ping returns whether the server answers. hosts is, for each function, an address or a list of them, and
// profile the name of an option of the minion, or a dictionary, with host, use_ssl, ca_certs, verify_certs,
// username, password, timeout and proxies. The default is the option elasticsearch.
//
// allow_failure
//
//	True: an error if it does not answer.
//
// CLI Example:
//
//	salt '*' elasticsearch.ping
func (m *module) ping(ctx context.Context, a pingArgs) (any, error) {
	_, err := m.info(ctx, a.connection)
	if loader.KindOf(err) == loader.KindExecution && !data.Truth(a.AllowFailure) {
		return false, nil
	}
	return err == nil, err
}

// info returns the name and the version of the server.
//
// CLI Example:
//
//	salt '*' elasticsearch.info
func (m *module) info(ctx context.Context, a connection) (any, error) {
	return m.ask(ctx, a, request{what: "Cannot retrieve server information"})
}

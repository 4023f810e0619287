// Package kubernetes is Salt's module kubernetes: nodes, namespaces, deployments, services, pods, secrets
// and config maps of Kubernetes, over its API (salt/modules/kubernetesmod.py).
//
// conn.go reads the kubeconfig, kubernetes.go sends the requests, object.go converts objects, functions.go
// has the functions.
//
// Differences from Salt: deployments are those of apps/v1, which servers from 1.9 on have. Results have the
// fields that the server sent, with names in Python's form (cluster_ip), and times as texts. Bodies take
// the names of the API (clusterIP) as well as those of Python. The context defaults to the current one. The
// annotation kubernetes.io/change-cause is "salt", and not the command line. Users that log in by a program
// are refused.
package kubernetes

import (
	"context"
	"net/http"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pyjson"
	"github.com/brineproject/brine/internal/rest"
	"github.com/brineproject/brine/loader"
)

// Plugin returns the module kubernetes.
func Plugin() loader.Plugin {
	return loader.Plugin{Name: "kubernetes", File: "kubernetesmod", New: newModule}
}

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	secret := func(f *loader.Function) loader.Func { return f.Secret("kubeconfig_data", "api_password") }
	data := func(f *loader.Function) loader.Func { return f.Secret("kubeconfig_data", "api_password", "data") }
	return &loader.Module{Funcs: []loader.Func{
		secret(loader.F("configmaps", m.configmaps)),
		secret(loader.F("create_configmap", m.createConfigmap)),
		secret(loader.F("create_deployment", m.createDeployment)),
		secret(loader.F("create_namespace", m.createNamespace)),
		secret(loader.F("create_pod", m.createPod)),
		data(loader.F("create_secret", m.createSecret)),
		secret(loader.F("create_service", m.createService)),
		secret(loader.F("delete_configmap", m.deleteConfigmap)),
		secret(loader.F("delete_deployment", m.deleteDeployment)),
		secret(loader.F("delete_namespace", m.deleteNamespace)),
		secret(loader.F("delete_pod", m.deletePod)),
		secret(loader.F("delete_secret", m.deleteSecret)),
		secret(loader.F("delete_service", m.deleteService)),
		secret(loader.F("deployments", m.deployments)),
		secret(loader.F("namespaces", m.namespaces)),
		secret(loader.F("node", m.node)),
		secret(loader.F("node_add_label", m.nodeAddLabel)),
		secret(loader.F("node_labels", m.nodeLabels)),
		secret(loader.F("node_remove_label", m.nodeRemoveLabel)),
		secret(loader.F("nodes", m.nodes)),
		secret(loader.F("ping", m.ping)),
		secret(loader.F("pods", m.pods)),
		secret(loader.F("read_source", m.readSource)),
		secret(loader.F("replace_configmap", m.replaceConfigmap)),
		secret(loader.F("replace_deployment", m.replaceDeployment)),
		data(loader.F("replace_secret", m.replaceSecret)),
		secret(loader.F("replace_service", m.replaceService)),
		secret(loader.F("secrets", m.secrets)),
		secret(loader.F("services", m.services)),
		secret(loader.F("show_configmap", m.showConfigmap)),
		secret(loader.F("show_deployment", m.showDeployment)),
		secret(loader.F("show_namespace", m.showNamespace)),
		secret(loader.F("show_pod", m.showPod)),
		secret(loader.F("show_secret", m.showSecret)).(*loader.Function).SecretResult("data"),
		secret(loader.F("show_service", m.showService)),
	}}, nil
}

// A kind is a kind of objects of the API.
type kind struct{ name, version, path string }

var (
	node       = kind{"Node", "v1", "nodes"}
	namespace  = kind{"Namespace", "v1", "namespaces"}
	pod        = kind{"Pod", "v1", "pods"}
	service    = kind{"Service", "v1", "services"}
	secret     = kind{"Secret", "v1", "secrets"}
	configmap  = kind{"ConfigMap", "v1", "configmaps"}
	deployment = kind{"Deployment", "apps/v1", "deployments"}
)

// path returns the address of an object, or of the objects of a namespace; in and name may be empty.
func (k kind) at(in, name string) (string, error) {
	path := "/api/v1"
	if k.version != "v1" {
		path = "/apis/" + k.version
	}
	if in != "" {
		part, err := rest.Part("the name of the namespace", in)
		if err != nil {
			return "", loader.Execution("%w", err)
		}
		path += "/namespaces/" + part
	}
	path += "/" + k.path
	if name == "" {
		return path, nil
	}
	part, err := rest.Part("the name of the object", name)
	if err != nil {
		return "", loader.Execution("%w", err)
	}
	return path + "/" + part, nil
}

// A request is a request for an object or a list of them.
type request struct {
	method   string // "" means GET
	kind     kind
	in, name string
	body     *data.Map
	patch    bool // the body is a merge patch
}

// ask sends a request, and returns the answer of the server, or nil if the object is not there.
func (m *module) ask(ctx context.Context, args *data.Map, r request) (*data.Map, error) {
	s, err := m.server(ctx, args)
	if err != nil {
		return nil, err
	}
	path, err := r.kind.at(r.in, r.name)
	if err != nil {
		return nil, err
	}
	q := rest.Request{Method: r.method, URL: trimmed(s.url) + path, User: s.user, Password: s.password,
		Header: map[string]string{"Accept": "application/json"}}
	if s.token != "" {
		q.User, q.Header["Authorization"] = "", "Bearer "+s.token
	}
	if r.body != nil {
		q.Header["Content-Type"] = "application/json"
		if r.patch {
			q.Header["Content-Type"] = "application/merge-patch+json"
		}
		if q.Body, err = pyjson.Append(nil, r.body, pyjson.Options{Comma: ",", Colon: ":"}); err != nil {
			return nil, loader.Execution("write a request to Kubernetes: %w", err)
		}
	}
	c, err := rest.New(s.options)
	if err != nil {
		return nil, loader.Execution("%w", err)
	}
	defer c.Close()
	a, err := c.Do(ctx, q)
	switch {
	case err != nil:
		return nil, loader.Execution("ask Kubernetes: %w", err)
	case a.Status == http.StatusNotFound:
		return nil, nil
	}
	v, err := a.JSON()
	of, ok := v.(*data.Map)
	switch {
	case !a.OK():
		return nil, loader.Execution("(%d)\nReason: %s\n%s", a.Status, a.Reason, of.Text("message"))
	case err != nil || !ok:
		return nil, loader.Execution("the answer of Kubernetes is no object")
	}
	return of, nil
}

func trimmed(address string) string {
	for len(address) > 0 && address[len(address)-1] == '/' {
		address = address[:len(address)-1]
	}
	return address
}

// object is ask with the object in Python's form.
func (m *module) object(ctx context.Context, args *data.Map, r request) (any, error) {
	of, err := m.ask(ctx, args, r)
	if err != nil || of == nil {
		return nil, err
	}
	return snake(of), nil
}

// names returns the names of the objects of a namespace, or nil if there is none.
func (m *module) names(ctx context.Context, args *data.Map, k kind, in string) (any, error) {
	of, err := m.ask(ctx, args, request{kind: k, in: in})
	if err != nil || of == nil {
		return nil, err
	}
	names := []any{}
	items, _ := of.Value("items").([]any)
	for _, v := range items {
		one, _ := v.(*data.Map)
		meta, _ := one.Value("metadata").(*data.Map)
		names = append(names, meta.Value("name"))
	}
	return names, nil
}

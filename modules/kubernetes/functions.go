package kubernetes

import (
	"context"
	"net/http"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/clock"
	"github.com/brineproject/brine/loader"
)

type noArgs struct {
	Kwargs *data.Map `kwargs:"kwargs"`
}

type inArgs struct {
	Namespace string    `default:"'default'"`
	Kwargs    *data.Map `kwargs:"kwargs"`
}

type nameArgs struct {
	Name   string
	Kwargs *data.Map `kwargs:"kwargs"`
}

type nameInArgs struct {
	Name      string
	Namespace string    `default:"'default'"`
	Kwargs    *data.Map `kwargs:"kwargs"`
}

// ping returns whether the API server answers. The arguments kubeconfig, kubeconfig_data (in base64) and
// context of each function default to the options kubernetes.kubeconfig, kubernetes.kubeconfig-data and
// kubernetes.context. In place of them there are api_url, api_user, api_password,
// api_certificate_authority_file, api_client_certificate_file and api_client_key_file.
//
// CLI Example:
//
//	salt '*' kubernetes.ping
func (m *module) ping(ctx context.Context, a noArgs) (any, error) {
	_, err := m.nodes(ctx, a)
	if loader.KindOf(err) == loader.KindExecution {
		return false, nil
	}
	return err == nil, err
}

// nodes returns the names of the nodes.
//
// CLI Example:
//
//	salt '*' kubernetes.nodes
func (m *module) nodes(ctx context.Context, a noArgs) (any, error) {
	return m.names(ctx, a.Kwargs, node, "")
}

// node returns a node, or None.
//
// CLI Example:
//
//	salt '*' kubernetes.node name='minikube'
func (m *module) node(ctx context.Context, a nameArgs) (any, error) {
	return m.object(ctx, a.Kwargs, request{kind: node, name: a.Name})
}

// nodeLabels returns the labels of a node. They are empty if there is no such node.
//
// CLI Example:
//
//	salt '*' kubernetes.node_labels name="minikube"
func (m *module) nodeLabels(ctx context.Context, a nameArgs) (any, error) {
	v, err := m.node(ctx, a)
	of, _ := v.(*data.Map)
	about, _ := of.Value("metadata").(*data.Map)
	labels, _ := about.Value("labels").(*data.Map)
	if labels == nil {
		labels = &data.Map{}
	}
	return labels, err
}

type addLabelArgs struct {
	NodeName   string
	LabelName  string
	LabelValue any
	Kwargs     *data.Map `kwargs:"kwargs"`
}

type removeLabelArgs struct {
	NodeName  string
	LabelName string
	Kwargs    *data.Map `kwargs:"kwargs"`
}

// nodeAddLabel sets a label of a node, and returns the node, or None.
//
// CLI Example:
//
//	salt '*' kubernetes.node_add_label node_name="minikube" label_name="foo" label_value="bar"
func (m *module) nodeAddLabel(ctx context.Context, a addLabelArgs) (any, error) {
	return m.label(ctx, a.Kwargs, a.NodeName, a.LabelName, a.LabelValue)
}

// nodeRemoveLabel removes a label of a node, and returns the node, or None.
//
// CLI Example:
//
//	salt '*' kubernetes.node_remove_label node_name="minikube" label_name="foo"
func (m *module) nodeRemoveLabel(ctx context.Context, a removeLabelArgs) (any, error) {
	return m.label(ctx, a.Kwargs, a.NodeName, a.LabelName, nil)
}

func (m *module) label(ctx context.Context, args *data.Map, name, label string, value any) (any, error) {
	body := data.NewMap("metadata", data.NewMap("labels", data.NewMap(label, value)))
	return m.object(ctx, args, request{method: http.MethodPatch, kind: node, name: name, body: body,
		patch: true})
}

// namespaces returns the names of the namespaces.
//
// CLI Example:
//
//	salt '*' kubernetes.namespaces
func (m *module) namespaces(ctx context.Context, a noArgs) (any, error) {
	return m.names(ctx, a.Kwargs, namespace, "")
}

// deployments returns the names of the deployments of a namespace.
//
// CLI Example:
//
//	salt '*' kubernetes.deployments namespace=default
func (m *module) deployments(ctx context.Context, a inArgs) (any, error) {
	return m.names(ctx, a.Kwargs, deployment, a.Namespace)
}

// showDeployment returns a deployment, or None.
//
// CLI Example:
//
//	salt '*' kubernetes.show_deployment my-app default
func (m *module) showDeployment(ctx context.Context, a nameInArgs) (any, error) {
	return m.object(ctx, a.Kwargs, request{kind: deployment, in: a.Namespace, name: a.Name})
}

// services returns the names of the services of a namespace.
//
// CLI Example:
//
//	salt '*' kubernetes.services namespace=default
func (m *module) services(ctx context.Context, a inArgs) (any, error) {
	return m.names(ctx, a.Kwargs, service, a.Namespace)
}

// showService returns a service, or None.
//
// CLI Example:
//
//	salt '*' kubernetes.show_service my-app default
func (m *module) showService(ctx context.Context, a nameInArgs) (any, error) {
	return m.object(ctx, a.Kwargs, request{kind: service, in: a.Namespace, name: a.Name})
}

// deleteService deletes a service, and returns the answer of the server, or None if it is not there.
//
// CLI Example:
//
//	salt '*' kubernetes.delete_service my-app default
func (m *module) deleteService(ctx context.Context, a nameInArgs) (any, error) {
	return m.remove(ctx, a.Kwargs, request{kind: service, in: a.Namespace, name: a.Name, body: nil})
}

// pods returns the names of the pods of a namespace.
//
// CLI Example:
//
//	salt '*' kubernetes.pods namespace=default
func (m *module) pods(ctx context.Context, a inArgs) (any, error) {
	return m.names(ctx, a.Kwargs, pod, a.Namespace)
}

// showPod returns a pod, or None.
//
// CLI Example:
//
//	salt '*' kubernetes.show_pod my-app default
func (m *module) showPod(ctx context.Context, a nameInArgs) (any, error) {
	return m.object(ctx, a.Kwargs, request{kind: pod, in: a.Namespace, name: a.Name})
}

// deletePod deletes a pod, and returns the answer of the server, or None if it is not there.
//
// CLI Example:
//
//	salt '*' kubernetes.delete_pod my-app default
func (m *module) deletePod(ctx context.Context, a nameInArgs) (any, error) {
	return m.remove(ctx, a.Kwargs, request{kind: pod, in: a.Namespace, name: a.Name, body: orphan()})
}

// secrets returns the names of the secrets of a namespace.
//
// CLI Example:
//
//	salt '*' kubernetes.secrets namespace=default
func (m *module) secrets(ctx context.Context, a inArgs) (any, error) {
	return m.names(ctx, a.Kwargs, secret, a.Namespace)
}

// deleteSecret deletes a secret, and returns the answer of the server, or None if it is not there.
//
// CLI Example:
//
//	salt '*' kubernetes.delete_secret my-app default
func (m *module) deleteSecret(ctx context.Context, a nameInArgs) (any, error) {
	return m.remove(ctx, a.Kwargs, request{kind: secret, in: a.Namespace, name: a.Name, body: orphan()})
}

// configmaps returns the names of the config maps of a namespace.
//
// CLI Example:
//
//	salt '*' kubernetes.configmaps namespace=default
func (m *module) configmaps(ctx context.Context, a inArgs) (any, error) {
	return m.names(ctx, a.Kwargs, configmap, a.Namespace)
}

// showConfigmap returns a config map, or None.
//
// CLI Example:
//
//	salt '*' kubernetes.show_configmap my-app default
func (m *module) showConfigmap(ctx context.Context, a nameInArgs) (any, error) {
	return m.object(ctx, a.Kwargs, request{kind: configmap, in: a.Namespace, name: a.Name})
}

// deleteConfigmap deletes a config map, and returns the answer of the server, or None if it is not there.
//
// CLI Example:
//
//	salt '*' kubernetes.delete_configmap my-app default
func (m *module) deleteConfigmap(ctx context.Context, a nameInArgs) (any, error) {
	return m.remove(ctx, a.Kwargs, request{kind: configmap, in: a.Namespace, name: a.Name, body: orphan()})
}

// showNamespace returns a namespace, or None.
//
// CLI Example:
//
//	salt '*' kubernetes.show_namespace kube-system
func (m *module) showNamespace(ctx context.Context, a nameArgs) (any, error) {
	return m.object(ctx, a.Kwargs, request{kind: namespace, name: a.Name})
}

// deleteNamespace deletes a namespace, and returns the answer of the server, or None if it is not there.
//
// CLI Example:
//
//	salt '*' kubernetes.delete_namespace salt
func (m *module) deleteNamespace(ctx context.Context, a nameArgs) (any, error) {
	return m.remove(ctx, a.Kwargs, request{kind: namespace, name: a.Name, body: orphan()})
}

type showSecretArgs struct {
	Name      string
	Namespace string    `default:"'default'"`
	Decode    any       `default:"False"`
	Kwargs    *data.Map `kwargs:"kwargs"`
}

// showSecret returns a secret, or None. With decode, its data are texts and not base64.
//
// CLI Example:
//
//	salt '*' kubernetes.show_secret confidential default decode=True
func (m *module) showSecret(ctx context.Context, a showSecretArgs) (any, error) {
	of, err := m.ask(ctx, a.Kwargs, request{kind: secret, in: a.Namespace, name: a.Name})
	if err != nil || of == nil {
		return nil, err
	}
	if values, ok := of.Value("data").(*data.Map); ok && data.Truth(a.Decode) {
		of.Set("data", decoded(values))
	}
	return snake(of), nil
}

// orphan returns the body of a request that deletes an object, and not what depends on it.
func orphan() *data.Map {
	return data.NewMap("apiVersion", "v1", "kind", "DeleteOptions", "propagationPolicy", "Orphan")
}

// remove deletes an object. The answer has code and message, which may be None.
func (m *module) remove(ctx context.Context, args *data.Map, r request) (any, error) {
	r.method = http.MethodDelete
	v, err := m.object(ctx, args, r)
	answer, ok := v.(*data.Map)
	if err != nil || !ok {
		return nil, err
	}
	for _, key := range []string{"code", "message"} {
		if !answer.Has(key) {
			answer.Set(key, nil)
		}
	}
	return answer, nil
}

// Waiting for the end of a deployment.
const patience, pause = 30 * time.Second, time.Second

// deleteDeployment deletes a deployment, waits up to half a minute for its end, and returns the answer of
// the server, or None if it is not there. code is 200 once it is gone.
//
// CLI Example:
//
//	salt '*' kubernetes.delete_deployment my-nginx default
func (m *module) deleteDeployment(ctx context.Context, a nameInArgs) (any, error) {
	v, err := m.remove(ctx, a.Kwargs, request{kind: deployment, in: a.Namespace, name: a.Name, body: orphan()})
	answer, ok := v.(*data.Map)
	if err != nil || !ok {
		return nil, err
	}
	for end := time.Now().Add(patience); ; {
		v, err := m.showDeployment(ctx, a)
		switch {
		case err != nil:
			return nil, err
		case v == nil:
			answer.Set("code", int64(200))
			return answer, nil
		case time.Now().After(end):
			m.env.Log.Warnf("the deployment %s of %s is not deleted yet", a.Name, a.Namespace)
			return answer, nil
		}
		if err := clock.Sleep(ctx, pause); err != nil {
			return nil, err
		}
	}
}

type createArgs struct {
	Name      string
	Namespace string
	Metadata  *data.Map
	Spec      *data.Map
	Source    any
	Template  any
	Saltenv   any
	Kwargs    *data.Map `kwargs:"kwargs"`
}

type replaceArgs struct {
	Name      string
	Metadata  *data.Map
	Spec      *data.Map
	Source    any
	Template  any
	Saltenv   any
	Namespace string    `default:"'default'"`
	Kwargs    *data.Map `kwargs:"kwargs"`
}

// createDeployment creates a deployment of metadata and spec, or of the file source of the file server,
// which the engine template renders. It returns the deployment.
//
// CLI Example:
//
//	salt '*' kubernetes.create_deployment my-deployment default {} {} salt://deployment.yml jinja base
func (m *module) createDeployment(ctx context.Context, a createArgs) (any, error) {
	return m.put(ctx, a.Kwargs, deployment, "", definition{a.Name, a.Namespace, a.Metadata, a.Spec, a.Source,
		a.Template,
		a.Saltenv}, nil)
}

// createPod creates a pod of metadata and spec, or of the file source of the file server, which the engine
// template renders. It returns the pod.
//
// CLI Example:
//
//	salt '*' kubernetes.create_pod my-pod default {} {} salt://pod.yml jinja base
func (m *module) createPod(ctx context.Context, a createArgs) (any, error) {
	return m.put(ctx, a.Kwargs, pod, "", definition{a.Name, a.Namespace, a.Metadata, a.Spec, a.Source,
		a.Template,
		a.Saltenv}, nil)
}

// createService creates a service of metadata and spec, or of the file source of the file server, which the
// engine template renders. It returns the service.
//
// CLI Example:
//
//	salt '*' kubernetes.create_service my-service default {} {} salt://service.yml jinja base
func (m *module) createService(ctx context.Context, a createArgs) (any, error) {
	return m.put(ctx, a.Kwargs, service, "", definition{a.Name, a.Namespace, a.Metadata, a.Spec, a.Source,
		a.Template,
		a.Saltenv}, nil)
}

// replaceDeployment replaces a deployment, and returns it, or None if it is not there. Its arguments are
// those of kubernetes.create_deployment.
//
// CLI Example:
//
//	salt '*' kubernetes.replace_deployment my-nginx {} {} salt://deployment.yml jinja base default
func (m *module) replaceDeployment(ctx context.Context, a replaceArgs) (any, error) {
	return m.put(ctx, a.Kwargs, deployment, a.Name, definition{a.Name, a.Namespace, a.Metadata, a.Spec, a.Source,
		a.Template, a.Saltenv}, nil)
}

type replaceServiceArgs struct {
	Name       string
	Metadata   *data.Map
	Spec       *data.Map
	Source     any
	Template   any
	OldService *data.Map
	Saltenv    any
	Namespace  string    `default:"'default'"`
	Kwargs     *data.Map `kwargs:"kwargs"`
}

// replaceService replaces a service, and returns it, or None if it is not there. old_service is what
// kubernetes.show_service returns: the address of the service stays.
//
// CLI Example:
//
//	salt '*' kubernetes.replace_service my-service {} {} salt://service.yml jinja {} base default
func (m *module) replaceService(ctx context.Context, a replaceServiceArgs) (any, error) {
	return m.put(ctx, a.Kwargs, service, a.Name, definition{a.Name, a.Namespace, a.Metadata, a.Spec, a.Source,
		a.Template,
		a.Saltenv}, a.OldService)
}

// put creates an object, or replaces that of a name. Of an old service the address and the version stay.
func (m *module) put(
	ctx context.Context, args *data.Map, k kind, name string, d definition, old *data.Map,
) (any, error) {
	body, err := m.body(ctx, k, d)
	if err != nil {
		return nil, err
	}
	if old != nil {
		was, _ := old.Value("spec").(*data.Map)
		about, _ := old.Value("metadata").(*data.Map)
		body.Value("spec").(*data.Map).Set("clusterIP", was.Value("cluster_ip"))
		body.Value("metadata").(*data.Map).Set("resourceVersion", about.Value("resource_version"))
	}
	return m.object(ctx, args, request{method: method(name), kind: k, in: d.in, name: name, body: body})
}

func method(name string) string {
	if name == "" {
		return http.MethodPost
	}
	return http.MethodPut
}

// putData creates a secret or config map, or replaces that of a name.
func (m *module) putData(
	ctx context.Context, args *data.Map, k kind, replaced string, d definition, given *data.Map,
) (any, error) {
	values, err := m.values(ctx, given, d.source, d.template, d.saltenv, k == secret)
	if err != nil {
		return nil, err
	}
	body := data.NewMap("apiVersion", k.version, "kind", k.name, "metadata", meta(d.name, d.in, nil), "data",
		values)
	return m.object(ctx, args, request{method: method(replaced), kind: k, in: d.in, name: replaced, body: body})
}

type createSecretArgs struct {
	Name      string
	Namespace string    `default:"'default'"`
	Data      *data.Map `default:"None"`
	Source    any       `default:"None"`
	Template  any       `default:"None"`
	Saltenv   any       `default:"'base'"`
	Kwargs    *data.Map `kwargs:"kwargs"`
}

type createConfigmapArgs struct {
	Name      string
	Namespace string
	Data      *data.Map
	Source    any       `default:"None"`
	Template  any       `default:"None"`
	Saltenv   any       `default:"'base'"`
	Kwargs    *data.Map `kwargs:"kwargs"`
}

type replaceDataArgs struct {
	Name      string
	Data      *data.Map
	Source    any       `default:"None"`
	Template  any       `default:"None"`
	Saltenv   any       `default:"'base'"`
	Namespace string    `default:"'default'"`
	Kwargs    *data.Map `kwargs:"kwargs"`
}

// createSecret creates a secret of data, a dictionary of texts, or of the file source of the file server.
// It returns the secret.
//
// CLI Example:
//
//	salt '*' kubernetes.create_secret settings default '{"example.conf": "# example"}'
func (m *module) createSecret(ctx context.Context, a createSecretArgs) (any, error) {
	return m.putData(ctx, a.Kwargs, secret, "", definition{name: a.Name, in: a.Namespace, source: a.Source,
		template: a.Template,
		saltenv:  a.Saltenv}, a.Data)
}

// replaceSecret replaces a secret, and returns it, or None if it is not there.
//
// CLI Example:
//
//	salt '*' kubernetes.replace_secret settings '{"example.conf": "# example"}' namespace=default
func (m *module) replaceSecret(ctx context.Context, a replaceDataArgs) (any, error) {
	return m.putData(ctx, a.Kwargs, secret, a.Name, definition{name: a.Name, in: a.Namespace, source: a.Source,
		template: a.Template,
		saltenv:  a.Saltenv}, a.Data)
}

// createConfigmap creates a config map of data, a dictionary of texts, or of the file source of the file
// server. It returns the config map.
//
// CLI Example:
//
//	salt '*' kubernetes.create_configmap settings default '{"example.conf": "# example"}'
func (m *module) createConfigmap(ctx context.Context, a createConfigmapArgs) (any, error) {
	return m.putData(ctx, a.Kwargs, configmap, "", definition{name: a.Name, in: a.Namespace, source: a.Source,
		template: a.Template,
		saltenv:  a.Saltenv}, a.Data)
}

// replaceConfigmap replaces a config map, and returns it, or None if it is not there.
//
// CLI Example:
//
//	salt '*' kubernetes.replace_configmap settings '{"example.conf": "# example"}' namespace=default
func (m *module) replaceConfigmap(ctx context.Context, a replaceDataArgs) (any, error) {
	return m.putData(ctx, a.Kwargs, configmap, a.Name, definition{name: a.Name, in: a.Namespace,
		source: a.Source, template: a.Template,
		saltenv: a.Saltenv}, a.Data)
}

// createNamespace creates a namespace, and returns it.
//
// CLI Example:
//
//	salt '*' kubernetes.create_namespace salt
func (m *module) createNamespace(ctx context.Context, a nameArgs) (any, error) {
	body := data.NewMap("apiVersion", "v1", "kind", "Namespace", "metadata", data.NewMap("name", a.Name))
	return m.object(ctx, a.Kwargs, request{method: http.MethodPost, kind: namespace, body: body})
}

type readArgs struct {
	Source   any
	Template any       `default:"None"`
	Saltenv  any       `default:"'base'"`
	Kwargs   *data.Map `kwargs:"kwargs"`
}

// readSource returns the dictionary in a YAML file of the file server, which the engine template renders.
// It is Brine's own.
//
// CLI Example:
//
//	salt '*' kubernetes.read_source salt://service.yml jinja
func (m *module) readSource(ctx context.Context, a readArgs) (any, error) {
	return m.source(ctx, a.Source, a.Template, a.Saltenv)
}

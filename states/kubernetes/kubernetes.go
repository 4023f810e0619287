// Package kubernetes is Salt's state kubernetes: deployments, services, pods, namespaces, secrets, config
// maps and labels of nodes (salt/states/kubernetes.py). It uses the module kubernetes.
//
// Differences from Salt: an object that has all that is wanted is not replaced; Salt replaces it in each
// run. Test mode reports that, too. A deletion of a service or pod that the server accepts is a success,
// whatever code it names.
package kubernetes

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state kubernetes.
func Plugin() loader.Plugin { return loader.Plugin{Name: "kubernetes", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	if !env.Functions.Has("kubernetes.ping") {
		return nil, errors.New("kubernetes module could not be loaded")
	}
	m := &module{env}
	secret := func(f *loader.Function) loader.Func { return f.Secret("kubeconfig_data", "api_password") }
	return &loader.Module{Funcs: []loader.Func{
		secret(loader.F("configmap_absent", m.configmapAbsent)),
		secret(loader.F("configmap_present", m.configmapPresent)),
		secret(loader.F("deployment_absent", m.deploymentAbsent)),
		secret(loader.F("deployment_present", m.deploymentPresent)),
		secret(loader.F("namespace_absent", m.namespaceAbsent)),
		secret(loader.F("namespace_present", m.namespacePresent)),
		secret(loader.F("node_label_absent", m.nodeLabelAbsent)),
		secret(loader.F("node_label_folder_absent", m.nodeLabelFolderAbsent)),
		secret(loader.F("node_label_present", m.nodeLabelPresent)),
		secret(loader.F("pod_absent", m.podAbsent)),
		secret(loader.F("pod_present", m.podPresent)),
		secret(loader.F("secret_absent", m.secretAbsent)),
		loader.F("secret_present", m.secretPresent).Secret("kubeconfig_data", "api_password", "data"),
		secret(loader.F("service_absent", m.serviceAbsent)),
		secret(loader.F("service_present", m.servicePresent)),
	}}, nil
}

// show returns an object, or nil.
func (m *module) show(ctx context.Context, kind string, args []any, kwargs *data.Map) (*data.Map, error) {
	return change.Ask[*data.Map](ctx, m.env, "kubernetes.show_"+kind, args, kwargs)
}

type inArgs struct {
	Name      string
	Namespace string    `default:"'default'"`
	Kwargs    *data.Map `kwargs:"kwargs"`
}

type nameArgs struct {
	Name   string
	Kwargs *data.Map `kwargs:"kwargs"`
}

// gone keeps an object deleted. done is the comment after it, if the server sends none.
func (m *module) gone(
	ctx context.Context, kind, name string, args []any, kwargs *data.Map, done string,
) (change.Result, error) {
	return change.Thing[*data.Map]{
		Name: name,
		Look: func(ctx context.Context) (*data.Map, error) { return m.show(ctx, kind, args, kwargs) },
		Wants: func(now *data.Map) *data.Map {
			return change.When(now != nil, data.NewMap("kubernetes."+kind, change.OldNew("present", "absent")))
		},
		Apply: func(ctx context.Context, _ *data.Map) error {
			answer, err := change.Ask[*data.Map](ctx, m.env, "kubernetes.delete_"+kind, args, kwargs)
			if text := answer.Text("message"); answer.Value("message") != nil && kind != "secret" &&
				kind != "configmap" {
				done = text
			}
			return err
		},
		Texts: change.Texts{Same: "The " + kind + " does not exist",
			Would: "The " + kind + " is going to be deleted"},
		Say: func(o change.Outcome[*data.Map]) any {
			if o.Stage == change.StageDone {
				return done
			}
			return nil
		},
		Silent: true,
		Trust:  true, // pods and namespaces end some time later
	}.Ensure(ctx)
}

// deploymentAbsent keeps a deployment deleted. The arguments of the connection are those of the module
// kubernetes, for this and the other states.
//
//	my-nginx:
//	  kubernetes.deployment_absent:
//	    - namespace: default
func (m *module) deploymentAbsent(ctx context.Context, a inArgs) (change.Result, error) {
	return m.gone(ctx, "deployment", a.Name, []any{a.Name, a.Namespace}, a.Kwargs, "")
}

// serviceAbsent keeps a service deleted.
//
//	my-nginx:
//	  kubernetes.service_absent
func (m *module) serviceAbsent(ctx context.Context, a inArgs) (change.Result, error) {
	return m.gone(ctx, "service", a.Name, []any{a.Name, a.Namespace}, a.Kwargs, "")
}

// podAbsent keeps a pod deleted.
//
//	my-pod:
//	  kubernetes.pod_absent
func (m *module) podAbsent(ctx context.Context, a inArgs) (change.Result, error) {
	return m.gone(ctx, "pod", a.Name, []any{a.Name, a.Namespace}, a.Kwargs, "In progress")
}

// secretAbsent keeps a secret deleted.
//
//	confidential:
//	  kubernetes.secret_absent
func (m *module) secretAbsent(ctx context.Context, a inArgs) (change.Result, error) {
	return m.gone(ctx, "secret", a.Name, []any{a.Name, a.Namespace}, a.Kwargs, "Secret deleted")
}

// configmapAbsent keeps a config map deleted.
//
//	settings:
//	  kubernetes.configmap_absent
func (m *module) configmapAbsent(ctx context.Context, a inArgs) (change.Result, error) {
	return m.gone(ctx, "configmap", a.Name, []any{a.Name, a.Namespace}, a.Kwargs, "ConfigMap deleted")
}

// namespaceAbsent keeps a namespace deleted, with all that is in it.
//
//	my-namespace:
//	  kubernetes.namespace_absent
func (m *module) namespaceAbsent(ctx context.Context, a nameArgs) (change.Result, error) {
	return m.gone(ctx, "namespace", a.Name, []any{a.Name}, a.Kwargs, "Terminating")
}

// namespacePresent keeps a namespace.
//
//	my-namespace:
//	  kubernetes.namespace_present
func (m *module) namespacePresent(ctx context.Context, a nameArgs) (change.Result, error) {
	var made any
	return change.Thing[*data.Map]{
		Name: a.Name,
		Look: func(ctx context.Context) (*data.Map, error) {
			return m.show(ctx, "namespace", []any{a.Name},
				a.Kwargs)
		},
		Wants: func(now *data.Map) *data.Map { return change.When(now == nil, data.NewMap("namespace", true)) },
		Apply: func(ctx context.Context, _ *data.Map) error {
			var err error
			made, err = change.Ask[any](ctx, m.env, "kubernetes.create_namespace", []any{a.Name}, a.Kwargs)
			return err
		},
		Changed: func(_, _ *data.Map) *data.Map {
			return data.NewMap("namespace", change.OldNew(&data.Map{}, made))
		},
		Texts:  change.Texts{Same: "The namespace already exists", Would: "The namespace is going to be created"},
		Silent: true,
	}.Ensure(ctx)
}

type objectArgs struct {
	Name      string
	Namespace string    `default:"'default'"`
	Metadata  *data.Map `default:"None"`
	Spec      *data.Map `default:"None"`
	Source    any       `default:"''"`
	Template  any       `default:"''"`
	Kwargs    *data.Map `kwargs:"kwargs"`
}

// covers reports whether a value that the server shows has all that is wanted. Names may have the form of
// the API or that of Python.
func covers(now, wanted any) bool {
	switch wanted := wanted.(type) {
	case *data.Map:
		have, ok := now.(*data.Map)
		if !ok {
			return wanted.Len() == 0 && now == nil
		}
		byName := map[string]any{}
		for k, v := range have.All() {
			byName[plain(k)] = v
		}
		for k, v := range wanted.All() {
			if had, ok := byName[plain(k)]; !covers(had, v) || !ok && data.Truth(v) {
				return false
			}
		}
		return true
	case []any:
		have, ok := now.([]any)
		if !ok || len(have) != len(wanted) {
			return len(wanted) == 0 && now == nil
		}
		for i := range wanted {
			if !covers(have[i], wanted[i]) {
				return false
			}
		}
		return true
	case nil:
		return true
	}
	return data.Equal(now, wanted)
}

// plain returns a name without what differs between the forms.
func plain(k any) string { return strings.ToLower(strings.ReplaceAll(data.Str(k), "_", "")) }

// object keeps a deployment, service or pod.
func (m *module) object(ctx context.Context, kind string, a objectArgs) (change.Result, error) {
	if (a.Metadata.Len() > 0 || a.Spec.Len() > 0) && data.Truth(a.Source) {
		return change.Refuse(a.Name, "'source' cannot be used in combination with 'metadata' or 'spec'")
	}
	metadata, spec := a.Metadata.Clone(), a.Spec.Clone()
	env := change.CallOf(ctx).SaltEnv
	args := []any{a.Name, a.Namespace}
	return change.Thing[*data.Map]{
		Name: a.Name,
		Look: func(ctx context.Context) (*data.Map, error) {
			if data.Truth(a.Source) {
				of, err := change.Ask[*data.Map](ctx, m.env, "kubernetes.read_source", []any{a.Source, a.Template, env},
					nil)
				if err != nil {
					return nil, err
				}
				if v, ok := of.Value("metadata").(*data.Map); ok {
					metadata = v
				}
				if v, ok := of.Value("spec").(*data.Map); ok {
					spec = v
				}
			}
			return m.show(ctx, kind, args, a.Kwargs)
		},
		Wants: func(now *data.Map) *data.Map {
			right := now != nil && covers(now.Value("metadata"), metadata) && covers(now.Value("spec"), ports(kind,
				spec))
			return change.When(!right, data.NewMap("metadata", metadata, "spec", spec))
		},
		Apply: func(ctx context.Context, now *data.Map) error {
			kwargs := a.Kwargs.Clone()
			kwargs.Update(data.NewMap("name", a.Name, "namespace", a.Namespace, "metadata", metadata, "spec", spec,
				"source", a.Source, "template", a.Template, "saltenv", env))
			switch {
			case now == nil:
				return change.Do(ctx, m.env, "kubernetes.create_"+kind, nil, kwargs)
			case kind == "pod":
				return change.Reason("salt is currently unable to replace a pod without deleting it. " +
					"Please perform the " +
					"removal of the pod requiring the 'pod_absent' state if this is the desired behaviour.")
			case kind == "service":
				kwargs.Set("old_service", now)
			}
			return change.Do(ctx, m.env, "kubernetes.replace_"+kind, nil, kwargs)
		},
		Texts: change.Texts{Same: "The " + kind + " is already present"},
		Say: func(o change.Outcome[*data.Map]) any {
			switch {
			case o.Stage == change.StageWould && o.Before == nil:
				return "The " + kind + " is going to be created"
			case o.Stage == change.StageWould:
				return "The " + kind + " is going to be replaced"
			case o.Stage == change.StageDone && o.Before == nil:
				return ""
			case o.Stage == change.StageDone:
				return "The " + kind + " is already present. Forcing recreation"
			}
			return nil
		},
		Silent: true,
		Trust:  true, // the server may write values in another form
	}.Ensure(ctx)
}

// ports returns the specification of a service whose ports are dictionaries.
func ports(kind string, spec *data.Map) *data.Map {
	list, ok := spec.Value("ports").([]any)
	if kind != "service" || !ok {
		return spec
	}
	all, next := make([]any, len(list)), spec.Clone()
	for i, p := range list {
		if all[i] = p; loader.TypeName(p) != "dict" {
			all[i] = data.NewMap("port", p)
		}
	}
	next.Set("ports", all)
	return next
}

// deploymentPresent keeps a deployment.
//
// metadata, spec
//
//	Dictionaries as in the API.
//
// source, template
//
//	In place of them: a YAML file of the file server, and the engine that renders it.
//
//	my-nginx:
//	  kubernetes.deployment_present:
//	    - metadata:
//	        labels: {app: frontend}
//	    - spec:
//	        replicas: 1
//	        selector: {matchLabels: {run: my-nginx}}
//	        template:
//	          metadata: {labels: {run: my-nginx}}
//	          spec:
//	            containers:
//	            - name: my-nginx
//	              image: nginx
func (m *module) deploymentPresent(ctx context.Context, a objectArgs) (change.Result, error) {
	return m.object(ctx, "deployment", a)
}

// servicePresent keeps a service. Its arguments are those of kubernetes.deployment_present; a port may be a
// number.
//
//	my-nginx:
//	  kubernetes.service_present:
//	    - spec:
//	        ports: [80]
//	        selector: {app: frontend}
func (m *module) servicePresent(ctx context.Context, a objectArgs) (change.Result, error) {
	return m.object(ctx, "service", a)
}

// podPresent keeps a pod. One that differs fails the state, as pods cannot be replaced. Its arguments are
// those of kubernetes.deployment_present.
//
//	my-pod:
//	  kubernetes.pod_present:
//	    - spec:
//	        containers:
//	        - name: my-nginx
//	          image: nginx
func (m *module) podPresent(ctx context.Context, a objectArgs) (change.Result, error) {
	return m.object(ctx, "pod", a)
}

type dataArgs struct {
	Name      string
	Namespace string    `default:"'default'"`
	Data      *data.Map `default:"None"`
	Source    any       `default:"None"`
	Template  any       `default:"None"`
	Kwargs    *data.Map `kwargs:"kwargs"`
}

// values keeps a secret or a config map.
func (m *module) values(ctx context.Context, kind string, a dataArgs) (change.Result, error) {
	if a.Data.Len() > 0 && data.Truth(a.Source) {
		return change.Refuse(a.Name, "'source' cannot be used in combination with 'data'")
	}
	given := a.Data.Clone()
	env := change.CallOf(ctx).SaltEnv
	return change.Thing[*data.Map]{
		Name: a.Name,
		Look: func(ctx context.Context) (*data.Map, error) {
			if data.Truth(a.Source) {
				var err error
				if given, err = change.Ask[*data.Map](ctx, m.env, "kubernetes.read_source",
					[]any{a.Source, a.Template, env}, nil); err != nil {
					return nil, err
				}
			}
			return m.show(ctx, kind, []any{a.Name, a.Namespace}, a.Kwargs)
		},
		Wants: func(now *data.Map) *data.Map {
			have, _ := now.Value("data").(*data.Map)
			wanted, names := stored(kind, given), given.Keys()
			if now != nil && (data.Equal(have, wanted) || have.Len() == 0 && wanted.Len() == 0) {
				return nil
			}
			if kind == "secret" {
				return data.NewMap("data", names)
			}
			return data.NewMap("data", wanted)
		},
		Apply: func(ctx context.Context, now *data.Map) error {
			verb := "replace_"
			if now == nil {
				verb = "create_"
			}
			kwargs := a.Kwargs.Clone()
			kwargs.Update(data.NewMap("name", a.Name, "namespace", a.Namespace, "data", given))
			return change.Do(ctx, m.env, "kubernetes."+verb+kind, nil, kwargs)
		},
		Texts: change.Texts{Same: "The " + kind + " is already present"},
		Say: func(o change.Outcome[*data.Map]) any {
			switch {
			case o.Stage == change.StageWould && o.Before == nil:
				return "The " + kind + " is going to be created"
			case o.Stage == change.StageWould:
				return "The " + kind + " is going to be replaced"
			case o.Stage == change.StageDone && o.Before == nil:
				return ""
			case o.Stage == change.StageDone:
				return "The " + kind + " is already present. Forcing recreation"
			}
			return nil
		},
		Silent: true,
	}.Ensure(ctx)
}

// stored returns data as the server keeps them.
func stored(kind string, given *data.Map) *data.Map {
	all := &data.Map{}
	for k, v := range given.All() {
		text := data.Str(v)
		if kind == "secret" {
			text = base64.StdEncoding.EncodeToString([]byte(text))
		}
		all.Set(data.Str(k), text)
	}
	return all
}

// secretPresent keeps a secret with these data, and no others. The changes show their names.
//
// data
//
//	A dictionary of texts.
//
// source, template
//
//	In place of data: a YAML file of the file server, and the engine that renders it.
//
//	confidential:
//	  kubernetes.secret_present:
//	    - data:
//	        example: value
func (m *module) secretPresent(ctx context.Context, a dataArgs) (change.Result, error) {
	return m.values(ctx, "secret", a)
}

// configmapPresent keeps a config map with these data, and no others. Its arguments are those of
// kubernetes.secret_present.
//
//	settings:
//	  kubernetes.configmap_present:
//	    - data:
//	        example.conf: "# example"
func (m *module) configmapPresent(ctx context.Context, a dataArgs) (change.Result, error) {
	return m.values(ctx, "configmap", a)
}

type labelArgs struct {
	Name   string
	Node   any
	Kwargs *data.Map `kwargs:"kwargs"`
}

func (m *module) labels(ctx context.Context, node any, kwargs *data.Map) (*data.Map, error) {
	return change.Ask[*data.Map](ctx, m.env, "kubernetes.node_labels", []any{node}, kwargs)
}

// unlabel removes labels of a node.
func (m *module) unlabel(ctx context.Context, node any, names []any, kwargs *data.Map) error {
	for _, name := range names {
		if err := change.Do(ctx, m.env, "kubernetes.node_remove_label", []any{node, name}, kwargs); err != nil {
			return err
		}
	}
	return nil
}

// nodeLabelAbsent keeps a label away from a node.
//
//	com.example.label:
//	  kubernetes.node_label_absent:
//	    - node: node1
func (m *module) nodeLabelAbsent(ctx context.Context, a labelArgs) (change.Result, error) {
	return change.Thing[*data.Map]{
		Name: a.Name,
		Look: func(ctx context.Context) (*data.Map, error) { return m.labels(ctx, a.Node, a.Kwargs) },
		Wants: func(now *data.Map) *data.Map {
			return change.When(now.Has(a.Name), data.NewMap("kubernetes.node_label", change.OldNew("present",
				"absent")))
		},
		Apply: func(ctx context.Context, _ *data.Map) error {
			return m.unlabel(ctx, a.Node, []any{a.Name},
				a.Kwargs)
		},
		Texts: change.Texts{Same: "The label does not exist", Would: "The label is going to be deleted",
			Done: "Label removed from node"},
		Silent: true,
	}.Ensure(ctx)
}

// nodeLabelFolderAbsent keeps all labels whose names begin with a folder, as in folder/label, away from a
// node.
//
//	com.example.folder:
//	  kubernetes.node_label_folder_absent:
//	    - node: node1
func (m *module) nodeLabelFolderAbsent(ctx context.Context, a labelArgs) (change.Result, error) {
	folder := strings.Trim(a.Name, "/") + "/"
	split := func(labels *data.Map) (in, others []any) {
		others = []any{}
		for k := range labels.All() {
			if strings.HasPrefix(data.Str(k), folder) {
				in = append(in, k)
			} else {
				others = append(others, k)
			}
		}
		return in, others
	}
	return change.Thing[*data.Map]{
		Name: a.Name,
		Look: func(ctx context.Context) (*data.Map, error) { return m.labels(ctx, a.Node, a.Kwargs) },
		Wants: func(now *data.Map) *data.Map {
			in, others := split(now)
			return change.When(len(in) > 0,
				data.NewMap("kubernetes.node_label_folder_absent", change.OldNew(now.Keys(), others)))
		},
		Apply: func(ctx context.Context, now *data.Map) error {
			in, _ := split(now)
			return m.unlabel(ctx, a.Node, in, a.Kwargs)
		},
		Texts: change.Texts{Same: "The label folder does not exist",
			Would: "The label folder is going to be deleted",
			Done:  "Label folder removed from node"},
		Silent: true,
	}.Ensure(ctx)
}

type labelValueArgs struct {
	Name   string
	Node   any
	Value  any
	Kwargs *data.Map `kwargs:"kwargs"`
}

// nodeLabelPresent keeps a label of a node.
//
//	com.example.label:
//	  kubernetes.node_label_present:
//	    - node: node1
//	    - value: frontend
func (m *module) nodeLabelPresent(ctx context.Context, a labelValueArgs) (change.Result, error) {
	return change.Thing[*data.Map]{
		Name: a.Name,
		Look: func(ctx context.Context) (*data.Map, error) { return m.labels(ctx, a.Node, a.Kwargs) },
		Wants: func(now *data.Map) *data.Map {
			next := now.Clone()
			next.Set(a.Name, a.Value)
			return change.When(!now.Has(a.Name) || data.Str(now.Value(a.Name)) != data.Str(a.Value),
				data.NewMap(data.Str(a.Node)+"."+a.Name, change.OldNew(now, next)))
		},
		Apply: func(ctx context.Context, _ *data.Map) error {
			return change.Do(ctx, m.env, "kubernetes.node_add_label", []any{a.Node, a.Name, data.Str(a.Value)},
				a.Kwargs)
		},
		Texts: change.Texts{Same: "The label is already set and has the specified value"},
		Say: func(o change.Outcome[*data.Map]) any {
			switch had := o.Before.Has(a.Name); {
			case o.Stage == change.StageWould && had:
				return "The label is going to be updated"
			case o.Stage == change.StageWould:
				return "The label is going to be set"
			case o.Stage == change.StageDone && had:
				return "The label is already set, changing the value"
			case o.Stage == change.StageDone:
				return ""
			}
			return nil
		},
		Silent: true,
	}.Ensure(ctx)
}

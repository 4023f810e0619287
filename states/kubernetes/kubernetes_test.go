package kubernetes_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/exchange"
	"github.com/brineproject/brine/internal/test/fakeweb"
	"github.com/brineproject/brine/internal/test/runs"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/config"
	module "github.com/brineproject/brine/modules/kubernetes"
	state "github.com/brineproject/brine/states/kubernetes"
)

var modules = []loader.Plugin{config.Plugin(), module.Plugin()}

func options(url string) *data.Map {
	text := `{"contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}], "clusters": [{"name": "k",
"cluster": {"server": "` + url + `"}}], "users": [{"name": "u", "user": {"token": "marker"}}]}`
	return data.NewMap("id", "web1", "kubernetes.kubeconfig-data",
		base64.StdEncoding.EncodeToString([]byte(text)),
		"kubernetes.context", "c")
}

// testdata/runs.json has the requests and results of Salt 3006.18. For the library kubernetes 22 the
// classes of apps/v1 stood in for those of extensions/v1beta1.
func TestRuns(t *testing.T) {
	exchange.Check(t, "testdata/runs.json", exchange.Options{OptsFor: options, Modules: modules,
		States: []loader.Plugin{state.Plugin()}})
}

// Objects that Salt replaces in each run stay as they are if they have what is wanted, and what the server
// adds to them does not count.
func TestObjects(t *testing.T) {
	there := map[string]string{}
	var sent []string
	s := fakeweb.New(t, func(r fakeweb.Request) *fakeweb.Answer {
		name := r.Path[strings.LastIndex(r.Path, "/")+1:]
		switch r.Method {
		case "POST":
			name = "x"
			fallthrough
		case "PUT":
			sent = append(sent, r.Method+" "+r.Body)
			body := strings.Replace(r.Body, `"spec":{`,
				`"spec":{"clusterIP":"10.1.1.1","progressDeadlineSeconds":600,`, 1)
			there[name] = strings.Replace(body, `"metadata":{`, `"metadata":{"resourceVersion":"5","uid":"u",`, 1)
		case "DELETE":
			sent = append(sent, r.Method)
			delete(there, name)
			return &fakeweb.Answer{Body: `{"kind": "Pod"}`}
		}
		if there[name] == "" {
			return nil
		}
		return &fakeweb.Answer{Body: there[name]}
	})
	shelf := runs.New(t, &loader.Env{Opts: options(s.URL)}, modules, state.Plugin())
	m := data.NewMap
	for _, c := range []struct {
		fun    string
		kwargs *data.Map
		texts  [3]string
		sent   string // a part of the request
	}{
		{"deployment_present", m("metadata", m("labels", m("myApp", "x")), "spec", m("replicas", int64(1))),
			[3]string{"The deployment is going to be created", "", "The deployment is already present"},
			`"replicas":1`},
		{"deployment_present", m("spec", m("replicas", int64(2), "min_ready_seconds", int64(3))),
			[3]string{"The deployment is going to be replaced",
				"The deployment is already present. Forcing recreation",
				"The deployment is already present"}, `"minReadySeconds":3`},
		{"service_present", m("spec", m("ports", []any{int64(80)}, "external_i_ps", []any{"192.0.2.1"})),
			[3]string{"The service is going to be replaced", "The service is already present. Forcing recreation",
				"The service is already present"}, `"ports":[{"port":80}],"externalIPs":["192.0.2.1"],"clusterIP":"10.1.1.1"`},
		{"pod_absent", m(), [3]string{"The pod is going to be deleted", "In progress", "The pod does not exist"},
			"DELETE"},
		{"pod_present", m("spec", m("hostIPC", true)), [3]string{"The pod is going to be created", "",
			"The pod is already present"},
			`"hostIPC":true`},
		{"secret_present", m("data", m("myKey", "marker")), [3]string{"The secret is going to be replaced",
			"The secret is already present. Forcing recreation", "The secret is already present"},
			`"data":{"myKey":"bWFya2Vy"}`},
		{"secret_absent", m(), [3]string{"The secret is going to be deleted", "Secret deleted",
			"The secret does not exist"}, "DELETE"},
		{"namespace_present", m(), [3]string{"The namespace is going to be created", "",
			"The namespace already exists"}, `"name":"x"`},
	} {
		sent = nil
		for i, want := range []string{c.texts[0], c.texts[1], c.texts[2], c.texts[2]} {
			got := shelf.Run(t, i == 0 || i == 3, "kubernetes."+c.fun, "x", c.kwargs)
			comment := got.Text("comment")
			if comment != want || data.Truth(got.Value("changes")) != (i == 1) || strings.Contains(data.Repr(got),
				"marker") ||
				len(sent) != min(i, 1) {
				t.Errorf("%s, run %d: %s, sent %q", c.fun, i, data.Repr(got), sent)
			}
		}
		if len(sent) == 1 && !strings.Contains(sent[0], c.sent) {
			t.Errorf("%s sent %s", c.fun, sent[0])
		}
	}
	there["x"] = `{"metadata": {}, "spec": {"hostIPC": false}}`
	got := shelf.Run(t, false, "kubernetes.pod_present", "x", m("spec", m("hostIPC", true)))
	if got.Value("result") != false || !strings.HasPrefix(got.Text("comment"),
		"salt is currently unable to replace a pod") {
		t.Error(data.Repr(got))
	}
}

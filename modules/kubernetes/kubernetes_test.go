package kubernetes

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/exchange"
	"github.com/brineproject/brine/internal/test/fakeweb"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/config"
)

// kubeconfig returns a kubeconfig in JSON, which is YAML too.
func kubeconfig(url, cluster, user string) string {
	return fmt.Sprintf(`{"current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
"clusters": [{"name": "k", "cluster": {"server": %q%s}}], "users": [{"name": "u", "user": {%s}}]}`, url, cluster, user)
}

// testdata/calls.json has the requests and results of Salt 3006.18, without fields that are None. For the
// library kubernetes 22 the classes of apps/v1 stood in for those of extensions/v1beta1.
func TestCalls(t *testing.T) {
	exchange.Check(t, "testdata/calls.json", exchange.Options{
		OptsFor: func(url string) *data.Map {
			config := base64.StdEncoding.EncodeToString([]byte(kubeconfig(url, "", `"token": "marker"`)))
			return data.NewMap("kubernetes.kubeconfig-data", config, "kubernetes.context", "c")
		},
		Value:   withoutNone,
		Modules: []loader.Plugin{config.Plugin(), Plugin()},
	})
}

func withoutNone(v any) any {
	switch v := v.(type) {
	case *data.Map:
		all := &data.Map{}
		for k, one := range v.All() {
			if one != nil {
				all.Set(k, withoutNone(one))
			}
		}
		return all
	case []any:
		for i := range v {
			v[i] = withoutNone(v[i])
		}
	}
	return v
}

// The ways to log in, and the certificates. No error has a secret.
func TestConnections(t *testing.T) {
	seen := ""
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, _, _ := r.BasicAuth()
		seen = user + r.Header.Get("Authorization")[:6]
		if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
			seen += " certificate"
		}
		fmt.Fprint(w, `{"items": []}`)
	})
	s := httptest.NewUnstartedServer(h)
	s.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	key, err := x509.MarshalPKCS8PrivateKey(s.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})
	b64 := base64.StdEncoding.EncodeToString
	dir := t.TempDir()
	for name, text := range map[string][]byte{"ca.pem": ca, "key.pem": keyPEM, "token": []byte("marker\n")} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	inline := `, "certificate-authority-data": "` + b64(ca) + `"`
	r, err := loader.NewRegistry(&loader.Env{Opts: &data.Map{}}, []loader.Plugin{config.Plugin(), Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct{ cluster, user, want string }{
		{inline, `"token": "marker"`, "Bearer"},
		{`, "certificate-authority": "ca.pem"`, `"tokenFile": "token"`, "Bearer"},
		{`, "insecure-skip-tls-verify": true`, `"username": "me", "password": "marker"`, "meBasic "},
		{inline, `"token": "marker", "client-certificate-data": "` + b64(ca) + `", "client-key": "key.pem"`,
			"Bearer certificate"},
		{"", `"token": "marker"`, "error: ask Kubernetes: tls: failed to verify certificate"},
		{inline, `"exec": {"command": "x"}`, "error: the user \"u\" of the kubeconfig logs in by another program"},
		{`, "certificate-authority-data": "marker!"`, `"token": "marker"`,
			"error: certificate-authority-data is not base64"},
		{inline, `"client-certificate-data": "` + b64(ca) + `", "client-key-data": "` + b64([]byte("marker")) + `"`,
			"error: the client's certificate and its key cannot be used"},
		{`, "proxy-url": "http://127.0.0.1:1"`, `"token": "marker"`, "error: ask Kubernetes: proxyconnect"},
	} {
		file := filepath.Join(dir, "config")
		if err := os.WriteFile(file, []byte(kubeconfig(s.URL, c.cluster, c.user)), 0o600); err != nil {
			t.Fatal(err)
		}
		seen = ""
		_, err := r.Invoke(t.Context(), "kubernetes.nodes", nil, data.NewMap("kubeconfig", file))
		if err != nil {
			seen = "error: " + err.Error()
		}
		if !strings.HasPrefix(seen, c.want) || strings.Contains(seen, "marker") {
			t.Errorf("%d: %s, want %s", i, seen, c.want)
		}
	}
	for _, kwargs := range []*data.Map{nil, data.NewMap("kubeconfig", "/nonexistent"),
		data.NewMap("kubeconfig_data", "!"), data.NewMap("api_url", "ftp://x"),
		data.NewMap("kubeconfig_data", b64([]byte("a: [")))} {
		if got, err := r.Invoke(t.Context(), "kubernetes.nodes", nil,
			kwargs); loader.KindOf(err) != loader.KindExecution {
			t.Errorf("%s gives %v, %v", data.Repr(kwargs), got, err)
		}
	}
}

// Secrets are written in base64 and, if wished, shown as texts. Labels keep their names.
func TestSecretsAndLabels(t *testing.T) {
	s := fakeweb.New(t, func(r fakeweb.Request) *fakeweb.Answer {
		if r.Method == "PATCH" {
			return &fakeweb.Answer{Body: `{"metadata": {"labels": {"fooBar": "z"}}}`}
		}
		return &fakeweb.Answer{Body: `{"data": {"myKey": "cHc=", "raw": "/w=="}, "metadata": {"resourceVersion": "1"}}`}
	})
	r, err := loader.NewRegistry(&loader.Env{Opts: data.NewMap("kubernetes.api_url", s.URL)},
		[]loader.Plugin{config.Plugin(), Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	shown := "{'data': {'myKey': 'cHc=', 'raw': '/w=='}, 'metadata': {'resource_version': '1'}}"
	for _, c := range []struct {
		fun        string
		args       []any
		want, sent string
	}{
		{"show_secret", []any{"x", "ns", true},
			"{'data': {'myKey': 'pw', 'raw': b'\\xff'}, 'metadata': {'resource_version': '1'}}",
			"GET /api/v1/namespaces/ns/secrets/x "},
		{"create_secret", []any{"x", "ns", data.NewMap("myKey", "pw")}, shown,
			`POST /api/v1/namespaces/ns/secrets ` +
				`{"apiVersion":"v1","kind":"Secret","metadata":{"annotations":{"kubernetes.io/change-cause":"salt"},` +
				`"name":"x","namespace":"ns"},"data":{"myKey":"cHc="}}`},
		{"node_add_label", []any{"n", "fooBar", "z"}, "{'metadata': {'labels': {'fooBar': 'z'}}}",
			`PATCH /api/v1/nodes/n {"metadata":{"labels":{"fooBar":"z"}}}`},
		{"node_remove_label", []any{"n", "fooBar"}, "{'metadata': {'labels': {'fooBar': 'z'}}}",
			`PATCH /api/v1/nodes/n {"metadata":{"labels":{"fooBar":null}}}`},
	} {
		for range 2 {
			got, err := r.Invoke(t.Context(), "kubernetes."+c.fun, c.args, nil)
			q := s.Take()
			if err != nil || data.Repr(got) != c.want || len(q) != 1 || q[0].Line()+" "+q[0].Body != c.sent {
				t.Errorf("%s gives %s, %v, sent %+v", c.fun, data.Repr(got), err, q)
			}
		}
	}
	for _, bad := range []string{"..", "a/b", ""} {
		if got, err := r.Invoke(t.Context(), "kubernetes.show_pod", []any{"p", bad}, nil); bad != "" && err == nil {
			t.Errorf("the namespace %q gives %v", bad, got)
		}
	}
}

// The names are those of Python's library kubernetes.
func TestNames(t *testing.T) {
	for python, api := range map[string]string{"cluster_ip": "clusterIP", "external_i_ps": "externalIPs",
		"host_ipc": "hostIPC", "host_pid": "hostPID", "min_ready_seconds": "minReadySeconds",
		"load_balancer_ip": "loadBalancerIP", "name": "name"} {
		if got := snakeName(api); got != python {
			t.Errorf("%s becomes %s, want %s", api, got, python)
		}
		if got := camelName(python); got != api {
			t.Errorf("%s becomes %s, want %s", python, got, api)
		}
		if got := camelName(api); got != api {
			t.Errorf("%s becomes %s", api, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(kubeconfig("https://k.example.com", "", `"token": "x"`))
	f.Add("contexts: [{name: '', context: {}}]\nclusters: [1]\nusers: x")
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := parse([]byte(text), "", t.TempDir()); err == nil && s.url == "" {
			t.Error("a server without an address")
		}
	})
}

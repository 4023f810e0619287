package kubernetes

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/rest"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/yaml"
)

// A server is an API server and how to log in there.
type server struct {
	url                   string
	token, user, password string
	options               rest.Options
}

// limit is how long a request may take.
const limit = 30 * time.Second

// maxConfig is the most bytes of a kubeconfig.
const maxConfig = 1 << 20

// setting returns an argument, or the option kubernetes.NAME.
func (m *module) setting(ctx context.Context, args *data.Map, arg, option string) (string, error) {
	if text := calls.Text(args.Value(arg)); text != "" {
		return text, nil
	}
	v, err := calls.Option[any](ctx, m.env, "kubernetes."+option)
	return calls.Text(v), err
}

// server reads the arguments of a connection: kubeconfig, kubeconfig_data and context, or api_url and its
// like.
func (m *module) server(ctx context.Context, args *data.Map) (server, error) {
	given := map[string]string{}
	for _, name := range [][2]string{{"kubeconfig", "kubeconfig"}, {"kubeconfig_data", "kubeconfig-data"},
		{"context", "context"}, {"api_url", "api_url"}, {"api_user", "user"}, {"api_password", "password"},
		{"api_certificate_authority_file", "certificate-authority-file"},
		{"api_client_certificate_file", "client-certificate-file"}, {"api_client_key_file", "client-key-file"},
		{"", "certificate-authority-data"}, {"", "client-certificate-data"}, {"", "client-key-data"}} {
		text, err := m.setting(ctx, args, name[0], name[1])
		if err != nil {
			return server{}, err
		}
		given[name[1]] = text
	}
	var config []byte
	dir := ""
	switch inline := given["kubeconfig-data"]; {
	case inline != "" && (given["kubeconfig"] == "" || data.Truth(args.Value("kubeconfig_data"))):
		var err error
		if config, err = base64.StdEncoding.DecodeString(inline); err != nil {
			return server{}, loader.Execution("the kubeconfig is not base64")
		}
	case given["kubeconfig"] != "":
		info, err := os.Stat(given["kubeconfig"])
		if err == nil && info.Size() > maxConfig {
			err = errors.New("the kubeconfig is too long")
		}
		if err == nil {
			config, err = os.ReadFile(given["kubeconfig"])
		}
		if err != nil {
			return server{}, loader.Execution("read the kubeconfig: %w", err)
		}
		dir = filepath.Dir(given["kubeconfig"])
	case given["api_url"] != "":
		s := server{url: given["api_url"], user: given["user"], password: given["password"]}
		return s, s.trust(dir, given, given)
	default:
		return server{}, loader.Execution("Invalid kubernetes configuration. " +
			"Parameter 'kubeconfig' and 'context' are required.")
	}
	return parse(config, given["context"], dir)
}

// named returns the part of a list of a kubeconfig that has a name.
func named(config *data.Map, list, name, part string) (*data.Map, error) {
	all, _ := config.Value(list).([]any)
	for _, v := range all {
		one, _ := v.(*data.Map)
		if of, ok := one.Value(part).(*data.Map); ok && one.Text("name") == name {
			return of, nil
		}
	}
	return nil, loader.Execution("the kubeconfig has no %s %q", part, name)
}

// parse reads a kubeconfig. context defaults to the current one, and dir is the directory of relative files.
func parse(text []byte, context, dir string) (server, error) {
	v, err := yaml.Load(text, yaml.Options{})
	if err != nil {
		return server{}, loader.Execution("the kubeconfig is not YAML")
	}
	config, _ := v.(*data.Map)
	if context == "" {
		context = calls.Text(config.Value("current-context"))
	}
	of, err := named(config, "contexts", context, "context")
	if err != nil {
		return server{}, err
	}
	cluster, err := named(config, "clusters", of.Text("cluster"), "cluster")
	if err != nil {
		return server{}, err
	}
	user, err := named(config, "users", of.Text("user"), "user")
	if err != nil {
		return server{}, err
	}
	if user.Has("exec") || user.Has("auth-provider") {
		return server{}, loader.Execution("the user %q of the kubeconfig logs in by another program",
			of.Text("user"))
	}
	s := server{url: cluster.Text("server"), token: calls.Text(user.Value("token")),
		user: calls.Text(user.Value("username")), password: calls.Text(user.Value("password"))}
	if file := calls.Text(user.Value("tokenFile")); file != "" && s.token == "" {
		token, err := os.ReadFile(below(dir, file))
		if err != nil {
			return server{}, loader.Execution("read the token: %w", err)
		}
		s.token = strings.TrimSpace(string(token))
	}
	s.options.Insecure = data.Truth(cluster.Value("insecure-skip-tls-verify"))
	if text := calls.Text(cluster.Value("proxy-url")); text != "" {
		proxy, err := url.Parse(text)
		if err != nil {
			return server{}, loader.Execution("the address of the proxy is invalid")
		}
		s.options.Proxy = func(*http.Request) (*url.URL, error) { return proxy, nil }
	}
	texts := map[string]string{}
	for _, part := range []*data.Map{cluster, user} {
		for k, v := range part.All() {
			texts[data.Str(k)] = calls.Text(v)
		}
	}
	return s, s.trust(dir, texts, map[string]string{"certificate-authority-file": texts["certificate-authority"],
		"client-certificate-file": texts["client-certificate"], "client-key-file": texts["client-key"]})
}

// below returns a path of a kubeconfig, which may be relative to its directory.
func below(dir, file string) string {
	if dir == "" || filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(dir, file)
}

// trust reads the authorities and the client's certificate: PEM in base64, or files.
func (s *server) trust(dir string, inline, files map[string]string) error {
	s.options.Timeout = limit
	if rest.CheckURL(s.url) != nil {
		return loader.Execution("the address of the API server is invalid")
	}
	read := func(name string) ([]byte, error) {
		if text := inline[name+"-data"]; text != "" {
			pem, err := base64.StdEncoding.DecodeString(text)
			if err != nil {
				return nil, loader.Execution("%s-data is not base64", name)
			}
			return pem, nil
		}
		if file := files[name+"-file"]; file != "" {
			pem, err := os.ReadFile(below(dir, file))
			if err != nil {
				return nil, loader.Execution("read %s: %w", name, err)
			}
			return pem, nil
		}
		return nil, nil
	}
	var err error
	if s.options.Trust, err = read("certificate-authority"); err != nil {
		return err
	}
	cert, err := read("client-certificate")
	if err != nil || cert == nil {
		return err
	}
	key, err := read("client-key")
	if err != nil {
		return err
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return loader.Execution("the client's certificate and its key cannot be used")
	}
	s.options.Pair = &pair
	return nil
}

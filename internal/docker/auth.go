package docker

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pyjson"
)

const (
	indexName = "docker.io"
	indexURL  = "https://index.docker.io/v1/"
	token     = "<token>" // as a username: the password is an identity token
)

// A Login is what the engine needs to sign in to a registry.
type Login struct{ Username, Password, Token, Server string }

// Header returns the header X-Registry-Auth with the login.
func (l Login) Header() (string, error) {
	m := data.NewMap("username", l.Username, "password", l.Password, "serveraddress", l.Server)
	if l.Token != "" {
		m = data.NewMap("identitytoken", l.Token, "serveraddress", l.Server)
	}
	text, err := pyjson.Append(nil, m, pyjson.Options{Comma: ",", Colon: ":"})
	if err != nil {
		return "", fmt.Errorf("encode the login for %s: %w", l.Server, err)
	}
	return base64.URLEncoding.EncodeToString(text), nil
}

// Registry returns the registry that the name of an image begins with, docker.io if it names none.
func Registry(image string) string {
	first, _, ok := strings.Cut(image, "/")
	if !ok || !strings.ContainsAny(first, ".:") && first != "localhost" || first == "index."+indexName {
		return indexName
	}
	return first
}

// SplitTag splits the name of an image from its tag or digest, which may be missing.
func SplitTag(image string) (name, tag string) {
	if name, digest, ok := cutLast(image, "@"); ok {
		return name, digest
	}
	if name, tag, ok := cutLast(image, ":"); ok && !strings.Contains(tag, "/") {
		return name, tag
	}
	return image, ""
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// A Config is docker's file config.json as far as it is about logins and proxies.
type Config struct {
	auths   map[string]Login
	helpers map[string]string // of single registries
	store   string            // helper of all others
	proxies map[string]string
}

// ParseConfig reads a config.json. Logins that cannot be read are left out, as docker does.
func ParseConfig(text string) (*Config, error) {
	v, err := pyjson.Load(text)
	if err != nil {
		return nil, err
	}
	m, ok := v.(*data.Map)
	if !ok {
		return nil, fmt.Errorf("it is no dictionary")
	}
	c := &Config{auths: map[string]Login{}, helpers: map[string]string{}, proxies: map[string]string{}}
	for name, v := range pairs(pairs(m.Value("proxies"))["default"]) {
		if text, ok := v.(string); ok {
			c.proxies[name] = text
		}
	}
	c.store, _ = m.Value("credsStore").(string)
	for registry, helper := range pairs(m.Value("credHelpers")) {
		if name, ok := helper.(string); ok {
			c.helpers[registry] = name
		}
	}
	for server, entry := range pairs(m.Value("auths")) {
		e, _ := entry.(*data.Map)
		if l, ok := loginOf(e); ok {
			l.Server = server
			c.auths[hostOf(server)] = l
		}
	}
	return c, nil
}

func pairs(v any) map[string]any {
	found := map[string]any{}
	if m, ok := v.(*data.Map); ok {
		for k, v := range m.All() {
			if name, ok := k.(string); ok {
				found[name] = v
			}
		}
	}
	return found
}

func loginOf(e *data.Map) (Login, bool) {
	if e == nil {
		return Login{}, false
	}
	if t, _ := e.Value("identitytoken").(string); t != "" {
		return Login{Token: t}, true
	}
	text, _ := e.Value("auth").(string)
	plain, err := base64.StdEncoding.DecodeString(text)
	user, password, ok := strings.Cut(string(plain), ":")
	return Login{Username: user, Password: strings.TrimRight(password, "\x00")}, err == nil && ok
}

// hostOf returns the host of a key of auths, which may be a URL.
func hostOf(server string) string {
	_, rest, ok := strings.Cut(server, "://")
	if !ok {
		rest = server
	}
	host, _, _ := strings.Cut(rest, "/")
	if host == "index."+indexName || host == "" {
		return indexName
	}
	return host
}

// Login returns the login for a registry in the file itself.
func (c *Config) Login(registry string) (Login, bool) {
	l, ok := c.auths[hostOf(registry)]
	return l, ok
}

// Helper returns the program that knows the login for a registry, and the name that the program
// knows the registry by; both are "" if there is none.
func (c *Config) Helper(registry string) (program, server string) {
	name := c.helpers[registry]
	if name == "" {
		name = c.store
	}
	if name == "" || strings.ContainsAny(name, "/\n") {
		return "", ""
	}
	if registry == indexName {
		registry = indexURL
	}
	return "docker-credential-" + name, registry
}

// ParseHelper reads the answer of such a program.
func ParseHelper(text string) (Login, error) {
	v, err := pyjson.Load(text)
	m, ok := v.(*data.Map)
	if err != nil || !ok {
		return Login{}, fmt.Errorf("the answer of the credential helper is no login")
	}
	user, _ := m.Value("Username").(string)
	secret, _ := m.Value("Secret").(string)
	server, _ := m.Value("ServerURL").(string)
	if user == token {
		return Login{Token: secret, Server: server}, nil
	}
	return Login{Username: user, Password: secret, Server: server}, nil
}

// proxyNames returns the names of proxies in config.json and those of their variables.
func proxyNames() [][2]string {
	return [][2]string{{"httpProxy", "http_proxy"}, {"httpsProxy", "https_proxy"}, {"ftpProxy", "ftp_proxy"}, {"noProxy", "no_proxy"}}
}

// Proxies returns the variables with the proxies that containers are to use, NAME=VALUE.
func (c *Config) Proxies() []string {
	var all []string
	for _, name := range proxyNames() {
		if v := c.proxies[name[0]]; v != "" {
			all = append(all, name[1]+"="+v, strings.ToUpper(name[1])+"="+v)
		}
	}
	return all
}

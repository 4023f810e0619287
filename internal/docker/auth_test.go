package docker_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/brineproject/brine/internal/docker"
)

func TestRegistry(t *testing.T) {
	for image, want := range map[string]string{"busybox": "docker.io", "me/app": "docker.io", "index.docker.io/a": "docker.io",
		"localhost/a": "localhost", "localhost:5000/a": "localhost:5000", "r.example.com/a/b": "r.example.com"} {
		if got := docker.Registry(image); got != want {
			t.Errorf("Registry(%s) = %s, want %s", image, got, want)
		}
	}
}

func TestSplitTag(t *testing.T) {
	for image, want := range map[string]string{"busybox": "busybox|", "busybox:1": "busybox|1", "r:5000/a": "r:5000/a|",
		"r:5000/a:b": "r:5000/a|b", "a@sha256:12": "a|sha256:12"} {
		if name, tag := docker.SplitTag(image); name+"|"+tag != want {
			t.Errorf("SplitTag(%s) = %s, %s, want %s", image, name, tag, want)
		}
	}
}

func TestConfig(t *testing.T) {
	c, err := docker.ParseConfig(`{"auths": {
		"https://index.docker.io/v1/": {"auth": "dTpw"}, "r:5000": {"auth": "dTpwOng="}, "https://t.example.com/v2": {"identitytoken": "tok"},
		"bad": {"auth": "%"}, "worse": 5, "none": {}},
		"credHelpers": {"h.example.com": "pass", "evil": "../x"},
		"proxies": {"default": {"httpProxy": "http://p:3128", "noProxy": "localhost"}}}`)
	if err != nil {
		t.Fatal(err)
	}
	for registry, want := range map[string]docker.Login{
		"docker.io":     {Username: "u", Password: "p", Server: "https://index.docker.io/v1/"},
		"r:5000":        {Username: "u", Password: "p:x", Server: "r:5000"},
		"t.example.com": {Token: "tok", Server: "https://t.example.com/v2"},
	} {
		if got, ok := c.Login(registry); !ok || got != want {
			t.Errorf("Login(%s) = %+v, want %+v", registry, got, want)
		}
	}
	for _, registry := range []string{"bad", "worse", "none", "other"} {
		if got, ok := c.Login(registry); ok {
			t.Errorf("Login(%s) = %+v", registry, got)
		}
	}
	if program, server := c.Helper("h.example.com"); program != "docker-credential-pass" || server != "h.example.com" {
		t.Errorf("the helper is %s for %s", program, server)
	}
	if program, _ := c.Helper("evil"); program != "" {
		t.Errorf("a helper with a path: %s", program)
	}
	want := "http_proxy=http://p:3128 HTTP_PROXY=http://p:3128 no_proxy=localhost NO_PROXY=localhost"
	if got := strings.Join(c.Proxies(), " "); got != want {
		t.Errorf("the proxies are %s", got)
	}
	store, err := docker.ParseConfig(`{"credsStore": "secretservice"}`)
	if err != nil {
		t.Fatal(err)
	}
	if program, server := store.Helper("docker.io"); program != "docker-credential-secretservice" || server != "https://index.docker.io/v1/" {
		t.Errorf("the helper of all is %s for %s", program, server)
	}
}

func TestHeader(t *testing.T) {
	for want, l := range map[string]docker.Login{
		`{"username":"u","password":"p","serveraddress":"s"}`: {Username: "u", Password: "p", Server: "s"},
		`{"identitytoken":"t","serveraddress":"s"}`:           {Token: "t", Server: "s"},
	} {
		header, err := l.Header()
		got, decodeErr := base64.URLEncoding.DecodeString(header)
		if err != nil || decodeErr != nil || string(got) != want {
			t.Errorf("got %s, %v, %v, want %s", got, err, decodeErr, want)
		}
	}
	l, err := docker.ParseHelper(`{"ServerURL": "s", "Username": "<token>", "Secret": "t"}`)
	if err != nil || l != (docker.Login{Token: "t", Server: "s"}) {
		t.Errorf("a token of a helper: %+v, %v", l, err)
	}
}

func FuzzParseConfig(f *testing.F) {
	f.Add(`{"auths": {"https://index.docker.io/v1/": {"auth": "dTpw"}}, "credsStore": "x", "proxies": {"default": {"httpProxy": "p"}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		c, err := docker.ParseConfig(text)
		if err != nil {
			return
		}
		c.Login("docker.io")
		c.Proxies()
		if program, _ := c.Helper("docker.io"); strings.ContainsAny(strings.TrimPrefix(program, "docker-credential-"), "/\n") {
			t.Errorf("the helper %q is no name of a program", program)
		}
	})
}

func FuzzParseHelper(f *testing.F) {
	f.Add(`{"ServerURL": "s", "Username": "<token>", "Secret": "t"}`)
	f.Fuzz(func(t *testing.T, text string) {
		if l, err := docker.ParseHelper(text); err != nil && l != (docker.Login{}) {
			t.Errorf("%q: %+v with %v", text, l, err)
		}
	})
}

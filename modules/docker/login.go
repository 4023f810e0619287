package docker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/docker"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

type registriesArgs struct {
	Registries []any `args:"registries"`
}

// registries returns the configured logins by registry, and what is wrong with them.
func (m *module) registries(ctx context.Context) (*data.Map, []any, error) {
	v, err := calls.ConfigGet[any](ctx, m.env, "docker-registries", data.NewMap())
	if err != nil {
		return nil, nil, err
	}
	errs := []any{}
	all, ok := v.(*data.Map)
	if !ok {
		errs = append(errs, "'docker-registries' Pillar value must be a dictionary")
		all = data.NewMap()
	}
	all = all.Clone()
	more, err := loader.CallAs[*data.Map](ctx, m.env, "config.option", []any{"*-docker-registries"}, data.NewMap("wildcard", true))
	if err != nil {
		return nil, nil, err
	}
	for name, conf := range more.All() {
		if c, ok := conf.(*data.Map); ok {
			all.Update(c)
		} else {
			errs = append(errs, "Docker registry '"+data.Str(name)+"' was not specified as a dictionary")
		}
	}
	return all, errs, nil
}

// login signs in to the registries that the pillar names under docker-registries, or under names that end
// in -docker-registries, each with username and password. The registry hub is Docker Hub. The logins are
// kept in docker's config.json.
//
// registries
//
//	Only these.
//
// CLI Example:
//
//	salt myminion docker.login
//	salt myminion docker.login hub
//	salt myminion docker.login hub https://mydomain.tld/registry/
func (m *module) login(ctx context.Context, a registriesArgs) (*data.Map, error) {
	return m.sign(ctx, a.Registries, func(registry string, conf any) ([]string, string, string) {
		c, ok := conf.(*data.Map)
		if !ok {
			return nil, "", "Invalid configuration for registry '" + registry + "'"
		}
		for _, key := range []string{"username", "password"} {
			if !c.Has(key) {
				return nil, "", "Missing '" + key + "' for registry '" + registry + "'"
			}
		}
		if strings.ContainsAny(c.Text("username"), "\n\r\x00") {
			return nil, "", "The username for registry '" + registry + "' has more than one line"
		}
		return []string{"login", "--username=" + c.Text("username"), "--password-stdin"}, c.Text("password"), ""
	})
}

// logout forgets the logins to registries. They are those of docker.login.
//
// CLI Example:
//
//	salt myminion docker.logout
//	salt myminion docker.logout hub
func (m *module) logout(ctx context.Context, a registriesArgs) (*data.Map, error) {
	return m.sign(ctx, a.Registries, func(string, any) ([]string, string, string) { return []string{"logout"}, "", "" })
}

// sign runs docker for each registry. command returns its arguments and its input, or what is wrong.
func (m *module) sign(
	ctx context.Context, wanted []any, command func(registry string, conf any) (argv []string, stdin, wrong string),
) (*data.Map, error) {
	all, errs, err := m.registries(ctx)
	if err != nil {
		return nil, err
	}
	if len(wanted) == 0 {
		wanted = all.Keys()
	}
	program := "docker"
	if process.Find(program) == "" && process.Find("podman") != "" {
		program = "podman"
	}
	results := data.NewMap()
	for _, registry := range data.Texts(wanted) {
		conf, ok := all.Get(registry)
		if !ok {
			errs = append(errs, "No match found for registry '"+registry+"'")
			continue
		}
		argv, stdin, wrong := command(registry, conf)
		if wrong != "" {
			errs = append(errs, wrong)
			continue
		}
		if !strings.EqualFold(registry, "hub") {
			if err := process.PlainOperands(registry); err != nil {
				errs = append(errs, err.Error())
				continue
			}
			argv = append(argv, registry)
		}
		ran, err := calls.RunAll(ctx, m.env, calls.Run{Argv: append([]string{program}, argv...), Stdin: stdin, Log: "quiet"})
		if err != nil {
			return nil, err
		}
		results.Set(registry, ran.Retcode == 0)
		if ran.Retcode != 0 && ran.Stderr != "" {
			errs = append(errs, ran.Stderr)
		} else if ran.Retcode != 0 && ran.Stdout != "" {
			errs = append(errs, ran.Stdout)
		}
	}
	code := int64(0)
	if len(errs) > 0 {
		code = 1
	}
	return data.NewMap("retcode", code, "Errors", errs, "Results", results), nil
}

// configLimit is the size that docker's config.json may have.
const configLimit = 1 << 20

// readConfig returns docker's config.json, an empty one if there is none.
func readConfig() (*docker.Config, error) {
	dir := os.Getenv("DOCKER_CONFIG")
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return docker.ParseConfig("{}")
		}
		dir = filepath.Join(home, ".docker")
	}
	path := filepath.Join(dir, "config.json")
	text, err := readFile(path, configLimit)
	if errors.Is(err, fs.ErrNotExist) {
		return docker.ParseConfig("{}")
	}
	var config *docker.Config
	if err == nil {
		config, err = docker.ParseConfig(string(text))
	}
	if err != nil {
		return nil, fmt.Errorf("read docker's configuration %s: %w", path, err)
	}
	return config, nil
}

// authHeader returns the header with the login for the registry of an image; nil if there is none.
func (m *module) authHeader(ctx context.Context, image string) (http.Header, error) {
	config, err := readConfig()
	if err != nil {
		return nil, loader.Execution("%w", err)
	}
	registry := docker.Registry(image)
	login, ok := config.Login(registry)
	if program, server := config.Helper(registry); program != "" {
		if login, ok, err = m.askHelper(ctx, program, server); err != nil {
			return nil, err
		}
	}
	if !ok {
		return nil, nil
	}
	value, err := login.Header()
	if err != nil {
		return nil, loader.Execution("%w", err)
	}
	return http.Header{"X-Registry-Auth": {value}}, nil
}

// askHelper asks a program that keeps logins.
func (m *module) askHelper(ctx context.Context, program, server string) (docker.Login, bool, error) {
	ran, err := calls.RunAll(ctx, m.env, calls.Run{Argv: []string{program, "get"}, Stdin: server + "\n", Log: "quiet", IgnoreRetcode: true})
	if err != nil {
		return docker.Login{}, false, err
	}
	if ran.Retcode != 0 {
		if strings.TrimSpace(ran.Stdout) == "credentials not found in native keychain" {
			return docker.Login{}, false, nil
		}
		return docker.Login{}, false, loader.Execution("%s gives no login for %s: %s", program, server, strings.TrimSpace(ran.Stderr))
	}
	login, err := docker.ParseHelper(ran.Stdout)
	if err != nil {
		return docker.Login{}, false, loader.Execution("%s: %w", program, err)
	}
	return login, true, nil
}

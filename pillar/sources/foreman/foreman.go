// Package foreman is Salt's external pillar of that name: what a Foreman knows of a host, by its API
// of version 2 (salt/pillar/foreman.py).
//
//	foreman.url: https://foreman.example.com/api   # http://foreman/api
//	foreman.user: salt                             # admin
//	foreman.password: secret                       # changeme
//	foreman.verifyssl: True
//	foreman.cafile: /etc/ssl/certs/ca.pem          # certfile, keyfile: of the client
//	foreman.lookup_parameters: True                # all_parameters also as a dictionary, parameters
//	ext_pillar:
//	  - foreman: {key: foreman, only: [hostgroup_name, parameters]}
//
// As in Salt the environment configures proxies. A failure is logged, and the pillar is empty then.
// An id that could lead to another part of the API is refused.
package foreman

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/rest"
	"github.com/brineproject/brine/pillar"
)

// patience is the timeout of a request.
const patience = 2 * time.Minute

// Source is the external pillar foreman.
type Source struct{}

var _ pillar.Checker = Source{}

// Name implements pillar.Source.
func (Source) Name() string { return "foreman" }

// Check implements pillar.Checker.
func (Source) Check(argument any, opts *data.Map) error {
	_, err := arguments(argument)
	return errors.Join(err, check(opts))
}

func check(opts *data.Map) error {
	var errs []error
	if err := rest.CheckURL(data.Str(option(opts, "url", defaultURL))); err != nil {
		errs = append(errs, fmt.Errorf("foreman.url: %w", err))
	}
	if v := option(opts, "api", int64(2)); !data.Equal(v, int64(2)) {
		errs = append(errs, errors.New("foreman.api: only 2 is supported"))
	}
	return errors.Join(errs...)
}

const defaultURL = "http://foreman/api"

func option(opts *data.Map, name string, usual any) any {
	if v, ok := opts.Get("foreman." + name); ok {
		return v
	}
	return usual
}

func text(opts *data.Map, name string) string {
	if v := option(opts, name, nil); v != nil {
		return data.Str(v)
	}
	return ""
}

func arguments(argument any) (*data.Map, error) {
	if argument == nil {
		argument = data.NewMap()
	}
	args, err := pillar.Bind(argument, 0, "key", "only")
	if err != nil {
		return nil, err
	}
	return args, pillar.CheckSelection(args)
}

// Pillar implements pillar.Source.
func (Source) Pillar(ctx context.Context, q pillar.Query) (*data.Map, error) {
	args, err := arguments(q.Argument)
	if err != nil {
		return nil, err
	}
	m, err := fetch(ctx, q.Opts, q.ID)
	if err != nil {
		q.Log.Errorf("Could not fetch host data via Foreman API: %s: %s", q.ID, err)
		return nil, nil
	}
	return pillar.Select(m, args), nil
}

func fetch(ctx context.Context, opts *data.Map, id string) (*data.Map, error) {
	if err := check(opts); err != nil {
		return nil, err
	}
	part, err := rest.Part("the minion's id", id)
	if err != nil {
		return nil, err
	}
	c, err := rest.New(rest.Options{Timeout: patience, EnvironmentProxies: true,
		Insecure: !data.Truth(option(opts, "verifyssl", true)), CA: text(opts, "cafile"),
		Cert: text(opts, "certfile"), Key: text(opts, "keyfile")})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	a, err := c.Do(ctx, rest.Request{URL: data.Str(option(opts, "url", defaultURL)) + "/hosts/" + part,
		User:     data.Str(option(opts, "user", "admin")),
		Password: data.Str(option(opts, "password", "changeme")),
		Header:   map[string]string{"Accept": "version=2,application/json"}})
	if err != nil {
		return nil, err
	}
	v, err := a.JSON()
	if err != nil {
		return nil, errors.Join(a.Err(), err)
	}
	m, ok := v.(*data.Map)
	if !ok {
		return nil, errors.Join(a.Err(), errors.New("the response is not a dictionary"))
	}
	if data.Truth(option(opts, "lookup_parameters", true)) {
		if err := addParameters(m); err != nil {
			return nil, errors.Join(a.Err(), err)
		}
	}
	return m, nil
}

// addParameters adds the list all_parameters as a dictionary.
func addParameters(m *data.Map) error {
	list, ok := m.Value("all_parameters").([]any)
	if !ok {
		return errors.New("the response has no list all_parameters")
	}
	parameters := data.NewMap()
	for _, v := range list {
		p, ok := v.(*data.Map)
		if !ok || !p.Has("name") || !p.Has("value") || !data.Hashable(p.Value("name")) {
			return errors.New("an entry of all_parameters lacks its name or its value")
		}
		parameters.Set(p.Value("name"), p.Value("value"))
	}
	m.Set("parameters", parameters)
	return nil
}

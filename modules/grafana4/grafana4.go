// Package grafana4 is Salt's module grafana4: users, organizations, data sources and dashboards of Grafana,
// over its HTTP API (salt/modules/grafana4.py).
//
// grafana4.go sends the requests, functions.go has the functions.
//
// Differences from Salt: update_datasource and delete_datasource switch to orgname first, which Salt's
// ignore. An organization to switch to that is not there is an error of all of them.
package grafana4

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pyjson"
	"github.com/brineproject/brine/internal/rest"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

// Plugin returns the module grafana4.
func Plugin() loader.Plugin { return loader.Plugin{Name: "grafana4", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("create_datasource", m.createDatasource).Secret("profile", "password", "basicAuthPassword",
			"secureJsonData"),
		loader.F("create_org", m.createOrg).Secret("profile"),
		loader.F("create_org_user", m.createOrgUser).Secret("profile"),
		loader.F("create_update_dashboard", m.createUpdateDashboard).Secret("profile"),
		loader.F("create_user", m.createUser).Secret("profile", "password"),
		loader.F("delete_dashboard", m.deleteDashboard).Secret("profile"),
		loader.F("delete_datasource", m.deleteDatasource).Secret("profile"),
		loader.F("delete_org", m.deleteOrg).Secret("profile"),
		loader.F("delete_org_user", m.deleteOrgUser).Secret("profile"),
		loader.F("delete_user", m.deleteUser).Secret("profile"),
		loader.F("delete_user_org", m.deleteUserOrg).Secret("profile"),
		loader.F("get_dashboard", m.getDashboard).Secret("profile"),
		loader.F("get_datasource", m.getDatasource).Secret("profile"),
		loader.F("get_datasources", m.getDatasources).Secret("profile"),
		loader.F("get_org", m.getOrg).Secret("profile"),
		loader.F("get_org_address", m.getOrgAddress).Secret("profile"),
		loader.F("get_org_prefs", m.getOrgPrefs).Secret("profile"),
		loader.F("get_org_users", m.getOrgUsers).Secret("profile"),
		loader.F("get_orgs", m.getOrgs).Secret("profile"),
		loader.F("get_user", m.getUser).Secret("profile"),
		loader.F("get_user_data", m.getUserData).Secret("profile"),
		loader.F("get_user_orgs", m.getUserOrgs).Secret("profile"),
		loader.F("get_users", m.getUsers).Secret("profile"),
		loader.F("switch_org", m.switchOrg).Secret("profile"),
		loader.F("update_datasource", m.updateDatasource).Secret("profile", "password", "basicAuthPassword",
			"secureJsonData"),
		loader.F("update_org", m.updateOrg).Secret("profile"),
		loader.F("update_org_address", m.updateOrgAddress).Secret("profile"),
		loader.F("update_org_prefs", m.updateOrgPrefs).Secret("profile"),
		loader.F("update_org_user", m.updateOrgUser).Secret("profile"),
		loader.F("update_user", m.updateUser).Secret("profile"),
		loader.F("update_user_password", m.updateUserPassword).Secret("profile", "password"),
		loader.F("update_user_permissions", m.updateUserPermissions).Secret("profile"),
	}}, nil
}

// httpError is the class of the errors for answers that are none of success.
const httpError = "requests.exceptions.HTTPError"

// profile returns a profile: a dictionary, or the option of a name.
func (m *module) profile(ctx context.Context, given any) (*data.Map, error) {
	if name, ok := given.(string); ok {
		v, err := calls.Option[any](ctx, m.env, name)
		if err != nil {
			return nil, err
		}
		given = v
	}
	p, ok := given.(*data.Map)
	if !ok || p.Text("grafana_url") == "" {
		return nil, loader.Invocation("the profile of Grafana lacks grafana_url")
	}
	if !data.Truth(p.Value("grafana_token")) && p.Text("grafana_user") == "" {
		return nil, loader.Invocation(
			"the profile of Grafana lacks grafana_token, or grafana_user and grafana_password")
	}
	return p, nil
}

// in switches to an organization, if there is one, and sends a request.
func (m *module) in(
	ctx context.Context, profile, org any, method string, fields *data.Map, parts ...string,
) (any, error) {
	if data.Truth(org) {
		if _, err := m.switchOrg(ctx, switchArgs{data.Str(org), profileArgs{profile}}); err != nil {
			return nil, err
		}
	}
	return m.ask(ctx, profile, method, fields, parts...)
}

// ask sends a request to an address below /api, with fields as JSON if they are not nil, and returns the
// answer.
func (m *module) ask(ctx context.Context, given any, method string, fields *data.Map, parts ...string) (any,
	error) {
	p, err := m.profile(ctx, given)
	if err != nil {
		return nil, err
	}
	r := rest.Request{Method: method, URL: strings.TrimRight(p.Text("grafana_url"), "/") + "/api",
		Header: map[string]string{"Content-Type": "application/json"}}
	for _, part := range parts {
		escaped, err := rest.Part(data.Repr(part), part)
		if err != nil {
			return nil, loader.Execution("%w", err)
		}
		r.URL += "/" + escaped
	}
	if data.Truth(p.Value("grafana_token")) {
		r.Header["Authorization"] = "Bearer " + p.Text("grafana_token")
	} else {
		r.User, r.Password = p.Text("grafana_user"), p.Text("grafana_password")
	}
	if fields != nil {
		if r.Body, err = body(fields); err != nil {
			return nil, err
		}
	}
	return send(ctx, r, p.Value("grafana_timeout"))
}

// body returns fields as JSON, without the arguments that a master adds to a job.
func body(fields *data.Map) ([]byte, error) {
	kept := &data.Map{}
	for k, v := range fields.All() {
		if !strings.HasPrefix(data.Str(k), "__") {
			kept.Set(k, v)
		}
	}
	b, err := pyjson.Append(nil, kept, pyjson.Options{Comma: ", ", Colon: ": "})
	if err != nil {
		return nil, loader.Execution("write a request to Grafana: %w", err)
	}
	return b, nil
}

// send sends a request and returns the value of the answer.
func send(ctx context.Context, r rest.Request, timeout any) (any, error) {
	limit := 3 * time.Second
	if seconds, err := loader.Float(timeout); err == nil && seconds > 0 {
		limit = time.Duration(seconds * float64(time.Second))
	}
	c, err := rest.New(rest.Options{Timeout: limit, EnvironmentProxies: true})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	a, err := c.Do(ctx, r)
	switch {
	case err != nil:
		return nil, loader.Exception("requests.exceptions.ConnectionError", "ask Grafana: %s", err)
	case a.Status >= http.StatusInternalServerError:
		return nil, loader.Exception(httpError, "%d Server Error: %s for url: %s", a.Status, a.Reason,
			rest.Public(r.URL))
	case a.Status >= http.StatusBadRequest:
		return nil, loader.Exception(httpError, "%d Client Error: %s for url: %s", a.Status, a.Reason,
			rest.Public(r.URL))
	}
	v, err := a.JSON()
	if err != nil {
		return nil, loader.Execution("ask Grafana: %w", err)
	}
	return v, nil
}

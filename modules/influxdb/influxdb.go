// Package influxdb is Salt's module influxdb: databases, users, privileges, retention policies and
// continuous queries of InfluxDB 1, over its HTTP API (salt/modules/influxdbmod.py).
//
// influxdb.go sends queries, functions.go has the functions.
//
// Differences from Salt: queries that may hold passwords are in the body of a request, and not in its
// address. Names of continuous queries and their databases are quoted.
package influxdb

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pyjson"
	"github.com/brineproject/brine/internal/rest"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

// Plugin returns the module influxdb.
func Plugin() loader.Plugin {
	return loader.Plugin{Name: "influxdb", File: "influxdbmod", New: newModule}
}

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	secret := func(f *loader.Function) loader.Func { return f.Secret("influxdb_password", "passwd") }
	return &loader.Module{Funcs: []loader.Func{
		secret(loader.F("alter_retention_policy", m.alterRetentionPolicy)),
		secret(loader.F("continuous_query_exists", m.continuousQueryExists)),
		secret(loader.F("create_continuous_query", m.createContinuousQuery)),
		secret(loader.F("create_db", m.createDB)),
		secret(loader.F("create_retention_policy", m.createRetentionPolicy)),
		secret(loader.F("create_user", m.createUser)),
		secret(loader.F("db_exists", m.dbExists)),
		secret(loader.F("drop_continuous_query", m.dropContinuousQuery)),
		secret(loader.F("drop_db", m.dropDB)),
		secret(loader.F("drop_retention_policy", m.dropRetentionPolicy)),
		secret(loader.F("get_continuous_query", m.getContinuousQuery)),
		secret(loader.F("get_retention_policy", m.getRetentionPolicy)),
		secret(loader.F("grant_admin_privileges", m.grantAdminPrivileges)),
		secret(loader.F("grant_privilege", m.grantPrivilege)),
		secret(loader.F("list_dbs", m.listDBs)),
		secret(loader.F("list_privileges", m.listPrivileges)),
		secret(loader.F("list_users", m.listUsers)),
		secret(loader.F("query", m.query)),
		secret(loader.F("remove_user", m.removeUser)),
		secret(loader.F("retention_policy_exists", m.retentionPolicyExists)),
		secret(loader.F("revoke_admin_privileges", m.revokeAdminPrivileges)),
		secret(loader.F("revoke_privilege", m.revokePrivilege)),
		secret(loader.F("set_user_password", m.setUserPassword)),
		secret(loader.F("user_exists", m.userExists)),
		secret(loader.F("user_info", m.userInfo)),
	}}, nil
}

// A client is a server and how to reach it.
type client struct {
	options                       rest.Options
	address, database, user, pass string
}

// client reads the arguments of a connection: influxdb_user, influxdb_password, influxdb_host and
// influxdb_port, which default to the options influxdb.user, .password, .host and .port, and those of the
// library.
func (m *module) client(ctx context.Context, args *data.Map) (client, error) {
	c := client{options: rest.Options{EnvironmentProxies: true, Insecure: true}}
	given := map[string]string{}
	for _, part := range []struct {
		name     string
		fallback any
	}{{"user", "root"}, {"password", "root"}, {"host", "localhost"}, {"port", int64(8086)}} {
		v := args.Value("influxdb_" + part.name)
		if !data.Truth(v) {
			var err error
			if v, err = calls.Option[any](ctx, m.env, "influxdb."+part.name, part.fallback); err != nil {
				return c, err
			}
		}
		given[part.name] = data.Str(v)
	}
	c.user, c.pass = given["user"], given["password"]
	scheme, path := "http", ""
	for k, v := range args.All() {
		switch name := data.Str(k); name {
		case "influxdb_user", "influxdb_password", "influxdb_host", "influxdb_port":
		case "ssl":
			if data.Truth(v) {
				scheme = "https"
			}
		case "verify_ssl":
			c.options.Insecure = !data.Truth(v)
		case "database":
			c.database = calls.Text(v)
		case "path":
			path = strings.Trim(calls.Text(v), "/")
		case "timeout":
			seconds, err := loader.Float(v)
			if err != nil || seconds <= 0 {
				return c, loader.Invocation("timeout is not a number of seconds")
			}
			c.options.Timeout = time.Duration(seconds * float64(time.Second))
		default:
			if !internal(name) {
				return c, loader.TypeError("__init__() got an unexpected keyword argument '%s'", name)
			}
		}
	}
	u := &url.URL{Scheme: scheme, Host: given["host"] + ":" + given["port"], Path: "/query"}
	if path != "" {
		u.Path = "/" + path + "/query"
	}
	if c.address = u.String(); rest.CheckURL(c.address) != nil {
		return c, loader.Invocation("the host or the port of InfluxDB is invalid")
	}
	return c, nil
}

// internal reports whether an argument belongs to a state or a job.
func internal(name string) bool {
	return strings.HasPrefix(name, "__") || slices.Contains([]string{"fun", "state", "name", "order",
		"require", "watch",
		"onlyif", "unless", "failhard", "reload_modules", "saltenv", "retry", "fire_event", "parallel"}, name)
}

// A series is a table of an answer.
type series struct {
	name string
	tags *data.Map
	rows []any // dictionaries
}

// ask sends a query and returns the tables of each of its statements.
func (m *module) ask(ctx context.Context, args *data.Map, database, query string) ([][]series, error) {
	c, err := m.client(ctx, args)
	if err != nil {
		return nil, err
	}
	form := url.Values{"q": {query}}
	if database == "" {
		database = c.database
	}
	if database != "" {
		form.Set("db", database)
	}
	client, err := rest.New(c.options)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	a, err := client.Do(ctx, rest.Request{Method: http.MethodPost, URL: c.address, User: c.user,
		Password: c.pass,
		Body:     []byte(form.Encode()),
		Header: map[string]string{"Content-Type": "application/x-www-form-urlencoded",
			"Accept": "application/json"}})
	switch {
	case err != nil:
		return nil, loader.Exception("requests.exceptions.ConnectionError", "ask InfluxDB: %s", err)
	case !a.OK():
		return nil, refusal(a)
	}
	v, err := a.JSON()
	if err != nil {
		return nil, loader.Execution("ask InfluxDB: %w", err)
	}
	return tables(v)
}

func refusal(a *rest.Answer) error {
	class, text := "Client", strings.TrimSpace(string(a.Body))
	if a.Status >= http.StatusInternalServerError {
		class = "Server"
	}
	return loader.Exception("influxdb.exceptions.InfluxDB"+class+"Error", "%d: %s", a.Status,
		text[:min(len(text), 1000)])
}

// tables reads the results of an answer.
func tables(v any) ([][]series, error) {
	of, _ := v.(*data.Map)
	results, _ := of.Value("results").([]any)
	all := make([][]series, 0, len(results))
	for _, v := range results {
		result, _ := v.(*data.Map)
		if text, ok := result.Get("error"); ok {
			return nil, loader.Exception("influxdb.exceptions.InfluxDBClientError", "%s", data.Str(text))
		}
		list, _ := result.Value("series").([]any)
		var found []series
		for _, v := range list {
			one, _ := v.(*data.Map)
			s := series{name: one.Text("name"), rows: []any{}}
			if !one.Has("name") {
				s.name = "results"
			}
			s.tags, _ = one.Value("tags").(*data.Map)
			columns := data.ListOf(one.Value("columns"))
			values, _ := one.Value("values").([]any)
			for _, v := range values {
				cells, _ := v.([]any)
				row := &data.Map{}
				for i, name := range columns {
					if i < len(cells) {
						row.Set(name, cells[i])
					}
				}
				s.rows = append(s.rows, row)
			}
			found = append(found, s)
		}
		all = append(all, found)
	}
	return all, nil
}

// rows sends a query and returns all rows of the answer.
func (m *module) rows(ctx context.Context, args *data.Map, query string) ([]any, error) {
	all, err := m.ask(ctx, args, "", query)
	rows := []any{}
	for _, found := range all {
		for _, s := range found {
			rows = append(rows, s.rows...)
		}
	}
	return rows, err
}

// do sends a query that changes something, and returns True.
func (m *module) do(ctx context.Context, args *data.Map, query string) (any, error) {
	_, err := m.ask(ctx, args, "", query)
	return err == nil, err
}

// ident quotes a name for a query.
func ident(name string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(name) + `"`
}

// literal quotes a text for a query.
func literal(text string) string {
	return `'` + strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`).Replace(text) + `'`
}

var (
	durationForm = regexp.MustCompile(`^(?:(?:[0-9]+(?:ns|u|µ|ms|s|m|h|d|w))+|0|INF|inf)$`)
	numberForm   = regexp.MustCompile(`^[0-9]+$`)
)

// privilege returns a privilege for a query.
func privilege(text string) (string, error) {
	switch p := strings.ToUpper(text); p {
	case "READ", "WRITE", "ALL", "ALL PRIVILEGES":
		return p, nil
	}
	return "", loader.Invocation("%q is not a privilege: read, write or all", text)
}

// find returns the row that has a value under a key, or nil.
func find(rows []any, key, value string) *data.Map {
	for _, v := range rows {
		if row, ok := v.(*data.Map); ok && row.Text(key) == value {
			return row
		}
	}
	return nil
}

// results returns tables as influxdb.query does: rows by name, and by tags below it if there are any.
func results(found []series) (*data.Map, error) {
	found = slices.Clone(found)
	slices.SortStableFunc(found, func(a, b series) int { return strings.Compare(a.name, b.name) })
	all := &data.Map{}
	for _, s := range found {
		if s.tags.Len() == 0 {
			all.Set(s.name, s.rows)
			continue
		}
		tags, err := pyjson.Append(nil, s.tags, pyjson.Options{Comma: ", ", Colon: ": ", ASCII: true})
		if err != nil {
			return nil, err
		}
		of, ok := all.Value(s.name).(*data.Map)
		if !ok {
			of = &data.Map{}
			all.Set(s.name, of)
		}
		of.Set(string(tags), s.rows)
	}
	return all, nil
}

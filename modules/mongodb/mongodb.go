// Package mongodb is Salt's module mongodb: databases, users, collections and documents of MongoDB, by the
// program mongosh or mongo (salt/modules/mongodb.py).
//
// mongodb.go runs the program, functions.go has the functions. A call is a script on the program's standard
// input: passwords stand in no argument and in no log.
//
// Differences from Salt: the library of Python is not used. Documents have the form of MongoDB's extended
// JSON, such as {$oid: ...}. user_remove uses authdb. db_exists and user_exists are errors if the server
// cannot be asked.
package mongodb

import (
	"context"
	"errors"
	"net"
	"net/url"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pyjson"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// Plugin returns the module mongodb. It is available on hosts with mongosh or mongo.
func Plugin() loader.Plugin { return loader.Plugin{Name: "mongodb", New: newModule} }

type module struct {
	env     *loader.Env
	program string
}

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env: env}
	for _, name := range []string{"mongosh", "mongo"} {
		if m.program == "" && process.Find(name) != "" {
			m.program = name
		}
	}
	if m.program == "" {
		return nil, errors.New("the mongodb execution module cannot be loaded: there is no mongosh and no mongo")
	}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("collection_create", m.collectionCreate),
		loader.F("collection_drop", m.collectionDrop),
		loader.F("collections_list", m.collectionsList),
		loader.F("db_exists", m.dbExists),
		loader.F("db_list", m.dbList),
		loader.F("db_remove", m.dbRemove),
		loader.F("find", m.find),
		loader.F("insert", m.insert),
		loader.F("remove", m.remove),
		loader.F("update_one", m.updateOne),
		loader.F("user_create", m.userCreate).Secret("passwd"),
		loader.F("user_exists", m.userExists),
		loader.F("user_find", m.userFind),
		loader.F("user_grant_roles", m.userGrantRoles),
		loader.F("user_list", m.userList),
		loader.F("user_remove", m.userRemove),
		loader.F("user_revoke_roles", m.userRevokeRoles),
		loader.F("user_roles_exists", m.userRolesExists),
		loader.F("version", m.version),
	}}, nil
}

// A login is a server and who logs in there.
type login struct{ user, password, host, port, authdb any }

// uri returns the address of the server with the login, and the password. authdb defaults to database.
func (m *module) uri(ctx context.Context, l login, database string) (uri, password string, err error) {
	given := map[string]string{}
	for name, v := range map[string]any{"user": l.user, "password": l.password, "host": l.host, "port": l.port} {
		if !data.Truth(v) {
			if v, err = calls.Option[any](ctx, m.env, "mongodb."+name); err != nil {
				return "", "", err
			}
		}
		given[name] = calls.Text(v)
	}
	u := &url.URL{Scheme: "mongodb", Host: given["host"], Path: "/"}
	if u.Host == "" {
		u.Host = "localhost"
	}
	if port := given["port"]; port != "" {
		u.Host = net.JoinHostPort(u.Host, port)
	}
	if given["user"] != "" && given["password"] != "" {
		u.User = url.UserPassword(given["user"], given["password"])
		source := calls.Text(l.authdb)
		if source == "" {
			source = database
		}
		u.RawQuery = url.Values{"authSource": {source}}.Encode()
	}
	return u.String(), given["password"], nil
}

// mark begins the line with the result of a script.
const mark = "brine-result:"

// frame is the script around the body of a function, which gets the connection, the database and the input.
const frame = `(function () {
  var out;
  var ext = typeof EJSON !== "undefined";
  function check(r) {
    if (r && r.ok === 0) { throw new Error(r.errmsg); }
    return r;
  }
  try {
    var input = ext ? EJSON.parse(INPUT) : JSON.parse(INPUT);
    var conn = new Mongo(input.uri);
    var db = conn.getDB(input.database);
    out = { value: (function () { BODY })() };
    if (out.value === undefined) { out.value = null; }
  } catch (e) {
    out = { error: String(e.errmsg || e.message || e) };
  }
  print("` + mark + `" + (ext ? EJSON.stringify(out) : JSON.stringify(out)));
})();
`

// A failure is an error of the server, or of the connection to it.
type failure struct{ error }

// run runs a script and returns its result. Further input is below input.
func (m *module) run(ctx context.Context, l login, authdb, database, body string, input ...any) (any, error) {
	uri, password, err := m.uri(ctx, l, authdb)
	if err != nil {
		return nil, err
	}
	all := data.NewMap(input...)
	all.Set("uri", uri)
	all.Set("database", database)
	ascii := pyjson.Options{Comma: ",", Colon: ":", ASCII: true}
	text, err := pyjson.Append(nil, all, ascii)
	if err != nil {
		return nil, loader.Invocation("the input is no JSON: %w", err)
	}
	literal, err := pyjson.Append(nil, string(text), ascii)
	if err != nil {
		return nil, err
	}
	script := strings.NewReplacer("INPUT", string(literal), "BODY", body).Replace(frame)
	ran, err := calls.RunAll(ctx, m.env, calls.Run{Argv: []string{m.program, "--quiet", "--norc", "--nodb",
		"/dev/stdin"},
		Stdin: script, Log: "quiet", IgnoreRetcode: true})
	if err != nil {
		return nil, err
	}
	hide := func(text string) string {
		for _, secret := range []string{password, url.QueryEscape(password), url.PathEscape(password)} {
			if secret != "" {
				text = strings.ReplaceAll(text, secret, "(hidden)")
			}
		}
		return text
	}
	for line := range strings.Lines(ran.Stdout) {
		_, result, ok := strings.Cut(line, mark)
		if !ok {
			continue
		}
		v, err := pyjson.Load(strings.TrimSpace(result))
		of, isMap := v.(*data.Map)
		if err != nil || !isMap {
			return nil, loader.Execution("the result of %s cannot be read", m.program)
		}
		if of.Has("error") {
			return nil, &failure{loader.Execution("%s", hide(of.Text("error")))}
		}
		return of.Value("value"), nil
	}
	return nil, loader.Execution("%s printed no result: %s", m.program, hide(ran.Stderr))
}

// failed returns the text of a failure as a result, as Salt's functions do.
func failed(v any, err error) (any, error) {
	if f, ok := errors.AsType[*failure](err); ok {
		return f.Error(), nil
	}
	return v, err
}

// done returns True, or the text of a failure.
func done(_ any, err error) (any, error) { return failed(true, err) }

// parsed returns the value of JSON; other values stay as they are.
func parsed(v any) (any, error) {
	text, ok := v.(string)
	if !ok {
		return v, nil
	}
	return pyjson.Load(text)
}

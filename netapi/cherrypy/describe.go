package cherrypy

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/netapi/web"
)

// apiVersion is the release of Salt whose API this is. It says nothing of the program: anybody may read it.
const apiVersion = "3006"

// describe returns the description of the door by OpenAPI 3.1, from the table of its routes.
func describe(q *request) error {
	paths := data.NewMap()
	for _, name := range slices.Sorted(maps.Keys(q.routes)) {
		r := q.routes[name]
		at := strings.TrimSuffix(q.Door.Prefix, "/") + "/" + name
		paths.Set(at, r.describe(false))
		if r.parts != 0 {
			paths.Set(at+"/{name}", r.describe(true))
		}
	}
	schemes := data.NewMap(
		"session", data.NewMap("type", "apiKey", "in", "header", "name", "X-Auth-Token"),
		"key", data.NewMap("type", "http", "scheme", "bearer"),
		"cookie", data.NewMap("type", "apiKey", "in", "cookie", "name", web.CookieName))
	return q.answer(http.StatusOK, data.NewMap("openapi", "3.1.0",
		"info", data.NewMap("title", "salt-api", "version", apiVersion,
			"description", "Salt's HTTP API, in the form of rest_cherrypy."),
		"paths", paths,
		"components", data.NewMap("securitySchemes", schemes, "schemas", data.NewMap("Chunk", chunkSchema()))))
}

// describe returns the operations of a route; named is for those whose path has one part more.
func (r *route) describe(named bool) *data.Map {
	item := data.NewMap()
	var parameters []any
	if named {
		parameters = append(parameters, data.NewMap("name", "name", "in", "path", "required", true, "schema", data.NewMap("type", "string")))
	}
	if r.get != nil {
		all := slices.Clone(parameters)
		for _, key := range r.query {
			all = append(all, data.NewMap("name", key, "in", "query", "schema", data.NewMap("type", "string")))
		}
		item.Set("get", r.operation(r.gets, all, r.login == always || r.login == byItself, false))
	}
	if r.post != nil {
		item.Set("post", r.operation(r.posts, parameters, r.login == always || r.login == onPost, true))
	}
	return item
}

func (r *route) operation(about string, parameters []any, login, body bool) *data.Map {
	op := data.NewMap("summary", about)
	if len(parameters) > 0 {
		op.Set("parameters", parameters)
	}
	if login {
		op.Set("security", []any{data.NewMap("session", []any{}), data.NewMap("key", []any{}), data.NewMap("cookie", []any{})})
	}
	if body {
		schema := data.NewMap("oneOf", []any{reference(), data.NewMap("type", "array", "items", reference())})
		content := data.NewMap()
		for _, kind := range []string{"application/json", "application/x-yaml", "application/x-www-form-urlencoded"} {
			content.Set(kind, data.NewMap("schema", schema))
		}
		op.Set("requestBody", data.NewMap("content", content))
	}
	responses := data.NewMap("200", data.NewMap("description", "The answer"))
	if login {
		responses.Set("401", data.NewMap("description", "No session, or no right"))
	}
	op.Set("responses", responses)
	return op
}

func reference() *data.Map { return data.NewMap("$ref", "#/components/schemas/Chunk") }

// chunkSchema describes a chunk of lowdata.
func chunkSchema() *data.Map {
	text := data.NewMap("type", "string")
	return data.NewMap("type", "object", "properties", data.NewMap(
		"client", text,
		"fun", data.NewMap("description", "The function, or a list of functions"),
		"tgt", data.NewMap("description", "The target: a text, or a list of minions"),
		"tgt_type", text,
		"arg", data.NewMap("type", "array", "items", data.NewMap()),
		"kwarg", data.NewMap("type", "object"),
		"timeout", data.NewMap("type", "number", "description", "Seconds"),
		"batch", text,
		"full_return", data.NewMap("type", "boolean"),
		"missing", data.NewMap("type", "boolean", "description", "Say beside the answer why minions did not return"),
	))
}

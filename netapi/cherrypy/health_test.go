package cherrypy_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/brineproject/brine/internal/test/netapitest"
	"github.com/brineproject/brine/netapi"
)

func TestHealthAndDescription(t *testing.T) {
	s := netapitest.Start(t, door(), "main")
	s.Do(t, "GET", "/livez", "", "Accept", "*/*").Want(t, "/livez", 200, "ok")
	s.Do(t, "GET", "/readyz", "", "Accept", "*/*").Want(t, "/readyz", 200, "ok")
	s.Do(t, "GET", "/metrics", "", "Accept", "*/*").Want(t, "/metrics without a session", 401, "")
	s.Do(t, "GET", "/nope/"+strings.Repeat("x", 100), "", "Accept", asJSON)
	got := s.Do(t, "GET", "/metrics", "", "Accept", "*/*", "X-Auth-Token", s.LogIn(t, "saltdev"))
	for _, want := range []string{
		`brine_api_requests_total{method="GET",path="/livez",status="200"} 1`,
		`brine_api_requests_total{method="GET",path="/metrics",status="401"} 1`,
		`brine_api_requests_total{method="GET",path="other",status="404"} 1`,
		`brine_api_requests_total{method="POST",path="/login",status="200"} 1`, "brine_api_streams 0",
	} {
		got.Want(t, "/metrics", 200, want)
	}
	doc := s.Do(t, "GET", "/openapi.json", "", "Accept", asJSON).JSON(t).(map[string]any)
	if info := doc["info"].(map[string]any); info["version"] != "3006" {
		t.Errorf("the description tells the version of the program: %v", info)
	}
	paths := doc["paths"].(map[string]any)
	for path, methods := range map[string]string{"/": "get post", "/login": "get post", "/logout": "post", "/jobs/{name}": "get post",
		"/hook/{name}": "post", "/events": "get", "/openapi.json": "get"} {
		item, _ := paths[path].(map[string]any)
		for method := range strings.FieldsSeq(methods) {
			if _, ok := item[method]; !ok {
				t.Errorf("the description lacks %s of %s: %s", method, path, fmt.Sprint(item))
			}
		}
	}
}

// TestRouteNamesAreComplete checks the list by which settings are checked against the description.
func TestRouteNamesAreComplete(t *testing.T) {
	s := netapitest.Start(t, door(), "main")
	names := map[string]bool{"console": true, "oidc": true} // which are off here
	for path := range s.Do(t, "GET", "/openapi.json", "", "Accept", asJSON).JSON(t).(map[string]any)["paths"].(map[string]any) {
		name, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
		names[name] = true
	}
	delete(names, "hook")
	delete(names, "app")
	got, want := slices.Sorted(maps.Keys(names)), slices.Sorted(slices.Values(netapi.RouteNames("rest_cherrypy")))
	if !slices.Equal(got, want) {
		t.Errorf("the door has the routes %q, RouteNames %q", got, want)
	}
}

// TestReadyzWithoutMaster checks that a master that is gone is noticed.
func TestReadyzWithoutMaster(t *testing.T) {
	s := netapitest.Start(t, door(), "main")
	session := s.LogIn(t, "saltdev")
	s.Master.Stop(t)
	s.Do(t, "GET", "/readyz", "", "Accept", asJSON).Want(t, "/readyz", 503, "Salt Master is not available.")
	s.Do(t, "GET", "/readyz", "").Want(t, "/readyz without Accept", 503, "")
	s.Do(t, "GET", "/livez", "", "Accept", asJSON).Want(t, "/livez", 200, "ok")
	order(t, s, session, `{"client": "local", "tgt": "*", "fun": "test.ping"}`).Want(t, "an order", 503, "Salt Master is not available.")
	s.Do(t, "POST", "/hook/x", "{}", "Content-Type", asJSON, "Accept", asJSON, "X-Auth-Token", session).
		Want(t, "a hook", 503, "Salt Master is not available.")
}

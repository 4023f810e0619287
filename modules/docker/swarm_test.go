package docker_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/config"
	"github.com/brineproject/brine/modules/docker"
)

// A swarmEngine answers like an engine, by method and path, and keeps the requests.
type swarmEngine struct {
	answers map[string]string
	asked   []string
}

func (e *swarmEngine) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, _ := io.ReadAll(q.Body)
	_, path, _ := strings.Cut(strings.TrimPrefix(q.URL.RequestURI(), "/"), "/")
	if strings.HasSuffix(q.URL.Path, "/version") || strings.HasSuffix(q.URL.Path, "/_ping") {
		_, _ = io.WriteString(w, `{"ApiVersion": "1.43", "Version": "24.0.7"}`)
		return
	}
	line := q.Method + " /" + path
	e.asked = append(e.asked, strings.TrimSpace(line+" "+string(body)))
	answer := e.answers[line]
	if code, ok := map[string]int{"503": 503, "500": 500, "404": 404}[strings.SplitN(answer, " ", 2)[0]]; ok {
		w.WriteHeader(code)
		_, _ = io.WriteString(w, `{"message": "`+answer[4:]+`"}`)
		return
	}
	_, _ = io.WriteString(w, answer)
}

// TestSwarm makes each call twice, and compares the requests and the results: swarm.swarm_tokens,
// swarm.swarm_init, swarm.joinswarm, swarm.leave_swarm, swarm.service_create,
// swarm.swarm_service_info, swarm.remove_service, swarm.node_ls, swarm.remove_node and
// swarm.update_node.
func TestSwarm(t *testing.T) {
	const taken = "503 This node is already part of a swarm. Use docker swarm leave."
	e := &swarmEngine{answers: map[string]string{
		"GET /swarm": `{"JoinTokens": {"Worker": "w", "Manager": "m"}}`, "POST /swarm/init": `"id"`,
		"POST /services/create": `{"ID": "s1"}`,
		"GET /services/web": `{"ID": "s1", "Version": {"Index": 7}, "CreatedAt": "c", "UpdatedAt": "u", "Endpoint": {"VirtualIPs": []},
			"Spec": {"Name": "web", "Mode": {"Replicated": {"Replicas": 2}}, "TaskTemplate": {"ContainerSpec": {"Image": "httpd"}},
			"EndpointSpec": {"Mode": "vip", "Ports": [{"Protocol": "tcp", "TargetPort": 80, "PublishedPort": 8080, "PublishMode": "ingress"}]}}}`,
		"GET /services/bare": `{"ID": "s2", "Spec": {"Name": "bare"}}`, "GET /services/none": "404 service none not found",
		"GET /nodes?filters=%7B%22name%22%3A%5B%22host1%22%5D%7D": `[{"ID": "n1", "Version": {"Index": 9}, "Spec": {"Role": "worker",
			"Availability": "active"}, "Description": {"Hostname": "host1", "Platform": {"OS": "linux"}, "Engine": {"EngineVersion": "24"}},
			"Status": {"State": "ready"}}]`,
		"POST /swarm/leave?force=1": "503 This node is not part of a swarm", "POST /swarm/leave?force=0": "503 This node is not part of a swarm",
	}}
	s := httptest.NewServer(e)
	defer s.Close()
	r, err := loader.NewRegistry(&loader.Env{Opts: data.NewMap("id", "host1", "docker.url",
		"tcp://"+strings.TrimPrefix(s.URL, "http://"))}, []loader.Plugin{config.Plugin(), docker.Swarm()})
	if err != nil {
		t.Fatal(err)
	}
	tokens := data.NewMap("Worker", "w", "Manager", "m")
	service := data.NewMap("image", "httpd", "name", "web", "command", "sh -c 'a b'", "hostname", "h", "replicas", int64(2),
		"target_port", int64(80), "published_port", "8080")
	for _, c := range []struct {
		fun    string
		kwargs *data.Map
		asked  string
		want   any // a text is the error
	}{
		{"swarm_tokens", nil, "GET /swarm", tokens},
		{"swarm_init", data.NewMap("advertise_addr", "10.0.0.1", "listen_addr", "0.0.0.0", "force_new_cluster", false),
			`POST /swarm/init {"AdvertiseAddr":"10.0.0.1","ListenAddr":"0.0.0.0:2377","ForceNewCluster":false}|GET /swarm`,
			data.NewMap("Comment", "Docker swarm has been initialized on host1 and the worker/manager Join token is below", "Tokens", tokens)},
		{"swarm_init", nil, "", data.NewMap("Error",
			"Please make sure you are passing advertise_addr, listen_addr and force_new_cluster correctly.")},
		{"joinswarm", data.NewMap("remote_addr", "10.0.0.1", "listen_addr", "[::1]:99", "token", "w"),
			`POST /swarm/join {"RemoteAddrs":["10.0.0.1"],"ListenAddr":"[::1]:99","JoinToken":"w"}`,
			data.NewMap("Comment", "host1 has joined the Swarm", "Manager_Addr", "10.0.0.1")},
		{"joinswarm", data.NewMap("token", "w"), "", data.NewMap("Error", "Please make sure this minion is not part of a swarm "+
			"and you are passing remote_addr, listen_addr and token correctly.")},
		{"leave_swarm", data.NewMap("force", true), "POST /swarm/leave?force=1", data.NewMap("Comment", "host1 has left the swarm")},
		{"leave_swarm", nil, "POST /swarm/leave?force=0", "This node is not part of a swarm"},
		{"service_create", service, `POST /services/create {"Name":"web","TaskTemplate":{"ContainerSpec":{"Image":"httpd",` +
			`"Command":["sh","-c","a b"],"Hostname":"h"}},"Mode":{"Replicated":{"Replicas":2}},"EndpointSpec":{"Ports":` +
			`[{"Protocol":"tcp","PublishedPort":8080,"TargetPort":80}]}}`,
			data.NewMap("Info", "host1 has a Docker Swarm Service running named web", "Minion", "host1", "Name", "web", "Image", "httpd",
				"Command", "sh -c 'a b'", "Hostname", "h", "Replicas", int64(2), "Target_Port", int64(80), "Published_Port", "8080")},
		{"service_create", data.NewMap("image", "x", "name", "y", "replicas", "many", "target_port", int64(1), "published_port", int64(1)), "",
			data.NewMap("Error", "Please make sure you are passing arguments correctly [image, name, command, hostname, replicas, "+
				"target_port and published_port]")},
		{"swarm_service_info", data.NewMap("service_name", "web"), "GET /services/web", data.NewMap("Service Name", "web",
			"Replicas", int64(2), "Service ID", "s1", "Network", []any{}, "Network Mode", "vip", "Creation Date", "c", "Update Date", "u",
			"Published Port", int64(8080), "Target Port", int64(80), "Published Mode", "ingress", "Protocol", "tcp",
			"Docker Image", "httpd", "Minion Id", "host1", "Version", int64(7))},
		{"swarm_service_info", data.NewMap("service_name", "none"), "GET /services/none", "service none not found"},
		{"swarm_service_info", nil, "", data.NewMap("Error", "service_name arg is missing?")},
		{"remove_service", data.NewMap("service", "a/../b"), "", "plain"},
		{"remove_service", data.NewMap("service", "web"), "DELETE /services/web", data.NewMap("Service Deleted", true, "Minion ID", "host1")},
		{"remove_service", nil, "", data.NewMap("Error", "service arg is missing?")},
		{"node_ls", data.NewMap("server", "host1"), "GET /nodes?filters=%7B%22name%22%3A%5B%22host1%22%5D%7D", data.NewMap("Docker Version", "24",
			"Platform", data.NewMap("OS", "linux"), "Hostname", "host1", "ID", "n1", "Roles", "worker", "Availability", "active",
			"Status", data.NewMap("State", "ready"), "Version", int64(9))},
		{"node_ls", nil, "", data.NewMap("Error", "The server arg is missing or you not targeting a Manager node?")},
		{"remove_node", data.NewMap("node_id", "n1", "force", true), "DELETE /nodes/n1?force=1", true},
		{"remove_node", nil, "", data.NewMap("Error", "Is the node_id and/or force=True/False missing?")},
		{"update_node", data.NewMap("availability", "drain", "node_name", "host1", "role", "worker", "node_id", "n1", "version", int64(9)),
			`POST /nodes/n1/update?version=9 {"Availability":"drain","Name":"host1","Role":"worker"}`,
			data.NewMap("Node Information", data.NewMap("Availability", "drain", "Name", "host1", "Role", "worker"))},
		{"update_node", nil, "", data.NewMap("Error", "Make sure all args are passed [availability, node_name, role, node_id, version]")},
	} {
		for range 2 {
			e.asked = nil
			got, err := r.Invoke(t.Context(), "swarm."+c.fun, nil, c.kwargs)
			asked := strings.ReplaceAll(strings.Join(e.asked, "|"), `, "`, `,"`)
			asked = strings.ReplaceAll(asked, `": `, `":`)
			if text, ok := c.want.(string); ok {
				if err == nil || text != "plain" && (!strings.Contains(err.Error(), text) || asked != c.asked) {
					t.Errorf("%s %s: %s, %v, asked %s", c.fun, data.Repr(c.kwargs), data.Repr(got), err, asked)
				}
			} else if err != nil || !data.Equal(got, c.want) || asked != c.asked {
				t.Errorf("%s %s\n got %s, %v\nwant %s\nasked %s", c.fun, data.Repr(c.kwargs), data.Repr(got), err, data.Repr(c.want), asked)
			}
		}
	}
	e.answers["POST /swarm/init"] = taken
	got, err := r.Invoke(t.Context(), "swarm.swarm_init", []any{"10.0.0.1", "0.0.0.0:1", true}, nil)
	if err != nil || !data.Equal(got, data.NewMap("Comment", taken[4:], "result", false)) {
		t.Errorf("in a swarm: %s, %v", data.Repr(got), err)
	}
	e.answers["POST /swarm/init"] = "500 no"
	got, err = r.Invoke(t.Context(), "swarm.swarm_init", []any{"10.0.0.1", "0.0.0.0:1", true}, nil)
	if err != nil || !data.Equal(got, data.NewMap("Error", "no", "result", false)) {
		t.Errorf("refused: %s, %v", data.Repr(got), err)
	}
}

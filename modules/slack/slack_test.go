package slack

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/fakeweb"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/config"
)

func registry(t *testing.T, server string, opts ...any) *loader.Registry {
	t.Helper()
	plugin := loader.Plugin{Name: "slack", New: func(env *loader.Env) (*loader.Module, error) {
		return newModule(&module{env, server + "/api/", server + "/services/"})
	}}
	r, err := loader.NewRegistry(&loader.Env{Opts: data.NewMap(append([]any{"id", "web1"}, opts...)...)},
		[]loader.Plugin{config.Plugin(), plugin})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestRequests compares the requests and the results of slack.list_rooms, slack.list_users,
// slack.find_room, slack.find_user, slack.post_message and slack.call_hook.
func TestRequests(t *testing.T) {
	s := fakeweb.New(t, func(q fakeweb.Request) *fakeweb.Answer {
		switch q.Path {
		case "/api/conversations.list":
			return &fakeweb.Answer{Body: `{"ok": true, "channels": [{"id": 1, "name": "random"}]}`}
		case "/api/users.list":
			return &fakeweb.Answer{Body: `{"ok": true, "members": [{"id": 2, "name": "tom"}]}`}
		}
		return &fakeweb.Answer{Body: `{"ok": true, "channel": "C1"}`}
	})
	r := registry(t, s.URL, "slack", data.NewMap("api_key", "hunter2", "hook", "T/B/x"))
	room, user := data.NewMap("id", int64(1), "name", "random"), data.NewMap("id", int64(2), "name", "tom")
	for _, c := range []struct {
		fun        string
		args       []any
		kwargs     *data.Map
		line, body string
		key        string
		want       any
	}{
		{"list_rooms", nil, nil, "GET /api/conversations.list", "", "hunter2", data.NewMap("message", []any{room}, "res", true)},
		{"list_users", []any{"other"}, nil, "GET /api/users.list", "", "other", data.NewMap("message", []any{user}, "res", true)},
		{"find_room", []any{"#random"}, nil, "GET /api/conversations.list", "", "hunter2", room},
		{"find_room", []any{"none"}, nil, "GET /api/conversations.list", "", "hunter2", false},
		{"find_user", []any{"tom"}, nil, "GET /api/users.list", "", "hunter2", user},
		{"post_message", []any{"Dev Room", "It is done", "Build"}, nil, "POST /api/chat.postMessage",
			"channel=%23Dev+Room&username=Build&text=It+is+done&attachments=%5B%5D&blocks=%5B%5D", "hunter2", true},
		{"post_message", []any{"@me", "x", "y"}, data.NewMap("icon", "http://i", "blocks", []any{data.NewMap("type", "divider")}),
			"POST /api/chat.postMessage", "channel=%40me&username=y&text=x&attachments=%5B%5D&blocks=%5B%7B%22type%22%3A+%22divider%22%7D%5D" +
				"&icon_url=http%3A%2F%2Fi", "hunter2", true},
		{"call_hook", []any{"Hello"}, nil, "POST /services/T/B/x", "payload=%7B%22text%22%3A+%22Hello%22%7D", "", true},
		{"call_hook", []any{"Hello", "more"}, data.NewMap("identifier", s.URL+"/own", "channel", "#c", "username", "u", "icon_emoji", ":x:"),
			"POST /own", "payload=%7B%22attachments%22%3A+%5B%7B%22fallback%22%3A+%22Hello%22%2C+%22color%22%3A+%22good%22%2C+" +
				"%22pretext%22%3A+%22Hello%22%2C+%22fields%22%3A+%5B%7B%22value%22%3A+%22more%22%2C+%22short%22%3A+false%7D%5D%7D%5D%2C+" +
				"%22channel%22%3A+%22%23c%22%2C+%22username%22%3A+%22u%22%2C+%22icon_emoji%22%3A+%22%3Ax%3A%22%7D", "", true},
	} {
		for range 2 {
			got, err := r.Invoke(t.Context(), "slack."+c.fun, c.args, c.kwargs)
			q := s.Take()
			if err != nil || !data.Equal(got, c.want) || len(q) != 1 || q[0].Line() != c.line || q[0].Body != c.body {
				t.Errorf("%s %s gives %s, %v, sent %+v, want %s\n%s", c.fun, data.Repr(c.args), data.Repr(got), err, q, c.line, c.body)
				continue
			}
			want := ""
			if c.key != "" {
				want = "Bearer " + c.key
			}
			if key := q[0].Header.Get("Authorization"); key != want {
				t.Errorf("%s: key %q", c.fun, key)
			}
		}
	}
}

// Behind a proxy, requests reach Slack through it, except if no_proxy names the server. A bundle of
// certificates that cannot be read is a failure.
func TestProxy(t *testing.T) {
	answer := func(fakeweb.Request) *fakeweb.Answer {
		return &fakeweb.Answer{Body: `{"ok": true, "channels": []}`}
	}
	proxy, server := fakeweb.New(t, answer), fakeweb.New(t, answer)
	u, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.ParseInt(u.Port(), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	opts := []any{"slack", data.NewMap("api_key", "hunter2", "hook", "T/B/x"),
		"proxy_host", u.Hostname(), "proxy_port", port}
	want := data.NewMap("message", []any{}, "res", true)
	r := registry(t, "http://slack.invalid", opts...)
	if got, err := r.Invoke(t.Context(), "slack.list_rooms", nil, nil); err != nil || !data.Equal(got, want) {
		t.Errorf("list_rooms through a proxy gives %s, %v", data.Repr(got), err)
	}
	if got, err := r.Invoke(t.Context(), "slack.call_hook", []any{"x"}, nil); err != nil || got != true {
		t.Errorf("call_hook through a proxy gives %s, %v", data.Repr(got), err)
	}
	if q := proxy.Take(); len(q) != 2 || q[0].Path != "/api/conversations.list" ||
		q[1].Path != "/services/T/B/x" {
		t.Errorf("the proxy got %+v", q)
	}
	r = registry(t, server.URL, append(opts, "no_proxy", []any{"127.0.0.1"})...)
	if got, err := r.Invoke(t.Context(), "slack.list_rooms", nil, nil); err != nil || !data.Equal(got, want) {
		t.Errorf("list_rooms with no_proxy gives %s, %v", data.Repr(got), err)
	}
	if len(proxy.Take()) != 0 || len(server.Take()) != 1 {
		t.Error("a server of no_proxy is asked through the proxy")
	}
	r = registry(t, server.URL, "slack.api_key", "hunter2", "ca_bundle", "/nonexistent/bundle.pem")
	got, err := r.Invoke(t.Context(), "slack.list_rooms", nil, nil)
	if m, _ := got.(*data.Map); err != nil || m.Value("res") != false || len(server.Take()) != 0 {
		t.Errorf("without the bundle of certificates: %s, %v", data.Repr(got), err)
	}
}

// Failures are results with a reason, without the key or the webhook. Without them nothing is sent.
func TestFailures(t *testing.T) {
	var answer fakeweb.Answer
	s := fakeweb.New(t, func(fakeweb.Request) *fakeweb.Answer { return &answer })
	r := registry(t, s.URL, "slack.api_key", "hunter2")
	for _, c := range []struct {
		answer fakeweb.Answer
		want   string
	}{
		{fakeweb.Answer{Body: `{"ok": false, "error": "channel_not_found"}`}, "channel_not_found"},
		{fakeweb.Answer{Status: http.StatusUnauthorized}, "invalid_auth"}, {fakeweb.Answer{Body: "[]"}, "Unknown response"},
		{fakeweb.Answer{Body: "<html>"}, "the response is not JSON"}, {fakeweb.Answer{Status: 500}, "HTTP 500: Internal Server Error"},
	} {
		answer = c.answer
		got, err := r.Invoke(t.Context(), "slack.post_message", []any{"#c", "x", "y"}, nil)
		if err != nil || !data.Equal(got, refused(c.want)) {
			t.Errorf("%+v gives %s, %v", c.answer, data.Repr(got), err)
		}
	}
	answer = fakeweb.Answer{Status: 404, Body: "no_service"}
	got, err := r.Invoke(t.Context(), "slack.call_hook", []any{"x"}, data.NewMap("identifier", "T/secret"))
	if err != nil || !data.Equal(got, data.NewMap("res", false, "message", "no_service")) {
		t.Errorf("a webhook that is not there: %s, %v", data.Repr(got), err)
	}
	got, err = r.Invoke(t.Context(), "slack.call_hook", []any{"x"}, data.NewMap("identifier", "http://127.0.0.1:1/secret"))
	if text := data.Repr(got); err != nil || !strings.Contains(text, "'res': False") || strings.Contains(text, "secret") {
		t.Errorf("a webhook that does not answer: %s, %v", text, err)
	}
	for fun, args := range map[string][]any{"call_hook": {"x"}} {
		if got, err := r.Invoke(t.Context(), "slack."+fun, args, nil); loader.KindOf(err) != loader.KindInvocation {
			t.Errorf("%s without a webhook: %v, %v", fun, got, err)
		}
	}
	if got, err := r.Invoke(t.Context(), "slack.call_hook", []any{"x"}, data.NewMap("identifier", "file:///etc/passwd")); err == nil {
		t.Errorf("a file: %v", got)
	}
	s.Take()
	if got, err := registry(t, s.URL).Invoke(t.Context(), "slack.list_rooms", nil, nil); err == nil ||
		!strings.Contains(err.Error(), "No Slack API key found.") || len(s.Take()) > 0 {
		t.Errorf("without a key: %v, %v", got, err)
	}
}

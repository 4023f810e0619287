package etcd

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pyjson"
	"github.com/brineproject/brine/internal/test/fakeweb"
	"github.com/brineproject/brine/pillar"
)

func options(t *testing.T, s *fakeweb.Server) *data.Map {
	t.Helper()
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return data.NewMap("etcd.host", u.Hostname(), "etcd.port", u.Port())
}

func ask(t *testing.T, conf, id string, profile *data.Map) (*data.Map, error, string) {
	t.Helper()
	log, told := logtest.NewNullLogger()
	got, err := New().Pillar(t.Context(), pillar.Query{ID: id, Argument: conf, Log: log,
		Opts: data.NewMap("my", profile)})
	text := ""
	for _, e := range told.AllEntries() {
		text += e.Message + "\n"
	}
	return got, err, text
}

func jsonText(t *testing.T, v any) string {
	t.Helper()
	b, err := pyjson.Append(nil, v, pyjson.Options{Comma: ",", Colon: ":"})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// find returns the node of a key.
func find(node *data.Map, key string) *data.Map {
	if node.Text("key") == key {
		return node
	}
	list, _ := node.Value("nodes").([]any)
	for _, v := range list {
		if found := find(v.(*data.Map), key); found != nil {
			return found
		}
	}
	return nil
}

// TestVersion2IsSalts compares with Salt 3006.18 and python-etcd in front of a server with the same
// keys.
func TestVersion2IsSalts(t *testing.T) {
	file := fakeweb.Load(t, "cases.json")
	s := fakeweb.New(t, func(r fakeweb.Request) *fakeweb.Answer {
		key, ok := strings.CutPrefix(r.Path, "/v2/keys")
		node := find(file.Value("tree").(*data.Map), strings.TrimRight(key, "/"))
		if !ok || node == nil {
			return &fakeweb.Answer{Status: 404, Kind: "application/json", Body: `{"errorCode": 100}`}
		}
		return &fakeweb.Answer{Kind: "application/json", Body: `{"action": "get", "node": ` + jsonText(t, node) + "}"}
	})
	for _, c := range fakeweb.Cases(t, file) {
		got, err, log := ask(t, c.Text("conf"), c.Text("id"), options(t, s))
		want := c.Value("result")
		if want == nil {
			if got.Len() > 0 || err != nil || !strings.Contains(log, "there is no such key") {
				t.Errorf("%s: %s, %v, log %s", c.Text("conf"), data.Repr(got), err, log)
			}
			continue
		}
		if err != nil || !data.Equal(got, want) {
			t.Errorf("%s: %s, %v, want %s", c.Text("conf"), data.Repr(got), err, data.Repr(want))
		}
	}
}

// gateway serves pairs of keys and values, both as base64, as the gateway of a version does.
func gatewayOf(t *testing.T, version, prefix string, pairs []any) *fakeweb.Server {
	t.Helper()
	return fakeweb.New(t, func(r fakeweb.Request) *fakeweb.Answer {
		body := ""
		switch r.Path {
		case "/version":
			body = `{"etcdserver": "` + version + `"}`
		case prefix + "/auth/authenticate":
			if r.Body != `{"name":"me","password":"hunter2"}` {
				return &fakeweb.Answer{Status: 401, Body: "{}"}
			}
			body = `{"token": "t0ken"}`
		case prefix + "/kv/range":
			var q struct{ Key, Range_end []byte } //nolint:revive // the name in the message
			if err := json.Unmarshal([]byte(r.Body), &q); err != nil {
				t.Errorf("request %s: %v", r.Body, err)
			}
			var kvs []any
			for _, p := range pairs {
				key, _ := base64.StdEncoding.DecodeString(data.Str(p.([]any)[0]))
				if string(key) >= string(q.Key) && string(key) < string(q.Range_end) {
					kvs = append(kvs, data.NewMap("key", p.([]any)[0], "value", p.([]any)[1]))
				}
			}
			m := data.NewMap("header", data.NewMap())
			if kvs != nil {
				m.Set("kvs", kvs)
			}
			body = jsonText(t, m)
		default:
			return nil
		}
		return &fakeweb.Answer{Kind: "application/json", Body: body}
	})
}

// TestVersion3IsSalts compares with the trees that Salt 3006.18 makes of the same keys.
func TestVersion3IsSalts(t *testing.T) {
	for _, v := range fakeweb.Load(t, "cases.json").Value("v3").([]any) {
		c := v.(*data.Map)
		pairs := c.Value("pairs").([]any)
		s := gatewayOf(t, "3.5.1", "/v3", pairs)
		profile := options(t, s)
		profile.Set("etcd.require_v2", false)
		profile.Update(c.Value("conf").(*data.Map))
		got, err, log := ask(t, "my root="+c.Text("path"), "web1", profile)
		want, _ := c.Value("result").(*data.Map)
		switch {
		case want.Has("exception"):
			if err == nil {
				t.Errorf("%s: %s, where Salt raises an exception", c.Text("name"), data.Repr(got))
			}
		case want == nil:
			if got.Len() > 0 || err != nil || log == "" {
				t.Errorf("%s: %s, %v", c.Text("name"), data.Repr(got), err)
			}
		case err != nil || !data.Equal(got, want):
			t.Errorf("%s: %s, %v, want %s, log %s", c.Text("name"), data.Repr(got), err, data.Repr(want), log)
		}
	}
}

func entryOf(key, value string) any {
	return []any{base64.StdEncoding.EncodeToString([]byte(key)), base64.StdEncoding.EncodeToString([]byte(value))}
}

// TestMinionsSeeTheirOwnKeys checks that web1 does not get the keys of web10, and that the login and
// the paths of older servers work.
func TestMinionsSeeTheirOwnKeys(t *testing.T) {
	for version, prefix := range map[string]string{"3.2.32": "/v3alpha", "3.3.1": "/v3beta", "3.6.0": "/v3"} {
		s := gatewayOf(t, version, prefix, []any{entryOf("/s/web1/a", "1"), entryOf("/s/web10/b", "hunter2")})
		profile := options(t, s)
		profile.Update(data.NewMap("etcd.require_v2", false, "etcd.encode_values", false,
			"etcd.username", "me", "etcd.password", "hunter2"))
		got, err, log := ask(t, "my root=/s/%(minion_id)s", "web1", profile)
		if err != nil || data.Repr(got) != "{'a': '1'}" || log != "" {
			t.Errorf("%s: %s, %v, log %s", version, data.Repr(got), err, log)
		}
		profile.Set("etcd.password", "hunter3")
		if got, err, log = ask(t, "my root=/s", "web1", profile); err != nil || got.Len() > 0 ||
			!strings.Contains(log, "log in: HTTP 401") || strings.Contains(log, "hunter") {
			t.Errorf("%s: %s, %v, log %s", version, data.Repr(got), err, log)
		}
	}
}

func TestEntriesAreChecked(t *testing.T) {
	opts := data.NewMap("my", data.NewMap(), "port", data.NewMap("etcd.port", "x"), "text", "x",
		"half", data.NewMap("etcd.ca", "/x", "etcd.client_cert", "/y"))
	for conf, want := range map[any]string{
		int64(1): "conf: expected", "": "conf: expected", "gone": "gone: there is no such profile",
		"my root=%(x)s": `root: "%(x)s" is none of %(minion_id)s`, "port": "etcd.port: expected",
		"text": "text: expected a dictionary", "my": "", "my root=/a/%(minion_id)s": "",
		"half": "etcd.client_cert, etcd.client_key: both",
	} {
		err := New().Check(conf, opts)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", conf, err, want)
		}
	}
	if _, err, _ := ask(t, "my root=/a/../b", "x", data.NewMap()); err == nil || !strings.Contains(err.Error(),
		"root: . or .. is a part of it") {
		t.Error(err)
	}
}

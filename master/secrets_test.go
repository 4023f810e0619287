package master

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/runners"
)

// secretMarker stands in all secrets of a test.
const secretMarker = "Marker-4711"

// TestCVE2021_25284 calls each function of the master that takes or returns a secret: whoever
// listens on the bus, reads the job cache or the log finds none of them, and the caller has the
// result.
func TestCVE2021_25284(t *testing.T) {
	b := newBench(t, func(c *config.Master) {
		c.ExternalAuth = data.NewMap("auto", data.NewMap("fred", []any{"@runner"}))
	}, "web1")
	opts := b.parts.settings.saltOptions().Clone()
	conf := filepath.Join(t.TempDir(), "master")
	opts.Update(data.NewMap("key_pass", secretMarker, "conf_file", conf,
		"config_dir", filepath.Dir(conf), "auth.ldap.bindpw", secretMarker, "s3.key", secretMarker,
		"ext_pillar", []any{data.NewMap("x", data.NewMap("password", secretMarker))}))
	b.parts.control.renew(opts)
	log, hook := logtest.NewNullLogger()
	log.SetLevel(logrus.TraceLevel)
	events := b.bus.Subscribe(eventbus.SubscribeOptions{Name: "test", MaxEvents: 10000})
	defer events.Close()
	shelves := map[runners.Kind]*loader.Registry{runners.Runner: b.parts.control.runners,
		runners.Wheel: b.parts.control.wheels}
	clients := map[runners.Kind]*runners.Client{}
	for kind, functions := range shelves {
		b.parts.control.log = log
		clients[kind] = b.parts.control.client(kind, functions)
	}
	found := &strings.Builder{} // what others can see
	run := func(kind runners.Kind, fun string, args []any, kwargs *data.Map) *data.Map {
		t.Helper()
		done := clients[kind].Run(t.Context(),
			runners.Call{Fun: fun, Args: args, Kwargs: kwargs, JID: b.parts.ids.Next(), User: "root"})
		kept, err := b.jobs.Returns(t.Context(), job.ID(done.Text("jid")))
		if err != nil || len(kept) == 0 {
			t.Errorf("%s: kept %v, %v", fun, kept, err)
		}
		for _, r := range kept {
			found.Write(r.Load)
		}
		return done
	}
	direct := func(kind runners.Kind, fun, want string, args []any, kwargs *data.Map) string {
		t.Helper()
		got := data.Repr(run(kind, fun, args, kwargs).Value("return"))
		if !strings.Contains(got, want) {
			t.Errorf("the caller of %s gets %.300s, want %q in it", fun, got, want)
		}
		return got
	}
	login := data.NewMap("username", "fred", "password", secretMarker, "eauth", "auto")
	token := direct(runners.Runner, "auth.mk_token", "'token': '", nil, login)
	token = strings.Split(token[strings.Index(token, "'token': '")+10:], "'")[0]
	direct(runners.Runner, "config.get", secretMarker, []any{"key_pass"}, nil)
	direct(runners.Runner, "config.get", secretMarker, []any{"ext_pillar"}, nil)
	direct(runners.Runner, "test.arg", secretMarker, []any{"password=" + secretMarker},
		data.NewMap("x", data.NewMap("token", secretMarker), "y", secretMarker))
	direct(runners.Wheel, "config.values", secretMarker, nil, nil)
	private := direct(runners.Wheel, "key.gen", "PRIVATE KEY", nil, nil) + direct(runners.Wheel,
		"key.gen_accept", "PRIVATE KEY", []any{"new1"}, nil)
	direct(runners.Wheel, "config.apply", "None", []any{"key_pass", secretMarker}, nil)
	direct(runners.Wheel, "config.update_config", "", nil,
		data.NewMap("file_name", "x", "yaml_contents", data.NewMap("a", secretMarker)))
	if text, err := os.ReadFile(conf); err != nil || !strings.Contains(string(text), secretMarker) {
		t.Errorf("%s is %q, %v", conf, text, err)
	}
	calls := 0
	// and each function that has such a parameter, by position and by name
	for kind, functions := range shelves {
		for _, fun := range functions.Names() {
			f, _ := functions.Func(fun)
			args, kwargs, secret := []any{}, &data.Map{}, false
			for _, p := range f.Spec().Params {
				v := any("value")
				if config.IsSecret(p.Name) {
					v, secret = secretMarker, true
				}
				args = append(args, v)
				kwargs.Set(p.Name, v)
			}
			if secret {
				calls++
				run(kind, fun, args, nil)
				run(kind, fun, nil, kwargs)
				kwargs.Set("no_such_parameter", secretMarker)
				run(kind, fun, nil, kwargs)
			}
		}
	}
	if calls < 2 {
		t.Errorf("%d functions have a parameter with the name of a secret", calls)
	}
	direct(runners.Runner, "auth.del_token", "True", []any{token}, nil)
	ended, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	n := 0
	for {
		e, err := events.Next(ended)
		if err != nil {
			break
		}
		body, err := e.Map()
		if err != nil {
			t.Fatal(err)
		}
		if n++; strings.Contains(data.Repr(body), secretMarker) {
			t.Errorf("event %s has a secret: %.400s", e.Tag, data.Repr(body))
		}
		found.WriteString(data.Repr(body))
	}
	for _, e := range hook.AllEntries() {
		line, _ := e.String()
		found.WriteString(line)
	}
	for what, secret := range map[string]string{"a password": secretMarker, "the token": token,
		"a private key": "PRIVATE KEY"} {
		if i := strings.Index(found.String(), secret); i >= 0 {
			t.Errorf("%s can be seen: %.200s", what, found.String()[max(i-100, 0):])
		}
	}
	if n < 20 || !strings.Contains(found.String(), config.Hidden) || len(token) < 32 || private == "" {
		t.Errorf("the test saw %d events", n)
	}
}

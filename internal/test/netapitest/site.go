// Package netapitest runs a master with minions and a door of salt-api in front of it, and replays what
// real clients exchanged with Salt's salt-api.
package netapitest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/internal/test/testsalt"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/netapi"
	"github.com/brineproject/brine/netapi/stream"
	"github.com/brineproject/brine/returners/jobstore"
	"github.com/brineproject/brine/transport"
)

// vectorDir returns where the exchanges are: in the module's root, above the directory of the test.
func vectorDir(t testing.TB) string {
	t.Helper()
	for dir := "."; ; dir = filepath.Join("..", dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, "testdata", "vectors", "netapi")
		}
		if len(dir) > 100 {
			t.Fatal("find the exchanges: no go.mod above the directory of the test")
		}
	}
}

// Parts are what a door is made of.
type Parts struct {
	Gate *netapi.Gate
	Door *netapi.Door
	Hub  *stream.Hub
	Fire func(ctx context.Context, tag string, body *data.Map) error
	// Ready says why the master cannot be reached.
	Ready func(ctx context.Context) error
	Log   logrus.FieldLogger
}

// A Door is the kind of door of a site.
type Door struct {
	// Section returns the door's section of the settings.
	Section func(*netapi.Settings) *netapi.Door
	Open    func(Parts) (http.Handler, error)
	// Edit changes the text of the configuration; nil does not.
	Edit func(conf string) string
	// Minion changes the configuration of a minion; nil does not.
	Minion func(cfg *config.Minion)
}

// A Site is a master with minions and a door in front of it. It ends with its test.
type Site struct {
	Master  *testsalt.Master
	Minions map[string]*testsalt.Minion
	Gate    *netapi.Gate
	Server  *httptest.Server
	// Tokens are the sessions, tokens and job ids that exchanges name.
	Tokens map[string]string

	dir string
}

// Start starts a site with a configuration of the vectors, and the given minions.
func Start(t testing.TB, d Door, conf string, ids ...string) *Site {
	t.Helper()
	s := &Site{dir: testsalt.Dir(t), Minions: map[string]*testsalt.Minion{}, Tokens: map[string]string{}}
	lab := filepath.Join(s.dir, "lab")
	if err := os.CopyFS(lab, os.DirFS(filepath.Join(vectorDir(t), "conf"))); err != nil {
		t.Fatal(err)
	}
	s.write(t, "gui/saltgui/index.html", "<!DOCTYPE html>\n<html lang=\"en\"><head><title>SaltGUI</title></head></html>\n")
	s.write(t, "gui/saltgui/static/scripts/index.js", "/* global console window */\n")
	text, err := os.ReadFile(filepath.Join(vectorDir(t), "conf", conf+".master"))
	if err != nil {
		t.Fatal(err)
	}
	conf = strings.NewReplacer("@ROOT@", s.dir, "@LAB@", lab, "@SALTGUI@", filepath.Join(s.dir, "gui")).Replace(string(text))
	conf = regexp.MustCompile(`(?m)^(ret_port|publish_port):`).ReplaceAllString(conf, "# $1:")
	conf = regexp.MustCompile(`(?m)^(root_dir|pidfile|log_file|worker_threads|  log_access_file|  ssl_crt|  ssl_key):.*$`).
		ReplaceAllString(conf, "# $1")
	if d.Edit != nil {
		conf = d.Edit(conf)
	}
	s.write(t, "etc/master", conf)
	cfg, _, err := config.LoadMaster(filepath.Join(s.dir, "etc"), func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	cfg.RetPort, cfg.PublishPort, cfg.PidFile = 0, 0, ""
	s.Master = testsalt.StartMaster(t, cfg)
	for _, id := range ids {
		s.startMinion(t, id, d.Minion)
	}
	s.open(t, d)
	return s
}

// Dir returns the directory that holds all files of the site.
func (s *Site) Dir() string { return s.dir }

func (s *Site) write(t testing.TB, name, text string) {
	t.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (s *Site) startMinion(t testing.TB, id string, edit func(*config.Minion)) {
	t.Helper()
	cfg := testsalt.MinionConfig(filepath.Join(s.dir, id), id, s.Master.Address)
	cfg.Grains = data.NewMap("role", "web-"+id)
	if edit != nil {
		edit(cfg)
	}
	bus := s.Master.Listen(t, "salt/minion/"+id+"/start")
	s.Minions[id] = testsalt.StartMinion(t, cfg)
	testsalt.AwaitEvent(t, bus, "salt/minion/"+id+"/start")
}

// open opens the door of the configuration.
func (s *Site) open(t testing.TB, d Door) {
	t.Helper()
	cfg, log := s.Master.Config, s.Master.Log
	opts := cfg.Map().Clone()
	settings, findings := netapi.ReadSettings(opts)
	for _, f := range findings {
		if !f.Doubt && !strings.Contains(f.Text, "ssl_crt") && !strings.Contains(f.Text, "no port to listen on") {
			t.Fatal(f)
		}
	}
	wire, err := cli.HostWire(opts)
	if err != nil {
		t.Fatal(err)
	}
	out := wire.Request(transport.Dialer{Addr: "tcp://" + s.Master.Address})
	t.Cleanup(func() { out.Close() })
	tokens, err := auth.OpenTokens(cfg.TokenDir, cfg.HashType, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tokens.Close() })
	external, _ := opts.Value("external_auth").(*data.Map)
	sockets := eventbus.MasterSockets(cfg.SockDir)
	events := eventbus.NewShare(sockets, eventbus.ShareOptions{Log: log})
	local := netapi.NewLocal(netapi.LocalOptions{Nodegroups: cfg.Nodegroups, Timeout: 3 * time.Second, Gather: time.Second, Runner: settings.Timeout,
		Log: log, Client: client.Options{CacheDir: cfg.CacheDir, SockDir: cfg.SockDir, User: cfg.User, Caller: "root", Out: out,
			Share: events, Log: log,
			Return: func(ctx context.Context, id job.ID, minion string) (data.Raw, error) {
				return jobstore.ReadReturn(ctx, filepath.Join(cfg.CacheDir, "jobs.db"), jobstore.Options{Log: log}, id, minion)
			}}})
	door := d.Section(settings)
	if door == nil {
		t.Fatal("the configuration has no such door")
	}
	s.Gate = netapi.NewGate(netapi.Options{Settings: settings, Door: door, Master: local, Tokens: tokens, External: external,
		KeepACLInToken: cfg.KeepACLInToken, TokenExpire: cfg.TokenExpire, Audit: &netapi.Audit{Log: log}, Log: log})
	hub := stream.New(stream.Options{Log: log, MaxListeners: door.MaxStreams,
		MaxPerUser: door.MaxStreamsPerUser, Dial: func(ctx context.Context) (stream.Source, error) {
			return events.Subscribe(ctx, eventbus.SubscribeOptions{})
		}})
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = hub.Run(ctx) }()
	t.Cleanup(func() { stop(); <-done })
	bus := netapi.NewBus(sockets, eventbus.ClientOptions{FireOnly: true})
	t.Cleanup(func() { bus.Close() })
	handler, err := d.Open(Parts{Gate: s.Gate, Door: door, Hub: hub, Log: log, Fire: bus.Fire, Ready: bus.Ready})
	if err != nil {
		t.Fatal(err)
	}
	s.Server = httptest.NewServer(handler)
	t.Cleanup(func() {
		s.Server.CloseClientConnections() // a test that fails may leave event streams open
		s.Server.Close()
	})
}

// A Reply is the answer to a request.
type Reply struct {
	Status int
	Header http.Header
	Body   []byte
}

// Want checks the status and that the body contains a text.
func (r *Reply) Want(t testing.TB, what string, status int, text string) {
	t.Helper()
	if r.Status != status || !strings.Contains(string(r.Body), text) {
		t.Errorf("%s: %d %s, want %d %s", what, r.Status, r.Body, status, text)
	}
}

// JSON returns the body as a value.
func (r *Reply) JSON(t testing.TB) any {
	t.Helper()
	var v any
	d := json.NewDecoder(bytes.NewReader(r.Body))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %q", err, r.Body)
	}
	return v
}

// Do sends a request. headers are pairs of names and values.
func (s *Site) Do(t testing.TB, method, path, body string, headers ...string) *Reply {
	t.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, s.Server.URL, reader)
	if err != nil {
		t.Fatal(err)
	}
	r.URL.Opaque = "//" + r.URL.Host + path // as it is, also with two dots
	r.Header.Set("User-Agent", "test")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	c := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{DisableCompression: true, DisableKeepAlives: true}}
	answer, err := c.Do(r)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer answer.Body.Close()
	got := &Reply{Status: answer.StatusCode, Header: answer.Header}
	if !strings.HasPrefix(answer.Header.Get("Content-Type"), "text/event-stream") {
		if got.Body, err = io.ReadAll(answer.Body); err != nil {
			t.Fatal(err)
		}
	}
	return got
}

// LogIn returns the session, or token, of a user, whose password is their name.
func (s *Site) LogIn(t testing.TB, user string) string {
	t.Helper()
	if token := s.Tokens[user]; token != "" {
		return token
	}
	login := map[string]string{"username": user, "password": user, "eauth": "file"}
	if user == "ssuser" {
		login["password"], login["eauth"] = "hush", "sharedsecret"
	}
	body, _ := json.Marshal(login)
	got := s.Do(t, "POST", "/login", string(body), "Content-Type", "application/json", "Accept", "application/json")
	if got.Status != http.StatusOK {
		t.Fatalf("login of %s: %d %s", user, got.Status, got.Body)
	}
	s.Tokens[user] = got.Header.Get("X-Auth-Token")
	return s.Tokens[user]
}

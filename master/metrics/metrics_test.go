package metrics

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
)

// noon is the time of the tests.
func noon() time.Time { return time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC) }

// start runs a server on a port of loopback until the test ends.
func start(t *testing.T, change func(*Options)) (*Server, *eventbus.Bus) {
	t.Helper()
	log := logrus.New()
	log.SetOutput(t.Output())
	bus := eventbus.New(eventbus.Options{Log: log})
	o := Options{Address: "127.0.0.1:0", Ready: func() error { return nil }, Log: log, Now: noon}
	if change != nil {
		change(&o)
	}
	s, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, bus) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Serve: %v", err)
		}
	})
	return s, bus
}

// get asks for a page.
func get(t *testing.T, client *http.Client, url string) (int, string) {
	t.Helper()
	r, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(b)
}

// salts are the lines of the page that are about Salt.
func salts(page, prefix string) []string {
	var lines []string
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, prefix) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	slices.Sort(lines)
	return lines
}

// await asks until the page holds text, and once more: the numbers of one page are not all of one
// moment.
func await(t *testing.T, s *Server, text string) string {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; {
		_, page := get(t, http.DefaultClient, "http://"+s.Addr().String()+"/metrics")
		if strings.Contains(page, text) {
			_, page = get(t, http.DefaultClient, "http://"+s.Addr().String()+"/metrics")
			return page
		}
		if time.Now().After(deadline) {
			t.Fatalf("no %q in\n%s", text, page)
		}
	}
}

func fire(t *testing.T, bus *eventbus.Bus, tag string, fields ...any) {
	t.Helper()
	if err := bus.Fire(tag, data.NewMap(fields...)); err != nil {
		t.Fatal(err)
	}
}

// settled waits until the server reads events: what is fired before it does is not counted.
func settled(t *testing.T, s *Server, bus *eventbus.Bus) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; {
		fire(t, bus, "salt/beacon/first/load/x")
		_, page := get(t, http.DefaultClient, "http://"+s.Addr().String()+"/metrics")
		if strings.Contains(page, `minion="first"`) {
			fire(t, bus, "salt/key", "act", "delete", "id", "first")
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("events are not counted")
		}
	}
}

func TestJobsAreCountedAsSaltExporterDoes(t *testing.T) {
	s, bus := start(t, nil)
	settled(t, s, bus)
	step := func(ok bool, ms float64) *data.Map { return data.NewMap("result", ok, "duration", ms) }
	states := data.NewMap("pkg_|-a_|-a_|-installed", step(true, 1500.0), "file_|-b_|-b_|-managed",
		step(false, 500.0))
	fire(t, bus, "salt/job/20260501120000000000/new", "fun", "test.ping", "arg", []any{},
		"minions", []any{"a", "b"})
	fire(t, bus, "salt/job/20260501120000000000/ret/a", "fun", "test.ping", "id", "a",
		"success", true, "retcode", int64(0), "return", true)
	fire(t, bus, "salt/job/20260501120000000000/ret/b", "fun", "test.ping", "id", "b",
		"success", false, "retcode", int64(1), "return", "no")
	fire(t, bus, "salt/job/20260501120000000001/new", "fun", "state.apply", "arg", []any{},
		"minions", []any{"a"})
	fire(t, bus, "salt/job/20260501120000000001/ret/a", "fun", "state.apply", "fun_args", []any{},
		"id", "a", "success", true, "retcode", int64(2), "return", states)
	fire(t, bus, "salt/job/20260501120000000002/ret/a", "fun", "state.sls",
		"fun_args", []any{data.NewMap("mods", "web")}, "id", "a", "success", true, "retcode",
		int64(2), "schedule", "x", "return", states)
	fire(t, bus, "salt/job/20260501120000000003/new", "fun", "state.single",
		"arg", []any{"test.nop", "x"}, "minions", []any{"a"})
	fire(t, bus, "salt/run/20260501120000000004/new", "fun", "runner.jobs.active")
	fire(t, bus, "salt/job/20260501120000000005/new", "fun", []any{"a.b", "c.d"}, "minions", []any{"a"})
	fire(t, bus, "salt/beacon/b/status/x")
	fire(t, bus, "salt/key", "act", "delete", "id", "gone")
	page := await(t, s, "salt_health_last_heartbeat{")
	want := []string{
		`salt_expected_responses_total{function="other",state=""} 1`,
		`salt_expected_responses_total{function="runner.jobs.active",state=""} 0`,
		`salt_expected_responses_total{function="state.apply",state="highstate"} 1`,
		`salt_expected_responses_total{function="state.single",state="test.nop"} 1`,
		`salt_expected_responses_total{function="test.ping",state=""} 2`,
		`salt_function_responses_total{function="state.apply",state="highstate",success="true"} 1`,
		`salt_function_responses_total{function="test.ping",state="",success="false"} 1`,
		`salt_function_responses_total{function="test.ping",state="",success="true"} 1`,
		`salt_function_status{function="state.apply",minion="a",state="highstate"} 1`,
		`salt_health_last_heartbeat{minion="b"} 1.7776368e+09`,
		`salt_job_duration_seconds{function="state.apply",state="highstate"} 2`,
		`salt_job_duration_seconds{function="state.sls",state="web"} 2`,
		`salt_new_job_total{function="other",state=""} 1`,
		`salt_new_job_total{function="runner.jobs.active",state=""} 1`,
		`salt_new_job_total{function="state.apply",state="highstate"} 1`,
		`salt_new_job_total{function="state.single",state="test.nop"} 1`,
		`salt_new_job_total{function="test.ping",state=""} 1`,
		`salt_responses_last_received_response{minion="a"} 1.7776368e+09`,
		`salt_responses_last_received_response{minion="b"} 1.7776368e+09`,
		`salt_responses_total{minion="a",success="false"} 1`,
		`salt_responses_total{minion="a",success="true"} 2`,
		`salt_responses_total{minion="b",success="false"} 1`,
		`salt_scheduled_job_return_total{function="state.sls",state="web",success="false"} 1`,
	}
	if d := cmp.Diff(want, salts(page, "salt_")); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestMinionsOfDeletedKeysAreForgotten(t *testing.T) {
	s, bus := start(t, func(o *Options) { o.MinionLabel = true })
	settled(t, s, bus)
	fire(t, bus, "salt/job/20260501120000000000/new", "fun", "state.highstate", "minions", []any{"a", "b"})
	for _, id := range []string{"a", "b"} {
		fire(t, bus, "salt/job/20260501120000000000/ret/"+id, "fun", "state.highstate", "id", id,
			"success", true, "return", data.NewMap("x", data.NewMap("result", true, "duration", 10.0)))
		fire(t, bus, "salt/beacon/"+id+"/status/x")
	}
	page := await(t, s, `salt_health_last_heartbeat{minion="b"}`)
	if n := strings.Count(page, `minion="a"`); n != 6 {
		t.Errorf("%d lines of minion a, want 6:\n%s", n, page)
	}
	fire(t, bus, "salt/key", "act", "delete", "id", "a")
	fire(t, bus, "salt/beacon/c/status/x")
	page = await(t, s, `salt_health_last_heartbeat{minion="c"}`)
	if strings.Contains(page, `minion="a"`) || strings.Count(page, `minion="b"`) != 6 {
		t.Errorf("page\n%s", page)
	}
}

// TestFunctionsAreBounded has minions invent functions: they fill neither the memory of the master
// nor the places of functions that are published.
func TestFunctionsAreBounded(t *testing.T) {
	j := newJobs(prometheus.NewRegistry(), Options{Now: noon})
	returned := func(id, fun string, more ...any) {
		body := data.NewMap(append([]any{"fun", fun, "id", id, "success", true}, more...)...)
		j.count(event(t, "salt/job/20260501120000000000/ret/"+id, body))
	}
	published := func(fun string) {
		j.count(event(t, "salt/job/20260501120000000000/new", data.NewMap("fun", fun, "minions", []any{"a"})))
	}
	for i := range 3 * maxCalls {
		returned("a", fmt.Sprintf("mod%d.fun", i))
	}
	if len(j.calls) > 0 {
		t.Errorf("returns of jobs that nobody published brought %d calls", len(j.calls))
	}
	for i := range 3 * maxOwn {
		returned("a", fmt.Sprintf("mod%d.fun", i), "schedule", "x")
	}
	if len(j.scheduleCalls) != maxOwn {
		t.Errorf("the schedule of one minion brought %d calls, want %d", len(j.scheduleCalls), maxOwn)
	}
	for m := range maxScheduled {
		for i := range maxOwn {
			returned(fmt.Sprint("m", m), fmt.Sprintf("mod%d.fun%d", m, i), "schedule", "x")
		}
	}
	if len(j.scheduleCalls) != maxScheduled {
		t.Errorf("schedules brought %d calls, want %d", len(j.scheduleCalls), maxScheduled)
	}
	for _, fun := range []string{strings.Repeat("x", 5000), "a\nb", "ä.b", `x"y`} {
		published(fun)
	}
	for i := range 3 * maxCalls {
		published(fmt.Sprintf("real%d.fun", i))
	}
	if len(j.calls) != maxCalls || !j.calls[call{"real0.fun", ""}] {
		t.Errorf("%d calls are told apart, want %d", len(j.calls), maxCalls)
	}
}

func TestOwnNumbersAreReadWhenAsked(t *testing.T) {
	n := 1.0
	s, _ := start(t, func(o *Options) {
		o.Samples = []Sample{{Name: "brine_minions_connected", Help: "Minions with a connection",
			Value: func() float64 { n++; return n }},
			{Name: "brine_port_refused_total", Help: "Connections refused",
				Labels: map[string]string{"port": "publish"}, Counter: true,
				Value: func() float64 { return 7 }}}
		o.Parts = func() []Part { return []Part{{Name: "replier", Running: true, Restarts: 3}, {Name: "scheduler"}} }
	})
	page := await(t, s, "brine_minions_connected 2\n")
	if !strings.Contains(page, "brine_minions_connected 3\n") {
		t.Errorf("the number is not read anew:\n%s", page)
	}
	for _, want := range []string{"# TYPE brine_port_refused_total counter\n",
		"brine_port_refused_total{port=\"publish\"} 7\n", "go_goroutines ", "process_open_fds ",
		`brine_part_running{part="replier"} 1`, `brine_part_restarts_total{part="replier"} 3`,
		`brine_part_running{part="scheduler"} 0`} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q", want)
		}
	}
}

func TestLiveAndReady(t *testing.T) {
	var why error
	s, _ := start(t, func(o *Options) { o.Ready = func() error { return why } })
	base := "http://" + s.Addr().String()
	for _, c := range []struct {
		path string
		why  error
		code int
		body string
	}{
		{"/livez", nil, 200, "ok\n"}, {"/readyz", nil, 200, "ok\n"},
		{"/readyz", errors.New("part replier fails"), 503, "part replier fails\n"},
		{"/livez", errors.New("x"), 200, "ok\n"}, {"/", nil, 404, ""}, {"/debug/pprof/", nil, 404, ""},
	} {
		why = c.why
		code, body := get(t, http.DefaultClient, base+c.path)
		if code != c.code || c.body != "" && body != c.body {
			t.Errorf("%s: %d %q, want %d %q", c.path, code, body, c.code, c.body)
		}
	}
	why = nil
	s, _ = start(t, func(o *Options) {
		o.Ready, o.Notes = func() error { return why }, func() []string { return []string{"key 07 is unknown"} }
	})
	if code, body := get(t, http.DefaultClient, "http://"+s.Addr().String()+"/readyz"); code != 200 ||
		body != "ok\nkey 07 is unknown\n" {
		t.Errorf("with a note: %d %q", code, body)
	}
	r, err := http.Post(base+"/metrics", "text/plain", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", r.StatusCode)
	}
}

func TestTLS(t *testing.T) {
	cert, key, pool := certificate(t)
	s, _ := start(t, func(o *Options) { o.Certificate, o.Key = cert, key })
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	defer client.CloseIdleConnections()
	if code, _ := get(t, client, "https://"+s.Addr().String()+"/livez"); code != 200 {
		t.Errorf("code %d", code)
	}
	if code, body := get(t, http.DefaultClient, "http://"+s.Addr().String()+"/livez"); code != 400 {
		t.Errorf("without TLS: %d %q", code, body)
	}
}

func TestInvalidOptions(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Address: l.Addr().String()}, "metrics_address: "},
		{Options{Address: "127.0.0.1"}, "metrics_address: "},
		{Options{Address: "127.0.0.1:0", Certificate: "/nowhere"}, "metrics_certificate: "},
	} {
		if _, err := New(t.Context(), c.o); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("error %v, want one of %s", err, c.want)
		}
	}
}

// certificate makes one for 127.0.0.1.
func certificate(t *testing.T) (cert, key string, pool *x509.CertPool) {
	t.Helper()
	pair, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1),
		Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &pair.PublicKey, pair)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(pair)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if err := errors.Join(os.WriteFile(cert, text, 0o600),
		os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private}),
			0o600)); err != nil {
		t.Fatal(err)
	}
	pool = x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	return cert, key, pool
}

func event(t *testing.T, tag string, m *data.Map) eventbus.Event {
	t.Helper()
	bus := eventbus.New(eventbus.Options{})
	s := bus.Subscribe(eventbus.SubscribeOptions{})
	defer s.Close()
	if err := bus.Fire(tag, m); err != nil {
		t.Fatal(err)
	}
	e, err := s.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

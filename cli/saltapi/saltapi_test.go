package saltapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/daemon"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/netapi"
)

// patience is how long a test waits for something that must come.
const patience = 20 * time.Second

// A running program, in the process of the test.
type running struct {
	dir    string
	url    string
	stderr *lockedBuffer
	code   chan int
	stop   context.CancelFunc
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// start runs salt-api with a configuration.
func start(t *testing.T, conf string, o Options) *running {
	t.Helper()
	dir := t.TempDir()
	return startIn(t, dir, fmt.Sprintf("root_dir: %s\nuser: %s\n", dir, userName())+good+conf, o)
}

// startIn runs salt-api in a directory, whose file master gets a text.
func startIn(t *testing.T, dir, conf string, o Options) *running {
	t.Helper()
	r := &running{dir: dir, stderr: &lockedBuffer{}, code: make(chan int, 1)}
	if err := os.WriteFile(filepath.Join(dir, "master"), []byte("log_level_logfile: info\n"+conf), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.stop = cancel
	in := cli.Invocation{Args: []string{"-c", dir}, Env: noEnv, Dir: dir}
	go func() { r.code <- Run(ctx, in, io.Discard, r.stderr, o) }()
	t.Cleanup(cancel)
	return r
}

// log returns the log file.
func (r *running) log() string {
	text, _ := os.ReadFile(filepath.Join(r.dir, "var/log/salt/api")) // it appears when the program starts
	return string(text)
}

// awaitLog waits for a line of the log and returns the groups of the expression.
func (r *running) awaitLog(t *testing.T, expression string) []string {
	t.Helper()
	want := regexp.MustCompile(expression)
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		if found := want.FindStringSubmatch(r.log()); found != nil {
			return found
		}
		if time.Now().After(end) {
			t.Fatalf("no line %s in\n%s\n%s", expression, r.log(), r.stderr)
		}
	}
}

// end waits for the exit code.
func (r *running) end(t *testing.T) int {
	t.Helper()
	select {
	case code := <-r.code:
		return code
	case <-time.After(patience):
		t.Fatal("the program does not end")
		return -1
	}
}

// answers returns Options whose door answers with a text.
func answers(text string, parts ...daemon.Part) Options {
	open := func(*netapi.Gate, *netapi.Door) (http.Handler, error) {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }), nil
	}
	return Options{Connect: func(Site) (Doors, error) { return Doors{Cherrypy: open, Parts: parts}, nil }}
}

const door = "rest_cherrypy:\n  port: 0\n  host: 127.0.0.1\n  disable_ssl: true\n"

// TestAnAPIServes starts the program, sends a request, reloads and stops it.
func TestAnAPIServes(t *testing.T) {
	access := filepath.Join(t.TempDir(), "access")
	ended := make(chan struct{})
	part := daemon.Part{Name: "events", Run: daemon.Always(func(ctx context.Context) error {
		<-ctx.Done()
		close(ended)
		return nil
	})}
	r := start(t, door+"  log_access_file: "+access+"\n", answers("hello", part))
	address := r.awaitLog(t, `The salt-api is listening on (\S+) \(rest_cherrypy\)`)[1]
	get := func() string {
		res, err := http.Get("http://" + address + "/x?token=abc")
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, _ := io.ReadAll(res.Body)
		return string(text)
	}
	if got := get(); got != "hello" {
		t.Errorf("got %q", got)
	}
	pid, err := os.ReadFile(filepath.Join(r.dir, "var/run/salt-api.pid"))
	if err != nil || strings.TrimSpace(string(pid)) != fmt.Sprint(os.Getpid()) {
		t.Errorf("the pid file has %q, %v", pid, err)
	}
	tokens := filepath.Join(r.dir, "var/cache/salt/master/tokens")
	for name, mode := range map[string]os.FileMode{access: 0o640, tokens: 0o700 | os.ModeDir} {
		if info, err := os.Stat(name); err != nil || info.Mode() != mode {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	r.reload(t, access)
	get()
	if text, err := os.ReadFile(access); err != nil || !strings.Contains(string(text), "GET /x?token=********** HTTP/1.1") {
		t.Errorf("the reopened access log has %q, %v", text, err)
	}
	r.stop()
	if code := r.end(t); code != 0 {
		t.Errorf("exit code %d: %s", code, r.stderr)
	}
	<-ended
	if log := r.log(); !strings.Contains(log, "Setting up the Salt API") || !strings.Contains(log, "The Salt API is shut down") {
		t.Errorf("the log is\n%s", log)
	}
	if _, err := os.Stat(filepath.Join(r.dir, "var/run/salt-api.pid")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the pid file stays: %v", err)
	}
}

// reload moves the access log away, changes the configuration and sends SIGHUP.
func (r *running) reload(t *testing.T, access string) {
	t.Helper()
	if err := os.Rename(access, access+".1"); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(r.dir, "master")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(text), "[local]", "[runner]", 1) + "log_fmt_console: '%(message)s'\nworker_threads: 7\n"
	if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if err := self.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	r.awaitLog(t, `changed options: log_fmt_console\n`)
	r.awaitLog(t, `changed options that need a restart of salt-api: netapi_enable_clients\n`)
	if info, err := os.Stat(access); err != nil || info.Size() != 0 {
		t.Errorf("the access log is not opened again: %v, %v", info, err)
	}
}

func TestAPortInUseEndsTheStart(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	r := start(t, strings.Replace(door, "port: 0", fmt.Sprintf("port: %d", port), 1), answers(""))
	code := r.end(t)
	want := fmt.Sprintf("%s/master:7: rest_cherrypy: port: listen tcp4 127.0.0.1:%d: bind: address already in use; "+
		"does another salt-api run there? Stop it, or choose another port", r.dir, port)
	if code != 1 || !strings.Contains(r.stderr.String(), want) {
		t.Errorf("exit code %d, %s\nwant %s", code, r.stderr, want)
	}
}

func TestAStartThatFails(t *testing.T) {
	for name, tt := range map[string]struct {
		conf string
		o    Options
		want string
	}{
		"a door that this program lacks": {door + "rest_tornado: {port: 0, address: 127.0.0.1, disable_ssl: true}\n", answers(""),
			"rest_tornado: this program does not serve it"},
		"a certificate": {"rest_cherrypy:\n  port: 0\n  ssl_crt: /nothere/crt\n  ssl_key: /nothere/key\n", answers(""),
			"/master:8: rest_cherrypy: ssl_crt: open /nothere/crt: no such file or directory"},
		"a handler": {door, Options{Connect: func(Site) (Doors, error) {
			return Doors{Cherrypy: func(*netapi.Gate, *netapi.Door) (http.Handler, error) { return nil, errors.New("no app") }}, nil
		}}, "/master:6: rest_cherrypy: no app"},
		"the configuration": {"rest_cherrypy: {port: 1}\n", answers(""), "/master:6: rest_cherrypy: has no ssl_crt and ssl_key"},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, tt.conf, tt.o)
			if code := r.end(t); code != 1 || !strings.Contains(r.stderr.String(), tt.want) {
				t.Errorf("exit code %d, %s\nwant %s", code, r.stderr, tt.want)
			}
		})
	}
}

// TestDoorsStopTogether stops two doors with requests that do not end: each takes its whole time for that,
// which must not add up.
func TestDoorsStopTogether(t *testing.T) {
	need.Time(t, "each door has 5 s for its requests")
	begun := make(chan struct{}, 2)
	release := make(chan struct{})
	defer close(release)
	open := func(*netapi.Gate, *netapi.Door) (http.Handler, error) {
		return http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			begun <- struct{}{}
			<-release
		}), nil
	}
	r := start(t, door+"rest_tornado: {port: 0, address: 127.0.0.1, disable_ssl: true}\n",
		Options{Connect: func(Site) (Doors, error) { return Doors{Cherrypy: open, Tornado: open}, nil }})
	for _, section := range []string{"rest_cherrypy", "rest_tornado"} {
		address := r.awaitLog(t, `The salt-api is listening on (\S+) \(`+section+`\)`)[1]
		go func() {
			if res, err := http.Get("http://" + address); err == nil {
				res.Body.Close()
			}
		}()
		<-begun
	}
	r.stop()
	if code := r.end(t); code != 0 {
		t.Errorf("exit code %d: %s", code, r.stderr)
	}
	if log := r.log(); strings.Contains(log, "does not end in time") {
		t.Errorf("the doors do not stop within the limit:\n%s", log)
	}
}

// TestDoorsShareThePace guesses through one door and then the other.
func TestDoorsShareThePace(t *testing.T) {
	gates := make(chan *netapi.Gate, 2)
	open := func(g *netapi.Gate, _ *netapi.Door) (http.Handler, error) {
		gates <- g
		return http.NotFoundHandler(), nil
	}
	r := start(t, door+"rest_tornado: {port: 0, address: 127.0.0.1, disable_ssl: true}\n",
		Options{Connect: func(Site) (Doors, error) { return Doors{Cherrypy: open, Tornado: open}, nil }})
	if first, second := <-gates, <-gates; first.Pace == nil || first.Pace != second.Pace {
		t.Error("each door has its own pace")
	}
	r.stop()
	r.end(t)
}

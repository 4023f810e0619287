//go:build linux

package judges_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/cli/saltapi"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/internal/test/freeport"
	"github.com/brineproject/brine/internal/test/installedsalt"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/testsalt"
)

// patience is how long a test waits for something that must come.
const patience = time.Minute

// A maker is whose program runs.
type maker string

const (
	brine maker = "Brine"
	salt  maker = "Salt"
)

// A site is a master, the minions m1 and m2, and a salt-api. It ends with its test.
type site struct {
	api, master maker
	dir         string
	url         string // of salt-api
	bus         eventbus.Sockets
	address     string // of the master, for minions
	minions     map[string]*testsalt.Minion
}

// onEach runs a test with each pair of a salt-api and a master. Without an installed Salt that is one.
func onEach(t *testing.T, test func(t *testing.T, s *site)) {
	for _, api := range []maker{brine, salt} {
		for _, master := range []maker{brine, salt} {
			t.Run(fmt.Sprintf("salt-api of %s, master of %s", api, master), func(t *testing.T) {
				test(t, start(t, api, master))
			})
		}
	}
}

// directory returns the directory of a judge, whose file must exist. Without the variable the test is
// skipped, which is not a failure where all is required: nothing can install it.
func directory(t *testing.T, variable, file string) string {
	t.Helper()
	need.Time(t, "it starts a master, two minions and salt-api")
	dir := os.Getenv(variable)
	if dir == "" {
		t.Skipf("%s names no directory", variable)
	}
	if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return dir
}

func start(t *testing.T, api, master maker) *site {
	t.Helper()
	s := &site{api: api, master: master, dir: testsalt.Dir(t), minions: map[string]*testsalt.Minion{}}
	var real *installedsalt.Salt
	if api == salt || master == salt {
		real = installedsalt.Find(t)
	}
	ports := freeport.New(t, 3)
	s.configure(t, ports)
	cfg, _, err := config.LoadMaster(filepath.Join(s.dir, "etc"), os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	s.address = fmt.Sprintf("127.0.0.1:%d", ports[0])
	s.bus = eventbus.MasterSockets(cfg.SockDir)
	if master == brine {
		testsalt.StartMaster(t, cfg)
	} else {
		startInstalled(t, real, s.dir, "salt-master")
	}
	for _, id := range []string{"m1", "m2"} {
		bus := s.listen(t)
		s.minions[id] = s.startMinion(t, id)
		testsalt.AwaitEvent(t, bus, "salt/minion/"+id+"/start")
	}
	s.url = fmt.Sprintf("http://127.0.0.1:%d", ports[2])
	if api == brine {
		s.serve(t)
	} else {
		startInstalled(t, real, s.dir, "salt-api")
	}
	await(t, "an answer of salt-api", func() bool {
		answer, err := http.Get(s.url + "/static/scripts/config.js")
		if err != nil {
			return false
		}
		answer.Body.Close()
		return answer.StatusCode == http.StatusOK || answer.StatusCode == http.StatusNotFound
	})
	return s
}

const masterConf = `interface: 127.0.0.1
autosign_file: @DIR@/autosign
file_roots: {base: [@DIR@/srv], prod: [@DIR@/prod]}
pillar_roots: {base: [@DIR@/pillar]}
sock_dir: @DIR@/s
log_file: @DIR@/master.log
log_level_logfile: info
log_level: quiet
api_logfile: @DIR@/api.log
api_pidfile: @DIR@/api.pid
pidfile: @DIR@/master.pid
worker_threads: 3
timeout: 10
gather_job_timeout: 5
nodegroups: {pair: 'L@m1,m2', first: 'm1'}
external_auth:
  file:
    ^filename: @DIR@/users
    ^hashtype: plaintext
    ann: ['.*', '@wheel', '@runner', '@jobs']
netapi_enable_clients:
  [local, local_async, local_batch, local_subset, runner, runner_async, wheel, wheel_async]
token_expire: 3600
saltgui_output_formats: doc,saltguihighstate,json
saltgui_templates:
  ping: {description: ping all, target: '*', command: test.ping}
saltgui_preview_grains: [role]
saltgui_motd_txt: read this first
`

// files are those of the master, below the directory of the site. The environment base has one file, since
// the page of orchestrations fails with several: SaltGUI compares their names as texts, which they are not.
var files = map[string]string{
	"autosign": "m1\nm2\n",
	"users":    "ann:secret\n",
	"prod/top.sls": `prod:
  '*': [site]
  'm2': [broken]
`,
	"prod/site.sls":      "a place:\n  test.succeed_with_changes: []\n",
	"prod/broken.sls":    "a fault:\n  test.fail_without_changes: []\n",
	"srv/rollout.sls":    "ping the first:\n  salt.function:\n    - name: test.ping\n    - tgt: m1\n",
	"pillar/top.sls":     "base:\n  '*': [words]\n",
	"pillar/words.sls":   "word: hello\n",
	"etc/master.d/.keep": "",
}

func (s *site) configure(t *testing.T, ports []int) {
	t.Helper()
	who, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	conf := strings.ReplaceAll(masterConf, "@DIR@", s.dir) + fmt.Sprintf("user: %s\nroot_dir: %s\n"+
		"ret_port: %d\npublish_port: %d\nrest_cherrypy: {host: 127.0.0.1, port: %d, disable_ssl: true",
		who.Username, s.dir, ports[0], ports[1], ports[2])
	if gui := os.Getenv("BRINE_TEST_SALTGUI"); gui != "" {
		conf += fmt.Sprintf(", app: %[1]s/index.html, static: %[1]s/static, static_path: /static", gui+"/saltgui")
	}
	s.write(t, "etc/master", conf+"}\n")
	for name, text := range files {
		s.write(t, name, text)
	}
}

func (s *site) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// serve runs Brine's salt-api.
func (s *site) serve(t *testing.T) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan int, 1)
	in := cli.Invocation{Args: []string{"-c", filepath.Join(s.dir, "etc")}, Env: os.Getenv, Dir: s.dir}
	go func() {
		ended <- saltapi.Run(ctx, in, t.Output(), t.Output(), saltapi.Options{Connect: saltapi.Connect})
	}()
	t.Cleanup(func() {
		stop()
		if code := <-ended; code != 0 {
			t.Errorf("salt-api ended with %d", code)
		}
	})
}

// startMinion starts a minion, which is connected when its key is accepted.
func (s *site) startMinion(t *testing.T, id string) *testsalt.Minion {
	t.Helper()
	cfg := testsalt.MinionConfig(filepath.Join(s.dir, id), id, s.address)
	cfg.Grains = data.NewMap("role", "web-"+id, "code", map[string]int{"m2": 3}[id])
	return testsalt.StartMinion(t, cfg)
}

// listen returns a reader of the master's bus, for which it waits.
func (s *site) listen(t *testing.T) *eventbus.Client {
	t.Helper()
	var bus *eventbus.Client
	await(t, "the bus of the master", func() (ok bool) {
		c, err := eventbus.Dial(t.Context(), s.bus, eventbus.ClientOptions{})
		bus = c
		return err == nil
	})
	t.Cleanup(func() { bus.Close() })
	return bus
}

// await waits until a condition is true.
func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for by := time.Now().Add(patience); !is(); <-tick.C {
		if time.Now().After(by) {
			t.Fatalf("gave up waiting for %s", what)
		}
	}
}

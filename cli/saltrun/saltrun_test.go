package saltrun_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/cli/saltrun"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/testsalt"
	"github.com/brineproject/brine/returners/jobstore"
)

// asProgram makes the test binary act as the program salt-run, as --async starts it.
const asProgram = "BRINE_TEST_SALT_RUN"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(saltrun.Run(context.Background(), cli.System(nil), os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// place is the host of a master that is not running.
func place(t *testing.T, more string) string {
	t.Helper()
	dir := testsalt.Dir(t)
	text := "root_dir: " + dir + "\nuser: " + os.Getenv("USER") + "\nlog_file: " + dir +
		"/log\nlog_level: quiet\nid: m_master\nfile_roots: {base: [" + dir + "/srv]}\n" + more
	if os.Getenv("USER") == "" {
		text = strings.Replace(text, "user: \n", "user: root\n", 1)
	}
	if err := os.WriteFile(filepath.Join(dir, "master"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "var/cache/salt/master"), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func run(t *testing.T, dir string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	in := cli.Invocation{Args: append([]string{"-c", dir}, args...),
		Env: func(name string) string { return map[string]string{"HOME": dir}[name] }, Dir: dir,
		Stdin: strings.NewReader("")}
	code = saltrun.Run(t.Context(), in, &out, &errs)
	return out.String(), errs.String(), code
}

// A runner that Salt does not have fails for arguments that it does not take, and does nothing.
func TestARunnerOfItsOwnFailsForUnknownKeywords(t *testing.T) {
	need.Root(t, "since the configuration names root as the user of the master")
	dir := place(t, "cluster: {servers: [\"nats://127.0.0.1:1\"], key: /nonexistent}\n")
	for args, why := range map[string]string{
		"cluster.leave membr=x":      "The following keyword arguments are not valid: membr=x",
		"cluster.leave a b":          "leave() takes from 0 to 1 positional arguments but 2 were given",
		"cluster.join member=x":      "The following keyword arguments are not valid: member=x",
		"cluster.leave member=x y=z": "The following keyword arguments are not valid: y=z",
	} {
		stdout, stderr, code := run(t, dir, strings.Fields(args)...)
		if code != 1 || !strings.Contains(stdout, "Passed invalid arguments: "+why) || !strings.Contains(stdout, "Usage:") {
			t.Errorf("%s: exit %d, printed %q (%s)", args, code, stdout, stderr)
		}
	}
	if stdout, _, code := run(t, dir, "cluster.join"); code != 0 || !strings.Contains(stdout, "has not left") {
		t.Errorf("a refused call has left the cluster: exit %d, %q", code, stdout)
	}
}

// TestWithoutMaster compares output and exit code with Salt's salt-run without a running master; of
// errors the first and last line are compared.
func TestWithoutMaster(t *testing.T) {
	need.Root(t, "since the configuration names root as the user of the master")
	dir := place(t, "")
	for _, tt := range []struct {
		args   string
		stdout string
		code   int
	}{
		{"test.arg a k=v", "args:\n    - a\nkwargs:\n    ----------\n    k:\n        v\n", 0},
		{"test.stdout_print", "foo\nbar\n", 0},
		{"test.sleep 0 --out=json", "0\ntrue\n", 0},
		{"test.arg --quiet", "", 0},
		{"test.nosuch", "'test.nosuch' is not available.\n", 0},
		{"config.get id", "m_master\n", 0},
		{"event.send a/b", "False\n", 0},
		{"jobs.list_jobs search_function=test.ping", "", 0},
		{"queue.insert q x", "True\n", 0},
		{"queue.insert q x", "Item already exists in this queue. sqlite error: UNIQUE constraint failed: q.name\n", 0},
		{"queue.pop q all", "- x\n", 0},
		{"queue.list_items a;b", "\"a;b\" cannot be the name of a queue", 0},
		{"error.error name=ValueError message=bad",
			"Exception occurred in runner error.error: Traceback (most recent call last):\nValueError: bad\n", 1},
		{"manage.up", "The salt master could not be contacted. Is master running?\n", 1},
		{"manage.status", "The salt master could not be contacted. Is master running?\n", 1},
		{"jobs.active", "The salt master could not be contacted. Is master running?\n", 0},
		{"jobs.status 20200101000000000000", "The job 20200101000000000000 is not in the job cache.\n", 1},
		{"manage.bootstrap hosts=x", "manage.bootstrap works over salt-ssh", 1},
		{"--jid=x test.arg", "", 64},
	} {
		t.Run(tt.args, func(t *testing.T) {
			stdout, stderr, code := run(t, dir, strings.Fields(tt.args)...)
			if code != tt.code || stdout != tt.stdout &&
				(tt.stdout == "" || strings.HasSuffix(tt.stdout, "\n") ||
					!strings.Contains(stdout, tt.stdout)) {
				t.Errorf("exit %d, printed %q (%s), want %d, %q", code, stdout, stderr, tt.code, tt.stdout)
			}
		})
	}
}

func TestNoTokenWithoutALogin(t *testing.T) {
	need.Root(t, "since the configuration names root as the user of the master")
	_, stderr, code := run(t, place(t, ""), "-T", "test.arg")
	if code != 0 || !strings.Contains(stderr,
		"[WARNING ] -T creates a token only with a login (-a); no token is created") {
		t.Errorf("salt-run -T: %d %s", code, stderr)
	}
}

func TestDocs(t *testing.T) {
	dir := place(t, "")
	stdout, _, code := run(t, dir, "-d", "test.stdout_print")
	if want := "test.stdout_print:\n\n    Prints foo and returns bar.\n"; code != 0 ||
		!strings.HasPrefix(stdout, want) {
		t.Errorf("exit %d, printed %q, want %q first", code, stdout, want)
	}
}

// TestResultsAreAmongTheJobs runs a runner with an id. The runner jobs finds it and its result in
// Salt's files if there is no Brine master, in the store if there is one, and in the returner that
// is the master's job cache. With runner_returns off it is not stored. The output is that of Salt
// 3006.18.
func TestResultsAreAmongTheJobs(t *testing.T) {
	need.Root(t, "since the configuration names root as the user of the master")
	const jid = "20261122010203040506"
	const listed = jid + ":\n    ----------\n    Arguments:\n    Function:\n        runner.test.metasyntactic\n    StartTime:\n        2026, Nov 22 01:02:03.040506\n" +
		"    Target:\n        m_master\n    Target-type:\n        list\n    User:\n        root\n"
	for kind, more := range map[string]string{"files": "", "store": "",
		"sqlite3": "master_job_cache: sqlite3\nsqlite3.database: DIR/jobs.sqlite\n",
		"off":     "runner_returns: false\n"} {
		t.Run(kind, func(t *testing.T) {
			dir := place(t, "")
			if more != "" {
				dir = place(t, strings.ReplaceAll(more, "DIR", t.TempDir()))
			}
			if kind == "store" {
				s, err := jobstore.Open(t.Context(), dir+"/var/cache/salt/master/jobs.db", jobstore.Options{})
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close() // a running master has it open
			}
			run(t, dir, "--jid="+jid, "test.metasyntactic", "uk")
			for range 2 {
				stdout, stderr, code := run(t, dir, "jobs.lookup_jid", jid, "--out=json")
				if kept := strings.Contains(stdout, "\"fun\": \"runner.test.metasyntactic\"") &&
					strings.Contains(stdout, "wibble"); code != 0 || kept != (kind != "off") {
					t.Errorf("exit %d, %q %s", code, stdout, stderr)
				}
				stdout, stderr, code = run(t, dir, "jobs.list_jobs", "search_function=runner.test.*")
				if want := map[bool]string{true: "",
					false: listed}[kind == "off"]; stdout != want || code != 0 {
					t.Errorf("list_jobs: exit %d, %q, want %q %s", code, stdout, want, stderr)
				}
			}
		})
	}
}

// TestAsyncTellsTheMaster starts a runner in the background: the program ends at once, and the bus
// reports the runner's end.
func TestAsyncTellsTheMaster(t *testing.T) {
	need.Root(t, "since the configuration names root as the user of the master")
	dir := place(t, "")
	t.Setenv(asProgram, "1")
	sockets := busOf(t, dir)
	bus, err := eventbus.Dial(t.Context(), sockets, eventbus.ClientOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer bus.Close()
	stdout, stderr, code := run(t, dir, "-l", "warning", "--async", "--", "test.arg", "-x", "k=v w")
	tag := regexp.MustCompile(`salt/run/\d{20}`).FindString(stderr)
	if code != 0 || stdout != "" || tag == "" || !strings.Contains(stderr, "Running in asynchronous mode.") {
		t.Fatalf("exit %d, %q, %q", code, stdout, stderr)
	}
	for _, suffix := range []string{"/new", "/ret"} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		e, err := bus.Next(ctx)
		cancel()
		if err != nil || e.Tag != tag+suffix {
			t.Fatalf("event %q, %v, want %s", e.Tag, err, tag+suffix)
		}
		if body, err := e.Map(); suffix == "/ret" && (err != nil || body.Value("success") != true) {
			t.Errorf("event %v, %v", body, err)
		}
	}
}

// busOf serves a bus instead of the master of a place.
func busOf(t *testing.T, dir string) eventbus.Sockets {
	t.Helper()
	sock := filepath.Join(dir, "var/run/salt/master")
	if err := os.MkdirAll(sock, 0o755); err != nil {
		t.Fatal(err)
	}
	sockets := eventbus.MasterSockets(sock)
	ctx, stop := context.WithCancel(context.Background())
	ready, done := make(chan struct{}), make(chan error, 1)
	bus := eventbus.New(eventbus.Options{})
	go func() { done <- bus.Serve(ctx, sockets, eventbus.ServeOptions{Ready: func() { close(ready) }}) }()
	t.Cleanup(func() { stop(); <-done })
	<-ready
	return sockets
}

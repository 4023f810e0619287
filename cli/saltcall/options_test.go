package saltcall

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/freeport"
	"github.com/brineproject/brine/internal/test/testsalt"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/version"
)

// jids are job ids.
var jids = regexp.MustCompile(`20\d{18}`)

// A site is a directory with the configuration of a minion.
type site struct{ dir string }

// newSite writes the configuration; more are further lines of it.
func newSite(t *testing.T, more string) site {
	t.Helper()
	s := site{testsalt.Dir(t)}
	s.write(t, "conf/minion", "id: m\nroot_dir: "+s.dir+
		"\npki_dir: /pki\ncachedir: /cache\nsock_dir: /run\nlog_file: /log\n"+more)
	return s
}

func (s site) write(t *testing.T, name, text string) {
	t.Helper()
	at := filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// call runs salt-call and returns its output.
func (s site) call(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	t.Chdir(s.dir)
	var out, err bytes.Buffer
	in := cli.Invocation{Args: append([]string{"-c", filepath.Join(s.dir, "conf")}, args...),
		Dir: s.dir, Env: func(string) string { return "" }}
	code = Run(t.Context(), in, &out, &err)
	return out.String(), err.String(), code
}

// The output is that of salt-call of Salt 3006.0.
func TestOptionsWithoutAMaster(t *testing.T) {
	s := newSite(t, "color: false\ngrains: {who: me}\npillar_roots: {base: ["+"/nothere]}\n")
	s.write(t, "alt/salt/f.txt", "")
	s.write(t, "alt/sample/x", "")
	s.write(t, "alt/pillar/top.sls", "base:\n  '*': [q]\n")
	s.write(t, "alt/pillar/q.sls", "a: alt\n")
	for _, c := range []struct {
		args   string
		stdout string
		code   int
	}{
		{"test.ping", "local:\n    True\n", 0},
		{"--file-root alt/salt cp.list_master", "local:\n    - f.txt\n", 0},
		{"--file-root alt/sa* --out raw config.get file_roots",
			"{'local': {'base': ['DIR/alt/salt', 'DIR/alt/sample']}}\n", 0},
		{"--file-root alt/salt --file-root alt/dev --out raw config.get file_roots",
			"{'local': {'base': ['DIR/alt/dev']}}\n", 0},
		{"--pillar-root alt/pillar --out raw pillar.items", "{'local': {'a': 'alt'}}\n", 0},
		{"--pillar-root alt/pillar --out raw pillar.raw", "{'local': {'a': 'alt'}}\n", 0},
		{"--pillar-root alt/nothere --out raw pillar.items", "{'local': {}}\n", 0},
		{"--pillar-root alt/pillar --out raw pillar.items pillar={a:_1,b:_2}",
			"{'local': {'a': 1, 'b': 2}}\n", 0},
		{"--pillar-root alt/pillar --out raw pillar.items pillarenv=dev", "{'local': {'a': 'alt'}}\n", 0},
		{"--pillar-root alt/pillar pillar.get a saltenv=dev", "local:\n    alt\n", 0},
		{"--id other --out raw grains.get id", "{'local': 'other'}\n", 0},
		{"--id other --out raw config.get id", "{'local': 'other'}\n", 0},
		{"--master 127.9.9.9 --out raw config.get master", "{'local': '127.9.9.9'}\n", 0},
		{"--skip-grains --out raw grains.items", "{'local': {}}\n", 0},
		{"--refresh-grains-cache --out raw grains.get who", "{'local': 'me'}\n", 0},
		{"--cachedir DIR/cc --out raw config.get cachedir", "{'local': 'DIR/cc'}\n", 0},
		{"--output-diff --out raw config.get state_output_diff", "{'local': True}\n", 0},
		{"-t 7 --out raw config.get auth_timeout", "{'local': 7}\n", 0},
		{"--no-return-event --no-parse=text --out raw test.echo text={a:_1}", "{'local': '{a: 1}'}\n", 0},
		{"--retcode-passthrough test.retcode 42", "local:\n    True\n", 42},
		{"test.retcode 42", "local:\n    True\n", 1},
		{"--module-executors=[direct_call] test.ping", "local:\n    True\n", 0},
		{"--executor-opts={a:_1} test.ping", "local:\n    True\n", 0},
		{"--metadata --set-metadata {a:_1} --out raw test.echo hi",
			"{'local': {'jid': 'JID', 'return': 'hi', 'retcode': 0, 'id': 'm', 'fun': 'test.echo', 'fun_args': ['hi'], 'metadata': {'a': 1}}}\n", 0},
		{"--metadata --out raw test.ping",
			"{'local': {'jid': 'JID', 'return': True, 'retcode': 0, 'id': 'm', 'fun': 'test.ping', 'fun_args': []}}\n", 0},
	} {
		for range 2 {
			words := strings.Fields(strings.ReplaceAll(c.args, "DIR", s.dir))
			for i := range words {
				words[i] = strings.ReplaceAll(words[i], ":_", ": ")
			}
			stdout, stderr, code := s.call(t, append([]string{"--local"}, words...)...)
			got := jids.ReplaceAllString(strings.ReplaceAll(stdout, s.dir, "DIR"), "JID")
			if got != c.stdout || code != c.code {
				t.Errorf("salt-call --local %s: %d\n%s%s", c.args, code, got, stderr)
			}
		}
	}
}

func TestWhatSaltCallSaysOfTrouble(t *testing.T) {
	s := newSite(t, "color: false\n")
	for _, c := range []struct {
		args, stdout, stderr string
		code                 int
	}{
		{"nothere.fun", "", "'nothere.fun' is not available.\n", 255},
		{"test.pnig", "", "'test.pnig' is not available.\nIs 'test.ping' meant?\n", 255},
		{"state.apply web tst=True", "",
			"'tst' is an invalid keyword argument for state runs; did you mean 'test'?.\n", 1},
		{"state.single test.nop name=a text=b", "Result: True", "", 0},
		{"--module-executors=nosuch test.ping", "CLI Example:",
			"\nPassed invalid arguments: Executor 'nosuch' is not available.\n\nUsage:\n", 1},
		{"--log-level quiet pillar.keys nothere", "",
			"Traceback (most recent call last):\nKeyError: 'Pillar key not found: nothere'\n", 1},
		{"pillar.keys nothere", "", "[ERROR   ] An un-handled exception was caught by Salt's global exception handler:\n" +
			"Traceback (most recent call last):\nKeyError: 'Pillar key not found: nothere'\n", 1},
		{"--return nosuch test.ping", "True", "returner nosuch", 0},
		{"-d nothere", "", "", 0},
		{"-d pillar.ls", "pillar.ls:\n", "", 0},
		{"-g", "    id:\n        m\n", "", 0},
	} {
		stdout, stderr, code := s.call(t, append([]string{"--local"}, strings.Fields(c.args)...)...)
		if code != c.code || !strings.Contains(stdout, c.stdout) ||
			!strings.Contains(stderr, c.stderr) || c.stderr == "" && stderr != "" {
			t.Errorf("salt-call --local %s: %d\n%s%s", c.args, code, stdout, stderr)
		}
	}
}

// An error in the pillar is logged when the call begins, whatever the function.
func TestBrokenPillarIsLogged(t *testing.T) {
	s := newSite(t, "color: false\n")
	s.write(t, "p/top.sls", "base:\n  '*': [broken]\n")
	s.write(t, "p/broken.sls", "{% if %}\n")
	stdout, stderr, code := s.call(t, "--local", "--pillar-root", "p", "test.ping")
	if code != 0 || stdout != "local:\n    True\n" ||
		!strings.Contains(stderr, "Rendering SLS 'broken' failed") {
		t.Errorf("%d\n%s%s", code, stdout, stderr)
	}
}

// If no master answers, Salt's words come first, then the address, the cause and how to run without
// one.
func TestNoMaster(t *testing.T) {
	port := strconv.Itoa(freeport.One(t))
	s := newSite(t, "master: 127.0.0.1\nmaster_port: "+port+"\nauth_timeout: 1\n")
	stdout, stderr, code := s.call(t, "test.ping")
	want := "Attempt to authenticate with the salt master failed with timeout error\nNo connection to tcp://127.0.0.1:" + port + ": "
	if code != 1 || stdout != "" || !strings.Contains(stderr, want) ||
		!strings.Contains(stderr, "refused\nThe option master is 127.0.0.1. ") ||
		!strings.HasSuffix(stderr, "salt-call --local needs no master.\n") {
		t.Errorf("%d\n%s%s\nwant %s", code, stdout, stderr, want)
	}
}

// Missing directories of the configuration are reported if files come from this host and the
// command line names no others.
func TestMissingDirectoriesAreReported(t *testing.T) {
	s := newSite(t, "file_client: local\nfile_roots: {base: [/nothere/srv]}\npillar_roots: {base: [/nothere/pillar]}\n")
	for args, want := range map[string]int{"test.ping": 1, "--local test.ping": 1,
		"--file-root . test.ping": 0} {
		_, stderr, code := s.call(t, strings.Fields(args)...)
		for _, text := range []string{"the directory /nothere/srv does not exist",
			"the directory /nothere/pillar does not exist"} {
			if code != 0 || strings.Count(stderr, text) != want {
				t.Errorf("salt-call %s: %d, want %d times %s\n%s", args, code, want, text, stderr)
			}
		}
	}
}

// With cache_jobs a result that no master gets is stored on disk.
func TestJobsAreCached(t *testing.T) {
	s := newSite(t, "cache_jobs: true\n")
	if _, stderr, code := s.call(t, "--local", "test.echo", "kept"); code != 0 {
		t.Fatal(stderr)
	}
	files, err := filepath.Glob(filepath.Join(s.dir, "cache", "minion_jobs", "*", "return.p"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files %q, %v", files, err)
	}
	body, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	v, err := payload.UnmarshalText(body, payload.WireLimits())
	if m, ok := v.(*data.Map); err != nil || !ok || m.Text("return") != "kept" ||
		m.Text("fun") != "test.echo" {
		t.Errorf("return.p holds %s, %v", data.Repr(v), err)
	}
}

// TestOptionsWithAMaster signs in as the minion, and checks what the master receives.
func TestOptionsWithAMaster(t *testing.T) {
	mdir := testsalt.Dir(t)
	cfg := testsalt.MasterConfig(mdir)
	pillar := site{mdir}
	pillar.write(t, "p/top.sls", "base:\n  '*': [q]\n")
	pillar.write(t, "p/q.sls", "a: of the master\nid: {{ grains.id }}\n")
	cfg.PillarRoots = data.NewMap("base", []any{filepath.Join(mdir, "p")})
	m := testsalt.StartMaster(t, cfg)
	host, port, err := net.SplitHostPort(m.Address)
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t, fmt.Sprintf("color: false\nmaster: %s\nmaster_port: %s\nacceptance_wait_time: 1\nuse_master_when_local: true\n", host, port))
	events := m.Listen(t, "salt/job/")
	for _, c := range []struct {
		args, stdout string
		code         int
		delivered    string // the return that the master gets; "" for none
	}{
		{"test.ping", "{'local': True}\n", 0, "m test.ping True"},
		{"--id other pillar.get id", "{'local': 'other'}\n", 0, "other pillar.get 'other'"},
		{"pillar.items pillar={a:_1,id:_2}", "{'local': {'a': 1, 'id': 2}}\n", 0,
			"m pillar.items {'a': 1, 'id': 2}"},
		{"--master " + host + " --set-metadata mark test.echo hi", "{'local': 'hi'}\n", 0,
			"m test.echo 'hi' mark"},
		{"--retcode-passthrough test.retcode 42", "{'local': True}\n", 42, "m test.retcode True"},
		{"--no-return-event test.ping", "{'local': True}\n", 0, ""},
		{"--local pillar.get a", "{'local': 'of the master'}\n", 0, ""}, // for use_master_when_local
	} {
		words := strings.Fields(c.args)
		for i := range words {
			words[i] = strings.ReplaceAll(words[i], ":_", ": ")
		}
		for range 2 {
			stdout, stderr, code := s.call(t, append([]string{"--out", "raw"}, words...)...)
			if stdout != c.stdout || code != c.code {
				t.Errorf("salt-call %s: %d\n%s%s", c.args, code, stdout, stderr)
			}
			if c.delivered == "" {
				continue
			}
			event, err := testsalt.AwaitEvent(t, events, "salt/job/").Map()
			if err != nil {
				t.Fatal(err)
			}
			got := event.Text("id") + " " + event.Text("fun") + " " + data.Repr(event.Value("return"))
			if v, ok := event.Get("metadata"); ok {
				got += " " + data.Str(v)
			}
			if got != c.delivered {
				t.Errorf("salt-call %s: the master got %s, want %s", c.args, got, c.delivered)
			}
		}
	}
	quiet, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if event, err := events.Next(quiet); err == nil {
		t.Errorf("the master got more: %s", event.Tag)
	}
}

// TestPillarCacheOfAMinion caches the master's pillar and continues with it without the master. The
// file is in the form of Salt 3006.0.
func TestPillarCacheOfAMinion(t *testing.T) {
	mdir := testsalt.Dir(t)
	cfg := testsalt.MasterConfig(mdir)
	site{mdir}.write(t, "p/top.sls", "base:\n  '*': [q]\n")
	site{mdir}.write(t, "p/q.sls",
		"zeta: 2\nalpha: {z: 1, b: {y: 2, a: 3}}\nmid: [{q: 1, c: 2}]\nuni: é\nnul: ~\nmulti: \"a\\nb\\n\"\n")
	cfg.PillarRoots = data.NewMap("base", []any{filepath.Join(mdir, "p")})
	m := testsalt.StartMaster(t, cfg)
	host, port, err := net.SplitHostPort(m.Address)
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t, fmt.Sprintf("color: false\nmaster: %s\nmaster_port: %s\nacceptance_wait_time: 1\nminion_pillar_cache: true\n", host, port))
	for range 2 {
		if stdout, stderr, code := s.call(t, "--out", "raw", "pillar.get",
			"zeta"); stdout != "{'local': 2}\n" || code != 0 {
			t.Fatalf("salt-call: %d\n%s%s", code, stdout, stderr)
		}
		for name, want := range map[string]string{"top.sls": "base:\n  m: [cache]\n",
			"cache.sls": "alpha:\n  b: {a: 3, y: 2}\n  z: 1\nmid:\n- {c: 2, q: 1}\nmulti: 'a\n\n  b\n\n  '\nnul: null\nuni: é\nzeta: 2\n"} {
			at := filepath.Join(s.dir, "cache", "pillar", name)
			text, err := os.ReadFile(at)
			st, serr := os.Stat(at)
			if err := errors.Join(err, serr); err != nil {
				t.Fatal(err)
			}
			if string(text) != want || runtime.GOOS != "windows" && st.Mode().Perm() != 0o600 {
				t.Errorf("%s has mode %v and\n%swant\n%s", name, st.Mode(), text, want)
			}
		}
	}
	m.Stop(t)
	stdout, stderr, code := s.call(t, "--local", "--pillar-root",
		filepath.Join(s.dir, "cache", "pillar"), "--out", "raw", "pillar.get", "alpha:b:a")
	if stdout != "{'local': 3}\n" || code != 0 {
		t.Errorf("without the master: %d\n%s%s", code, stdout, stderr)
	}
}

// TestIDFunction gets the minion's id from functions of execution modules, like
// salt/config/__init__.py, call_id_function.
func TestIDFunction(t *testing.T) {
	for _, tt := range []struct {
		name, options, stdout, stderr string
		code                          int
	}{
		{"mapping with arguments", "id_function: {test.echo: {text: web7}}\n", "{'local': 'web7'}\n", "", 0},
		{"name alone", "id_function: test.version\n", "{'local': '" + version.Salt() + "'}\n", "", 0},
		{"append_domain", "id_function: {test.echo: {text: web7}}\nappend_domain: example.org\n",
			"{'local': 'web7.example.org'}\n", "", 0},
		{"grains", "id_function: {grains.get: {key: who}}\ngrains: {who: me}\n", "{'local': 'me'}\n", "", 0},
		{"an id goes before", "id: m\nid_function: {test.echo: {text: web7}}\n", "{'local': 'm'}\n", "", 0},
		{"no function", "id_function: no.such\n", "", "salt-call: id_function: call no.such: 'no.such'\n", 1},
		{"wrong arguments", "id_function: {test.echo: {txt: a}}\n", "",
			"salt-call: id_function: call test.echo: ", 1},
		{"arguments that are none", "id_function: {test.echo: a}\n", "",
			"salt-call: id_function: test.echo: expected keyword arguments, got the text \"a\"\n", 1},
		{"no text", "id_function: test.ping\n", "",
			"salt-call: id_function: expected a text as the id, got true\n", 1},
		{"no id", "id_function: {test.echo: {text: a/b}}\n", "",
			"salt-call: id_function: \"a/b\" cannot be an id: ", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite(t, "")
			s.write(t, "conf/minion", "root_dir: "+s.dir+
				"\npki_dir: /pki\ncachedir: /cache\nsock_dir: /run\nlog_file: /log\n"+tt.options)
			stdout, stderr, code := s.call(t, "--local", "--out", "raw", "grains.get", "id")
			if code != tt.code || stdout != tt.stdout || !strings.HasPrefix(stderr, tt.stderr) ||
				tt.stderr == "" && stderr != "" {
				t.Errorf("code %d, stdout %q, stderr %q", code, stdout, stderr)
			}
		})
	}
}

// TestFaultsOfTheMaster name the program, the file and the line, as those of salt-minion do.
func TestFaultsOfTheMaster(t *testing.T) {
	for conf, want := range map[string]string{
		"master: 'a, b'\n": `master: "a, b" is not an address; write several masters as a list: [a, b]`,
		"master_type: func\nmaster: nosuch.func\n": "" +
			"ask nosuch.func for the masters: 'nosuch.func' is not available",
	} {
		s := newSite(t, conf)
		_, stderr, code := s.call(t, "test.ping")
		line := 5 + strings.Count(conf, "\n")
		want = fmt.Sprintf("salt-call: %s:%d: %s\n", filepath.Join(s.dir, "conf", "minion"), line+1, want)
		if code != 1 || stderr != want {
			t.Errorf("exit code %d, stderr\n%swant\n%s", code, stderr, want)
		}
	}
}

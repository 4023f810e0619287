//go:build linux

package judges_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/brineproject/brine/internal/test/need"
)

// A shell runs pepper.
type shell struct {
	pepper, dir string
	site        *site
	output      string // directory of a package salt, "" for none
}

// outputters stand for those of Salt, which pepper needs only to print. Without a package salt pepper
// does not look at return codes.
var outputters = map[string]string{
	"__init__.py": "",
	"loader.py":   "def minion_mods(opts):\n    return {}\n",
	"config.py":   "def client_config(path):\n    return {'path': path}\n",
	"output.py":   "def display_output(data, out=None, opts=None):\n    print(data)\n",
}

// TestPepper runs pepper with each of its clients and options.
func TestPepper(t *testing.T) {
	dir := directory(t, "BRINE_TEST_PEPPER", "scripts/pepper")
	need.Program(t, "python3")
	onEach(t, func(t *testing.T, s *site) {
		p := &shell{pepper: dir, dir: t.TempDir(), site: s}
		for name, text := range outputters {
			s.write(t, "python/salt/"+name, text)
		}
		t.Run("answers", func(t *testing.T) { p.answers(t) })
		t.Run("tokens", func(t *testing.T) { p.tokens(t) })
		t.Run("return codes", func(t *testing.T) { p.codes(t) })
		t.Run("a silent minion", func(t *testing.T) { p.silent(t) })
	})
}

// A printed is what a run of pepper has left.
type printed struct {
	code           int
	stdout, stderr string
}

// run runs pepper. A ~ in a word of args is a space, and the user is ann unless they name one.
func (p *shell) run(t *testing.T, args string) printed {
	t.Helper()
	words := []string{filepath.Join(p.pepper, "scripts", "pepper"), "--non-interactive", "-u", p.site.url,
		"-c", filepath.Join(p.dir, "none")}
	if !strings.Contains(args, "--username") {
		words = append(words, "-a", "file", "--username", "ann", "--password", "secret")
	}
	for _, w := range strings.Fields(strings.ReplaceAll(args, "@DIR@", p.dir)) {
		words = append(words, strings.ReplaceAll(w, "~", " "))
	}
	cmd := exec.CommandContext(t.Context(), "python3", words...)
	path := p.pepper + string(os.PathListSeparator) + p.output
	cmd.Env = append(os.Environ(), "PYTHONPATH="+path, "HOME="+p.dir,
		"PYTHONDONTWRITEBYTECODE=1", "PYTHONWARNINGS=ignore")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		t.Fatal(err)
	}
	return printed{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// want checks an exit code, and that what was printed matches an expression. JSON is compact for that.
func (got printed) want(t *testing.T, args string, code int, expression string) {
	t.Helper()
	text := got.stdout
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(text)); err == nil {
		text = b.String()
	}
	text += got.stderr
	t.Logf("pepper %s: %d %s", args, got.code, text)
	if got.code != code || !regexp.MustCompile(`(?s)`+expression).MatchString(text) {
		t.Errorf("pepper %s: want %d %s", args, code, expression)
	}
}

func (p *shell) answers(t *testing.T) {
	const jid = `"jid":"20\d{18}"`
	const pong = `{` + jid + `,"ret":true,"retcode":0}`
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"* test.ping", 0, `^{"return":\[{"m1":` + pong + `,"m2":` + pong + `}\]}$`},
		{"-L m1,m2 test.echo two~words", 0, `"ret":"two words".*"ret":"two words"`},
		{"-E m[1] test.ping", 0, `^{"return":\[{"m1":{`},
		{"-G role:web-m2 test.ping", 0, `^{"return":\[{"m2":{`},
		{"-C m1~or~G@role:web-m2 test.ping", 0, `"m1":.*"m2":`},
		{"-N first test.ping", 0, `^{"return":\[{"m1":{`},
		{"-I word:hello test.ping", 0, `"m1":.*"m2":`},
		{"m1 test.kwarg a=1 b=x", 0, `"ret":{.*"a":1,"b":"x"`},
		{"m1 test.arg 1 [2,3] {x:~y}", 0, `"args":\["1","\[2,3\]","{x: y}"\]`},
		{"nosuch test.ping", 0, `^{"return":\[{}\]}$`},
		{"m1 no.such", 0, `"ret":"'no.such' is not available.","retcode":1`},
		{"--client=local_async * test.ping", 0, `^{"return":\[{` + jid + `,"minions":\["m1","m2"\]}\]}$`},
		{"--batch=1 * test.ping", 0, `^{"return":\[{"m[12]":true},{"m[12]":true}\]}$`},
		{"--batch=50% --client=local * test.ping", 0, `^{"return":\[{"m[12]":true},{"m[12]":true}\]}$`},
		{"--client=runner manage.up", 0, `^{"return":\[.*\["m1","m2"\]`},
		{"--client=runner test.arg 1 a=2", 0, `"args":\["1"\],"kwargs":{"a":2}|"args":\[1\],"kwargs":{"a":2}`},
		{"--client=runner jobs.list_jobs search_function=test.kwarg", 0, `"Function":"test.kwarg"`},
		{"--client=runner_async manage.up", 0, `^{"return":\[{` + jid + `,"tag":"salt/run/20\d{18}"}\]}$`},
		{"--client=wheel key.list_all", 0,
			`"data":{"_stamp":.*"return":{.*"minions":\["m1","m2"\].*"success":true.*"tag":"salt/wheel/`},
		{"--client=wheel key.finger match=m1", 0, `"minions":{"m1":"[0-9a-f:]{95}"}`},
		{"--client=wheel_async key.list_all", 0, `^{"return":\[{` + jid + `,"tag":"salt/wheel/20\d{18}"}\]}$`},
		{"--fail-if-incomplete * test.ping", 0, `"m1"`},
		{"--fail-if-incomplete -t 20 -L m1,gone test.ping", 0, `"m1"`},
		{`--json [{"client":"local","tgt":"m1","fun":"test.ping"},{"client":"wheel","fun":"key.list_all"}]`, 0,
			`^{"return":\[{"m1":.*},{"data":`},
		{"--client=nosuch * test.ping", 1, `Client not implemented: nosuch`},
		{"--client=local_subset * test.ping", 0, `^{"return":\[{"m[12]":`},
		{"--client=ssh * test.ping", 1, `HTTP Error 400: Bad Request`},
		{"--username ann --password wrong -a file * test.ping", 1, `Pepper error: Authentication denied`},
		{"--username ann * test.ping", 1, `Pepper error: SALTAPI_PASS required`},
	} {
		p.run(t, c.args).want(t, c.args, c.code, c.want)
	}
	if p.site.api == brine { // Salt's fails without the size of the batch
		args := "--client=local_batch * test.ping"
		p.run(t, args).want(t, args, 0, `^{"return":\[{"m[12]":true},{"m[12]":true}\]}$`)
	}
}

// silent waits for a minion that is gone.
func (p *shell) silent(t *testing.T) {
	p.output = ""
	if err := p.site.minions["m2"].Stop(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"--fail-if-incomplete -t 7 * test.ping", 1, `"m1": true.*"Failed": \[\s*"m2"`},
		{"--fail-if-incomplete -t 20 m1 test.ping", 0, `^\[{"m1":true}\]$`},
		{"--client=runner manage.down", 0, `"return":\["m2"\]`},
	} {
		p.run(t, c.args).want(t, c.args, c.code, c.want)
	}
}

// tokens keeps a session in a file, and uses tokens of the master with /run.
func (p *shell) tokens(t *testing.T) {
	cache := filepath.Join(p.dir, "cache")
	token := func() string {
		var kept struct{ Token string }
		text, err := os.ReadFile(cache)
		if err == nil {
			err = json.Unmarshal(text, &kept)
		}
		if err != nil || kept.Token == "" {
			t.Fatalf("the file of the token: %v in %s", err, text)
		}
		return kept.Token
	}
	ways := []string{"", "-r "}
	if p.site.api == salt && p.site.master == brine {
		ways = ways[:1] // Salt's /token reads the token from the bus, where a Brine master hides it
	}
	for _, uri := range ways {
		args := uri + "-T -x @DIR@/cache m1 test.ping"
		p.run(t, args).want(t, args, 0, `"m1"`)
		first := token()
		args = uri + "-T -x @DIR@/cache --username ann --password wrong -a file m1 test.ping"
		p.run(t, args).want(t, args, 0, `"m1"`) // it needs no password
		if got := token(); got != first {
			t.Errorf("the token was %s and is %s", first, got)
		}
		forged := fmt.Sprintf(`{"token": "%s", "expire": 99999999999}`, strings.Repeat("0", len(first)))
		if err := os.WriteFile(cache, []byte(forged), 0o600); err != nil {
			t.Fatal(err)
		}
		p.run(t, args).want(t, args, 1, `Pepper error: Authentication denied`)
		if err := os.Remove(cache); err != nil {
			t.Fatal(err)
		}
	}
	if len(ways) == 1 {
		return
	}
	orders := []string{"-r * test.ping", "-r --client=runner manage.up", "-r --client=wheel key.list_all"}
	for _, args := range orders {
		p.run(t, args).want(t, args, 0, `"m1".*"m2"`)
	}
}

// codes checks the exit codes, which come from the return codes of the minions. The grain code is 0 of m1,
// and 3 of m2. Answers of a batch have no return codes.
func (p *shell) codes(t *testing.T) {
	const differ = " * cmd.run exit~{{grains.code}} template=jinja"
	const fail = " * cmd.run exit~4"
	const none = " --client=runner manage.up"
	p.output = filepath.Join(p.site.dir, "python")
	for _, c := range []struct {
		args string
		code int
	}{
		{differ, 0}, {fail, 0}, {none, 0},
		{"--fail-any" + differ, 3}, {"--fail-any" + fail, 4}, {"--fail-any * test.ping", 0},
		{"--fail-any" + none, 0},
		{"--fail-all" + differ, 0}, {"--fail-all" + fail, 4}, {"--fail-all * test.ping", 0},
		{"--fail-any-none" + differ, 3}, {"--fail-any-none * test.ping", 0}, {"--fail-any-none" + none, 255},
		{"--fail-all-none" + differ, 0}, {"--fail-all-none" + fail, 4}, {"--fail-all-none nosuch test.ping", 255},
		{"--fail-any --batch=1" + fail, 0}, {"--fail-any m1 no.such", 1}, {"--fail-any m2 state.apply", 2},
		{"--fail-any --fail-all * test.ping", 2},
	} {
		p.run(t, c.args).want(t, c.args, c.code, "")
	}
}

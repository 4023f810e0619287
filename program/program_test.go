//go:build unix

package program_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/program"
)

// A daemon is a registry with programs as modules, as a minion has it.
type daemon struct {
	dir       string
	host      *program.Host
	functions *loader.Registry
	log       *lines
}

// lines is a log that several goroutines may write.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// newDaemon returns a registry with the built-in module echo and the given programs, by the names of
// their files below a directory of modules.
func newDaemon(t *testing.T, files map[string]string) *daemon {
	t.Helper()
	d := &daemon{dir: t.TempDir(), log: &lines{}}
	for name, text := range files {
		d.write(t, name, text, 0o644)
	}
	log := logrus.New()
	log.SetOutput(d.log)
	log.SetLevel(logrus.DebugLevel)
	d.host = program.NewHost(program.Options{Daemon: true, Log: log,
		Directories: func() map[string][]string { return map[string][]string{"modules": {d.dir}, "grains": {d.dir}} }})
	type echoArgs struct{ Value any }
	listed := []loader.Plugin{{Name: "echo", New: func(env *loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{
			loader.F("echo", func(_ context.Context, a echoArgs) (any, error) { return a.Value, nil }),
			loader.F("call", func(ctx context.Context, a echoArgs) (any, error) {
				return env.Call(ctx, data.Str(a.Value), nil, nil)
			}),
			loader.F("fail", func(context.Context, struct{}) (any, error) { return nil, loader.Invocation("no") }),
		}}, nil
	}}}
	env := &loader.Env{Opts: data.NewMap("id", "m1"), Log: log,
		Grains: func() *data.Map { return data.NewMap("os", "Debian") }, Pillar: func() *data.Map { return data.NewMap("k", "v") }}
	functions, err := loader.NewRegistry(env, listed)
	if err != nil {
		t.Fatal(err)
	}
	functions.Extend(d.host.Files("modules", functions.Env(), listed))
	d.functions = functions
	return d
}

func (d *daemon) write(t *testing.T, name, text string, mode os.FileMode) {
	t.Helper()
	path := filepath.Join(d.dir, name)
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// job calls a function in a job of its own and returns its result as Python prints it, or the error.
func (d *daemon) job(t *testing.T, fun string, kwargs *data.Map, args ...any) string {
	t.Helper()
	ctx, scope := loader.WithScope(loader.WithContext(t.Context(), &loader.Context{}))
	defer func() {
		if err := scope.Close(); err != nil {
			t.Error(err)
		}
	}()
	v, err := d.functions.Invoke(ctx, fun, args, kwargs)
	if err != nil {
		return "error: " + err.Error()
	}
	return data.Repr(v)
}

func (d *daemon) want(t *testing.T, want, fun string, args ...any) {
	t.Helper()
	if got := d.job(t, fun, nil, args...); !fits(got, want) {
		t.Errorf("%s%v = %s, want %s", fun, args, got, want)
	}
}

// fits compares a text with one whose last character may be … for any rest.
func fits(got, want string) bool {
	head, cut := strings.CutSuffix(want, "…")
	return got == want || cut && strings.HasPrefix(got, head)
}

// answers returns a program with the functions that a case of the shell tells apart. It answers the
// line in $call.
func answers(functions, cases string) string {
	return "#!/bin/sh\ncase $1 in\ndescribe) cat <<'END'\n{\"functions\": {" + functions + "}}\nEND\n;;\n" +
		"run) while IFS= read -r call; do case $call in\n" + cases + "\nesac; done ;;\nesac\n"
}

func TestCallsHaveNamesAndDefaults(t *testing.T) {
	d := newDaemon(t, map[string]string{"own": answers(
		`"show": {"doc": "Show.", "params": ["a", {"b": [1, {"k": null}]}], "args": true, "kwargs": true}`,
		`*) printf '{"return": %s}\n' "$call" ;;`)})
	got := d.job(t, "own.show", data.NewMap("x", "grüß"), "1")
	want := "{'call': 'show', 'args': [], 'kwargs': {'a': '1', 'b': [1, {'k': None}], 'x': 'grüß'}, 'test': False}"
	if got != want {
		t.Errorf("the call is %s, want %s", got, want)
	}
	d.want(t, "{'call': 'show', 'args': [3], 'kwargs': {'a': 1, 'b': 2}, 'test': False}", "own.show", int64(1), int64(2), int64(3))
	d.want(t, "error: show() missing 1 required positional argument: 'a'", "own.show")
	f, _ := d.functions.Func("own.show")
	if doc := f.Spec().Docstring(); doc != "Show." {
		t.Errorf("the documentation is %q", doc)
	}
}

func TestAnswers(t *testing.T) {
	d := newDaemon(t, map[string]string{"own": answers(
		`"text": {}, "class": {}, "nothing": {}, "code": {}, "logs": {}, "needs": {}`,
		`*text*) echo '{"error": "went wrong"}' ;;
		*class*) echo '{"error": {"class": "ValueError", "message": "odd"}}' ;;
		*nothing*) echo '{"return": null}' ;;
		*code*) echo '{"return": 1, "retcode": 3}' ;;
		*logs*) echo '{"log": "warning", "message": "be careful"}'; echo to standard error >&2; echo '{"return": true}' ;;`)})
	d.want(t, "error: went wrong", "own.text")
	d.want(t, "None", "own.nothing")
	ctx := loader.WithContext(t.Context(), &loader.Context{})
	_, err := d.functions.Invoke(ctx, "own.class", nil, nil)
	if e, ok := errors.AsType[*loader.Error](err); !ok || e.Class != "ValueError" || e.Text != "odd" {
		t.Errorf("own.class = %v", err)
	}
	if res := d.functions.Call(ctx, "own.code", nil, loader.CallOptions{}); res.Retcode != 3 || res.Success {
		t.Errorf("own.code has the return code %d", res.Retcode)
	}
	d.want(t, "True", "own.logs")
	for _, want := range []string{`level=warning msg="be careful"`, `level=info msg="standard error: to standard error"`} {
		if !strings.Contains(d.log.String(), want) {
			t.Errorf("the log has no %s:\n%s", want, d.log)
		}
	}
}

func TestNeeds(t *testing.T) {
	d := newDaemon(t, map[string]string{"own": `#!/bin/sh
case $1 in
describe) echo '{"needs": ["grains", "pillar", "opts"], "functions": {"f": {}}}' ;;
run) while read -r call; do echo "{\"return\": $call}"; done ;;
esac
`})
	d.want(t, "{'call': 'f', 'args': [], 'kwargs': {}, 'test': False, 'grains': {'os': 'Debian'}, 'pillar': {'k': 'v'}, 'opts': {'id': 'm1'}}",
		"own.f")
}

// TestCallsBack has a program call functions, also one that calls the program again, which is another
// process of it then.
func TestCallsBack(t *testing.T) {
	d := newDaemon(t, map[string]string{"own": answers(`"through": {}, "refused": {}, "nested": {}, "inner": {}, "missing": {}`,
		`*through*) echo '{"salt": "echo.echo", "args": [{"a": [1]}]}'; read -r answer; echo "{\"return\": $answer}" ;;
		*refused*) echo '{"salt": "echo.fail"}'; read -r answer; echo "{\"return\": $answer}" ;;
		*missing*) echo '{"salt": "no.such"}'; read -r answer; echo "{\"return\": $answer}" ;;
		*nested*) echo '{"salt": "echo.call", "kwargs": {"value": "own.inner"}}'; read -r answer; echo "{\"return\": $answer}" ;;
		*inner*) echo '{"return": "deep"}' ;;`)})
	d.want(t, "{'return': {'a': [1]}}", "own.through")
	d.want(t, "{'error': {'class': 'SaltInvocationError', 'message': 'no'}}", "own.refused")
	d.want(t, `{'error': {'class': 'KeyError', 'message': "'no.such'"}}`, "own.missing")
	d.want(t, "{'return': 'deep'}", "own.nested")
}

// TestOneProcessAJob checks that calls of a job share a process, and those of two jobs do not.
func TestOneProcessAJob(t *testing.T) {
	d := newDaemon(t, map[string]string{"own": answers(`"pid": {}`, `*) n=$((n + 1)); echo "{\"return\": [$$, $n]}" ;;`)})
	ctx, scope := loader.WithScope(t.Context())
	first, err := d.functions.Invoke(ctx, "own.pid", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	second, err := d.functions.Invoke(ctx, "own.pid", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := scope.Close(); err != nil {
		t.Error(err)
	}
	pid := first.([]any)[0]
	if !data.Equal(second, []any{pid, int64(2)}) {
		t.Errorf("two calls of a job return %s and %s", data.Repr(first), data.Repr(second))
	}
	if other := d.job(t, "own.pid", nil); strings.Contains(other, data.Repr(pid)) || !strings.HasSuffix(other, ", 1]") {
		t.Errorf("the next job has %s after %s", other, data.Repr(first))
	}
}

// TestFaultsCostTheirJob checks that the next job is right after each kind of fault.
func TestFaultsCostTheirJob(t *testing.T) {
	d := newDaemon(t, map[string]string{"own": answers(
		`"ok": {}, "ends": {}, "fails": {}, "prints": {}, "list": {}, "other": {}, "flood": {}, "deep": {}`,
		`*ok*) echo '{"return": "right"}' ;;
		*ends*) exit 0 ;;
		*fails*) echo cannot go on >&2; exit 3 ;;
		*prints*) echo hello ;;
		*list*) echo '[1]' ;;
		*other*) echo '{"result": 1}' ;;
		*flood*) cat /dev/zero | tr '\0' x ;;
		*deep*) head -c 5000 /dev/zero | tr '\0' '['; echo ;;`)})
	path := filepath.Join(d.dir, "own")
	for _, tt := range []struct{ fun, want string }{
		{"own.ends", "error: call the program " + path + ": the program ended before it answered"},
		{"own.fails", "error: call the program " + path + ": the program ended before it answered: exit status 3: cannot go on"},
		{"own.prints", "error: the program " + path + ` printed a line that is not a JSON object: "hello"`},
		{"own.list", "error: the program " + path + " printed a line that is not a JSON object…"},
		{"own.other", "error: the program " + path + " printed an object without return, error, log or salt"},
		{"own.flood", "error: the program " + path + " printed a line of more than 16777216 bytes"},
		{"own.deep", "error: the program " + path + " printed a line that is not a JSON object…"},
	} {
		d.want(t, tt.want, tt.fun)
		d.want(t, "'right'", "own.ok")
	}
}

// TestKilledJobEnds checks that the end of a job's context ends a program that never answers, and
// what it has started.
func TestKilledJobEnds(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "pid"), 0o755); err != nil {
		t.Fatal(err)
	}
	d := newDaemon(t, map[string]string{"own": answers(`"hang": {}, "ok": {}`,
		`*hang*) sleep 1000 & echo $! >`+dir+`/new; mv `+dir+`/new `+dir+`/pid/; trap '' TERM; while :; do wait; done ;;
		*ok*) echo '{"return": "right"}' ;;`)})
	stopped := errors.New("the job was killed")
	ctx, cancel := context.WithCancelCause(t.Context())
	ctx, scope := loader.WithScope(ctx)
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(filepath.Join(dir, "pid", "new")); err == nil {
				cancel(stopped)
			}
			time.Sleep(time.Millisecond)
		}
	}()
	if _, err := d.functions.Invoke(ctx, "own.hang", nil, nil); !errors.Is(err, stopped) {
		t.Errorf("hang = %v, want %v", err, stopped)
	}
	if err := scope.Close(); err != nil {
		t.Error(err)
	}
	pid, err := os.ReadFile(filepath.Join(dir, "pid", "new"))
	if err != nil {
		t.Fatal(err)
	}
	for by := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		state, err := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/stat")
		if err != nil || strings.Contains(string(state), ") Z ") {
			break
		}
		if time.Now().After(by) {
			t.Fatal("what the program started still runs")
		}
	}
	d.want(t, "'right'", "own.ok")
}

func TestDescribe(t *testing.T) {
	describing := func(text string) string {
		return "#!/bin/sh\n# describe\n" + text + "\n"
	}
	d := newDaemon(t, map[string]string{
		"off":   describing(`echo '{"reason": "there is no jq"}'`),
		"fails": describing("echo no disk >&2; exit 4"),
		"text":  describing("echo hello"),
		"empty": describing("echo '{}'"),
		"flood": describing("cat /dev/zero"),
		"order": describing(`echo '{"functions": {"f": {"params": [{"a": 1}, "b"]}}}'`),
		"named": describing(`echo '{"name": "called", "aliases": ["also"], "functions": {"f": {}}}'`),
	})
	for name, want := range map[string]string{
		"off":   "there is no jq",
		"fails": "describe: exit status 4: no disk",
		"text":  "output is not JSON",
		"empty": "output has neither functions nor a reason",
		"flood": "output exceeds 1048576 bytes",
		"order": "function f: parameter b without a default follows one with a default",
	} {
		if got := d.functions.MissingText(name + ".f"); !strings.HasPrefix(got, "'"+name+"' __virtual__ returned False: ") || !strings.Contains(got, want) {
			t.Errorf("%s is missing because %q, want %q", name, got, want)
		}
	}
	for _, name := range []string{"called.f", "also.f"} {
		if !d.functions.Has(name) {
			t.Errorf("%s is not there: %s", name, d.functions.MissingText(name))
		}
	}
	if d.functions.Has("named.f") {
		t.Error("a module has the name of its file beside its own")
	}
}

// TestWhatIsNoProgram checks that files for another purpose, and those of others, are not run.
func TestWhatIsNoProgram(t *testing.T) {
	works := answers(`"f": {}`, `*) echo '{"return": 1}' ;;`)
	marker := filepath.Join(t.TempDir(), "ran")
	d := newDaemon(t, map[string]string{
		"_private": works, ".hidden": works, "module.py": works, "helper.sh": works, "lib.so": works, "README": "It will describe all.",
		"deploy": "#!/bin/sh\ntouch " + marker + "\n",
	})
	d.write(t, "open", works, 0o777)
	d.write(t, "plain", works, 0o600)
	if got := data.Repr(data.Values(d.functions.Modules())); got != "['echo', 'plain']" {
		t.Errorf("the modules are %s", got)
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("a script that describes nothing was run")
	}
	if !strings.Contains(d.log.String(), "/open has mode 0777: other users could change the code") {
		t.Errorf("the log does not say why a program is not used:\n%s", d.log)
	}
}

// TestOptionOfTheInterpreter checks the first line of a script.
func TestOptionOfTheInterpreter(t *testing.T) {
	body := `
case $1 in
describe) echo '{"functions": {"f": {}}}' ;;
run) while read -r call; do echo "{\"return\": \"$-\"}"; done ;;
esac
`
	d := newDaemon(t, map[string]string{"option": "#! /bin/sh -f" + body, "env": "#!/usr/bin/env sh" + body, "none": "#!/no/such/sh" + body})
	d.want(t, "'f'…", "option.f")
	d.want(t, "''…", "env.f")
	if got := d.functions.MissingText("none.f"); !strings.Contains(got, "/no/such/sh") {
		t.Errorf("none is missing because %q", got)
	}
}

func TestGrains(t *testing.T) {
	d := newDaemon(t, map[string]string{
		"first": answers(`"a": {}`, `*) echo '{"return": {"rack": "r1"}}' ;;`),
		"second": `#!/bin/sh
case $1 in
describe) echo '{"needs": ["grains"], "functions": {"b": {}, "c": {}}}' ;;
run) while read -r call; do case $call in *'"c"'*) echo '{"error": "no"}' ;; *) echo "{\"return\": {\"seen\": $call}}" ;; esac; done ;;
esac
`})
	log := logrus.New()
	log.SetOutput(d.log)
	got := d.host.Files("grains", &loader.Env{Log: log}, nil).Grains(t.Context(), data.NewMap("os", "Debian"))
	want := "[{'rack': 'r1'}, {'seen': {'call': 'b', 'args': [], 'kwargs': {}, 'test': False, 'grains': {'os': 'Debian', 'rack': 'r1'}}}]"
	all := []any{}
	for _, m := range got {
		all = append(all, m)
	}
	if data.Repr(all) != want {
		t.Errorf("the grains are %s, want %s", data.Repr(all), want)
	}
	if !strings.Contains(d.log.String(), "Failed to load grains defined in grain file second.c: no") {
		t.Errorf("the log does not tell of the failure:\n%s", d.log)
	}
}

// TestForgetLoadsAgain checks that a changed program counts after the registry forgets it, also in a
// job under way.
func TestForgetLoadsAgain(t *testing.T) {
	d := newDaemon(t, map[string]string{"own": answers(`"f": {}`, `*) echo '{"return": 1}' ;;`)})
	ctx, scope := loader.WithScope(t.Context())
	defer scope.Close()
	for i, want := range []int64{1, 2} {
		got, err := d.functions.Invoke(ctx, "own.f", nil, nil)
		if err != nil || got != want {
			t.Errorf("call %d = %v, %v", i, got, err)
		}
		d.write(t, "own", answers(`"f": {}`, `*) echo '{"return": 2}' ;;`), 0o644)
		d.functions.Reload()
	}
}

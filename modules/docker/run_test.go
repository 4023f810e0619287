package docker_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/testdocker"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/cmd"
	"github.com/brineproject/brine/render"
)

// start returns a minion with a running container c.
func start(t *testing.T) *testdocker.Minion {
	t.Helper()
	m := testdocker.NewMinion(t, append(functions(), cmd.Plugin(render.Brought{})), nil)
	ok(t, m, "docker.create", []any{"busybox"}, "name", "c", "cmd", "sleep 60", "start", true)
	return m
}

// ok calls a function that must succeed.
func ok(t *testing.T, m *testdocker.Minion, fun string, args []any, kwargs ...any) any {
	t.Helper()
	v, err := m.Call(t, fun, args, data.NewMap(kwargs...))
	if err != nil {
		t.Fatalf("%s %s: %v", fun, data.Repr(args), err)
	}
	return v
}

// fails calls a function that must fail.
func fails(t *testing.T, m *testdocker.Minion, want, fun string, args []any, kwargs ...any) {
	t.Helper()
	if v, err := m.Call(t, fun, args, data.NewMap(kwargs...)); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s %s: %s, %v, want %q", fun, data.Repr(args), data.Repr(v), err, want)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestRun(t *testing.T) {
	t.Setenv("KEPT", "of the minion")
	m := start(t)
	for _, tt := range []struct {
		fun, cmd string
		kwargs   []any
		want     any
	}{
		{"docker.run", "echo hello", nil, "hello"},
		{"docker.run", "echo out; echo err >&2", nil, "out\nerr"},
		{"docker.run", "echo a | tr a b", nil, "b"},
		{"docker.run", "echo 'a  b'", []any{"python_shell", false}, "a  b"},
		{"docker.run", "cat", []any{"stdin", "text"}, "text"},
		{"docker.run", "env", nil, "PATH=/bin:/usr/bin:/sbin:/usr/sbin:/opt/bin:/usr/local/bin:/usr/local/sbin"},
		{"docker.run", "echo $KEPT", []any{"keep_env", "KEPT"}, "of the minion"},
		{"docker.run", "echo $KEPT", []any{"keep_env", true}, "of the minion"},
		{"docker.run_stdout", "echo out; echo err >&2", nil, "out"},
		{"docker.run_stderr", "echo out; echo err >&2", nil, "err"},
		{"docker.retcode", "sh -c 'exit 3'", nil, int64(3)},
		{"docker.retcode", "true", nil, int64(0)},
	} {
		if got := ok(t, m, tt.fun, []any{"c", tt.cmd}, tt.kwargs...); got != tt.want {
			t.Errorf("%s %s: %q, want %q", tt.fun, tt.cmd, got, tt.want)
		}
	}
	all := ok(t, m, "docker.run_all", []any{"c", "echo out; echo err >&2; exit 4"}).(*data.Map)
	if pid, _ := all.Value("pid").(int64); pid < 2 {
		t.Errorf("docker.run_all has the pid %d", pid)
	}
	all.Delete("pid")
	if got := data.Repr(all); got != "{'retcode': 4, 'stdout': 'out', 'stderr': 'err'}" {
		t.Errorf("docker.run_all returns %s", got)
	}
	fails(t, m, "No such container: x", "docker.run", []any{"x", "true"})
	fails(t, m, "The execution driver nsenter is not supported", "docker.run", []any{"c", "true"}, "exec_driver", "nsenter")
	fails(t, m, "Invalid command execution driver.", "docker.run", []any{"c", "true"}, "exec_driver", "x")
	for _, fun := range []string{"docker.call", "docker.sls", "docker.highstate", "docker.apply", "docker.sls_build"} {
		fails(t, m, fun+" is not supported", fun, []any{"c"}, kwargsOf(fun)...)
	}
}

// kwargsOf returns what docker.call needs besides a name.
func kwargsOf(fun string) []any {
	if fun == "docker.call" {
		return []any{"function", "test.ping"}
	}
	return nil
}

// TestKeepEnv checks that the values of kept variables are no arguments, and that the variables of the
// container go.
func TestKeepEnv(t *testing.T) {
	t.Setenv("KEPT", "marker")
	m := testdocker.NewMinion(t, append(functions(), cmd.Plugin(render.Brought{})), nil)
	ok(t, m, "docker.create", []any{"busybox"}, "name", "c", "cmd", "sleep 60", "start", true,
		"environment", []any{"OWN=x", "BOTH=y"})
	m.Engine.Asked()
	if got := ok(t, m, "docker.run", []any{"c", "echo $KEPT"}, "keep_env", "KEPT,BOTH,NONE"); got != "marker" {
		t.Errorf("the command prints %q", got)
	}
	path := "PATH=/bin:/usr/bin:/sbin:/usr/sbin:/opt/bin:/usr/local/bin:/usr/local/sbin"
	want := `"Cmd":["env","-u","OWN","-u","BOTH","-u","HOME","-u","HOSTNAME","` + path + `","sh","-c","echo $KEPT"],` +
		`"Env":["KEPT=marker"]`
	if asked := strings.Join(m.Engine.Asked(), "\n"); !strings.Contains(asked, want) {
		t.Errorf("asked for\n%s, want\n%s", asked, want)
	}
}

func TestCopy(t *testing.T) {
	m := start(t)
	inside, outside := m.Engine.Root, t.TempDir()
	source := filepath.Join(outside, "source")
	write(t, source, strings.Repeat("text\n", 100_000))
	dest := filepath.Join(inside, "sub", "file")
	fails(t, m, "Directory "+filepath.Dir(dest)+" does not exist on docker container 'c'", "docker.copy_to", []any{"c", source, dest})
	if got := ok(t, m, "docker.copy_to", []any{"c", source, dest}, "makedirs", true); got != true || read(t, dest) != read(t, source) {
		t.Errorf("docker.copy_to returns %v", got)
	}
	fails(t, m, "already exists. Use overwrite=True", "docker.copy_to", []any{"c", source, dest})
	write(t, source, "new")
	ok(t, m, "docker.copy_to", []any{"c", source, dest}, "overwrite", true)
	ok(t, m, "docker.copy_to", []any{"c", source, filepath.Dir(dest)})
	if got := read(t, filepath.Join(inside, "sub", "source")) + read(t, dest); got != "newnew" {
		t.Errorf("copied %q", got)
	}
	fails(t, m, "Source file /nosuch does not exist", "docker.copy_to", []any{"c", "/nosuch", dest})
	fails(t, m, "Destination path must be absolute", "docker.copy_to", []any{"c", source, "x"})
	fails(t, m, "Source must be a regular file", "docker.copy_to", []any{"c", outside, dest})

	back := filepath.Join(outside, "back")
	for _, fun := range []string{"docker.copy_from", "docker.cp"} {
		if got := ok(t, m, fun, []any{"c", dest, back}, "overwrite", true); got != true || read(t, back) != "new" {
			t.Errorf("%s returns %v", fun, got)
		}
	}
	fails(t, m, "already exists. Use overwrite=True", "docker.copy_from", []any{"c", dest, back})
	ok(t, m, "docker.copy_from", []any{"c", dest, outside})
	ok(t, m, "docker.copy_from", []any{"c", dest, filepath.Join(outside, "made", "file")}, "makedirs", true)
	if got := read(t, filepath.Join(outside, "file")) + read(t, filepath.Join(outside, "made", "file")); got != "newnew" {
		t.Errorf("copied %q", got)
	}
	fails(t, m, "does not exist", "docker.copy_from", []any{"c", dest, filepath.Join(outside, "no", "file")})
	fails(t, m, "Source file "+inside+"/none does not exist", "docker.copy_from", []any{"c", inside + "/none", outside + "/x"})
	ok(t, m, "docker.stop", []any{"c"})
	fails(t, m, "Container 'c' is not running", "docker.copy_from", []any{"c", dest, outside + "/x"})
}

func TestSaveAndLoad(t *testing.T) {
	m := start(t)
	dir := t.TempDir()
	for _, fun := range []string{"docker.save", "docker.export"} {
		name := map[string]string{"docker.save": "busybox", "docker.export": "c"}[fun]
		for _, ending := range []string{".tar", ".tar.gz"} {
			path := filepath.Join(dir, fun+ending)
			ret := ok(t, m, fun, []any{name, path}).(*data.Map)
			info, err := os.Stat(path)
			if err != nil || ret.Value("Size") != info.Size() || ret.Value("Path") != path || ret.Text("Size_Human") == "" {
				t.Errorf("%s returns %s, %v", fun, data.Repr(ret), err)
			}
			fails(t, m, path+" already exists", fun, []any{name, path})
		}
		ok(t, m, fun, []any{name, filepath.Join(dir, "sub", fun+".tar")}, "makedirs", true)
		fails(t, m, "does not exist. Use makedirs=True to create it.", fun, []any{name, filepath.Join(dir, "none", "x.tar")})
		fails(t, m, "Path 'x' is not absolute", fun, []any{name, "x"})
		fails(t, m, "Invalid compression type 'zip'", fun, []any{name, dir + "/x"}, "compression", "zip")
		fails(t, m, "Error 404", fun, []any{"nosuch", dir + "/x"})
	}
	if got := read(t, filepath.Join(dir, "docker.export.tar.gz")); !strings.HasPrefix(got, "\x1f\x8b") {
		t.Errorf("the file is not compressed: %.20q", got)
	}
	saved := filepath.Join(dir, "docker.save.tar")
	if got := read(t, saved); !strings.HasPrefix(got, "image sha256:") {
		t.Errorf("docker.save wrote %q", got)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Errorf("files are left: %q", left)
	}
	ret := ok(t, m, "docker.load", []any{saved}, "repository", "me/loaded", "tag", "1").(*data.Map)
	if ret.Value("Image") != "me/loaded:1" || len(data.TextsOf(ret.Value("Layers"))) != 1 {
		t.Errorf("docker.load returns %s", data.Repr(ret))
	}
	if tags := data.Repr(ok(t, m, "docker.list_tags", nil)); !strings.Contains(tags, "me/loaded:1") {
		t.Errorf("the tags are %s", tags)
	}
	fails(t, m, "If tagging, both a repository and tag are required", "docker.load", []any{saved}, "tag", "1")
	fails(t, m, "Source file /nosuch does not exist", "docker.load", []any{"/nosuch"})
	write(t, filepath.Join(dir, "bad"), "x")
	fails(t, m, "Failed to load image(s) from "+dir+"/bad: ", "docker.load", []any{dir + "/bad"})

	ret = ok(t, m, "docker.import", []any{filepath.Join(dir, "docker.export.tar"), "me/imported"}).(*data.Map)
	if ret.Value("Image") != "me/imported:latest" || !strings.HasPrefix(ret.Text("Id"), "sha256:") {
		t.Errorf("docker.import returns %s", data.Repr(ret))
	}
	write(t, filepath.Join(dir, "empty"), "")
	fails(t, m, "Import failed for "+dir+"/empty. Error(s) follow:\n\nunexpected EOF", "docker.import", []any{dir + "/empty", "x"})
	if got := data.Repr(ok(t, m, "docker.layers", []any{"busybox"})); !strings.HasPrefix(got, "['<missing>', '<missing>', '") {
		t.Errorf("docker.layers returns %s", got)
	}
	fails(t, m, "Image 'nosuch' not found", "docker.layers", []any{"nosuch"})
}

func TestBuild(t *testing.T) {
	m := start(t)
	dir := t.TempDir()
	fails(t, m, "Cannot locate specified Dockerfile: Dockerfile", "docker.build", []any{dir})
	write(t, filepath.Join(dir, "Dockerfile"), "FROM busybox\n")
	write(t, filepath.Join(dir, ".dockerignore"), "*.log\nDockerfile\nsecret\n!keep.log\n# comment\n**/deep\n")
	for _, name := range []string{"a", "b.log", "keep.log"} {
		write(t, filepath.Join(dir, name), "x")
	}
	for _, name := range []string{"secret", "x/deep"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, name, "key"), "x")
	}
	ret := ok(t, m, "docker.build", []any{dir}, "repository", "me/built", "tag", "1", "api_response", true).(*data.Map)
	if got := data.Repr(ret.Value("Image")); got != "['me/built:1']" || len(ret.Text("Id")) != 12 || ret.Has("Intermediate_Containers") {
		t.Errorf("docker.build returns %s", data.Repr(ret))
	}
	// .dockerignore, Dockerfile, a, keep.log and the directory x
	if got := data.Repr(ret.Value("API_Response")); !strings.Contains(got, "files: 5\\n") {
		t.Errorf("the engine got other files: %s", got)
	}
	ret = ok(t, m, "docker.build", []any{dir}, "rm", false).(*data.Map)
	if got := data.Repr(ret.Value("Intermediate_Containers")); got != "['0123456789ab']" {
		t.Errorf("docker.build with rm=False returns %s", data.Repr(ret))
	}
	write(t, filepath.Join(dir, "other"), "RUN false\n")
	fails(t, m, "Build failed for "+dir+". Error(s) follow:\n\n1: The command", "docker.build", []any{dir}, "dockerfile", "other")
	fails(t, m, "If tagging, both a repository and tag are required", "docker.build", []any{dir}, "tag", "1")
	fails(t, m, "You must specify a directory to build in path", "docker.build", []any{"/nosuch"})
}

// TestLogin signs in with a program that tells its arguments and input. No password may be an argument.
func TestLogin(t *testing.T) {
	bin := t.TempDir()
	log := filepath.Join(bin, "log")
	script := "#!/bin/sh\necho \"$*\" >> " + log + "\ncase $1 in login) cat >> " + log + "; echo >> " + log + ";; esac\n" +
		"case $* in *bad*) echo 'unauthorized' >&2; exit 1;; esac\n"
	if err := os.WriteFile(filepath.Join(bin, "docker"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	m := start(t)
	m.SetOptions(data.NewMap("docker-registries", data.NewMap("hub", data.NewMap("username", "u", "password", "geheim"),
		"r.example.com", data.NewMap("username", "-u", "password", "p2"), "half", data.NewMap("username", "x"), "text", "x",
		"lines", data.NewMap("username", "a\nb", "password", "p")),
		"my-docker-registries", data.NewMap("bad.example.com", data.NewMap("username", "u", "password", "p3"), "-evil",
			data.NewMap("username", "u", "password", "p"))))
	ret := ok(t, m, "docker.login", nil).(*data.Map)
	want := "{'retcode': 1, 'Errors': [\"Missing 'password' for registry 'half'\", \"Invalid configuration for registry 'text'\", " +
		"\"The username for registry 'lines' has more than one line\", 'unauthorized', "
	if got := data.Repr(ret); !strings.HasPrefix(got, want) || !strings.HasSuffix(got,
		"'Results': {'hub': True, 'r.example.com': True, 'bad.example.com': False}}") {
		t.Errorf("docker.login returns %s", got)
	}
	if got := read(t, log); got != "login --username=u --password-stdin\ngeheim\nlogin --username=-u --password-stdin r.example.com\np2\n"+
		"login --username=u --password-stdin bad.example.com\np3\n" {
		t.Errorf("the program got\n%s", got)
	}
	if got := data.Repr(ok(t, m, "docker.login",
		[]any{"nosuch"})); got != "{'retcode': 1, 'Errors': [\"No match found for registry 'nosuch'\"], 'Results': {}}" {
		t.Errorf("docker.login nosuch returns %s", got)
	}
	if got := data.Repr(ok(t, m, "docker.logout", []any{"hub"})); got != "{'retcode': 0, 'Errors': [], 'Results': {'hub': True}}" {
		t.Errorf("docker.logout returns %s", got)
	}
}

// TestPullWithLogin checks that the login of config.json reaches the engine.
func TestPullWithLogin(t *testing.T) {
	m := start(t)
	fails(t, m, "pull access denied for private/app", "docker.pull", []any{"private/app"})
	dir := filepath.Join(os.Getenv("HOME"), ".docker")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "config.json"),
		`{"auths": {"https://index.docker.io/v1/": {"auth": "dTpw"}}, "proxies": {"default": {"httpProxy": "http://p"}}}`)
	ok(t, m, "docker.pull", []any{"private/app"})
	ok(t, m, "docker.create", []any{"private/app"}, "name", "p", "env", "A=b")
	found := ok(t, m, "docker.inspect_container", []any{"p"}).(*data.Map)
	env, _ := data.Lookup(found, "Config:Env", ":")
	if got := data.Repr(env); !strings.HasPrefix(got, "['http_proxy=http://p', 'HTTP_PROXY=http://p', 'A=b', ") {
		t.Errorf("the variables are %s", got)
	}
}

func TestInspect(t *testing.T) {
	m := start(t)
	ok(t, m, "docker.create_volume", []any{"v"})
	for name, key := range map[string]string{"c": "HostConfig", "busybox": "RepoTags", "v": "Mountpoint", "bridge": "IPAM"} {
		if got := ok(t, m, "docker.inspect", []any{name}).(*data.Map); !got.Has(key) {
			t.Errorf("docker.inspect %s returns %s", name, data.Repr(got))
		}
	}
	fails(t, m, "Error 404: No such image/container/volume/network: nosuch", "docker.inspect", []any{"nosuch"})
}

// TestWithoutEngine checks the errors where no engine listens, and that a later one is found.
func TestWithoutEngine(t *testing.T) {
	m := start(t)
	old := m.Option("docker.url")
	m.SetOptions(data.NewMap("docker.url", "unix://"+filepath.Join(t.TempDir(), "none.sock")))
	fails(t, m, "Error while fetching server API version: dial unix", "docker.ps", nil)
	m.SetOptions(data.NewMap("docker.url", old))
	ok(t, m, "docker.ps", nil)
	m.SetOptions(data.NewMap("docker.timeout", "x"))
	fails(t, m, "docker.timeout must be a number of seconds, not 'x'", "docker.ps", nil)
}

// TestScript runs a script that a container gets. Its file is gone afterwards.
func TestScript(t *testing.T) {
	var rendered string
	cp := loader.Plugin{Name: "cp", New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{loader.F("cache_file", cacheFile),
			loader.F("get_template", getTemplate(&rendered))}}, nil
	}}
	m := testdocker.NewMinion(t, append(functions(), cp), nil)
	m.Engine.Root = "/tmp" // where scripts go
	ok(t, m, "docker.create", []any{"busybox"}, "name", "c", "cmd", "sleep 60", "start", true)
	source := filepath.Join(t.TempDir(), "script.sh")
	write(t, source, "#!/bin/sh\necho \"$0 $*\"\ncat\nexit 5\n")
	ret := ok(t, m, "docker.script", []any{"c", source}, "args", "a 'b c'", "stdin", "in").(*data.Map)
	path, rest, _ := strings.Cut(ret.Text("stdout"), " ")
	if ret.Value("retcode") != int64(5) || rest != "a b c\nin" || !strings.HasPrefix(path, "/tmp/salt.") || !strings.HasSuffix(path, ".sh") {
		t.Errorf("docker.script returns %s", data.Repr(ret))
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the script is left at %s: %v", path, err)
	}
	if got := ok(t, m, "docker.script_retcode", []any{"c", source}); got != int64(5) {
		t.Errorf("docker.script_retcode returns %v", got)
	}
	ret = ok(t, m, "docker.script", []any{"c", source}, "template", "jinja").(*data.Map)
	if !strings.HasSuffix(ret.Text("stdout"), "rendered") {
		t.Errorf("docker.script with a template returns %s", data.Repr(ret))
	}
	if _, err := os.Stat(filepath.Dir(rendered)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the rendered script is left at %s: %v", rendered, err)
	}
	ret = ok(t, m, "docker.script", []any{"c", "salt://none"}).(*data.Map)
	if ret.Value("cache_error") != true {
		t.Errorf("docker.script of a missing file returns %s", data.Repr(ret))
	}
}

type cacheFileArgs struct {
	Path    string
	Saltenv any `default:"None"`
}

// cacheFile is cp.cache_file for files of this host.
func cacheFile(_ context.Context, a cacheFileArgs) (any, error) {
	if strings.HasPrefix(a.Path, "salt://") {
		return false, nil
	}
	return a.Path, nil
}

type getTemplateArgs struct {
	Path     string
	Dest     string
	Template any `default:"'jinja'"`
	Saltenv  any `default:"None"`
}

// getTemplate is cp.get_template, which notes where it wrote the script.
func getTemplate(to *string) func(context.Context, getTemplateArgs) (any, error) {
	return func(_ context.Context, a getTemplateArgs) (any, error) {
		*to = a.Dest
		info, err := os.Stat(a.Dest)
		if err != nil || info.Mode().Perm() != 0o600 {
			return nil, errors.Join(err, errors.New("others may read the rendered script"))
		}
		return a.Dest, os.WriteFile(a.Dest, []byte("#!/bin/sh\necho rendered\n"), 0o600)
	}
}

package standard_test

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/calls"
	"github.com/brineproject/brine/internal/test/freeport"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/testvault"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules"
	"github.com/brineproject/brine/sdb/sqlite3"
	"github.com/brineproject/brine/sdb/standard"
)

// minion returns the modules of a minion with these options, and the drivers of a master.
func minion(t *testing.T, opts *data.Map) *loader.Registry {
	t.Helper()
	o := data.NewMap("id", "web1", "cachedir", filepath.Join(t.TempDir(), "cache"), "file_client",
		"local", "renderer", "jinja|yaml", "fileserver_backend", []any{"roots"}, "file_roots",
		data.NewMap("base", []any{t.TempDir()}))
	o.Update(opts)
	env := &loader.Env{Opts: o, Registries: map[string]*loader.Registry{}}
	r, err := loader.NewRegistry(env, modules.Plugins(modules.Brought()))
	if err != nil {
		t.Fatal(err)
	}
	env.Registries["sdb"], err = loader.NewRegistry(r.Env(), append(standard.Plugins(), sqlite3.Plugin()))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func get(t *testing.T, r *loader.Registry, uri string) string { return call(t, r, "sdb.get", uri) }

// call returns the result of a function, or the text of its error.
func call(t *testing.T, r *loader.Registry, fun string, args ...any) string {
	t.Helper()
	v, err := r.Invoke(t.Context(), fun, args, nil)
	if err != nil {
		return calls.Text(err)
	}
	return data.Repr(v)
}

func want(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s\n got %s\nwant %s", what, got, want)
	}
}

// The results in testdata are those of Salt 3006.18.
func TestVault(t *testing.T) {
	s := testvault.Start(t)
	opts := data.NewMap("mv", data.NewMap("driver", "vault"), "vault", data.NewMap("url", s.URL, "auth",
		data.NewMap("method", "token", "token", testvault.Root)))
	calls.Sequence(t, "testdata/vault.json", minion(t, opts).Invoke, "URL", s.URL)
}

// web answers each request with a description of it, and decrypts like a server of tISM.
func web(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch r.URL.Path {
		case "/decrypt":
			var in map[string]string
			_ = json.Unmarshal(body, &in)
			if in["encsecret"] == "bad" {
				w.WriteHeader(403)
				return
			}
			fmt.Fprint(w, "clear ", in["encsecret"], " ", in["token"])
		case "/gone":
			http.NotFound(w, r)
		default:
			var who any
			if name := r.Header.Get("X-Who"); name != "" {
				who = name
			}
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(map[string]any{"path": r.RequestURI, "method": r.Method,
				"who": who, "sent": string(body)})
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestRest(t *testing.T) {
	at := web(t)
	r := minion(t, data.NewMap("api", data.NewMap("driver", "rest",
		"plain", data.NewMap("url", at+"/plain", "decode_type", "json"),
		"gone", data.NewMap("url", at+"/gone", "decode_type", "json"),
		"keys", data.NewMap("url", at+"/users/{{user}}/keys", "backend", "requests", "decode_type",
			"json", "header_dict", data.NewMap("X-Who", "me")),
		"post", data.NewMap("url", at+"/p", "method", "POST", "data", "text", "decode_type", "json"))))
	calls.Check(t, "testdata/rest.json", r.Invoke, "URL", at)
	// what Salt answers with a traceback
	want(t, "no pairs", get(t, r, "sdb://api/plain"),
		"{'method': 'GET', 'path': '/plain', 'sent': '', 'who': None}")
	want(t, "an unknown name", get(t, r, "sdb://api/none?a=b"),
		"salt.exceptions.CommandExecutionError: sdb rest: the profile has no url under none")
	want(t, "an error", get(t, r, "sdb://api/gone"),
		"salt.exceptions.CommandExecutionError: sdb rest: gone: HTTP 404: Not Found")
}

func TestTism(t *testing.T) {
	at := web(t)
	r := minion(t, data.NewMap("ti", data.NewMap("driver", "tism", "url", at+"/decrypt", "token", "tok"),
		"ti2", data.NewMap("driver", "tism", "url", at+"/decrypt")))
	calls.Check(t, "testdata/tism.json", r.Invoke)
}

func TestCache(t *testing.T) {
	dir := t.TempDir()
	r := minion(t, data.NewMap("cachedir", filepath.Join(dir, "own"), "mc",
		data.NewMap("driver", "cache", "bank", "a/b"),
		"mc2", data.NewMap("driver", "cache", "cachedir", filepath.Join(dir, "other"))))
	calls.Sequence(t, "testdata/cache.json", r.Invoke)
	want(t, "set", call(t, r, "sdb.set", "sdb://mc/k", "größe"), "'größe'")
	raw, err := os.ReadFile(filepath.Join(dir, "own", "a", "b", "k.p"))
	if err != nil || hex.EncodeToString(raw) != "a76772c3b6c39f65" { // Salt's file
		t.Errorf("%x, %v", raw, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "other", "x", "k.p")); err != nil {
		t.Error(err)
	}
	for _, uri := range []string{"sdb://mc2/k", "sdb://mc/../../k", "sdb://mc/k?bank=../..",
		"sdb://mc/k?other=1"} {
		if got := call(t, r, "sdb.set", uri, "v"); !strings.Contains(got, ":") {
			t.Errorf("%s: %s", uri, got)
		}
	}
	err = filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() && info.Mode().Perm()&0o077 != 0 {
			err = fmt.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestSQLite(t *testing.T) {
	dir := t.TempDir()
	r := minion(t, data.NewMap(
		"sq", data.NewMap("driver", "sqlite3", "database", filepath.Join(dir, "s ?.db")),
		"raw", data.NewMap("driver", "sqlite3", "database", filepath.Join(dir, "s ?.db"), "get_query",
			"SELECT 'x' || :key"),
		"sq2", data.NewMap("driver", "sqlite3", "database", filepath.Join(dir, "s ?.db"), "table", `odd "name"`),
		"sq3", data.NewMap("driver", "sqlite3", "database", filepath.Join(dir, "adv.db"),
			"create_statements", []any{"CREATE TABLE advanced (a text, b text, c blob, d blob)",
				"CREATE UNIQUE INDEX myidx ON advanced (a)"},
			"get_query", "SELECT d FROM advanced WHERE a=:key",
			"set_query", "INSERT OR REPLACE INTO advanced (a, d) VALUES (:key, :value)"),
		"bad", data.NewMap("driver", "sqlite3", "database", filepath.Join(dir, "none", "s.db")),
		"none", data.NewMap("driver", "sqlite3", "table", "x")))
	calls.Sequence(t, "testdata/sqlite3.json", r.Invoke)
	for _, uri := range []string{"sdb://bad/k", "sdb://none/k", "sdb://raw/k"} {
		if got := get(t, r, uri); !strings.Contains(got, "Error: ") {
			t.Errorf("%s: %s", uri, got)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "s ?.db")); err != nil {
		t.Error(err)
	}
}

func TestRedis(t *testing.T) {
	c, err := net.DialTimeout("tcp", "127.0.0.1:6379", time.Second)
	need.That(t, "Redis on 127.0.0.1:6379", err)
	c.Close()
	name := "brine-test-" + filepath.Base(t.TempDir()) + fmt.Sprint(time.Now().UnixNano())
	profile := data.NewMap("driver", "redis", "host", "127.0.0.1", "port", int64(6379), "db", int64(5))
	r := minion(t, data.NewMap("re", profile, "away", data.NewMap("driver", "redis", "host", "127.0.0.1",
		"port", int64(1), "password", "hunter2"), "bad", data.NewMap("driver", "redis", "prot", int64(1))))
	uri := "sdb://re/" + name
	t.Cleanup(func() {
		if _, err := r.Invoke(context.Background(), "sdb.delete", []any{uri}, nil); err != nil {
			t.Error(err)
		}
	})
	for range 2 {
		want(t, "nothing", get(t, r, uri), "None")
		want(t, "set", call(t, r, "sdb.set", uri, "größe"), "True")
		want(t, "get", get(t, r, uri), "'größe'")
		want(t, "a number", call(t, r, "sdb.set", uri, int64(7)), "True")
		want(t, "get", get(t, r, uri), "'7'")
		want(t, "bytes", call(t, r, "sdb.set", uri, []byte("\xff")), "True")
		want(t, "get", get(t, r, uri), `b'\xff'`)
		want(t, "a list", call(t, r, "sdb.set", uri, []any{}),
			"redis.exceptions.DataError: Invalid input of type: 'list'. Convert to a bytes, string, int or float first.")
		want(t, "delete", call(t, r, "sdb.delete", uri), "1")
		want(t, "delete", call(t, r, "sdb.delete", uri), "0")
	}
	if got := get(t, r, "sdb://away/k"); !strings.Contains(got, "sdb redis: ") || strings.Contains(got, "hunter2") {
		t.Errorf("a database that is away: %s", got)
	}
	want(t, "an unknown option", get(t, r, "sdb://bad/k"),
		"salt.exceptions.CommandExecutionError: sdb redis: there is no option prot")
}

// consul returns the address of a server with the key-value store of Consul's documented API.
func consul(t *testing.T) *url.URL {
	t.Helper()
	values := map[string]string{"app/key": base64.StdEncoding.EncodeToString([]byte("größe")),
		"bytes": base64.StdEncoding.EncodeToString([]byte("\xff"))}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := strings.TrimPrefix(r.URL.Path, "/v1/kv/")
		body, _ := io.ReadAll(r.Body)
		switch v, ok := values[key]; {
		case r.Header.Get("X-Consul-Token") != "tok" || r.URL.Query().Get("dc") != "dev" ||
			!r.URL.Query().Has("stale"):
			http.Error(w, "Permission denied", http.StatusForbidden)
		case r.Method == http.MethodPut:
			values[key] = base64.StdEncoding.EncodeToString(body)
			fmt.Fprint(w, key != "refused")
		case !ok:
			http.NotFound(w, r)
		default:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `[{"LockIndex": 0, "Key": %q, "Flags": 0, "Value": %q}]`, key, v)
		}
	}))
	t.Cleanup(s.Close)
	at, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestConsul(t *testing.T) {
	at := consul(t)
	profile := data.NewMap("driver", "consul", "host", at.Hostname(), "port", at.Port(), "token", "tok",
		"dc", "dev", "consistency", "stale")
	denied := profile.Clone()
	denied.Set("token", "hunter2")
	r := minion(t, data.NewMap("co", profile, "no", denied))
	for range 2 {
		want(t, "get", get(t, r, "sdb://co/app/key"), "'größe'")
		want(t, "bytes", get(t, r, "sdb://co/bytes"), `b'\xff'`)
		want(t, "nothing", get(t, r, "sdb://co/none"), "None")
		want(t, "set", call(t, r, "sdb.set", "sdb://co/new", "v é"), "True")
		want(t, "get", get(t, r, "sdb://co/new"), "'v é'")
		want(t, "refused", call(t, r, "sdb.set", "sdb://co/refused", "v"), "False")
		want(t, "delete", call(t, r, "sdb.delete", "sdb://co/new"), "KeyError: 'consul.delete'")
		want(t, "another path", get(t, r, "sdb://co/../agent/self"), "salt.exceptions.CommandExecutionError: "+
			"sdb consul: . or .. is a part of the key, which would lead out of the store")
		want(t, "denied", get(t, r, "sdb://no/app/key"),
			"salt.exceptions.CommandExecutionError: sdb consul: HTTP 403: Forbidden")
	}
}

// TestEtcd uses a real etcd with both of its APIs.
func TestEtcd(t *testing.T) {
	need.Program(t, "etcd")
	port := startEtcd(t)
	profile := func(pairs ...any) *data.Map {
		m := data.NewMap("driver", "etcd", "etcd.host", "127.0.0.1", "etcd.port", int64(port))
		m.Update(data.NewMap(pairs...))
		return m
	}
	r := minion(t, data.NewMap("e2", profile(), "e3", profile("etcd.require_v2", false),
		"plain", profile("etcd.require_v2", false, "etcd.encode_values", false),
		"away", data.NewMap("driver", "etcd", "etcd.port", int64(1), "etcd.require_v2", false)))
	for range 2 {
		for _, name := range []string{"e2", "e3", "plain"} {
			uri := "sdb://" + name + "/dir/a key"
			want(t, name, get(t, r, uri), "None")
			want(t, name, call(t, r, "sdb.set", uri, "größe"), "'größe'")
			want(t, name, get(t, r, uri), "'größe'")
			want(t, name, call(t, r, "sdb.delete", uri), "True")
			want(t, name, call(t, r, "sdb.delete", uri), "True")
		}
		want(t, "another path", get(t, r, "sdb://e2/../members"), "salt.exceptions.CommandExecutionError: "+
			"sdb etcd: . or .. is a part of the key, which would lead out of the store")
		want(t, "a dictionary", call(t, r, "sdb.set", "sdb://e3/d", data.NewMap("a", []any{int64(1), nil})),
			"{'a': [1, None]}")
		want(t, "as MessagePack", get(t, r, "sdb://plain/d"), `b'\x81\xa1a\x92\x01\xc0'`)
		want(t, "no MessagePack", call(t, r, "sdb.set", "sdb://plain/p", "\x81"), `b'\x81'`)
		if got := get(t, r, "sdb://e3/p"); !strings.Contains(got, "etcd.encode_values: False") {
			t.Errorf("a value in another form: %s", got)
		}
		if got := get(t, r, "sdb://away/k"); !strings.Contains(got, "sdb etcd: ") {
			t.Errorf("an etcd that is away: %s", got)
		}
		want(t, "an etcd that is away", call(t, r, "sdb.delete", "sdb://away/k"), "False")
	}
}

// startEtcd starts an etcd and returns its port.
func startEtcd(t *testing.T) int {
	t.Helper()
	need.Time(t, "it starts etcd")
	port, peer := freeport.One(t), freeport.One(t)
	at := func(port int) string { return fmt.Sprintf("http://127.0.0.1:%d", port) }
	cmd := exec.Command("etcd", "--data-dir", t.TempDir(), "--listen-client-urls", at(port),
		"--advertise-client-urls", at(port), "--listen-peer-urls", at(peer),
		"--initial-advertise-peer-urls", at(peer), "--initial-cluster", "default="+at(peer), "--enable-v2")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
	client := &http.Client{Timeout: time.Second}
	for deadline := time.Now().Add(time.Minute); ; {
		answer, err := client.Get(at(port) + "/health")
		if err == nil {
			_, _ = io.Copy(io.Discard, answer.Body)
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return port
			}
			err = errors.New(answer.Status)
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("etcd ends: %v", err)
		case <-time.After(50 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatalf("etcd is not ready: %v", err)
		}
	}
}

// TestKeyring has a program that keeps passwords in files, with the command line of keyring.
func TestKeyring(t *testing.T) {
	dir := t.TempDir()
	const program = `#!/bin/sh
echo "$@" >> "$RING/calls"
case $1 in
set) [ "$3" = locked ] && { echo "Traceback" >&2; echo "keyring.errors.KeyringLocked: Failed to unlock" >&2; exit 1; }
  cat > "$RING/$2-$3" ;;
get) [ -f "$RING/$2-$3" ] || exit 1; cat "$RING/$2-$3" ;;
esac
`
	if err := os.WriteFile(filepath.Join(dir, "keyring"), []byte(program), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Setenv("RING", dir)
	r := minion(t, data.NewMap("kr", data.NewMap("driver", "keyring", "service", "system"),
		"none", data.NewMap("driver", "keyring", "x", true)))
	want(t, "nothing", get(t, r, "sdb://kr/p"), "None")
	want(t, "set", call(t, r, "sdb.set", "sdb://kr/p", "hunter2 "), "None")
	want(t, "get", get(t, r, "sdb://kr/p"), "'hunter2 '")
	want(t, "locked", call(t, r, "sdb.set", "sdb://kr/locked", "hunter2"),
		"salt.exceptions.CommandExecutionError: sdb keyring: store the password: keyring.errors.KeyringLocked: Failed to unlock")
	want(t, "no service", get(t, r, "sdb://none/p"),
		"salt.exceptions.CommandExecutionError: sdb keyring: the profile has no service")
	if got := get(t, r, "sdb://kr/--list"); !strings.Contains(got, "begins with a dash") {
		t.Errorf("an option: %s", got)
	}
	text, err := os.ReadFile(filepath.Join(dir, "calls"))
	if err != nil || strings.Contains(string(text), "hunter2") {
		t.Errorf("command lines %s, %v", text, err)
	}
}

// An address of sdb in another profile works too: config.get resolves addresses of all drivers.
func TestConfigGet(t *testing.T) {
	r := minion(t, data.NewMap("mc", data.NewMap("driver", "cache", "bank", "a"), "at", "sdb://mc/k"))
	want(t, "set", call(t, r, "sdb.set", "sdb://mc/k", "v"), "'v'")
	want(t, "config.get", call(t, r, "config.get", "at"), "'v'")
}

func TestDriversAreListed(t *testing.T) {
	r := minion(t, data.NewMap("x", data.NewMap("driver", "nosuch")))
	got := get(t, r, "sdb://x/k")
	for _, name := range strings.Fields("cache consul env etcd redis rest sqlite3 tism vault yaml") {
		if !strings.Contains(got, name) {
			t.Errorf("%s is not in %s", name, got)
		}
	}
}

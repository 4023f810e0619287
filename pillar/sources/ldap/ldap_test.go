package ldap

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/fakeweb"
	"github.com/brineproject/brine/internal/test/freeport"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/pillar"
	"github.com/brineproject/brine/render"
	stdrender "github.com/brineproject/brine/render/standard"
)

// TestSaltsDictionaries compares with what Salt 3006.18 makes of the same records.
func TestSaltsDictionaries(t *testing.T) {
	file := fakeweb.Load(t, "cases.json")
	var found []record
	for _, v := range file.Value("records").([]any) {
		r := v.([]any)
		found = append(found, record{data.Str(r[0]), r[1].(*data.Map)})
	}
	for _, c := range fakeweb.Cases(t, file) {
		out := data.NewMap()
		add(out, found, c.Value("conf").(*data.Map), "src")
		if data.Repr(out) != data.Repr(c.Value("result")) {
			t.Errorf("%s\ngot  %s\nwant %s", data.Repr(c.Value("conf")), data.Repr(out), data.Repr(c.Value("result")))
		}
	}
	out := data.NewMap()
	add(out, found, data.NewMap("attrs", []any{"description"}), "src")
	add(out, []record{{"x", data.NewMap("l", []any{"v=1", "v=2", "none"})}}, data.NewMap("lists", []any{"l"}), "src")
	if data.Repr(out) != "{'ntp': 'a=b', 'x': '1', 'v': ['1', '2']}" {
		t.Errorf("split: %s", data.Repr(out))
	}
}

// startServer starts a slapd with two entries, and returns its host and port.
func startServer(t *testing.T) (host, port string) {
	t.Helper()
	slapd, err := exec.LookPath("slapd")
	if err != nil {
		slapd, err = exec.LookPath("/usr/sbin/slapd")
	}
	need.That(t, "slapd", err)
	dir := t.TempDir()
	conf, ldif := filepath.Join(dir, "slapd.conf"), filepath.Join(dir, "tree.ldif")
	for file, content := range map[string]string{conf: `include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/inetorgperson.schema
modulepath /usr/lib/ldap
moduleload back_mdb
database mdb
suffix "dc=example,dc=org"
directory ` + dir + `
access to attrs=userPassword by anonymous auth by * none
access to * by users read by * none
`, ldif: `dn: dc=example,dc=org
objectClass: dcObject
objectClass: organization
o: Example
dc: example

dn: cn=reader,dc=example,dc=org
objectClass: person
cn: reader
sn: reader
userPassword: hunter2

dn: uid=fred,dc=example,dc=org
objectClass: inetOrgPerson
uid: fred
cn: Fred (x)
sn: X
mail: a@example.org
mail: b@example.org
`} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command(slapd, "-Tadd", "-f", conf, "-l", ldif).CombinedOutput(); err != nil {
		t.Fatalf("slapadd: %v: %s", err, out)
	}
	at := freeport.Address(t)
	cmd := exec.Command(slapd, "-d", "0", "-f", conf, "-h", "ldap://"+at+"/")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("tcp", at)
		if err == nil {
			conn.Close()
			break
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	host, port, _ = net.SplitHostPort(at)
	return host, port
}

func ask(t *testing.T, conf string, grains *data.Map) (*data.Map, error, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ldap.yaml")
	if err := os.WriteFile(path, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	env := &loader.Env{Opts: data.NewMap(), Grains: func() *data.Map { return grains }}
	engine, err := render.New(render.Options{Env: env, Renderers: stdrender.Renderers()})
	if err != nil {
		t.Fatal(err)
	}
	log, told := logtest.NewNullLogger()
	got, err := New().Pillar(t.Context(), pillar.Query{ID: "web1", Argument: path, Grains: grains,
		Opts: data.NewMap(), Engine: engine, Log: log})
	text := ""
	for _, e := range told.AllEntries() {
		text += e.Message + "\n"
	}
	return got, err, text
}

const search1 = `
ldap: &ldap {server: %s, port: %s, dn: 'dc=example,dc=org', binddn: 'cn=reader,dc=example,dc=org', bindpw: %s}
people:
  <<: *ldap
  filter: '(cn={{ name }})'
  mode: map
  attrs: [cn]
  lists: [mail]
search_order: [people]
`

func TestSearch(t *testing.T) {
	host, port := startServer(t)
	for name, want := range map[string]string{
		"Fred (x)":                           "{'people': [{'cn': 'Fred (x)', 'mail': ['a@example.org', 'b@example.org']}]}",
		"nobody":                             "{}",
		"*":                                  "{}",
		"Fred*)\"\nserver: 127.0.0.9\nx: \"": "{}",
	} {
		got, err, log := ask(t, fmt.Sprintf(search1, host, port, "hunter2"), data.NewMap("name", name))
		if err != nil || data.Repr(got) != want || log != "" {
			t.Errorf("%q: %s, %v, log %s", name, data.Repr(got), err, log)
		}
	}
	conf := data.NewMap("server", host, "port", port, "dn", "dc=example,dc=org", "filter", "(mail=*)",
		"binddn", "cn=reader,dc=example,dc=org", "bindpw", "hunter2", "lists", []any{"mail"})
	if _, err := search(t.Context(), conf, data.NewMap(), 20); err == nil ||
		err.Error() != "search: the server sends too much" {
		t.Errorf("more bytes than the limit: %v", err)
	}
	if found, err := search(t.Context(), conf, data.NewMap(), 1000); err != nil || len(found) == 0 {
		t.Errorf("fewer bytes: %v, %v", found, err)
	}
	got, err, log := ask(t, fmt.Sprintf(search1, host, port, "hunter3"), data.NewMap("name", "x"))
	if err != nil || got.Len() != 0 || !strings.Contains(log, "bind as cn=reader") || strings.Contains(log, "hunter") {
		t.Errorf("a wrong password: %s, %v, log %s", data.Repr(got), err, log)
	}
}

func TestConfigurations(t *testing.T) {
	for conf, want := range map[string]string{
		"a: 1": "search_order missing", "[1]": "must be a YAML dictionary", "{": "error parsing", "{% x %}": "failed to render",
	} {
		got, err, log := ask(t, conf, data.NewMap())
		if err != nil || got.Len() != 0 || !strings.Contains(log, want) {
			t.Errorf("%s: %s, %v, log %s", conf, data.Repr(got), err, log)
		}
	}
	if _, err, _ := ask(t, "search_order: [a]\na: {server: x}", data.NewMap()); err == nil || err.Error() != "missing filter" {
		t.Error(err)
	}
	if err := New().Check("/nonexistent", nil); err == nil || !strings.HasPrefix(err.Error(), "config_file: ") {
		t.Error(err)
	}
}

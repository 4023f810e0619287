package ldap

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/freeport"
	"github.com/brineproject/brine/internal/test/need"
)

// tree is what the server of the tests knows.
const tree = `dn: dc=example,dc=org
objectClass: dcObject
objectClass: organization
o: Example
dc: example

dn: ou=people,dc=example,dc=org
objectClass: organizationalUnit
ou: people

dn: cn=reader,dc=example,dc=org
objectClass: person
cn: reader
sn: reader
userPassword: readpw

dn: uid=fred,ou=people,dc=example,dc=org
objectClass: inetOrgPerson
uid: fred
cn: Fred
sn: X
seeAlso: cn=admins,ou=teams,dc=example,dc=org
mail: both@example.org
userPassword: secret

dn: uid=ann,ou=people,dc=example,dc=org
objectClass: inetOrgPerson
uid: ann
cn: Ann
sn: X
mail: both@example.org
userPassword: annpw

dn: uid=o\2Cdd* (x),ou=people,dc=example,dc=org
objectClass: inetOrgPerson
uid: o,dd* (x)
cn: Odd
sn: X
userPassword: oddpw

dn: ou=Groups,dc=example,dc=org
objectClass: organizationalUnit
ou: Groups

dn: cn=web,ou=Groups,dc=example,dc=org
objectClass: posixGroup
cn: web
gidNumber: 5001
memberUid: fred
memberUid: ann

dn: cn=ops,ou=Groups,dc=example,dc=org
objectClass: posixGroup
cn: ops
gidNumber: 5002
memberUid: fred

dn: ou=teams,dc=example,dc=org
objectClass: organizationalUnit
ou: teams

dn: cn=admins,ou=teams,dc=example,dc=org
objectClass: groupOfNames
cn: admins
member: uid=fred,ou=people,dc=example,dc=org

dn: cn=strange,ou=teams,dc=example,dc=org
objectClass: groupOfNames
cn: strange
member: uid=o\2Cdd* (x),ou=people,dc=example,dc=org

dn: ou=servers,dc=example,dc=org
objectClass: organizationalUnit
ou: servers

dn: cn=WEB1.int.example.org,ou=servers,dc=example,dc=org
objectClass: computer
cn: WEB1.int.example.org

dn: cn=web2,ou=servers,dc=example,dc=org
objectClass: computer
cn: web2

dn: cn=* or db*,ou=servers,dc=example,dc=org
objectClass: computer
cn: * or db*
`

// server is a slapd with the tree.
type server struct{ addr, tlsAddr, cafile string }

func startServer(t *testing.T) *server {
	t.Helper()
	slapd, err := exec.LookPath("slapd")
	if err != nil {
		slapd, err = exec.LookPath("/usr/sbin/slapd")
	}
	need.That(t, "slapd", err)
	dir := t.TempDir()
	cert, key := certificate(t, dir)
	conf := filepath.Join(dir, "slapd.conf")
	text := `include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/nis.schema
include /etc/ldap/schema/inetorgperson.schema
objectclass ( 1.3.6.1.4.1.99999.1 NAME 'computer' SUP top STRUCTURAL MUST cn )
modulepath /usr/lib/ldap
moduleload back_mdb
TLSCertificateFile ` + cert + `
TLSCertificateKeyFile ` + key + `
database mdb
suffix "dc=example,dc=org"
directory ` + dir + `
access to attrs=userPassword by anonymous auth by * none
access to * by users read by * none
`
	ldif := filepath.Join(dir, "tree.ldif")
	for file, content := range map[string]string{conf: text, ldif: tree} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command(slapd, "-Tadd", "-f", conf, "-l", ldif).CombinedOutput(); err != nil {
		t.Fatalf("slapadd: %v: %s", err, out)
	}
	s := &server{addr: freeport.Address(t), tlsAddr: freeport.Address(t), cafile: cert}
	cmd := exec.Command(slapd, "-d", "0", "-f", conf, "-h", "ldap://"+s.addr+"/ ldaps://"+s.tlsAddr+"/")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	s.await(t)
	return s
}

// await waits until the server listens: it tells nobody.
func (s *server) await(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("tcp", s.tlsAddr)
		if err == nil {
			conn.Close()
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// certificate makes one for localhost, which is its own authority.
func certificate(t *testing.T, dir string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1),
		Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, b := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der},
		key: {Type: "PRIVATE KEY", Bytes: raw}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(b), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// options returns those of a master with the server, and some more.
func (s *server) options(more ...any) *data.Map {
	m := data.NewMap("auth.ldap.uri", "ldap://"+s.addr, "auth.ldap.basedn", "dc=example,dc=org")
	for i := 0; i < len(more); i += 2 {
		m.Set("auth.ldap."+more[i].(string), more[i+1])
	}
	return m
}

func opened(t *testing.T, opts *data.Map) *directory {
	t.Helper()
	s, err := Open(opts)
	if err != nil {
		t.Fatal(err)
	}
	return s.(*directory)
}

// The two ways to find a user.
var (
	direct  = []any{"binddn", "uid={{ username }},ou=people,dc=example,dc=org"}
	through = []any{"binddn", "cn=reader,dc=example,dc=org", "bindpw", "readpw", "filter",
		"(uid={{username}})"}
)

func TestServer(t *testing.T) {
	s := startServer(t)
	t.Run("Login", s.testLogin)
	t.Run("Spelling", s.testSpelling)
	t.Run("Faults", s.testFaults)
	t.Run("Groups", s.testGroups)
	t.Run("Expand", s.testExpand)
	t.Run("TLS", s.testTLS)
}

func (s *server) testLogin(t *testing.T) {
	for way, settings := range map[string][]any{"direct": direct, "through": through,
		"filter without brackets": append(slices.Clone(through), "filter", "uid={{ username }}")} {
		d := opened(t, s.options(settings...))
		for _, tt := range []struct {
			name, password string
			want           bool
		}{
			{"fred", "secret", true}, {"fred", "annpw", false}, {"fred", "", false}, {"ann",
				"annpw", true}, {"nobody", "secret", false},
			{"o,dd* (x)", "oddpw", true}, {"*", "secret", false}, {"fr*", "secret", false},
			{"fred)(uid=*", "secret", false}, {"fred,ou=people", "secret", false},
			{"x)(|(uid=fred)", "secret", false}, {"fred\\", "secret", false}, {"{{ username }}",
				"secret", false}, {"$0", "secret", false},
		} {
			ok, err := d.Login(t.Context(), auth.Login{Name: tt.name, Password: tt.password})
			if ok != tt.want {
				t.Errorf("%s: Login(%q, %q) = %v, %v", way, tt.name, tt.password, ok, err)
			}
			if err != nil && tt.name == "fred" && tt.password != "" {
				t.Errorf("%s: a wrong password is an error: %v", way, err)
			}
		}
	}
}

func (s *server) testFaults(t *testing.T) {
	for name, settings := range map[string][]any{
		"two users": {"binddn", "cn=reader,dc=example,dc=org", "bindpw", "readpw",
			"filter", "(mail=both@example.org)"},
		"a wrong account": {"binddn", "cn=reader,dc=example,dc=org", "bindpw", "wrong",
			"filter", "(uid={{username}})"},
		"a base that is not": {"binddn", "cn=reader,dc=example,dc=org", "bindpw", "readpw",
			"filter", "(uid={{username}})", "basedn", "dc=nosuch"},
		"a filter that is none": {"binddn", "cn=reader,dc=example,dc=org", "bindpw", "readpw",
			"filter", "((uid={{username}}"},
		"no server":               {"binddn", "uid={{username}}", "uri", "ldap://127.0.0.1:1"},
		"an address that is none": {"binddn", "uid={{username}}", "uri", "http://127.0.0.1"},
	} {
		if ok, err := opened(t, s.options(settings...)).Login(t.Context(),
			auth.Login{Name: "fred", Password: "secret"}); ok || err == nil {
			t.Errorf("%s: %v, %v", name, ok, err)
		}
	}
	second := append(slices.Clone(direct), "uri", "ldap://127.0.0.1:1 ldap://"+s.addr)
	if ok, err := opened(t, s.options(second...)).Login(t.Context(),
		auth.Login{Name: "fred", Password: "secret"}); !ok {
		t.Errorf("the second server is not asked: %v", err)
	}
	if ok, err := opened(t, s.options(append(slices.Clone(through),
		"scope", int64(0))...)).Login(t.Context(),
		auth.Login{Name: "fred", Password: "secret"}); ok || err != nil {
		t.Errorf("scope 0: %v, %v", ok, err)
	}
}

func (s *server) testGroups(t *testing.T) {
	for _, tt := range []struct {
		name     string
		settings []any
		user     string
		password string
		want     string
	}{
		{"posix", through, "fred", "secret", "ops web"},
		{"posix as the user", direct, "ann", "annpw", "web"},
		{"of nobody", through, "nobody", "x", ""},
		{"the user's own entry", append(slices.Clone(through), "accountattributename", "uid",
			"groupclass", "inetOrgPerson", "groupou", "", "groupattribute", "seeAlso", "basedn",
			"ou=people,dc=example,dc=org"), "fred", "secret", "Fred admins"},
		{"active directory", append(slices.Clone(through), "activedirectory", true,
			"accountattributename", "uid", "groupclass", "groupOfNames"), "fred", "secret", "admins"},
		{"active directory, odd name",
			append(slices.Clone(through), "activedirectory", true, "accountattributename", "uid",
				"groupclass", "groupOfNames"), "o,dd* (x)", "oddpw", "strange"},
		{"freeipa", append(slices.Clone(through), "freeipa", true, "group_basedn",
			"ou=teams,dc=example,dc=org", "group_filter",
			"(&(objectClass=groupOfNames)(member=uid={{ username }},ou=people,dc=example,dc=org))",
			"groupattribute", "member"), "fred", "secret", "admins"},
	} {
		groups, err := opened(t, s.options(tt.settings...)).Groups(t.Context(),
			auth.Login{Name: tt.user, Password: tt.password})
		slices.Sort(groups)
		if got := strings.Join(groups, " "); got != tt.want || err != nil {
			t.Errorf("%s: groups of %s: %q, %v, want %q", tt.name, tt.user, got, err, tt.want)
		}
	}
	ad := opened(t, s.options(append(slices.Clone(through), "activedirectory", true,
		"accountattributename", "uid", "groupclass", "groupOfNames")...))
	for _, name := range []string{"*", "nobody", "fred)(uid=*"} {
		if groups, err := ad.Groups(t.Context(),
			auth.Login{Name: name, Password: "x"}); len(groups) > 0 || err == nil {
			t.Errorf("active directory, %q: %v, %v", name, groups, err)
		}
	}
}

func (s *server) testExpand(t *testing.T) {
	d := opened(t, s.options(append(slices.Clone(through),
		"minion_stripdomains", []any{".example.com", ".int.example.org"})...))
	calls := []any{"test.ping"}
	list := []any{"test.echo", data.NewMap("ldap(ou=servers,dc=example,dc=org)", calls),
		data.NewMap("db*", calls), data.NewMap("ldap(ou=nosuch,dc=example,dc=org)", calls)}
	got, err := d.Expand(t.Context(), list)
	want := []any{"test.echo", data.NewMap("web1", calls), data.NewMap("web2", calls),
		data.NewMap("db*", calls)}
	if err != nil || !data.Equal(got, want) {
		t.Errorf("Expand = %s, %v, want %s", data.Repr(got), err, data.Repr(want))
	}
	if got, err := opened(t, s.options(direct...)).Expand(t.Context(), list); err == nil {
		t.Errorf("without an account: %s", data.Repr(got))
	}
	if got, err := opened(t, s.options(append(slices.Clone(direct), "uri",
		"ldap://127.0.0.1:1")...)).Expand(t.Context(), []any{"test.ping"}); err != nil || len(got) != 1 {
		t.Errorf("with nothing to expand the server is asked: %v", err)
	}
}

func (s *server) testTLS(t *testing.T) {
	_, port, _ := net.SplitHostPort(s.tlsAddr)
	_, plain, _ := net.SplitHostPort(s.addr)
	for _, tt := range []struct {
		name     string
		settings []any
		want     bool
	}{
		{"ldaps", []any{"uri", "ldaps://localhost:" + port, "cafile", s.cafile}, true},
		{"server, port and tls", []any{"uri", "", "server", "localhost", "port", port, "tls", true,
			"cafile", s.cafile}, true},
		{"an unknown authority", []any{"uri", "ldaps://localhost:" + port}, false},
		{"another name", []any{"uri", "ldaps://127.0.0.1:" + port, "cafile", s.cafile}, false},
		{"starttls", []any{"uri", "ldap://localhost:" + plain, "starttls", true, "cafile", s.cafile}, true},
		{"starttls with an unknown authority",
			[]any{"uri", "ldap://localhost:" + plain, "starttls", true}, false},
		{"starttls with another name", []any{"uri", "ldap://127.0.0.1:" + plain, "starttls", true,
			"cafile", s.cafile}, false},
	} {
		ok, err := opened(t, s.options(append(slices.Clone(direct),
			tt.settings...)...)).Login(t.Context(), auth.Login{Name: "fred", Password: "secret"})
		if ok != tt.want || (err == nil) != tt.want {
			t.Errorf("%s: %v, %v", tt.name, ok, err)
		}
	}
}

// TestServerThatHangs asks one that takes connections and says nothing.
func TestServerThatHangs(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	d := opened(t, (&server{addr: l.Addr().String()}).options(direct...))
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if ok, err := d.Login(ctx, auth.Login{Name: "fred", Password: "secret"}); ok || err == nil {
		t.Errorf("Login = %v, %v", ok, err)
	}
}

func TestSettingsThatAreRefused(t *testing.T) {
	s := &server{addr: "127.0.0.1:1"}
	for name, settings := range map[string][]any{
		"no binddn": nil, "no filter": {"binddn", "cn=x", "bindpw", "y"},
		"both kinds of TLS": {"binddn", "x", "tls", true, "starttls", true},
		"no verification":   {"binddn", "x", "no_verify", true}, "everybody": {"binddn", "x",
			"anonymous", true, "auth_by_group_membership_only", true},
		"a template": {"binddn", "uid={{ username | upper }}"}, "a statement": {"binddn",
			"{% if x %}"}, "a scope": {"binddn", "x", "scope", int64(7)},
		"no file": {"binddn", "x", "cafile", "/nosuch"}, "no certificate": {"binddn", "x", "cafile",
			"/dev/null"},
	} {
		if _, err := Open(s.options(settings...)); err == nil {
			t.Errorf("%s: opens", name)
		}
	}
}

package testnats

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha512"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base32"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nkeys"
)

// access writes the files that clients need, and returns the access rules of the servers.
func (c *Cluster) access(t testing.TB) string {
	t.Helper()
	var text string
	if c.o.TLS {
		text += c.certificates(t)
	}
	switch {
	case c.o.User != "":
		text += fmt.Sprintf("authorization { user: %q, password: %q }\n", c.o.User, c.o.Password)
	case c.o.NKey:
		user := keyPair(t, nkeys.CreateUser)
		c.Seed = filepath.Join(c.dir, "user.nk")
		write(t, c.Seed, seedOf(t, user))
		text += fmt.Sprintf("authorization { users: [ { nkey: %s } ] }\n", publicOf(t, user))
	case c.o.JWT:
		text += c.tokens(t)
	}
	return text
}

// SetPassword makes one node demand another password than the others. It starts anew.
func (c *Cluster) SetPassword(t testing.TB, n *Node, password string) {
	t.Helper()
	text, err := os.ReadFile(n.config)
	must(t, err)
	n.Kill(t)
	write(t, n.config, strings.Replace(string(text), fmt.Sprintf("password: %q", c.o.Password),
		fmt.Sprintf("password: %q", password), 1))
	n.Restart(t)
	c.Wait(t)
}

func (c *Cluster) certificates(t testing.TB) string {
	t.Helper()
	path := func(name string) string { return filepath.Join(c.dir, name) }
	c.CA, c.Cert, c.Key = path("ca.pem"), path("client.pem"), path("client.key")
	ca, caKey := c.certificate(t, "test CA", nil, nil, c.CA, path("ca.key"))
	c.certificate(t, "server", ca, caKey, path("server.pem"), path("server.key"))
	c.certificate(t, "client", ca, caKey, c.Cert, c.Key)
	return fmt.Sprintf("tls { cert_file: %q, key_file: %q, ca_file: %q, verify: %t }\n",
		path("server.pem"), path("server.key"), c.CA, c.o.ClientCerts)
}

// certificate writes a certificate, signed by a CA or by itself, and its key.
func (c *Cluster) certificate(
	t testing.TB, name string, ca *x509.Certificate, caKey *ecdsa.PrivateKey, file, keyFile string,
) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	number, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	must(t, err)
	cert := &x509.Certificate{
		SerialNumber: number, Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"},
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		BasicConstraintsValid: true, IsCA: ca == nil,
	}
	if ca == nil {
		ca, caKey = cert, key
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, ca, key.Public(), caKey)
	must(t, err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	write(t, file, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	write(t, keyFile, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})))
	parsed, err := x509.ParseCertificate(der)
	must(t, err)
	return parsed, key
}

// tokens writes the credentials of a user, and returns the rules of servers that trust an operator:
// operator, accounts and user are signed in this order, as docs.nats.io describes JWTs.
func (c *Cluster) tokens(t testing.TB) string {
	t.Helper()
	operator := keyPair(t, nkeys.CreateOperator)
	account, system := keyPair(t, nkeys.CreateAccount), keyPair(t, nkeys.CreateAccount)
	user := keyPair(t, nkeys.CreateUser)
	unlimited := map[string]any{"subs": -1, "data": -1, "payload": -1}
	limits := map[string]any{"subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1,
		"wildcards": true, "conn": -1, "leaf": -1, "mem_storage": -1, "disk_storage": -1,
		"streams": -1, "consumer": -1}
	plain := map[string]any{"subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1,
		"wildcards": true, "conn": -1, "leaf": -1}
	operatorToken := token(t, operator, operator, "operator",
		map[string]any{"system_account": publicOf(t, system)})
	accountToken := token(t, operator, account, "account", map[string]any{"limits": limits})
	systemToken := token(t, operator, system, "account", map[string]any{"limits": plain})
	userToken := token(t, account, user, "user", unlimited)
	c.Credentials = filepath.Join(c.dir, "user.creds")
	write(t, c.Credentials, fmt.Sprintf("-----BEGIN NATS USER JWT-----\n%s\n------END NATS USER JWT------\n\n"+
		"-----BEGIN USER NKEY SEED-----\n%s\n------END USER NKEY SEED------\n", userToken, seedOf(t, user)))
	return fmt.Sprintf("operator: %q\nsystem_account: %s\nresolver: MEMORY\n"+
		"resolver_preload: {\n %s: %q\n %s: %q\n}\n", operatorToken, publicOf(t, system),
		publicOf(t, account), accountToken, publicOf(t, system), systemToken)
}

// token returns a JWT in version 2 of NATS.
func token(t testing.TB, issuer, subject nkeys.KeyPair, kind string, about map[string]any) string {
	t.Helper()
	about["type"], about["version"] = kind, 2
	claims := map[string]any{"iat": time.Now().Unix(), "iss": publicOf(t, issuer),
		"name": kind, "sub": publicOf(t, subject), "nats": about}
	text, err := json.Marshal(claims)
	must(t, err)
	sum := sha512.Sum512_256(text)
	claims["jti"] = base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:])
	text, err = json.Marshal(claims)
	must(t, err)
	encode := base64.RawURLEncoding.EncodeToString
	signed := encode([]byte(`{"typ":"JWT","alg":"ed25519-nkey"}`)) + "." + encode(text)
	signature, err := issuer.Sign([]byte(signed))
	must(t, err)
	return signed + "." + encode(signature)
}

func keyPair(t testing.TB, create func() (nkeys.KeyPair, error)) nkeys.KeyPair {
	t.Helper()
	pair, err := create()
	must(t, err)
	return pair
}

func publicOf(t testing.TB, pair nkeys.KeyPair) string {
	t.Helper()
	text, err := pair.PublicKey()
	must(t, err)
	return text
}

func seedOf(t testing.TB, pair nkeys.KeyPair) string {
	t.Helper()
	seed, err := pair.Seed()
	must(t, err)
	return string(seed)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

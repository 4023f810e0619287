package x509v2

import (
	"encoding/pem"
	"os"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/certificate"
	"github.com/brineproject/brine/internal/certificate/draft"
)

// FuzzRead reads damaged certificates, requests, lists, keys and containers, and shows what it
// could parse.
func FuzzRead(f *testing.F) {
	for _, file := range []string{"all.crt", "ca.crt", "openssl.crt", "pss.crt", "www.csr",
		"ca.crl", "cert.p12", "plain.p12", "chain.p7.der", "ed.key", "plain.der", "secret.key"} {
		text, err := os.ReadFile("testdata/" + file)
		if err != nil {
			f.Fatal(err)
		}
		if b, _ := pem.Decode(text); b != nil {
			text = b.Bytes
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, der []byte) {
		r := draft.Reader{NoFiles: true}
		if found, err := r.Found(der, nil); err == nil {
			showAll(found.Cert.TBS.Extensions, certKind)
			setName(data.NewMap(), "subject", found.Cert.TBS.Subject)
			if key, err := found.Cert.PublicKey(); err == nil {
				found.Cert.SignedBy(key)
			}
		}
		if q, _, err := r.Request(der); err == nil {
			if list, err := q.Extensions(); err == nil {
				showAll(list, certKind)
			}
		}
		if l, _, err := r.List(der); err == nil {
			showAll(l.TBS.Extensions, certKind)
			for _, one := range l.TBS.Revoked {
				showAll(one.Extensions, entryKind)
			}
		}
		r.Key(der, nil)
		pemEntry(string(der), "")
	})
}

// FuzzDraft creates certificates from texts; every accepted value must be printable.
func FuzzDraft(f *testing.F) {
	for _, value := range []string{"critical, CA:TRUE, pathlen:1", "serverAuth, 1.2.3.4", "hash",
		"keyid:always, issuer", "DNS:käse.de, IP:10.0.0.0/8, dirName:CN=x, RID:1.2.3",
		"OCSP;URI:http://o/", "permitted;IP:192.168.0.0/255.255.0.0,excluded;email:.com",
		"requireExplicitPolicy:3", "status_request", "CN=a\\,b,O=x+OU=y"} {
		f.Add(value)
	}
	key, err := os.ReadFile("testdata/ed.key")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, value string) {
		if n, err := draft.Name(value); err == nil {
			again, err := certificate.ParseNameText(n.String())
			if err != nil || !again.Equal(n) {
				t.Errorf("%q is written as %q, which is %v, %v", value, n.String(), again, err)
			}
		}
		for _, k := range draft.Kinds() {
			args := data.NewMap("signing_private_key", key, "CN", "x", k.Word, value)
			c, err := draft.Reader{NoFiles: true}.Cert(args, false)
			if err == nil && c.Sign("sha256") == nil {
				showAll(c.Cert.TBS.Extensions, certKind)
			}
		}
		certificate.FindPEM(certificate.Unfold(value), ".+")
	})
}

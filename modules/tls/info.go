package tls

import (
	"context"
	"crypto"
	"os"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/certificate"
	"github.com/brineproject/brine/internal/certificate/draft"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/logging"
)

// certificate reads the certificate in a file.
func (m *module) certificate(path string) (*certificate.Certificate, error) {
	text, err := os.ReadFile(m.reader.Path(path))
	if err == nil {
		var c *certificate.Certificate
		if c, err = m.reader.Certificate(string(text)); err == nil {
			return c, nil
		}
	}
	m.env.Log.WithError(err).Errorf("Failed to read cert from path %s", path)
	return nil, loader.Execution("Failed to read cert from %s, see log for details", path)
}

type expirationArgs struct {
	Cert       string
	DateFormat string `default:"'%Y-%m-%d'"`
}

// getExpirationDate returns when a certificate expires, in UTC.
//
// cert
//
//	The path of the certificate.
//
// date_format
//
//	The form of the date, as for strftime.
//
// CLI Example:
//
//	salt '*' tls.get_expiration_date /path/to/foo.crt
//	salt '*' tls.get_expiration_date /path/to/foo.crt date_format='%d/%m/%Y'
func (m *module) getExpirationDate(_ context.Context, a expirationArgs) (any, error) {
	c, err := m.certificate(a.Cert)
	if err != nil {
		return nil, err
	}
	return logging.Strftime(a.DateFormat, c.TBS.Validity.NotAfter.UTC()), nil
}

type infoArgs struct {
	Cert   string
	Digest any `default:"'sha256'"`
}

// certInfo returns what a certificate says: fingerprint, subject, issuer, serial number, period,
// extensions, names and the algorithm of the signature.
//
// cert
//
//	The path of the certificate, or its text.
//
// digest
//
//	The hash of the fingerprint.
//
// CLI Example:
//
//	salt '*' tls.cert_info /dir/for/certs/cert.pem
func (m *module) certInfo(ctx context.Context, a infoArgs) (any, error) {
	text := a.Cert
	if !strings.Contains(text, "-----BEGIN") {
		content, err := os.ReadFile(m.reader.Path(a.Cert))
		if err != nil {
			return nil, loader.OSError(err)
		}
		text = string(content)
	}
	c, err := m.reader.Certificate(text)
	if err != nil {
		return nil, err
	}
	hash, err := draft.Digest(a.Digest)
	if err != nil {
		return nil, err
	}
	subject, err := words(c.TBS.Subject.FullBytes)
	if err != nil {
		return nil, err
	}
	issuer, err := words(c.TBS.Issuer.FullBytes)
	if err != nil {
		return nil, err
	}
	var serial any = c.TBS.Serial
	if c.TBS.Serial.IsInt64() {
		serial = c.TBS.Serial.Int64()
	}
	extensions := m.texts(ctx, c, text)
	info := data.NewMap("fingerprint", fingerprint(hash, c.Raw), "subject", subject, "issuer", issuer,
		"serial_number", serial, "not_before", c.TBS.Validity.NotBefore.Unix(),
		"not_after", c.TBS.Validity.NotAfter.Unix(), "extensions", extensions)
	if names, ok := extensions.Value("subjectAltName").(string); ok {
		info.Set("subject_alt_names", alternatives(names))
	}
	info.Set("signature_algorithm", certificate.AlgorithmWord(c.Algorithm))
	return info, nil
}

func fingerprint(hash crypto.Hash, der []byte) string {
	h := hash.New()
	h.Write(der)
	return certificate.Hex(h.Sum(nil))
}

// words returns a distinguished name by OpenSSL's short names.
func words(der []byte) (*data.Map, error) {
	n, err := certificate.ParseName(der)
	if err != nil {
		return nil, loader.Execution("%w", err)
	}
	m := &data.Map{}
	for _, set := range n {
		for _, a := range set {
			m.Set(certificate.AttributeWord(a.Type.String()), a.Text())
		}
	}
	return m, nil
}

// texts returns the extensions as OpenSSL prints them, by the module x509. Without it, or if it does
// not know one, they are in hexadecimal.
func (m *module) texts(ctx context.Context, c *certificate.Certificate, pem string) *data.Map {
	known := &data.Map{}
	if m.env.Functions.Has("x509.read_certificate") {
		v, err := m.env.Call(ctx, "x509.read_certificate", []any{pem}, nil)
		if err != nil {
			m.env.Log.WithError(err).Debug("read the extensions of a certificate")
		}
		read, _ := v.(*data.Map)
		known, _ = read.Value("X509v3 Extensions").(*data.Map)
	}
	all := &data.Map{}
	for _, x := range c.TBS.Extensions {
		word := certificate.ExtensionWord(x.Id.String())
		text, ok := known.Value(word).(string)
		if !ok {
			text = certificate.Hex(x.Value)
		}
		if word == "authorityKeyIdentifier" && !strings.Contains(text, "serial:") {
			text = strings.TrimPrefix(text, "keyid:") // as OpenSSL 3 prints it
		}
		all.Set(word, strings.TrimSpace(strings.TrimPrefix(text, "critical ")))
	}
	return all
}

// alternatives returns the hosts in the text of subjectAltName.
func alternatives(text string) []any {
	list := []any{}
	for name := range strings.SplitSeq(text, ", ") {
		kind, value, _ := strings.Cut(name, ":")
		if (kind == "DNS" || kind == "IP Address") && !slices.Contains(list, any(value)) {
			list = append(list, value)
		}
	}
	return list
}

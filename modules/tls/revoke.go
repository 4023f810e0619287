package tls

import (
	"context"
	"errors"
	"io/fs"
	"math/big"
	"os"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/certificate"
	"github.com/brineproject/brine/internal/certificate/draft"
	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

// listDays is how long a revocation list is valid.
const listDays = 100

type emptyListArgs struct {
	CaName     string
	CacertPath any `default:"None"`
	CaFilename any `default:"None"`
	CrlFile    any `default:"None"`
	Digest     any `default:"'sha256'"`
}

// createEmptyCrl creates a revocation list without certificates.
//
// cacert_path, ca_filename
//
//	As in tls.create_ca.
//
// crl_file
//
//	The path of the list. Default: crl.pem in the directory of the authority.
//
// digest
//
//	The hash of the signature.
//
// CLI Example:
//
//	salt '*' tls.create_empty_crl ca_name='koji' ca_filename='ca' crl_file='/etc/openvpn/team1/crl.pem'
func (m *module) createEmptyCrl(ctx context.Context, a emptyListArgs) (any, error) {
	where, err := m.authority(ctx, a.CaName, a.CacertPath, a.CaFilename)
	if err != nil {
		return nil, err
	}
	file := listFile(where, a.CrlFile)
	if m.exists(file) {
		return "CRL \"" + file + "\" already exists", nil
	}
	cert, key, ok, err := m.read(where)
	if err != nil {
		return nil, err
	}
	if !ok {
		return "There is no CA named \"" + a.CaName + "\"", nil
	}
	list, err := m.list(cert, key, a.Digest, nil)
	if err != nil {
		return nil, err
	}
	if err := m.write(file, list, public); err != nil {
		return nil, err
	}
	return "Created an empty CRL: \"" + file + "\"", nil
}

func listFile(where authority, named any) string {
	if file := calls.Text(named); file != "" {
		return file
	}
	return where.dir() + "/crl.pem"
}

// list returns the text of a signed revocation list.
func (m *module) list(cert, key string, digest any, revoked []certificate.Revoked) ([]byte, error) {
	l, signer, err := m.reader.NewList(data.NewMap("signing_cert", cert, "signing_private_key", key,
		"days_valid", int64(listDays), "revoked", []any{}), m.env.Log)
	if err != nil {
		return nil, err
	}
	l.TBS.Revoked = revoked
	if err := draft.SignList(l, signer, digest); err != nil {
		return nil, err
	}
	return l.PEM(), nil
}

type revokeArgs struct {
	CaName       string
	CN           string `name:"CN"`
	CacertPath   any    `default:"None"`
	CaFilename   any    `default:"None"`
	CertPath     any    `default:"None"`
	CertFilename any    `default:"None"`
	CrlFile      any    `default:"None"`
	Digest       any    `default:"'sha256'"`
}

// revokeCert revokes a certificate: it marks it in the database of the authority, and writes the
// revocation list again.
//
// cacert_path, ca_filename
//
//	As in tls.create_ca.
//
// cert_path, cert_filename
//
//	The directory and the name of the certificate. Default: certs below the directory of the authority,
//	and CN.
//
// crl_file
//
//	The path of the list. Default: crl.pem in the directory of the authority.
//
// digest
//
//	The hash of the signature.
//
// CLI Example:
//
//	salt '*' tls.revoke_cert ca_name='koji' CN='www.example.com' crl_file='/etc/openvpn/team1/crl.pem'
func (m *module) revokeCert(ctx context.Context, a revokeArgs) (any, error) {
	where, err := m.authority(ctx, a.CaName, a.CacertPath, a.CaFilename)
	if err != nil {
		return nil, err
	}
	dir, name := calls.Text(a.CertPath), calls.Text(a.CertFilename)
	if dir == "" {
		dir = where.certs()
	}
	if name == "" {
		name = a.CN
	}
	if err := plain(name); err != nil {
		return nil, err
	}
	cert, key, ok, err := m.read(where)
	if err != nil {
		return nil, err
	}
	if !ok {
		return "There is no CA named \"" + a.CaName + "\"", nil
	}
	path := dir + "/" + name + ".crt"
	client, err := m.certificate(path)
	if err != nil {
		return "There is no client certificate named \"" + a.CN + "\"", nil //nolint:nilerr // Salt's result
	}
	file := listFile(where, a.CrlFile)
	if paths.IsDir(m.reader.Path(file)) {
		return missing("crl_file \"" + file + "\" is an existing directory"), nil
	}
	return m.revoke(where, client, path, file, func(revoked []certificate.Revoked) ([]byte, error) {
		return m.list(cert, key, a.Digest, revoked)
	})
}

// revoke marks a certificate in the database, and writes the list that sign makes. Both texts are made
// before one is written. A list that lacks a marked certificate is written again.
func (m *module) revoke(
	where authority, c *certificate.Certificate, path, file string,
	sign func([]certificate.Revoked) ([]byte, error),
) (any, error) {
	lines, err := m.database(where)
	if err != nil {
		return nil, err
	}
	before, err := mark(where, lines, c)
	if err != nil {
		return nil, err
	}
	serial := "serial number: " + strings.ToUpper(c.TBS.Serial.Text(16))
	if before {
		if listed, err := m.listed(file, c); err != nil || listed {
			return "\"" + path + "\" was already revoked, " + serial, err
		}
	}
	revoked, err := revokedIn(where, lines)
	if err != nil {
		return nil, err
	}
	list, err := sign(revoked)
	if err != nil {
		return nil, err
	}
	if !before {
		if err := m.write(where.dir()+"/index.txt", []byte(strings.Join(lines, "")), public); err != nil {
			return nil, err
		}
	}
	if err := m.write(file, list, public); err != nil {
		return nil, err
	}
	return "Revoked Certificate: \"" + path + "\", " + serial, nil
}

// listed reports whether the list in a file has a certificate. A file that is no list has none.
func (m *module) listed(file string, c *certificate.Certificate) (bool, error) {
	text, err := os.ReadFile(m.reader.Path(file))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, loader.OSError(err)
	}
	list, _, err := m.reader.List(string(text))
	return err == nil && list.Find(c.TBS.Serial) != nil, nil
}

// The fields of a line of index.txt.
const (
	fieldStatus = iota
	fieldExpires
	fieldRevoked
	fieldSerial
	fields = 6
)

func (m *module) database(where authority) ([]string, error) {
	text, err := os.ReadFile(m.reader.Path(where.dir() + "/index.txt"))
	return strings.SplitAfter(string(text), "\n"), loader.OSError(err)
}

// mark marks a certificate as revoked in the lines of the database, unless it is already: then before is
// true.
func mark(where authority, lines []string, c *certificate.Certificate) (before bool, err error) {
	found := false
	for i, line := range lines {
		words := strings.Split(line, "\t")
		if len(words) != fields {
			continue
		}
		serial, ok := new(big.Int).SetString(words[fieldSerial], 16)
		if !ok || serial.Cmp(c.TBS.Serial) != 0 {
			continue
		}
		if words[fieldStatus] == "R" {
			return true, nil
		}
		words[fieldStatus], words[fieldRevoked] = "R", timeText(time.Now())
		words[fieldSerial] = serialText(serial)
		lines[i], found = strings.Join(words, "\t"), true
	}
	if !found {
		return false, loader.Execution("index.txt of the authority %s has no certificate with the serial number %s",
			where.name, serialText(c.TBS.Serial))
	}
	return false, nil
}

// revokedIn returns the certificates that the lines of the database have as revoked.
func revokedIn(where authority, lines []string) ([]certificate.Revoked, error) {
	var list []certificate.Revoked
	for _, line := range lines {
		words := strings.Split(line, "\t")
		if len(words) != fields || words[fieldStatus] != "R" {
			continue
		}
		serial, ok := new(big.Int).SetString(words[fieldSerial], 16)
		at, err := timeOf(words[fieldRevoked])
		if !ok || err != nil {
			return nil, loader.Execution("index.txt of the authority %s: line %q", where.name, line)
		}
		list = append(list, certificate.Revoked{Serial: serial, Time: at})
	}
	return list, nil
}

type validateArgs struct {
	Cert    string
	CaName  string
	CrlFile any
}

// validate returns whether a certificate is valid: signed by the authority, not revoked, and in time.
// If not, error is the reason as OpenSSL gives it, and error_cert the certificate it is about.
//
// cert
//
//	The path of the certificate.
//
// crl_file
//
//	The path of the revocation list.
//
// CLI Example:
//
//	salt '*' tls.validate /etc/pki/koji/certs/www.example.com.crt koji /etc/pki/koji/crl.pem
func (m *module) validate(ctx context.Context, a validateArgs) (any, error) {
	where, err := m.authority(ctx, a.CaName, nil, nil)
	if err != nil {
		return nil, err
	}
	c, err := m.certificate(a.Cert)
	if err != nil {
		return nil, err
	}
	ca, err := m.certificate(where.cert)
	if err != nil {
		return nil, err
	}
	var list *certificate.List
	if file := calls.Text(a.CrlFile); file != "" {
		text, err := os.ReadFile(m.reader.Path(file))
		if err != nil {
			return nil, loader.OSError(err)
		}
		if list, _, err = m.reader.List(string(text)); err != nil {
			return nil, err
		}
	}
	fault, about := faultOf(c, ca, list, time.Now())
	if fault == "" {
		return data.NewMap("valid", true), nil
	}
	return data.NewMap("error", fault, "error_cert", string(about.PEM()), "valid", false), nil
}

// faultOf returns why a certificate is not valid, in the words of OpenSSL, and the certificate that
// this is about; "" if it is valid.
func faultOf(
	c, ca *certificate.Certificate, list *certificate.List, now time.Time,
) (fault string, about *certificate.Certificate) {
	key, err := ca.PublicKey()
	if err != nil || string(c.TBS.Issuer.FullBytes) != string(ca.TBS.Subject.FullBytes) {
		return "unable to get local issuer certificate", c
	}
	if !c.SignedBy(key) {
		return "certificate signature failure", c
	}
	if fault := listFault(ca, list, now); fault != "" {
		return fault, c
	}
	for _, one := range []*certificate.Certificate{ca, c} {
		switch {
		case list.Find(one.TBS.Serial) != nil:
			return "certificate revoked", one
		case now.Before(one.TBS.Validity.NotBefore):
			return "certificate is not yet valid", one
		case now.After(one.TBS.Validity.NotAfter):
			return "certificate has expired", one
		}
	}
	return "", nil
}

// listFault returns why a revocation list of an authority cannot be used.
func listFault(ca *certificate.Certificate, list *certificate.List, now time.Time) string {
	if list == nil || string(list.TBS.Issuer.FullBytes) != string(ca.TBS.Subject.FullBytes) {
		return "unable to get certificate CRL"
	}
	key, err := ca.PublicKey()
	switch {
	case err != nil || !list.SignedBy(key):
		return "CRL signature failure"
	case now.Before(list.TBS.ThisUpdate):
		return "CRL is not yet valid"
	case !list.TBS.NextUpdate.IsZero() && now.After(list.TBS.NextUpdate):
		return "CRL has expired"
	}
	return ""
}

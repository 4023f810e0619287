package tls

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/certificate"
	"github.com/brineproject/brine/internal/certificate/draft"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

type extensionsArgs struct{ CertType string }

// getExtensions returns the extensions of requests and certificates of a type: server, client, or one
// that the pillar has below tls.extensions.
//
// CLI Example:
//
//	salt '*' tls.get_extensions client
func (m *module) getExtensions(ctx context.Context, a extensionsArgs) (any, error) {
	return m.extensions(ctx, a.CertType)
}

func (m *module) extensions(ctx context.Context, kind string) (*data.Map, error) {
	if kind == "" {
		kind = "server"
	}
	standard := map[string]*data.Map{
		"common": data.NewMap("csr", data.NewMap("basicConstraints", "CA:FALSE"), "cert", data.NewMap(
			"authorityKeyIdentifier", "keyid,issuer:always", "subjectKeyIdentifier", "hash")),
		"server": data.NewMap("csr", data.NewMap("extendedKeyUsage", "serverAuth",
			"keyUsage", "digitalSignature, keyEncipherment"), "cert", &data.Map{}),
		"client": data.NewMap("csr", data.NewMap("extendedKeyUsage", "clientAuth",
			"keyUsage", "nonRepudiation, digitalSignature, keyEncipherment"), "cert", &data.Map{}),
	}
	all := &data.Map{}
	for _, name := range []string{"common", kind} {
		v, err := m.env.Call(ctx, "pillar.get", []any{"tls.extensions:" + name, false}, nil)
		if err != nil {
			return nil, err
		}
		found, _ := v.(*data.Map)
		if found.Len() == 0 {
			found = standard[name]
		}
		if found == nil {
			return nil, loader.Execution("the pillar has no tls.extensions:%s", name)
		}
		for use, v := range found.All() {
			more, _ := v.(*data.Map)
			one, _ := all.Value(use).(*data.Map)
			one = one.Clone()
			one.Update(more)
			all.Set(use, one)
		}
	}
	return all, nil
}

type csrArgs struct {
	CaName string
	Bits   int64 `default:"2048"`
	subjectOf
	SubjectAltName any `name:"subjectAltName" default:"None"`
	CacertPath     any `default:"None"`
	CaFilename     any `default:"None"`
	CsrPath        any `default:"None"`
	CsrFilename    any `default:"None"`
	Digest         any `default:"'sha256'"`
	TypeExt        any `default:"False"`
	CertType       any `default:"'server'"`
	Replace        any `default:"False"`
}

// createCsr creates a private key and a request for a certificate of an authority, which must be
// there.
//
// bits
//
//	The size of the RSA key.
//
// CN, C, ST, L, O, OU, emailAddress
//
//	The name in the request.
//
// subjectAltName
//
//	A list of further names, such as DNS:example.com, IP:192.0.2.1 or email:me@example.com.
//
// cacert_path, ca_filename
//
//	As in tls.create_ca.
//
// csr_path, csr_filename
//
//	The directory of the request and the key, and their name. Default: certs below the directory of the
//	authority, and CN.
//
// digest
//
//	The hash of the signature.
//
// cert_type
//
//	server or client: what the certificate is for.
//
// type_ext
//
//	True: the type is part of the name of the files.
//
// replace
//
//	True: also if there is one.
//
// CLI Example:
//
//	salt '*' tls.create_csr test
func (m *module) createCsr(ctx context.Context, a csrArgs) (any, error) {
	where, err := m.authority(ctx, a.CaName, a.CacertPath, a.CaFilename)
	if err != nil {
		return nil, err
	}
	there, err := m.caExists(ctx, existsArgs{CaName: a.CaName, CaFilename: a.CaFilename})
	if err != nil {
		return nil, err
	}
	if there == false {
		return "Certificate for CA named \"" + a.CaName + "\" does not exist, please create it first.", nil
	}
	dir, file, cn := calls.Text(a.CsrPath), calls.Text(a.CsrFilename), data.Str(a.CN)
	if dir == "" {
		dir = where.certs() + "/"
	}
	if file == "" {
		file = cn
		if data.Truth(a.TypeExt) {
			file += "_" + data.Str(a.CertType)
		}
	}
	if err := plain(file); err != nil {
		return nil, err
	}
	if path := dir + "/" + file + ".csr"; !data.Truth(a.Replace) && m.exists(path) {
		return "Certificate Request \"" + path + "\" already exists", nil
	}
	key, request, err := m.request(ctx, a)
	if err != nil {
		return nil, err
	}
	if err := m.mkdir(dir); err != nil {
		return nil, err
	}
	if err := m.write(filepath.Join(dir, file+".key"), []byte(key), secret); err != nil {
		return nil, err
	}
	if err := m.write(filepath.Join(dir, file+".csr"), request.PEM(), public); err != nil {
		return nil, err
	}
	stem := dir + file
	return "Created Private Key: \"" + stem + ".key\" Created CSR for \"" + cn + "\": \"" + stem + ".csr\"", nil
}

// request makes a key and a request.
func (m *module) request(ctx context.Context, a csrArgs) (key string, q *certificate.Request, err error) {
	all, err := m.extensions(ctx, calls.Text(a.CertType))
	if err != nil {
		return "", nil, err
	}
	args := a.words()
	if csr, ok := all.Value("csr").(*data.Map); ok {
		args.Update(csr)
	}
	if data.Truth(a.SubjectAltName) {
		names := a.SubjectAltName
		if text, ok := names.(string); ok {
			names = []any{text}
		}
		args.Set("subjectAltName", names)
	}
	if _, key, err = newKey(a.Bits); err != nil {
		return "", nil, err
	}
	args.Set("private_key", key)
	q, signer, err := m.reader.NewRequest(args)
	if err != nil {
		return "", nil, err
	}
	return key, q, draft.SignRequest(q, signer, a.Digest)
}

type selfSignedArgs struct {
	TLSDir string `name:"tls_dir" default:"'tls'"`
	Bits   int64  `default:"2048"`
	Days   any    `default:"365"`
	subjectOf
	CacertPath   any `default:"None"`
	CertFilename any `default:"None"`
	Digest       any `default:"'sha256'"`
	Replace      any `default:"False"`
}

// createSelfSignedCert creates a private key and a self-signed certificate.
//
// tls_dir
//
//	A directory below that of authorities. The files are in its directory certs.
//
// bits
//
//	The size of the RSA key.
//
// days
//
//	How long the certificate is valid.
//
// CN, C, ST, L, O, OU, emailAddress
//
//	The name in the certificate.
//
// cacert_path
//
//	The directory of authorities. Default: that of the option ca.cert_base_path, or /etc/pki.
//
// cert_filename
//
//	The name of the files. Default: CN.
//
// digest
//
//	The hash of the signature.
//
// replace
//
//	True: also if there is one.
//
// CLI Example:
//
//	salt '*' tls.create_self_signed_cert
//	salt '*' tls.create_self_signed_cert CN='test.mysite.org'
func (m *module) createSelfSignedCert(ctx context.Context, a selfSignedArgs) (any, error) {
	where, err := m.authority(ctx, a.TLSDir, a.CacertPath, nil)
	file := calls.Text(a.CertFilename)
	if file == "" {
		file = data.Str(a.CN)
	}
	if err == nil {
		err = plain(file)
	}
	if err != nil {
		return nil, err
	}
	stem := where.certs() + "/" + file
	if !data.Truth(a.Replace) && m.exists(stem+".crt") {
		return "Certificate \"" + file + "\" already exists", nil
	}
	_, key, err := newKey(a.Bits)
	if err != nil {
		return nil, err
	}
	args := a.words()
	args.Set("signing_private_key", key)
	if err := days(args, a.Days); err != nil {
		return nil, err
	}
	c, err := m.reader.Cert(args, false)
	if err != nil {
		return nil, err
	}
	if err := c.Sign(a.Digest); err != nil {
		return nil, err
	}
	if err := m.mkdir(where.certs()); err != nil {
		return nil, err
	}
	if err := m.write(stem+".key", []byte(key), secret); err != nil {
		return nil, err
	}
	if err := m.write(stem+".crt", c.Cert.PEM(), public); err != nil {
		return nil, err
	}
	return "Created Private Key: \"" + stem + ".key\" Created Certificate: \"" + stem + ".crt\"",
		m.record(where.dir(), where.name, c.Cert)
}

type signedArgs struct {
	CaName       string
	CN           string `name:"CN"`
	Days         any    `default:"365"`
	CacertPath   any    `default:"None"`
	CaFilename   any    `default:"None"`
	CertPath     any    `default:"None"`
	CertFilename any    `default:"None"`
	Digest       any    `default:"'sha256'"`
	CertType     any    `default:"None"`
	TypeExt      any    `default:"False"`
	Replace      any    `default:"False"`
}

// createCaSignedCert creates the certificate of a request that tls.create_csr made, signed by the
// authority.
//
// days
//
//	How long the certificate is valid.
//
// cacert_path, ca_filename
//
//	As in tls.create_ca.
//
// cert_path
//
//	The directory of the request and the certificate. Default: certs below the directory of the
//	authority.
//
// cert_filename
//
//	The name of the certificate. Default: CN.
//
// digest
//
//	The hash of the signature.
//
// cert_type, type_ext
//
//	As in tls.create_csr, if type_ext was true there.
//
// replace
//
//	True: also if there is one.
//
// CLI Example:
//
//	salt '*' tls.create_ca_signed_cert test localhost
func (m *module) createCaSignedCert(ctx context.Context, a signedArgs) (any, error) {
	where, err := m.authority(ctx, a.CaName, a.CacertPath, a.CaFilename)
	if err != nil {
		return nil, err
	}
	request := a.CN
	if data.Truth(a.TypeExt) {
		kind := calls.Text(a.CertType)
		if kind == "" {
			m.env.Log.Error("type_ext = True but cert_type is unset. Certificate not written.")
			return &data.Map{}, nil
		}
		request += "_" + kind
	}
	dir, file := calls.Text(a.CertPath), calls.Text(a.CertFilename)
	if dir == "" {
		dir = where.certs()
	}
	if file == "" {
		file = request
	}
	if err := plain(file, request); err != nil {
		return nil, err
	}
	if !data.Truth(a.Replace) && m.exists(where.certs()+"/"+file+".crt") {
		return "Certificate \"" + file + "\" already exists", nil
	}
	cert, key, ok, err := m.read(where)
	if err != nil {
		return nil, err
	}
	if !ok {
		return missing("There is no CA named \"" + a.CaName + "\""), nil
	}
	csr, err := os.ReadFile(m.reader.Path(dir + "/" + request + ".csr"))
	if errors.Is(err, fs.ErrNotExist) {
		return missing("There is no CSR that matches the CN \"" + file + "\""), nil
	}
	if err != nil {
		return nil, loader.OSError(err)
	}
	c, err := m.signed(a, cert, key, string(csr))
	if err != nil {
		return nil, err
	}
	path := dir + "/" + file + ".crt"
	if err := m.write(path, c.PEM(), public); err != nil {
		return nil, err
	}
	return "Created Certificate for \"" + a.CN + "\": \"" + path + "\"", m.record(where.dir(), where.name, c)
}

// signed returns the certificate of a request, with its name and its extensions.
func (m *module) signed(a signedArgs, cert, key, csr string) (*certificate.Certificate, error) {
	q, _, err := m.reader.Request(csr)
	if err != nil {
		return nil, err
	}
	asked, err := q.Extensions()
	if err != nil {
		return nil, loader.Execution("%w", err)
	}
	args := data.NewMap("signing_cert", cert, "signing_private_key", key, "csr", csr)
	if err := days(args, a.Days); err != nil {
		return nil, err
	}
	c, err := m.reader.Cert(args, false)
	if err != nil {
		return nil, err
	}
	c.Cert.TBS.Subject, c.Cert.TBS.Extensions = q.Info.Subject, asked
	return c.Cert, c.Sign(a.Digest)
}

type pkcs12Args struct {
	CaName     string
	CN         string `name:"CN"`
	Passphrase string `default:"''"`
	CacertPath any    `default:"None"`
	Replace    any    `default:"False"`
}

// createPkcs12 writes a certificate, its private key and the certificate of the authority to a
// PKCS#12 file, such as browsers import.
//
// passphrase
//
//	What the file is encrypted with.
//
// replace
//
//	True: also if there is one.
//
// CLI Example:
//
//	salt '*' tls.create_pkcs12 test localhost
func (m *module) createPkcs12(ctx context.Context, a pkcs12Args) (any, error) {
	where, err := m.authority(ctx, a.CaName, a.CacertPath, nil)
	if err == nil {
		err = plain(a.CN)
	}
	if err != nil {
		return nil, err
	}
	stem := where.certs() + "/" + a.CN
	if !data.Truth(a.Replace) && m.exists(stem+".p12") {
		return "Certificate \"" + a.CN + "\" already exists", nil
	}
	ca, err := os.ReadFile(m.reader.Path(where.cert))
	if errors.Is(err, fs.ErrNotExist) {
		return "There is no CA named \"" + a.CaName + "\"", nil
	}
	if err != nil {
		return nil, loader.OSError(err)
	}
	cert, key, ok, err := m.read(authority{cert: stem + ".crt", key: stem + ".key"})
	if err != nil {
		return nil, err
	}
	if !ok {
		return "There is no certificate that matches the CN \"" + a.CN + "\"", nil
	}
	store := &certificate.Store{}
	if store.Key, _, err = m.reader.Key(key, nil); err != nil {
		return nil, err
	}
	if store.Cert, err = m.reader.Certificate(cert); err != nil {
		return nil, err
	}
	chain, err := m.reader.Certificate(string(ca))
	if err != nil {
		return nil, err
	}
	store.Chain = []*certificate.Certificate{chain}
	der, err := store.Marshal(&a.Passphrase, false)
	if err != nil {
		return nil, loader.Execution("%w", err)
	}
	if err := m.write(stem+".p12", der, secret); err != nil {
		return nil, err
	}
	return "Created PKCS#12 Certificate for \"" + a.CN + "\": \"" + stem + ".p12\"", nil
}

package http

import (
	"context"
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

type bundleArgs struct {
	Target     any `default:"None"`
	Source     any `default:"None"`
	MergeFiles any `default:"None"`
}

// updateCaBundle downloads a bundle of trusted certificates from a server and replaces the local
// file with it.
//
// target
//
//	The file. Default: the option ca_bundle, or else the system's bundle.
//
// source
//
//	Its URL. Default: the option ca_bundle_url, or else https://curl.se/ca/cacert.pem.
//
// merge_files
//
//	A file with more certificates, or a list of such files.
//
// If the download has no certificate, the file is left unchanged.
//
// CLI Example:
//
//	salt '*' http.update_ca_bundle
//	salt '*' http.update_ca_bundle target=/path/to/cacerts.pem
//	salt '*' http.update_ca_bundle source=https://example.com/cacerts.pem
//	salt '*' http.update_ca_bundle merge_files=/path/to/mycert.pem
func (m *module) updateCaBundle(ctx context.Context, a bundleArgs) (any, error) {
	target := given(a.Target, m.env.Opts.Value("ca_bundle"))
	if target == "" {
		target = m.bundle()
	}
	if target == "" {
		return nil, loader.Execution("Unable to detect location to write CA bundle to")
	}
	text, err := m.certificates(ctx,
		given(a.Source, m.env.Opts.Value("ca_bundle_url"), "https://curl.se/ca/cacert.pem"))
	if err != nil {
		return nil, err
	}
	more, err := merged(a.MergeFiles)
	if err != nil {
		return nil, err
	}
	if err := writeOut(target, text+more); err != nil {
		return nil, loader.Execution("write certificates: %w", err)
	}
	return nil, nil
}

// given returns the first value that is set, as a string.
func given(values ...any) string {
	for _, v := range values {
		if data.Truth(v) {
			return data.Str(v)
		}
	}
	return ""
}

// bundle returns the bundle of certificates from the option, or that of the system, or "" if there
// is none.
func (m *module) bundle() string {
	roots, _ := m.env.Opts.Value("file_roots").(*data.Map)
	base, _ := roots.Value("base").([]any)
	var paths []string
	for _, root := range base {
		paths = append(paths, filepath.Join(data.Str(root), "cacert.pem"),
			filepath.Join(data.Str(root), "ca-bundle.crt"))
	}
	for path := range strings.FieldsSeq("/etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt /etc/pki/tls/certs/ca-bundle.trust.crt " +
		"/etc/ssl/certs/ca-bundle.crt /var/lib/ca-certificates/ca-bundle.pem /etc/ssl/cert.pem") {
		paths = append(paths, m.env.Root+path)
	}
	for _, path := range paths {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return ""
}

// certificates downloads certificates from a server.
func (m *module) certificates(ctx context.Context, source string) (string, error) {
	v, err := m.query(ctx, queryArgs{source, data.NewMap("text", true)})
	if err != nil {
		return "", err
	}
	answer, _ := v.(*data.Map)
	if bad := answer.Value("error"); bad != nil {
		return "", loader.Execution("getting certificates from %s: %s", source, data.Str(bad))
	}
	text := answer.Text("text")
	if !x509.NewCertPool().AppendCertsFromPEM([]byte(text)) {
		return "", loader.Execution("%s has no certificates", source)
	}
	return text, nil
}

// merged returns the content of further files to append. Missing files are skipped.
func merged(files any) (string, error) {
	var list []any
	switch v := files.(type) {
	case nil:
		return "", nil
	case string:
		list = []any{v}
	case []any:
		list = v
	default:
		return "", loader.Execution("A value was passed as merge_files which was not either a string or a list")
	}
	var b strings.Builder
	for _, file := range list {
		src, err := os.ReadFile(data.Str(file))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return "", loader.Execution("Reading from %s caused the following error: %w",
				data.Str(file), err)
		}
		fmt.Fprintf(&b, "\n%s", src)
	}
	if b.Len() == 0 {
		return "", nil
	}
	return "\n" + b.String(), nil
}

package x509v2

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/internal/certificate"
	"github.com/brineproject/brine/loader"
)

type entryArgs struct {
	Text    any
	PemType any `default:"None"`
}

// getPemEntry returns a PEM block with normalized lines. The argument is a path or a text, which
// may have lost its line ends.
//
// pem_type
//
//	The type of the block to return, such as CERTIFICATE.
//
// CLI Example:
//
//	salt '*' x509.get_pem_entry "-----BEGIN CERTIFICATE REQUEST-----MIICyzCC Ar8CAQI...-----END CERTIFICATE REQUEST"
func (m *module) getPemEntry(_ context.Context, a entryArgs) (any, error) {
	kind, _ := a.PemType.(string)
	text, err := m.entry(a.Text, kind)
	if err != nil {
		return nil, err
	}
	return []byte(text), nil
}

// entry returns the first PEM block of a type, which is a pattern. The type "" matches any.
func (m *module) entry(v any, kind string) (string, error) {
	b, err := m.reader().Bytes(v)
	if err != nil {
		return "", err
	}
	text, err := loader.Text(b)
	if err != nil {
		return "", err
	}
	return pemEntry(text, kind)
}

func pemEntry(text, kind string) (string, error) {
	text = certificate.Unfold(text)
	wanted := kind
	if kind == "" {
		kind = "[0-9A-Z ]+"
	}
	found, err := certificate.FindPEM(text, kind)
	switch {
	case err != nil:
		return "", loader.Invocation("PEM type not valid: %w", err)
	case found != nil:
		return found.String(), nil
	case wanted == "":
		return "", loader.Invocation("PEM text not valid:\n%s", certificate.Concealed(text))
	}
	return "", loader.Invocation("PEM does not contain a single entry of type %s:\n%s", kind,
		certificate.Concealed(text))
}

type globArgs struct{ GlobPath string }

// getPemEntries returns the first PEM block of each file that matches a pattern.
//
// CLI Example:
//
//	salt '*' x509.get_pem_entries "/etc/pki/*.crt"
func (m *module) getPemEntries(_ context.Context, a globArgs) (any, error) {
	return m.each(a.GlobPath, func(path string) (any, error) {
		text, err := m.entry(path, "")
		return []byte(text), err
	})
}

// each calls a function for each file that matches a pattern.
func (m *module) each(pattern string, read func(path string) (any, error)) (any, error) {
	found, err := filepath.Glob(m.reader().Path(pattern))
	if err != nil {
		return nil, loader.Invocation("%s: %w", pattern, err)
	}
	ret := data.NewMap()
	for _, place := range found {
		path := strings.TrimPrefix(place, strings.TrimSuffix(m.env.Root, "/"))
		if !m.reader().IsFile(path) {
			continue
		}
		v, err := read(path)
		if e, ok := errors.AsType[*loader.Error](err); ok && strings.HasPrefix(e.Class, "Unicode") {
			continue
		}
		if err != nil {
			return nil, err
		}
		ret.Set(path, v)
	}
	return ret, nil
}

type writeArgs struct {
	Text      any
	Path      string
	Overwrite bool `default:"True"`
	PemType   any  `default:"None"`
}

// writePem writes a PEM block to a file. A new file is accessible only to its owner.
//
// overwrite
//
//	False keeps a private key and DH parameters in the file beside a certificate.
//
// CLI Example:
//
//	salt '*' x509.write_pem "-----BEGIN CERTIFICATE-----MIIGMzCCBBugA..." path=/etc/pki/mycert.crt
func (m *module) writePem(_ context.Context, a writeArgs) (any, error) {
	kind, _ := a.PemType.(string)
	return m.write(a.Text, a.Path, a.Overwrite, kind)
}

func (m *module) write(text any, path string, overwrite bool, kind string) (any, error) {
	content, err := m.entry(text, kind)
	if err != nil {
		return nil, err
	}
	if kind == "CERTIFICATE" && !overwrite && m.reader().IsFile(path) {
		old, err := m.reader().Bytes(path)
		if err != nil {
			return nil, err
		}
		if key, err := pemEntry(string(old), "(?:RSA )?PRIVATE KEY"); err == nil {
			content = key + content
		}
		if params, err := pemEntry(string(old), "DH PARAMETERS"); err == nil {
			content += params
		}
	}
	if err := m.place(path, []byte(content), 0o600); err != nil {
		return nil, err
	}
	return "PEM written to " + path, nil
}

// place writes a file. An existing file keeps its owner and mode.
func (m *module) place(path string, content []byte, mode fs.FileMode) error {
	place := m.reader().Path(path)
	return atomicfile.Write(place, content, atomicfile.Options{Follow: true, Mode: mode, Keep: true})
}

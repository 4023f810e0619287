package x509

import (
	"cmp"
	"encoding/pem"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/internal/certificate"
	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/loader"
)

// These are the types of PEM blocks, as patterns for the text after BEGIN.
const (
	anyKind     = "[0-9A-Z ]+"
	certKind    = "CERTIFICATE"
	requestKind = "CERTIFICATE REQUEST"
	crlKind     = "X509 CRL"
	keyKind     = "(?:RSA )?PRIVATE KEY"
	// allKeyKinds matches keyKind and the key types that Salt cannot read.
	allKeyKinds = "(?:RSA |EC |ENCRYPTED )?PRIVATE KEY"
)

const maxFile = 16 << 20

func (m *module) path(p string) string {
	if m.env.Root == "" {
		return p
	}
	return filepath.Join(m.env.Root, p)
}

// text returns the contents of the file that an argument names, or else the argument itself.
func (m *module) text(input any) (string, error) {
	if b, ok := input.([]byte); ok {
		return string(b), nil
	}
	s := data.Str(input)
	if strings.ContainsAny(s, "\n\x00") || !paths.IsFile(m.path(s)) {
		return s, nil
	}
	f, err := os.Open(m.path(s))
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(b) > maxFile {
		err = fmt.Errorf("read %s: the file is larger than %d bytes", s, maxFile)
	}
	return string(b), err
}

// entry returns the first PEM block of a type in a text or a file, normalized.
func (m *module) entry(input any, kind string) (string, error) {
	text, err := m.text(input)
	if err != nil {
		return "", err
	}
	return pemEntry(text, kind)
}

// pemEntry returns the first PEM block of a type. The type "" matches any. Its body may contain
// blanks and line ends anywhere, also as \n.
func pemEntry(text, kind string) (string, error) {
	text = certificate.Unfold(text)
	found, err := certificate.FindPEM(text, cmp.Or(kind, anyKind))
	if err != nil {
		return "", loader.Invocation("PEM type not valid: %w", err)
	}
	switch {
	case found == nil && kind != "":
		return "", loader.Invocation("PEM does not contain a single entry of type %s:\n%s", kind,
			certificate.Concealed(text))
	case found == nil:
		return "", loader.Invocation("PEM text not valid:\n%s", certificate.Concealed(text))
	}
	return found.String(), nil
}

// der returns the decoded first PEM block of a type in a text or a file.
func (m *module) der(input any, kind string) ([]byte, error) {
	text, err := m.entry(input, kind)
	if err != nil {
		return nil, err
	}
	b, _ := pem.Decode([]byte(text))
	if b == nil {
		return nil, loader.Exception("M2Crypto.X509.X509Error",
			"the PEM text of type %s is not valid base64", kind)
	}
	return b.Bytes, nil
}

func encodePEM(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

// glob returns the files that match a pattern, as paths for the module's functions.
func (m *module) glob(pattern string) ([]string, error) {
	found, err := filepath.Glob(m.path(pattern))
	if err != nil {
		return nil, loader.Invocation("%s: %w", pattern, err)
	}
	var list []string
	for _, path := range found {
		if paths.IsFile(path) {
			list = append(list, strings.TrimPrefix(path, strings.TrimSuffix(m.env.Root, "/")))
		}
	}
	return list, nil
}

// writePEM writes the PEM block in a text to a file. Without overwrite, it keeps a private key and
// DH parameters in the file beside a certificate. A new file is accessible only to its owner.
func (m *module) writePEM(text any, path string, overwrite bool, kind string) (any, error) {
	content, err := m.entry(text, kind)
	if err != nil {
		return nil, err
	}
	if kind == certKind && !overwrite && paths.IsFile(m.path(path)) {
		old, err := m.text(path)
		if err != nil {
			return nil, err
		}
		if key, err := pemEntry(old, keyKind); err == nil {
			content = key + content
		}
		if params, err := pemEntry(old, "DH PARAMETERS"); err == nil {
			content += params
		}
	}
	if err := m.write(path, content); err != nil {
		return nil, err
	}
	return "PEM written to " + path, nil
}

func (m *module) write(path, content string) error {
	place := m.path(path)
	return atomicfile.Write(place, []byte(content), atomicfile.Options{Follow: true, Mode: 0o600, Keep: true})
}

//go:build !small || security

package render

import (
	"context"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/brineproject/brine/crypto/nacl"
)

// NaCl is the renderer nacl: it decrypts texts of the form NACL[…]. The option nacl.config contains
// the key (sk, or sk_file, by default PKI_DIR/master/nacl). Texts are sealed for that key, or
// encrypted with it if box_type is secretbox (salt/renderers/nacl.py, salt/utils/nacl.py).
type NaCl struct{}

// Name implements Renderer.
func (NaCl) Name() string { return "nacl" }

var naclText = regexp.MustCompile(`^NACL\[(.*)\]\n?$`)

// Render implements Renderer.
func (NaCl) Render(_ context.Context, s *Step) (any, error) {
	var key *naclKey
	return eachText(s.Data, func(text string) (any, error) {
		m := naclText.FindStringSubmatch(text)
		if m == nil {
			return text, nil
		}
		if key == nil {
			var err error
			if key, err = s.Engine.naclKey(); err != nil {
				return nil, err
			}
		}
		plain, err := key.open(m[1])
		if err != nil {
			return nil, err
		}
		if utf8.Valid(plain) {
			return string(plain), nil
		}
		return plain, nil
	})
}

// A naclKey decrypts boxes.
type naclKey struct {
	secret [32]byte
	shared bool // box_type secretbox
}

func (e *Engine) naclKey() (*naclKey, error) {
	config := e.optionMap("nacl.config")
	text := config.Text("sk")
	if text == "" {
		file := config.Text("sk_file")
		if file == "" {
			pki, _ := e.option("pki_dir").(string)
			file = filepath.Join(pki, "master", "nacl")
		}
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, Errorf("no key or sk_file found: %w", err)
		}
		text = strings.TrimRight(string(b), "\n")
	}
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(b) != 32 {
		return nil, Errorf("the secret key of nacl.config is not 32 bytes in base64")
	}
	k := &naclKey{shared: config.Text("box_type") == "secretbox"}
	copy(k.secret[:], b)
	return k, nil
}

// open decrypts a text in base64.
func (k *naclKey) open(text string) ([]byte, error) {
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, Errorf("NACL[…]: %w", err)
	}
	open := nacl.OpenSealed
	if k.shared {
		open = nacl.OpenSecretBox
	}
	plain, err := open(b, &k.secret)
	if errors.Is(err, nacl.ErrBox) {
		return nil, Errorf("NACL[…] was not encrypted for the key of nacl.config")
	}
	if err != nil {
		return nil, Errorf("the secret key of nacl.config: %w", err)
	}
	return plain, nil
}

var _ Renderer = NaCl{}

package render

import (
	"bytes"
	"context"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/gpg"
)

// GPG is the renderer gpg: it decrypts PGP messages in text or data with the program gpg and the
// keys in gpg_keydir, by default gpgkeys next to the configuration (salt/renderers/gpg.py). A
// message that cannot be decrypted stays as it is, unless gpg_decrypt_must_succeed is set.
// Decrypted text is not cached: gpg_cache has no effect.
type GPG struct{}

// Name implements Renderer.
func (GPG) Name() string { return "gpg" }

var pgpMessage = regexp.MustCompile(`(?s)-----BEGIN PGP MESSAGE-----.*?-----END PGP MESSAGE-----`)

// Render implements Renderer.
func (GPG) Render(ctx context.Context, s *Step) (any, error) {
	path, err := exec.LookPath("gpg")
	if err != nil {
		return nil, Errorf("GPG unavailable")
	}
	return eachText(s.Data, func(text string) (any, error) {
		if s.TranslateNewlines {
			text = strings.ReplaceAll(text, `\n`, "\n")
		}
		return s.decryptPGP(ctx, path, text)
	})
}

// decryptPGP replaces the messages in a text. If it replaces any, it drops line breaks at the end.
func (s *Step) decryptPGP(ctx context.Context, path, text string) (any, error) {
	places := pgpMessage.FindAllStringIndex(text, -1)
	if places == nil {
		return text, nil
	}
	var out bytes.Buffer
	last := 0
	for _, at := range places {
		out.WriteString(text[last:at[0]])
		plain, err := s.decryptMessage(ctx, path, text[at[0]:at[1]])
		if err != nil {
			return nil, err
		}
		out.Write(plain)
		last = at[1]
	}
	out.WriteString(text[last:])
	b := bytes.TrimRight(out.Bytes(), "\n")
	if utf8.Valid(b) {
		return string(b), nil
	}
	return b, nil
}

func (s *Step) decryptMessage(ctx context.Context, path, cipher string) ([]byte, error) {
	e := s.Engine
	input := []byte(strings.ReplaceAll(cipher, `\n`, "\n"))
	program := gpg.Program{Path: path, Home: e.gpgKeyDir(), Run: e.env.Run}
	r, err := program.Do(ctx, gpg.Call{Args: []string{"-d"}, Input: bytes.NewReader(input)})
	switch {
	case ctx.Err() != nil:
		return nil, err
	case err != nil:
		r = &gpg.Result{Stderr: err.Error()}
	case len(r.Output) > 0:
		return r.Output, nil
	}
	problems := []byte(r.Stderr)
	if data.Truth(e.option("gpg_decrypt_must_succeed")) {
		return nil, Errorf("Could not decrypt cipher %s, received: %s", data.Repr(input),
			data.Repr(problems))
	}
	e.warn("Could not decrypt cipher %s, received: %s", data.Repr(input), data.Repr(problems))
	return input, nil
}

func (e *Engine) gpgKeyDir() string {
	if dir, ok := e.option("gpg_keydir").(string); ok && dir != "" {
		return dir
	}
	dir, ok := e.option("config_dir").(string)
	if !ok || dir == "" {
		file, _ := e.option("conf_file").(string)
		dir = filepath.Dir(file)
	}
	return filepath.Join(dir, "gpgkeys")
}

package render

import (
	"bytes"
	"context"
	"os/exec"
	"strings"

	"github.com/brineproject/brine/data"
)

// Pass is the renderer pass: it replaces texts, which are names in a password store, by the secrets
// that the program pass prints. With pass_variable_prefix it only replaces texts with that prefix;
// with pass_strict_fetch a missing secret is an error (salt/renderers/pass.py).
type Pass struct{}

// Name implements Renderer.
func (Pass) Name() string { return "pass" }

// Render implements Renderer.
func (Pass) Render(ctx context.Context, s *Step) (any, error) {
	prefix, _ := s.Engine.option("pass_variable_prefix").(string)
	strict := data.Truth(s.Engine.option("pass_strict_fetch"))
	if strict && prefix == "" {
		return nil, Errorf("The 'pass_strict_fetch' option requires 'pass_variable_prefix' option enabled")
	}
	return eachText(s.Data, func(text string) (any, error) {
		name, ok := strings.CutPrefix(text, prefix)
		if !ok {
			return text, nil
		}
		secret, err := s.Engine.secret(ctx, trimSpace(name))
		switch {
		case err == nil:
			return secret, nil
		case strict || ctx.Err() != nil:
			return nil, err
		}
		s.Engine.warn("%v", err)
		return text, nil
	})
}

// secret returns a secret of the password store.
func (e *Engine) secret(ctx context.Context, name string) (string, error) {
	pass, err := exec.LookPath("pass")
	if err != nil {
		return "", Errorf("pass unavailable")
	}
	var env []string
	for option, variable := range map[string]string{"pass_dir": "PASSWORD_STORE_DIR",
		"pass_gnupghome": "GNUPGHOME"} {
		if v, ok := e.option(option).(string); ok && v != "" {
			env = append(env, variable+"="+v)
		}
	}
	out, problems, err := e.program(ctx, env, nil, pass, "show", name)
	if err != nil || len(out) == 0 {
		return "", Errorf("Could not fetch secret '%s' from the password store: %s", name, problems)
	}
	return string(bytes.TrimRight(out, "\r\n")), nil
}

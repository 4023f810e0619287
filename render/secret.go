package render

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/process"
)

// Decrypt runs data through a decrypting renderer, in.Default. If the option
// decrypt_pillar_renderers is set, it must contain the renderer (salt/utils/crypt.py, decrypt).
// Errors have Salt's words.
func (e *Engine) Decrypt(ctx context.Context, v any, in Input) (any, error) {
	valid := data.TextsOf(e.option("decrypt_pillar_renderers"))
	if len(valid) > 0 && !slices.Contains(valid, in.Default) {
		return nil, fmt.Errorf("'%s' is not a valid decryption renderer. Valid choices are: %s",
			in.Default, strings.Join(valid, ", "))
	}
	if _, ok := e.Renderer(in.Default); !ok {
		// Salt's words
		//nolint:staticcheck // Salt's text
		return nil, fmt.Errorf("Decryption renderer '%s' is not available", in.Default)
	}
	return e.RenderData(ctx, v, in)
}

// maxSecretDepth limits the nesting of data that is searched for secrets.
const maxSecretDepth = 1000

// eachText returns a copy of data in which fn has replaced all text except keys.
func eachText(v any, fn func(string) (any, error)) (any, error) { return eachTextAt(v, fn, 0) }

func eachTextAt(v any, fn func(string) (any, error), depth int) (any, error) {
	if depth > maxSecretDepth {
		return nil, Errorf("data nests deeper than %d levels", maxSecretDepth)
	}
	switch v := v.(type) {
	case string:
		return fn(v)
	case []byte:
		return fn(string(v))
	case *data.Map:
		out := data.NewMap()
		for k, item := range v.All() {
			new, err := eachTextAt(item, fn, depth+1)
			if err != nil {
				return nil, err
			}
			out.Set(k, new)
		}
		return out, nil
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			var err error
			if out[i], err = eachTextAt(item, fn, depth+1); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return v, nil
}

// program runs a program with input and returns its output.
func (e *Engine) program(
	ctx context.Context, env []string, input []byte, name string, args ...string,
) (stdout, stderr []byte, err error) {
	run := e.env.Run
	if run == nil {
		run = process.Run
	}
	var out, problems bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Env = append(slices.Clip(os.Environ()), env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &out, &problems
	err = run(ctx, cmd)
	if ctxErr := context.Cause(ctx); ctxErr != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, ctxErr)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	return out.Bytes(), problems.Bytes(), err
}

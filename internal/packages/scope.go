package packages

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

// known is the key in the context of a job that stores whether systemd has scopes.
const known = "packages.scope"

// Scoped returns a command that outlives a restart of the minion that it causes: under systemd it
// runs in a scope of its own. The option systemd.scope with false disables that. module is Salt's
// name of the calling module, for example salt.loaded.int.module.aptpkg.
func Scoped(ctx context.Context, env *loader.Env, module string, command []any) ([]any, error) {
	if has, err := hasScope(ctx, env); err != nil || !has {
		return command, err
	}
	wanted, err := loader.CallAs[bool](ctx, env, "config.get", []any{"systemd.scope", true}, nil)
	if err != nil || !wanted {
		return command, err
	}
	return append([]any{"systemd-run", "--scope", "--description", `"` + module + `"`},
		command...), nil
}

// hasScope reports whether the host runs under a systemd that has scopes, which version 205
// introduced.
func hasScope(ctx context.Context, env *loader.Env) (bool, error) {
	if _, err := os.Stat(filepath.Join("/", env.Root, "/run/systemd/system")); err != nil {
		return false, nil // as in sd_booted, whatever the reason
	}
	c := loader.ContextOf(ctx)
	if v, ok := c.Get(known); ok {
		return v == true, nil
	}
	ask := calls.Run{Argv: []string{"systemctl", "--version"}, IgnoreRetcode: true}
	out, err := calls.RunStdout(ctx, env, ask)
	if err != nil {
		return false, err
	}
	has := scopes(out)
	c.Set(known, has)
	return has, nil
}

var versionLine = regexp.MustCompile(`^\w+ ([0-9]+)`)

// scopes checks the version in the output of systemctl.
func scopes(text string) bool {
	m := versionLine.FindStringSubmatch(text)
	if m == nil {
		return false
	}
	n, err := strconv.Atoi(m[1])
	return err == nil && n >= 205
}

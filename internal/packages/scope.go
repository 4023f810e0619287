package packages

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// known stands in the context of a job for whether systemd has scopes.
const known = "packages.scope"

// Scoped returns a command so that it outlives a restart of the minion that it causes: where systemd runs the host, as a scope of its
// own. The option systemd.scope with false forbids that. module is Salt's name of who runs it, as salt.loaded.int.module.aptpkg.
func Scoped(ctx context.Context, env *loader.Env, module string, command []any) ([]any, error) {
	if has, err := hasScope(ctx, env); err != nil || !has {
		return command, err
	}
	wanted, err := env.Call(ctx, "config.get", []any{"systemd.scope", true}, nil)
	if err != nil || !data.Truth(wanted) {
		return command, err
	}
	return append([]any{"systemd-run", "--scope", "--description", `"` + module + `"`}, command...), nil
}

// hasScope reports whether the host runs under a systemd that has scopes, which came with version 205.
func hasScope(ctx context.Context, env *loader.Env) (bool, error) {
	if _, err := os.Stat(filepath.Join("/", env.Root, "/run/systemd/system")); err != nil {
		return false, nil // as sd_booted: whatever the reason
	}
	c := loader.ContextOf(ctx)
	if v, ok := c.Get(known); ok {
		return v == true, nil
	}
	out, err := env.Call(ctx, "cmd.run_stdout", []any{[]any{"systemctl", "--version"}}, data.NewMap("python_shell", false, "ignore_retcode", true))
	if err != nil {
		return false, err
	}
	has := scopes(data.Str(out))
	c.Set(known, has)
	return has, nil
}

var versionLine = regexp.MustCompile(`^\w+ ([0-9]+)`)

// scopes reads what systemctl says of its version.
func scopes(text string) bool {
	m := versionLine.FindStringSubmatch(text)
	if m == nil {
		return false
	}
	n, err := strconv.Atoi(m[1])
	return err == nil && n >= 205
}

// Package aliases is Salt's module aliases: the aliases file of the mail system
// (salt/modules/aliases.py).
//
// The path of the file is the option aliases.file, /etc/aliases by default. After each change
// newaliases runs if it is installed.
//
// As in Salt, blanks before the colon belong to the alias, and a line without a colon counts as an
// alias without a target.
package aliases

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

// Plugin returns the module aliases.
func Plugin() loader.Plugin { return loader.Plugin{Name: "aliases", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("get_target", m.getTarget).Out("txt"),
		loader.F("has_target", m.hasTarget).Out("txt"),
		loader.F("list_aliases", m.listAliases).Out("yaml"),
		loader.F("rm_alias", m.rmAlias).Out("txt"),
		loader.F("set_target", m.setTarget).Out("txt"),
	}}, nil
}

// A line is a line of the file: an alias with its target, or only a comment.
type line struct{ alias, target, comment string }

// shape matches a line as Salt does: alias, target, comment.
var shape = regexp.MustCompile(`^([^:#]*)\s*:?\s*([^#]*?)(?:(\s+#.*)|\n?\z)`)

func (m *module) file(ctx context.Context) (string, error) {
	file, err := calls.Option[string](ctx, m.env, "aliases.file")
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real
	}
	return file, nil
}

func (m *module) lines(ctx context.Context) ([]line, error) {
	file, err := m.file(ctx)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) ||
		err == nil && !info.Mode().IsRegular() {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, loader.Execution("read aliases: %w", err)
	}
	var list []line
	for one := range strings.Lines(string(text)) {
		if parts := shape.FindStringSubmatch(one); parts != nil {
			list = append(list, line{parts[1], parts[2], parts[3]})
		} else {
			list = append(list, line{comment: strings.TrimSpace(one)})
		}
	}
	return list, nil
}

func (m *module) write(ctx context.Context, list []line) error {
	file, err := m.file(ctx)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, l := range list {
		if l.alias != "" && l.target != "" {
			b.WriteString(l.alias + ": " + l.target)
		}
		b.WriteString(l.comment + "\n")
	}
	if err := atomicfile.Write(file, []byte(b.String()),
		atomicfile.Options{Mode: 0o644, Keep: true}); err != nil {
		return loader.Execution("write aliases: %w", err)
	}
	program, err := exec.LookPath("newaliases")
	if err != nil {
		return nil // no mail system has a compiled database of them
	}
	_, err = calls.RunOutput(ctx, m.env, calls.Run{Line: program, Shell: calls.CmdDecides})
	return err
}

func (m *module) aliases(ctx context.Context) (*data.Map, error) {
	list, err := m.lines(ctx)
	all := &data.Map{}
	for _, l := range list {
		if l.alias != "" {
			all.Set(l.alias, l.target)
		}
	}
	return all, err
}

// listAliases returns a dictionary of aliases and their targets.
//
// CLI Example:
//
//	salt '*' aliases.list_aliases
func (m *module) listAliases(ctx context.Context, _ loader.NoArgs) (any, error) {
	return m.aliases(ctx)
}

type aliasArgs struct{ Alias string }

// getTarget returns the target of an alias, or an empty string if there is no such alias.
//
// CLI Example:
//
//	salt '*' aliases.get_target alias
func (m *module) getTarget(ctx context.Context, a aliasArgs) (any, error) {
	all, err := m.aliases(ctx)
	if err != nil {
		return nil, err
	}
	return all.Text(a.Alias), nil
}

type targetArgs struct {
	Alias  string
	Target any
}

// joined returns the target in the form used in the file.
func (a targetArgs) joined() string {
	list, ok := a.Target.([]any)
	if !ok {
		return data.Str(a.Target)
	}
	words := make([]string, len(list))
	for i, v := range list {
		words[i] = data.Str(v)
	}
	return strings.Join(words, ", ")
}

func emptyText(what string) error {
	return loader.Invocation("%s can not be an empty string",
		what)
}

// hasTarget returns whether an alias has this target. Several targets may be given as a list; then
// all must be there in the same order.
//
// CLI Example:
//
//	salt '*' aliases.has_target alias target
func (m *module) hasTarget(ctx context.Context, a targetArgs) (any, error) {
	if a.Target == "" {
		return nil, emptyText("target")
	}
	all, err := m.aliases(ctx)
	if err != nil {
		return nil, err
	}
	return all.Has(a.Alias) && all.Text(a.Alias) == a.joined(), nil
}

// setTarget sets the target of an alias and replaces its old target. The alias is added if it does
// not exist. Several targets may be given as a list.
//
// CLI Example:
//
//	salt '*' aliases.set_target alias target
func (m *module) setTarget(ctx context.Context, a targetArgs) (any, error) {
	switch {
	case a.Alias == "":
		return nil, emptyText("alias")
	case a.Target == "":
		return nil, emptyText("target")
	}
	target := a.joined()
	if strings.ContainsRune(a.Alias+target, '\n') {
		return nil, loader.Invocation("alias and target can not have line breaks")
	}
	list, err := m.lines(ctx)
	if err != nil {
		return nil, err
	}
	var out []line
	found, same := false, true
	for _, l := range list {
		switch {
		case l.alias != a.Alias:
			out = append(out, l)
		case !found:
			found, same = true, l.target == target
			out = append(out, line{a.Alias, target, l.comment})
		default:
			same = l.target == target // the last matching line counts
		}
	}
	if found && same {
		return true, nil
	}
	if !found {
		out = append(out, line{a.Alias, target, ""})
	}
	return true, m.write(ctx, out)
}

// rmAlias removes an alias.
//
// CLI Example:
//
//	salt '*' aliases.rm_alias alias
func (m *module) rmAlias(ctx context.Context, a aliasArgs) (any, error) {
	list, err := m.lines(ctx)
	if err != nil {
		return nil, err
	}
	var out []line
	target := ""
	for _, l := range list {
		if l.alias == a.Alias {
			target = l.target
		} else {
			out = append(out, l)
		}
	}
	if target == "" {
		return true, nil
	}
	return true, m.write(ctx, out)
}

package selinux

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

type filetypeArgs struct {
	Filetype any `default:"'a'"`
}

// filetypeIDToString returns the name that semanage has for a letter of a file type, such as all
// files for a.
//
// CLI Example:
//
//	salt '*' selinux.filetype_id_to_string f
func (m *module) filetypeIDToString(_ context.Context, a filetypeArgs) (string, error) {
	return filetypeName(a.Filetype)
}

func filetypeName(letter any) (string, error) {
	name, ok := map[string]string{"a": "all files", "f": "regular file", "d": "directory",
		"c": "character device", "b": "block device", "s": "socket", "l": "symbolic link",
		"p": "named pipe"}[data.Str(letter)]
	if !ok {
		return "", loader.Invocation("Invalid filetype given: %s", data.Str(letter))
	}
	return name, nil
}

type policyArgs struct {
	Name     string
	Filetype any `default:"None"`
	SelType  any `default:"None"`
	SelUser  any `default:"None"`
	SelLevel any `default:"None"`
}

// fcontextGetPolicy returns the entry of a path in the policy as a dictionary of filespec, filetype,
// sel_user, sel_role, sel_type and sel_level. It returns None if no entry has all these values.
//
// name
//
//	The path, which may be a regular expression, as it is in the policy.
//
// filetype
//
//	One of the letters a, f, d, c, b, s, l, p of semanage-fcontext. Default: any type.
//
// CLI Example:
//
//	salt '*' selinux.fcontext_get_policy my-policy
func (m *module) fcontextGetPolicy(ctx context.Context, a policyArgs) (any, error) {
	filetype := ""
	if data.Truth(a.Filetype) {
		var err error
		if filetype, err = filetypeName(a.Filetype); err != nil {
			return nil, err
		}
	}
	lines, err := m.lines(ctx, "semanage", "fcontext", "-l")
	if err != nil {
		return nil, err
	}
	for _, line := range lines {
		entry := entryOf(line, a.Name)
		if entry != nil && (filetype == "" || entry.Text("filetype") == filetype) &&
			is(entry, "sel_type", a.SelType) && is(entry, "sel_user", a.SelUser) &&
			is(entry, "sel_level", a.SelLevel) {
			return entry, nil
		}
	}
	return nil, nil
}

// is reports whether a value is as asked for; None asks for nothing.
func is(entry *data.Map, key string, asked any) bool {
	return !data.Truth(asked) || entry.Text(key) == data.Str(asked)
}

// entryOf parses the line of a path in the policy. It returns nil for other lines, and for paths
// without a context.
func entryOf(line, name string) *data.Map {
	rest, ok := strings.CutPrefix(line, name+" ")
	if !ok {
		return nil
	}
	parts := regexp.MustCompile(`^ *([a-z ]+) (.*)$`).FindStringSubmatch(rest)
	if parts == nil {
		return nil
	}
	context, err := contextOf(strings.Trim(parts[2], " |\t"))
	if err != nil {
		return nil
	}
	entry := data.NewMap("filespec", name, "filetype", strings.TrimSpace(parts[1]))
	entry.Update(context)
	return entry
}

// contextOf parses a context such as system_u:object_r:etc_t:s0.
func contextOf(text string) (*data.Map, error) {
	parts := strings.SplitN(text, ":", 4)
	if len(parts) < 4 || slices.Contains(parts, "") {
		return nil, loader.Invocation("Invalid SELinux context string: %s. "+
			`Expected "sel_user:sel_role:sel_type:sel_level"`, text)
	}
	return data.NewMap("sel_user", parts[0], "sel_role", parts[1], "sel_type", parts[2],
		"sel_level", parts[3]), nil
}

// fcontextAddPolicy adds an entry to the policy, or changes it. It returns the result of the program
// semanage as cmd.run_all does.
//
// name
//
//	The path, which may be a regular expression.
//
// filetype
//
//	One of the letters a, f, d, c, b, s, l, p of semanage-fcontext. Default: a, all files.
//
// sel_type, sel_user, sel_level
//
//	The context.
//
// CLI Example:
//
//	salt '*' selinux.fcontext_add_policy my-policy
func (m *module) fcontextAddPolicy(ctx context.Context, a policyArgs) (any, error) {
	argv, err := a.argv()
	if err != nil {
		return nil, err
	}
	lines, err := m.lines(ctx, "semanage", "fcontext", "-l")
	if err != nil {
		return nil, err
	}
	action := "--add"
	if slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, a.Name+" ") }) {
		action = "--modify"
	}
	return m.semanage(ctx, append([]string{"fcontext", action}, argv...)...)
}

// fcontextDeletePolicy removes an entry from the policy. It returns the result of the program
// semanage as cmd.run_all does. The arguments are those of selinux.fcontext_add_policy.
//
// CLI Example:
//
//	salt '*' selinux.fcontext_delete_policy my-policy
func (m *module) fcontextDeletePolicy(ctx context.Context, a policyArgs) (any, error) {
	argv, err := a.argv()
	if err != nil {
		return nil, err
	}
	return m.semanage(ctx, append([]string{"fcontext", "--delete"}, argv...)...)
}

// argv returns the arguments of semanage for an entry.
func (a policyArgs) argv() ([]string, error) {
	var argv []string
	words := []string{a.Name}
	if a.Filetype != nil && a.Filetype != "a" {
		if _, err := filetypeName(a.Filetype); err != nil {
			return nil, err
		}
		argv = append(argv, "--ftype", data.Str(a.Filetype))
	}
	for _, o := range []struct {
		option string
		value  any
	}{{"--type", a.SelType}, {"--seuser", a.SelUser}, {"--range", a.SelLevel}} {
		if o.value != nil {
			argv, words = append(argv, o.option, data.Str(o.value)), append(words, data.Str(o.value))
		}
	}
	return append(argv, a.Name), plain(words...)
}

// semanage runs the program, and returns its result as cmd.run_all does.
func (m *module) semanage(ctx context.Context, args ...string) (any, error) {
	ran, err := calls.RunAll(ctx, m.env, calls.Run{Argv: append([]string{"semanage"}, args...)})
	return ran.Map, err
}

type applyArgs struct {
	Name      string
	Recursive any `default:"False"`
}

// fcontextPolicyIsApplied returns which files would get another context, in the words of restorecon,
// and an empty text if there are none.
//
// CLI Example:
//
//	salt '*' selinux.fcontext_policy_is_applied my-policy
func (m *module) fcontextPolicyIsApplied(ctx context.Context, a applyArgs) (string, error) {
	ran, err := m.restorecon(ctx, a, "-n", "-v")
	if err == nil && ran.Retcode != 0 {
		err = failed([]string{"restorecon", "-n", "-v", a.Name}, ran)
	}
	return ran.Stdout, err
}

func (m *module) restorecon(ctx context.Context, a applyArgs, options ...string) (calls.Ran, error) {
	if err := plain(a.Name); err != nil {
		return calls.Ran{}, err
	}
	argv := append([]string{"restorecon"}, options...)
	if data.Truth(a.Recursive) {
		argv = append(argv, "-R")
	}
	return calls.RunAll(ctx, m.env, calls.Run{Argv: append(argv, a.Name)})
}

// fcontextApplyPolicy gives files the contexts of the policy. It returns the result of the program
// restorecon as cmd.run_all does, with the changes by file.
//
// recursive
//
//	True: also the files below a directory.
//
// CLI Example:
//
//	salt '*' selinux.fcontext_apply_policy my-policy
func (m *module) fcontextApplyPolicy(ctx context.Context, a applyArgs) (any, error) {
	text, err := m.fcontextPolicyIsApplied(ctx, a)
	if err != nil {
		return nil, err
	}
	ran, err := m.restorecon(ctx, a, "-v", "-F")
	if err != nil || ran.Retcode != 0 {
		return ran.Map, err
	}
	result, pattern := ran.Map.Clone(), ""
	switch {
	case strings.HasPrefix(text, "Would relabel"):
		pattern = "(?m)Would relabel (.*) from (.*) to (.*)$"
	case strings.HasPrefix(text, "restorecon reset"):
		pattern = "(?m)restorecon reset (.*) context (.*)->(.*)$"
	default:
		result.Set("retcode", int64(1))
		result.Set("error", "Unrecognized response from restorecon command.")
		return result, nil
	}
	changes := data.NewMap()
	for _, found := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		change, err := relabelled(found[2], found[3])
		if err != nil {
			return nil, err
		}
		changes.Set(found[1], change)
	}
	if changes.Len() > 0 {
		result.Set("changes", changes)
	}
	return result, nil
}

// relabelled returns the parts in which two contexts differ.
func relabelled(from, to string) (*data.Map, error) {
	before, err := contextOf(from)
	if err != nil {
		return nil, err
	}
	after, err := contextOf(to)
	if err != nil {
		return nil, err
	}
	for _, key := range []string{"sel_user", "sel_role", "sel_type", "sel_level"} {
		if before.Text(key) == after.Text(key) {
			before.Delete(key)
			after.Delete(key)
		}
	}
	return data.NewMap("old", before, "new", after), nil
}

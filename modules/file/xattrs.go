//go:build unix

package file

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

// attrLetters are the attributes that lsattr prints.
const attrLetters = "aAcCdDeijPsStTu"

// lsattr returns the attributes of a file that chattr sets: a list of letters by path. The result
// is None if the program lsattr is missing.
//
// CLI Example:
//
//	salt '*' file.lsattr foo1.txt
func (m attributes) lsattr(ctx context.Context, a pathArgs) (any, error) {
	if _, err := exec.LookPath("lsattr"); err != nil {
		return nil, nil //nolint:nilerr // Salt's result
	}
	if _, err := os.Stat(a.Path); err != nil {
		return nil, loader.Invocation("File or directory does not exist: %s", a.Path)
	}
	out, err := calls.RunOutput(ctx, m.env,
		calls.Run{Argv: []string{"lsattr", a.Path}, IgnoreRetcode: true})
	if err != nil {
		return nil, err
	}
	found := data.NewMap()
	for line := range strings.Lines(out) {
		attrs, file, ok := strings.Cut(strings.TrimRight(line, "\n"), " ")
		if !ok || attrs == "lsattr:" {
			continue
		}
		var letters []any
		for _, c := range attrs {
			if strings.ContainsRune(attrLetters, c) {
				letters = append(letters, string(c))
			}
		}
		found.Set(strings.TrimLeft(file, " "), letters)
	}
	return found, nil
}

type chattrArgs struct {
	Files  []any     `args:"files"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// chattr changes attributes of files: operator=add or operator=remove, and attributes, some of the
// letters aAcCdDeijPsStTu. flags are further options for the program chattr, and version is its
// option -v. The result is True if the program printed nothing.
//
// CLI Example:
//
//	salt '*' file.chattr foo1.txt foo2.txt operator=add attributes=ai
func (m attributes) chattr(ctx context.Context, a chattrArgs) (any, error) {
	sign := map[string]string{"add": "+", "remove": "-"}[a.Kwargs.Text("operator")]
	if sign == "" {
		return nil, loader.Invocation("Need an operator: 'add' or 'remove' to modify attributes.")
	}
	if a.Kwargs.Value("attributes") == nil {
		return nil, loader.Invocation("Need attributes: [aAcCdDeijPsStTu]")
	}
	command := []string{"chattr", sign + data.Str(a.Kwargs.Value("attributes"))}
	if v := a.Kwargs.Value("flags"); v != nil {
		command = append(command, "-"+data.Str(v))
	}
	if v := a.Kwargs.Value("version"); v != nil {
		command = append(command, "-v", data.Str(v))
	}
	out, err := calls.RunOutput(ctx, m.env,
		calls.Run{Argv: append(command, data.Texts(a.Files)...)})
	return err == nil && out == "", err
}

// letters returns the attribute letters of a file, and whether they are known.
func (m attributes) letters(ctx context.Context, path string) (string, bool, error) {
	v, err := m.lsattr(ctx, pathArgs{path})
	found, ok := v.(*data.Map)
	if err != nil || !ok {
		return "", false, err
	}
	letters := ""
	list, _ := found.Value(path).([]any)
	for _, c := range list {
		letters += c.(string)
	}
	return letters, true, nil
}

// attrsDiffer returns the missing and the surplus attribute letters of a file. If the file has the
// letter e (extents), it is accepted, as it cannot be chosen.
func attrsDiffer(now, want string) (missing, surplus string) {
	if strings.Contains(now, "e") && !strings.Contains(want, "e") {
		want += "e"
	}
	return without(want, now), without(now, want)
}

func without(letters, others string) string {
	var left []rune
	for _, c := range letters {
		if !strings.ContainsRune(others, c) && !slices.Contains(left, c) {
			left = append(left, c)
		}
	}
	return string(left)
}

// permit sets the attributes.
func (m attributes) permit(ctx context.Context, p *permit) error {
	want := data.Str(p.Attrs)
	was, known, err := m.letters(ctx, p.Name)
	missing, surplus := attrsDiffer(was, want)
	if err != nil || !known || missing+surplus == "" {
		return err
	}
	if !p.test {
		for operator, letters := range map[string]string{"add": missing, "remove": surplus} {
			if letters == "" {
				continue
			}
			if _, err := m.chattr(ctx, chattrArgs{[]any{p.Name},
				data.NewMap("operator", operator, "attributes", letters)}); err != nil {
				return err
			}
		}
		now, _, err := m.letters(ctx, p.Name)
		if err != nil {
			return err
		}
		if missing, surplus := attrsDiffer(now, want); missing+surplus != "" {
			p.ret.Set("result", false)
			p.comments = append(p.comments, "Failed to change attributes to "+want)
			want = now
		}
	}
	if was != want {
		p.changes.Set("attrs", data.NewMap("old", was, "new", want))
	}
	return nil
}

// getSelinuxContext returns the SELinux context of a file, or a text if there is none.
//
// CLI Example:
//
//	salt '*' file.get_selinux_context /etc/hosts
func (m contexts) getSelinuxContext(ctx context.Context, a pathArgs) (any, error) {
	ran, err := calls.RunAll(ctx, m.env, calls.Run{Argv: []string{"stat", "-c", "%C", a.Path}})
	if err != nil {
		return nil, err
	}
	if ran.Retcode == 0 {
		return ran.Stdout, nil
	}
	return "No selinux context information is available for " + a.Path, nil
}

type selinuxArgs struct {
	Path    string
	User    any `default:"None"`
	Role    any `default:"None"`
	Type    any `default:"None"`
	Range   any `default:"None"`
	Persist any `default:"False"`
}

// setSelinuxContext sets parts of the SELinux context of a file and returns the context, or False
// if no part is given.
//
// persist : False
//
//	Also change the policy, so that the context survives a relabelling.
//
// CLI Example:
//
//	salt '*' file.set_selinux_context path <user> <role> <type> <range>
func (m contexts) setSelinuxContext(ctx context.Context, a selinuxArgs) (any, error) {
	if !slices.ContainsFunc([]any{a.User, a.Role, a.Type, a.Range}, data.Truth) {
		return false, nil
	}
	if data.Truth(a.Persist) {
		set, err := loader.CallAs[*data.Map](ctx, m.env, "selinux.fcontext_add_policy",
			[]any{a.Path},
			data.NewMap("sel_type", a.Type, "sel_user", a.User, "sel_level", a.Range))
		if err != nil {
			return nil, err
		}
		if !data.Equal(set.Value("retcode"), int64(0)) {
			return nil, loader.Execution("Problem setting fcontext: %s", data.Str(set))
		}
	}
	command := []string{"chcon"}
	for _, part := range []struct {
		option string
		value  any
	}{{"-u", a.User}, {"-r", a.Role}, {"-t", a.Type}, {"-l", a.Range}} {
		if data.Truth(part.value) {
			command = append(command, part.option, data.Str(part.value))
		}
	}
	ok, err := calls.Succeeds(ctx, m.env, calls.Run{Argv: append(command, a.Path)})
	if err != nil || !ok {
		return false, err
	}
	return m.getSelinuxContext(ctx, pathArgs{a.Path})
}

func (p *permit) context() [4]any { return [4]any{p.Seuser, p.Serole, p.Setype, p.Serange} }

// permit sets the SELinux context.
func (m contexts) permit(ctx context.Context, p *permit) error {
	want := p.context()
	if !slices.ContainsFunc(want[:], data.Truth) {
		return nil
	}
	now, err := m.parts(ctx, p.Name)
	if err != nil {
		return err
	}
	if now == nil {
		p.ret.Set("result", false)
		p.comments = append(p.comments, "Failed to get selinux attributes")
		return nil
	}
	before, after := "", ""
	for i, part := range [4]string{"User", "Role", "Type", "Range"} {
		if want[i] = wanted(want[i], now[i]); want[i] != nil {
			before += part + ": " + now[i] + " "
			after += part + ": " + data.Str(want[i]) + " "
		}
	}
	if after == "" {
		return nil
	}
	p.changes.Set("selinux", data.NewMap("Old", strings.TrimSpace(before),
		"New", strings.TrimSpace(after)))
	if p.test {
		p.comments = []string{"File " + p.Name + " selinux context to be updated"}
		return nil
	}
	return m.set(ctx, p, now, want)
}

func wanted(want any, now string) any {
	if !data.Truth(want) || data.Str(want) == now {
		return nil
	}
	return want
}

// parts returns the four parts of a file's SELinux context, or nil if it has none.
func (m contexts) parts(ctx context.Context, path string) ([]string, error) {
	v, err := m.getSelinuxContext(ctx, pathArgs{path})
	if parts := strings.Split(data.Str(v), ":"); err == nil && len(parts) == 4 {
		return parts, nil
	}
	return nil, err
}

func (m contexts) set(ctx context.Context, p *permit, now []string, want [4]any) error {
	kind := want[2]
	if kind == nil {
		kind = now[2]
	}
	set, err := m.setSelinuxContext(ctx, selinuxArgs{p.Name, want[0], want[1], kind, want[3], true})
	if err != nil {
		return err
	}
	parts := strings.Split(data.Str(set), ":")
	if len(parts) != 4 {
		p.ret.Set("result", false)
		p.comments = append(p.comments, "Failed to set selinux attributes")
		p.changes.Delete("selinux")
		return nil
	}
	p.comments = append(p.comments, "The file "+p.Name+" is set to be changed")
	for i, name := range []string{"seuser", "serole", "setype", "serange"} {
		if want[i] != nil && data.Str(want[i]) != parts[i] {
			p.ret.Set("result", false)
			p.comments = append(p.comments, "Unable to update "+name+" context")
		}
	}
	return nil
}

type restoreconArgs struct {
	Path      string
	Recursive bool `default:"False"`
}

// restorecon restores the SELinux context of a file with the program restorecon, and reports
// whether that worked.
//
// recursive : False
//
//	Include everything below the path.
//
// CLI Example:
//
//	salt '*' file.restorecon /home/user/.ssh/authorized_keys
func (m contexts) restorecon(ctx context.Context, a restoreconArgs) (any, error) {
	flags := "-F"
	if a.Recursive {
		flags = "-FR"
	}
	return calls.Succeeds(ctx, m.env, calls.Run{Argv: []string{"restorecon", flags, a.Path}})
}

package rabbitmq

import (
	"context"
	"crypto/rand"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pyjson"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// listUsers returns the users, each with the list of their tags. runas is the user to run
// rabbitmqctl as.
//
// CLI Example:
//
//	salt '*' rabbitmq.list_users
func (m *module) listUsers(ctx context.Context, a runasArgs) (any, error) {
	return m.users(ctx, a.Runas)
}

func (m *module) users(ctx context.Context, runas any) (*data.Map, error) {
	text, err := m.ask(ctx, runas, []string{"list_users", "-q"})
	if err != nil {
		return nil, err
	}
	return table(text, func(tags string) []string {
		if len(tags) < 2 {
			return []string{""}
		}
		if !strings.Contains(tags, ",") {
			return strings.Split(tags[1:len(tags)-1], " ")
		}
		list := strings.Split(tags[1:len(tags)-1], ",")
		for i := range list {
			list[i] = strings.TrimSpace(list[i])
		}
		return list
	}), nil
}

// userExists returns whether a user exists.
//
// CLI Example:
//
//	salt '*' rabbitmq.user_exists rabbit_user
func (m *module) userExists(ctx context.Context, a nameArgs) (any, error) {
	users, err := m.users(ctx, a.Runas)
	return users.Has(a.Name), err
}

type addArgs struct {
	Name     string
	Password any `default:"None"`
	Runas    any `default:"None"`
}

// addUser adds a user. Without a password nobody can log in as the user.
//
// CLI Example:
//
//	salt '*' rabbitmq.add_user rabbit_user password
func (m *module) addUser(ctx context.Context, a addArgs) (any, error) {
	password := data.Str(a.Password)
	if a.Password == nil {
		password = rand.Text()
	}
	text, err := checked(m.withPassword(ctx, "add_user", a.Name, password, a.Runas))
	if err != nil {
		return nil, err
	}
	if a.Password == nil {
		if _, err := m.clearPassword(ctx, nameArgs{a.Name, a.Runas}); err != nil {
			if _, undo := m.deleteUser(ctx, nameArgs{a.Name, a.Runas}); undo != nil {
				m.env.Log.Errorf("delete the user %s, whose password is not cleared: %v", a.Name, undo)
			}
			return nil, err
		}
	}
	return data.NewMap("Added", text), nil
}

// withPassword runs a command on a user, with a password on its standard input. The result lacks
// the prompt.
func (m *module) withPassword(ctx context.Context, command, name, password string, runas any) (calls.Ran, error) {
	if err := process.PlainOperands(name); err != nil {
		return calls.Ran{}, loader.Execution("%w", err)
	}
	if strings.ContainsAny(password, "\n\r\x00") {
		return calls.Ran{}, loader.Execution("the password of %s has more than one line", name)
	}
	ran, err := calls.RunAll(ctx, m.env, calls.Run{Argv: []string{"rabbitmqctl", command, name},
		Stdin: password + "\n", Log: "quiet", As: calls.Text(runas)})
	ran.Stdout, ran.Stderr = unprompted(ran.Stdout), unprompted(ran.Stderr)
	return ran, err
}

func unprompted(text string) string {
	var kept []string
	for line := range strings.SplitSeq(text, "\n") {
		if strings.TrimSpace(line) != "Password:" {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}

// deleteUser deletes a user.
//
// CLI Example:
//
//	salt '*' rabbitmq.delete_user rabbit_user
func (m *module) deleteUser(ctx context.Context, a nameArgs) (any, error) {
	return m.change(ctx, "Deleted", a.Runas, []string{"delete_user"}, a.Name)
}

type passwordArgs struct {
	Name     string
	Password any
	Runas    any `default:"None"`
}

// changePassword sets the password of a user.
//
// CLI Example:
//
//	salt '*' rabbitmq.change_password rabbit_user password
func (m *module) changePassword(ctx context.Context, a passwordArgs) (any, error) {
	text, err := checked(m.withPassword(ctx, "change_password", a.Name, data.Str(a.Password), a.Runas))
	if err != nil {
		return nil, err
	}
	return data.NewMap("Password Changed", text), nil
}

// clearPassword removes the password of a user, who cannot log in without one.
//
// CLI Example:
//
//	salt '*' rabbitmq.clear_password rabbit_user
func (m *module) clearPassword(ctx context.Context, a nameArgs) (any, error) {
	return m.change(ctx, "Password Cleared", a.Runas, []string{"clear_password"}, a.Name)
}

// checkPassword returns whether a user has a password.
//
// CLI Example:
//
//	salt '*' rabbitmq.check_password rabbit_user password
func (m *module) checkPassword(ctx context.Context, a passwordArgs) (any, error) {
	ran, err := m.withPassword(ctx, "authenticate_user", a.Name, data.Str(a.Password), a.Runas)
	return err == nil && ran.Retcode == 0 && ran.Stderr == "", err
}

type tagsArgs struct {
	Name  string
	Tags  any
	Runas any `default:"None"`
}

// setUserTags gives a user the tags of a list, and no others.
//
// CLI Example:
//
//	salt '*' rabbitmq.set_user_tags myadmin administrator
func (m *module) setUserTags(ctx context.Context, a tagsArgs) (any, error) {
	tags := []string{data.Str(a.Tags)}
	switch a.Tags.(type) {
	case []any, data.Tuple:
		tags = data.TextsOf(a.Tags)
	}
	return m.change(ctx, "Tag(s) set", a.Runas, []string{"set_user_tags"}, append([]string{a.Name}, tags...)...)
}

// listPermissions returns the users with rights on a virtual host, each with their rights.
//
// CLI Example:
//
//	salt '*' rabbitmq.list_permissions /myvhost
func (m *module) listPermissions(ctx context.Context, a vhostArgs) (any, error) {
	return m.permissions(ctx, a.Runas, "user", []string{"list_permissions", "--formatter=json", "-p"}, a.Vhost)
}

// listUserPermissions returns the virtual hosts on which a user has rights, each with the rights.
//
// CLI Example:
//
//	salt '*' rabbitmq.list_user_permissions user
func (m *module) listUserPermissions(ctx context.Context, a nameArgs) (any, error) {
	if err := process.PlainOperands(a.Name); err != nil {
		return nil, loader.Execution("%w", err)
	}
	return m.permissions(ctx, a.Runas, "vhost", []string{"list_user_permissions", a.Name, "--formatter=json"})
}

// permissions returns the entries of a list of rights by one of their fields.
func (m *module) permissions(
	ctx context.Context, runas any, by string, argv []string, operands ...string,
) (any, error) {
	text, err := m.ask(ctx, runas, argv, operands...)
	if err != nil {
		return nil, err
	}
	v, err := pyjson.Load(text)
	if err != nil {
		return nil, loader.Execution("read the rights that rabbitmqctl lists: %w", err)
	}
	found := &data.Map{}
	for _, entry := range data.ListOf(v) {
		rights, ok := entry.(*data.Map)
		if !ok {
			return nil, loader.Execution("rabbitmqctl lists no rights: %s", data.Repr(entry))
		}
		key := rights.Value(by)
		rights.Delete(by)
		found.Set(key, rights)
	}
	return found, nil
}

type permissionsArgs struct {
	Vhost string
	User  string
	Conf  string `default:"'.*'"`
	Write string `default:"'.*'"`
	Read  string `default:"'.*'"`
	Runas any    `default:"None"`
}

// setPermissions gives a user rights on a virtual host: regular expressions for the names that the
// user may configure, write and read.
//
// CLI Example:
//
//	salt '*' rabbitmq.set_permissions myvhost myuser
func (m *module) setPermissions(ctx context.Context, a permissionsArgs) (any, error) {
	return m.change(ctx, "Permissions Set", a.Runas, []string{"set_permissions", "-p"}, a.Vhost, a.User,
		a.Conf, a.Write, a.Read)
}

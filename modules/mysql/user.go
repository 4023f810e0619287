package mysql

import (
	"context"
	"errors"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/brineproject/brine/data"
)

type userArgs struct {
	User string
	Host string    `default:"'localhost'"`
	Conn *data.Map `kwargs:"connection_args"`
}

type existsArgs struct {
	User           string
	Host           string    `default:"'localhost'"`
	Password       any       `default:"None"`
	PasswordHash   any       `default:"None"`
	Passwordless   any       `default:"False"`
	UnixSocket     any       `default:"False"`
	PasswordColumn any       `default:"None"`
	Conn           *data.Map `kwargs:"connection_args"`
}

// isYes reports whether an argument means yes.
func isYes(v any) bool {
	if s, ok := v.(string); ok {
		return strings.EqualFold(s, "true")
	}
	return data.Truth(v)
}

// userExists returns whether a user exists. If one of these is given, it also checks whether the
// user has the password, has the hash of a password, needs none (passwordless), or needs only the
// socket (unix_socket with passwordless).
//
// CLI Example:
//
//	salt '*' mysql.user_exists 'username' 'hostname' 'password'
//	salt '*' mysql.user_exists 'username' 'hostname' password_hash='hash'
//	salt '*' mysql.user_exists 'username' passwordless=True
func (m *module) userExists(ctx context.Context, a existsArgs) (any, error) {
	return m.withPassword(ctx, a.Conn, a.Password,
		func(s *session) (any, error) { return s.hasUser(a) })
}

// withPassword is like with, but also tries the user's own password if the server
// rejects the login.
func (m *module) withPassword(
	ctx context.Context, conn *data.Map, password any, fn func(*session) (any, error),
) (any, error) {
	s, err := m.connect(ctx, conn)
	if _, refused := errors.AsType[*mysql.MySQLError](err); refused && data.Truth(password) {
		own := &data.Map{}
		own.Update(conn)
		own.Set("connection_pass", password)
		if s, err = m.connect(ctx, own); err == nil {
			conn = own
		}
	}
	if err == nil {
		_ = s.db.Close()
	}
	return m.with(ctx, conn, false, fn)
}

// passwordColumn returns the column of the table of users that contains the passwords.
func (s *session) passwordColumn(given any) (string, error) {
	if data.Truth(given) {
		return word("column", given)
	}
	name, err := s.one("SELECT column_name FROM information_schema.COLUMNS WHERE table_schema = 'mysql' AND table_name = 'user' AND column_name = 'Password'")
	if name == "" {
		return "authentication_string", err
	}
	return "Password", err
}

// authPlugin returns the authentication plug-in of a user.
func (s *session) authPlugin(user, host string) (string, error) {
	name, err := s.one("SELECT plugin FROM mysql.user WHERE User = ? AND Host = ?", user, host)
	if name == "" {
		name = native
	}
	return name, err
}

// native is the plug-in that compares password hashes.
const native = "mysql_native_password"

// hasUser reports whether there is a user that meets the arguments.
func (s *session) hasUser(a existsArgs) (bool, error) {
	s.hide(a.Password)
	s.hide(a.PasswordHash)
	v, err := s.server()
	if err != nil {
		return false, err
	}
	column, err := s.passwordColumn(a.PasswordColumn)
	if err != nil {
		return false, err
	}
	plugin, err := s.authPlugin(a.User, a.Host)
	if err != nil {
		return false, err
	}
	where, args := condition(v, a, column, plugin)
	t, err := s.query("SELECT User, Host FROM mysql.user WHERE User = ? AND Host = ?"+where,
		append([]any{a.User, a.Host}, args...)...)
	return len(t.rows) == 1, err
}

// condition returns the condition on a user's row, apart from the name.
func condition(v server, a existsArgs, column, plugin string) (string, []any) {
	switch {
	case isYes(a.Passwordless) && isYes(a.UnixSocket):
		return " AND plugin = ?", []any{v.socketPlugin()}
	case isYes(a.Passwordless):
		return " AND " + column + " = ''", nil
	case data.Truth(a.Password) && !v.maria && v.since(8, 0, 11):
		if plugin != native {
			return "", nil // only the server can compare it
		}
		return " AND " + column + " = ?", []any{hash(data.Str(a.Password))}
	case data.Truth(a.Password):
		return " AND " + column + " = PASSWORD(?)", []any{data.Str(a.Password)}
	case data.Truth(a.PasswordHash):
		return " AND " + column + " = ?", []any{data.Str(a.PasswordHash)}
	}
	return "", nil
}

// socketPlugin returns the plug-in that lets a system user log in as the database user of the same
// name.
func (v server) socketPlugin() string {
	if v.maria {
		return "unix_socket"
	}
	return "auth_socket"
}

// userList returns the users, each with User and Host.
//
// CLI Example:
//
//	salt '*' mysql.user_list
func (m *module) userList(ctx context.Context, a connArgs) (any, error) {
	return m.records(ctx, a.Conn, "SELECT User, Host FROM mysql.user")
}

// userInfo returns the row of a user in the server's table, or None if there is none.
//
// CLI Example:
//
//	salt '*' mysql.user_info root localhost
func (m *module) userInfo(ctx context.Context, a userArgs) (any, error) {
	return m.with(ctx, a.Conn, false, func(s *session) (any, error) {
		t, err := s.query("SELECT * FROM mysql.user WHERE User = ? AND Host = ?", a.User, a.Host)
		if list := t.records(); len(list) > 0 {
			return list[0], err
		}
		return nil, err
	})
}

type createArgs struct {
	User              string
	Host              string    `default:"'localhost'"`
	Password          any       `default:"None"`
	PasswordHash      any       `default:"None"`
	AllowPasswordless any       `default:"False"`
	UnixSocket        any       `default:"False"`
	PasswordColumn    any       `default:"None"`
	AuthPlugin        string    `default:"'mysql_native_password'"`
	Conn              *data.Map `kwargs:"connection_args"`
}

// userCreate creates a user with a password, the hash of a password, or, if allow_passwordless is
// true, neither. With unix_socket the system user of the same name needs none. It returns whether
// the user exists afterwards, and False if it existed before.
//
// CLI Example:
//
//	salt '*' mysql.user_create 'username' 'hostname' 'password'
//	salt '*' mysql.user_create 'username' 'hostname' password_hash='hash'
//	salt '*' mysql.user_create 'username' 'hostname' allow_passwordless=True
func (m *module) userCreate(ctx context.Context, a createArgs) (any, error) {
	return m.withPassword(ctx, a.Conn, a.Password, func(s *session) (any, error) {
		s.hide(a.Password)
		s.hide(a.PasswordHash)
		if there, err := s.hasUser(existsArgs{User: a.User, Host: a.Host}); there || err != nil {
			return false, err
		}
		v, err := s.server()
		if err != nil {
			return nil, err
		}
		how, args, ok, err := s.identified(v, a)
		if err != nil || !ok {
			return false, err
		}
		if _, err := s.exec("CREATE USER ?@?"+how,
			append([]any{a.User, a.Host}, args...)...); err != nil {
			return nil, err
		}
		return s.hasUser(existsArgs{User: a.User, Host: a.Host, Password: a.Password,
			PasswordHash: a.PasswordHash, PasswordColumn: a.PasswordColumn})
	})
}

// identified returns the authentication clause for a new user, and whether it is possible.
func (s *session) identified(v server, a createArgs) (string, []any, bool, error) {
	modern := !v.maria && v.since(8, 0, 11)
	switch {
	case data.Truth(a.UnixSocket):
		ok, err := s.socketReady(v, a.Host)
		if v.maria {
			return " IDENTIFIED VIA unix_socket", nil, ok, err
		}
		return " IDENTIFIED WITH auth_socket", nil, ok, err
	case isYes(a.AllowPasswordless):
		return "", nil, true, nil
	case a.Password != nil && modern:
		return " IDENTIFIED WITH ? BY ?", []any{a.AuthPlugin, data.Str(a.Password)}, true, nil
	case a.Password != nil:
		return " IDENTIFIED BY ?", []any{data.Str(a.Password)}, true, nil
	case a.PasswordHash != nil && modern:
		return " IDENTIFIED WITH ? AS ?", []any{a.AuthPlugin, data.Str(a.PasswordHash)}, true, nil
	case a.PasswordHash != nil:
		return " IDENTIFIED BY PASSWORD ?", []any{data.Str(a.PasswordHash)}, true, nil
	}
	s.m.env.Log.Error("password or password_hash must be specified, unless allow_passwordless=True")
	return "", nil, false, nil
}

// socketReady reports whether users can log in through the socket.
func (s *session) socketReady(v server, host string) (bool, error) {
	status, err := s.plugin(v.socketPlugin())
	if err != nil {
		return false, err
	}
	if status == "" {
		return false, &mysql.MySQLError{Number: 1524, Message: "The " + v.socketPlugin() +
			" plugin is not enabled."}
	}
	if host != "localhost" {
		s.m.env.Log.Error("Auth via unix_socket can be set only for host=localhost")
	}
	return host == "localhost", nil
}

type chpassArgs struct {
	User              string
	Host              string    `default:"'localhost'"`
	Password          any       `default:"None"`
	PasswordHash      any       `default:"None"`
	AllowPasswordless any       `default:"False"`
	UnixSocket        any       `default:"None"`
	PasswordColumn    any       `default:"None"`
	Conn              *data.Map `kwargs:"connection_args"`
}

// userChpass sets the password of a user, or the hash of one. If allow_passwordless is true and
// neither is given, it removes the password.
//
// CLI Example:
//
//	salt '*' mysql.user_chpass frank localhost newpassword
//	salt '*' mysql.user_chpass frank localhost password_hash='hash'
//	salt '*' mysql.user_chpass frank localhost allow_passwordless=True
func (m *module) userChpass(ctx context.Context, a chpassArgs) (any, error) {
	return m.withPassword(ctx, a.Conn, a.Password, func(s *session) (any, error) {
		s.hide(a.Password)
		s.hide(a.PasswordHash)
		if there, err := s.hasUser(existsArgs{User: a.User, Host: a.Host}); !there || err != nil {
			return false, err
		}
		v, err := s.server()
		if err != nil {
			return nil, err
		}
		if a.Password == nil && a.PasswordHash == nil && !isYes(a.AllowPasswordless) {
			s.m.env.Log.Error("password or password_hash must be specified, unless allow_passwordless=True")
			return false, nil
		}
		ok, err := s.changePassword(v, a)
		if err != nil || !ok {
			return false, err
		}
		_, err = s.exec("FLUSH PRIVILEGES")
		return err == nil, err
	})
}

func (s *session) changePassword(v server, a chpassArgs) (bool, error) {
	plugin, err := s.authPlugin(a.User, a.Host)
	if err != nil {
		return false, err
	}
	if isYes(a.AllowPasswordless) && isYes(a.UnixSocket) {
		if ok, err := s.socketReady(v, a.Host); !ok || err != nil {
			return false, err
		}
	}
	column, err := s.passwordColumn(a.PasswordColumn)
	if err != nil {
		return false, err
	}
	statement, args := newPassword(v, a, plugin, column)
	_, err = s.exec(statement, args...)
	return err == nil, err
}

// newPassword returns the statement that changes the authentication of a user.
func newPassword(v server, a chpassArgs, plugin, column string) (string, []any) {
	socket := isYes(a.AllowPasswordless) && isYes(a.UnixSocket)
	alter := "ALTER USER ?@? IDENTIFIED "
	value, args := passwordValue(v, a)
	switch {
	case v.maria && v.since(10, 4, 0) && socket:
		return alter + "VIA unix_socket", []any{a.User, a.Host}
	case v.maria && v.since(10, 4, 0):
		return alter + "VIA ? USING " + value, append([]any{a.User, a.Host, plugin}, args...)
	case !v.maria && v.since(8, 0, 11) && socket:
		return alter + "WITH auth_socket", []any{a.User, a.Host}
	case !v.maria && v.since(8, 0, 11) && a.Password != nil:
		return alter + "WITH ? BY ?", append([]any{a.User, a.Host, plugin}, args...)
	case !v.maria && v.since(8, 0, 11) && a.PasswordHash != nil:
		return alter + "WITH ? AS ?", append([]any{a.User, a.Host, plugin}, args...)
	case !v.maria && v.since(8, 0, 11):
		return alter + "WITH ?", []any{a.User, a.Host, plugin}
	}
	set := column + " = " + value
	if socket {
		set, args = set+", plugin = ?", append(args, v.socketPlugin())
	}
	return "UPDATE mysql.user SET " + set +
		" WHERE User = ? AND Host = ?", append(args, a.User, a.Host)
}

// passwordValue returns the password in the stored form.
func passwordValue(v server, a chpassArgs) (string, []any) {
	switch {
	case a.Password != nil:
		return "PASSWORD(?)", []any{data.Str(a.Password)}
	case a.PasswordHash != nil:
		return "?", []any{data.Str(a.PasswordHash)}
	}
	return "''", nil
}

// userRemove removes a user. It returns whether the user is gone, and False if there was none.
//
// CLI Example:
//
//	salt '*' mysql.user_remove frank localhost
func (m *module) userRemove(ctx context.Context, a userArgs) (any, error) {
	return m.with(ctx, a.Conn, false, func(s *session) (any, error) {
		who := existsArgs{User: a.User, Host: a.Host}
		there, err := s.hasUser(who)
		if err != nil {
			return nil, err
		}
		if !there {
			m.env.Log.Infof("User '%s'@'%s' does not exists", a.User, a.Host)
			return false, nil
		}
		if _, err := s.exec("DROP USER ?@?", a.User, a.Host); err != nil {
			return nil, err
		}
		there, err = s.hasUser(who)
		return !there, err
	})
}

type loginArgs struct {
	User     string
	Password any       `default:"None"`
	Conn     *data.Map `kwargs:"connection_args"`
}

// verifyLogin returns whether a user can log in with a password.
//
// CLI Example:
//
//	salt '*' mysql.verify_login root password
func (m *module) verifyLogin(ctx context.Context, a loginArgs) (any, error) {
	conn := &data.Map{}
	conn.Update(a.Conn)
	conn.Set("connection_user", a.User)
	conn.Set("connection_pass", a.Password)
	s, err := m.connect(ctx, conn)
	if _, refused := errors.AsType[*mysql.MySQLError](err); refused {
		return false, nil
	}
	if err != nil {
		return nil, err
	}
	return true, s.db.Close()
}

package postgres

import (
	"context"
	"encoding/csv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pgverifier"
	"github.com/brineproject/brine/loader"
)

const roles = `SELECT pg_roles.rolname AS "name", pg_roles.rolsuper AS "superuser", pg_roles.rolinherit AS "inherits privileges",
	pg_roles.rolcreaterole AS "can create roles", pg_roles.rolcreatedb AS "can create databases", NULL AS "can update system catalogs",
	pg_roles.rolcanlogin AS "can login", pg_roles.rolreplication AS "replication", pg_roles.rolconnlimit AS "connections",
	(SELECT array_agg(pg_roles2.rolname) FROM pg_catalog.pg_auth_members JOIN pg_catalog.pg_roles pg_roles2 ON pg_auth_members.roleid = pg_roles2.oid
		WHERE pg_auth_members.member = pg_roles.oid) AS "groups",
	pg_roles.rolvaliduntil::timestamp(0) AS "expiry time", pg_roles.rolconfig AS "defaults variables"`

// users returns the roles in Salt's form.
func (m *module) users(ctx context.Context, t target, passwords bool) (*data.Map, error) {
	query := roles + " FROM pg_roles"
	if passwords {
		query = roles + `, COALESCE(pg_shadow.passwd, pg_authid.rolpassword) AS "password" FROM pg_roles
			LEFT JOIN pg_authid ON pg_roles.oid = pg_authid.oid LEFT JOIN pg_shadow ON pg_roles.oid = pg_shadow.usesysid`
	}
	rows, err := m.rows(ctx, t, query)
	all := data.NewMap()
	for _, row := range rows {
		all.Set(row.Value("name"), describe(row, passwords))
	}
	return all, err
}

func describe(row *data.Map, passwords bool) *data.Map {
	role := data.NewMap()
	for _, key := range []string{"superuser", "inherits privileges", "can create roles",
		"can create databases", "can update system catalogs",
		"can login", "replication", "connections"} {
		role.Set(key, parseBool(row.Text(key)))
	}
	expiry := any(row.Text("expiry time"))
	if len(row.Text("expiry time")) != len("2006-01-02 15:04:05") {
		expiry = nil
	}
	role.Set("expiry time", expiry)
	role.Set("defaults variables", row.Value("defaults variables"))
	if passwords {
		role.Set("password", row.Value("password"))
	}
	groups := []any{}
	// The error is io.EOF for an empty list.
	names, _ := csv.NewReader(strings.NewReader(strings.Trim(row.Text("groups"), "{}"))).Read()
	for _, name := range names {
		groups = append(groups, name)
	}
	role.Set("groups", groups)
	return role
}

// parseBool converts a boolean in the server's output format. It returns None for other texts.
func parseBool(s string) any {
	switch s {
	case "t":
		return true
	case "f":
		return false
	}
	return nil
}

// userList returns all roles: their rights, groups and expiry dates. With return_password it also
// returns the stored password.
//
// CLI Example:
//
//	salt '*' postgres.user_list
func (m *module) userList(ctx context.Context, a userListArgs) (any, error) {
	return m.users(ctx, a.at(), data.Truth(a.ReturnPassword))
}

// roleGet returns one of the roles that user_list returns. It returns None if the role does not
// exist.
//
// CLI Example:
//
//	salt '*' postgres.role_get postgres
func (m *module) roleGet(ctx context.Context, a roleGetArgs) (any, error) {
	all, err := m.users(ctx, a.at(), data.Truth(a.ReturnPassword))
	return all.Value(a.Name), err
}

// userExists reports whether a role exists.
//
// CLI Example:
//
//	salt '*' postgres.user_exists 'username'
func (m *module) userExists(ctx context.Context, a userExistsArgs) (any, error) {
	all, err := m.users(ctx, a.at(), false)
	return all.Has(a.Name), err
}

// A role holds the requested properties of a role.
type role struct {
	name                                           string
	createdb, createroles, inherit, login, connlim any
	encrypted, superuser, replication, password    any
	validUntil, groups                             any
}

// flag appends a word if v is true, or the word with the prefix NO if it is false. It appends
// nothing if v is not set.
func flag(b *strings.Builder, word string, v any) {
	switch {
	case v == nil:
	case data.Truth(v):
		b.WriteString(" " + word)
	default:
		b.WriteString(" NO" + word)
	}
}

// clauses returns the options of a role and, after a semicolon, the statements for its groups.
func (r role) clauses(now *data.Map) (string, error) {
	var b strings.Builder
	flag(&b, "INHERIT", r.inherit)
	flag(&b, "CREATEDB", r.createdb)
	flag(&b, "CREATEROLE", r.createroles)
	if now == nil || data.Truth(r.superuser) != data.Truth(now.Value("superuser")) {
		flag(&b, "SUPERUSER", r.superuser)
	}
	flag(&b, "REPLICATION", r.replication)
	flag(&b, "LOGIN", r.login)
	if r.connlim != nil {
		n, err := loader.Int(r.connlim)
		if err != nil {
			return "", err
		}
		b.WriteString(" CONNECTION LIMIT " + data.Str(n))
	}
	if err := r.addPassword(&b); err != nil {
		return "", err
	}
	if data.Truth(r.validUntil) {
		b.WriteString(" VALID UNTIL " + literal(r.validUntil))
	}
	text := b.String()
	if text != "" {
		text = " WITH" + text
	}
	for _, group := range groupNames(r.groups) {
		text += "; GRANT " + ident(group) + " TO " + ident(r.name)
	}
	return text, nil
}

func groupNames(v any) []string {
	if list, ok := v.([]any); ok {
		names := make([]string, len(list))
		for i, g := range list {
			names[i] = data.Str(g)
		}
		return names
	}
	if !data.Truth(v) {
		return nil
	}
	return strings.Split(data.Str(v), ",")
}

// passwordFormat returns how to store a password.
func passwordFormat(encrypted any) string {
	switch encrypted {
	case nil, true:
		return pgverifier.MD5
	case false:
		return pgverifier.Plain
	}
	return data.Str(encrypted)
}

func (r role) addPassword(b *strings.Builder) error {
	if r.password == false {
		b.WriteString(" PASSWORD NULL")
		return nil
	}
	text, ok := r.password.(string)
	if !ok || text == "" {
		return nil
	}
	stored, err := pgverifier.Make(r.name, text, passwordFormat(r.encrypted))
	if err != nil {
		return loader.Exception("ValueError", "%w", err)
	}
	word := " ENCRYPTED PASSWORD "
	if passwordFormat(r.encrypted) == pgverifier.Plain {
		word = " UNENCRYPTED PASSWORD "
	}
	b.WriteString(word + literal(stored))
	return nil
}

func (m *module) createRole(ctx context.Context, t target, r role) (any, error) {
	all, err := m.users(ctx, t, false)
	if err != nil || all.Has(r.name) {
		return false, err
	}
	clauses, err := r.clauses(nil)
	if err != nil {
		return nil, err
	}
	return m.execute(ctx, t, "CREATE ROLE "+ident(r.name)+clauses)
}

func (m *module) updateRole(ctx context.Context, t target, r role) (any, error) {
	all, err := m.users(ctx, t, false)
	if err != nil || !all.Has(r.name) {
		return false, err
	}
	now, _ := all.Value(r.name).(*data.Map)
	clauses, err := r.clauses(now)
	if err != nil {
		return nil, err
	}
	return m.execute(ctx, t, "ALTER ROLE "+ident(r.name)+clauses)
}

func (m *module) removeRole(ctx context.Context, t target, name string) (any, error) {
	all, err := m.users(ctx, t, false)
	if err != nil || !all.Has(name) {
		return false, err
	}
	return m.execute(ctx, t, "DROP ROLE "+ident(name))
}

func or(v, otherwise any) any {
	if v == nil {
		return otherwise
	}
	return v
}

// userCreate creates a role that may log in, and reports whether the server did so. It returns
// False if the role exists.
//
// CLI Example:
//
//	salt '*' postgres.user_create 'username' user='user' host='hostname' port='port' password='password' rolepassword='rolepassword'
func (m *module) userCreate(ctx context.Context, a userCreateArgs) (any, error) {
	return m.createRole(ctx, a.at(),
		role{a.Username, a.Createdb, a.Createroles, or(a.Inherit, true), or(a.Login, true),
			a.Connlimit, a.Encrypted, a.Superuser, a.Replication, a.Rolepassword,
			a.ValidUntil, a.Groups})
}

// userUpdate changes a role, and reports whether the server did so. It returns False if the role
// does not exist.
//
// CLI Example:
//
//	salt '*' postgres.user_update 'username' rolepassword='rolepassword'
func (m *module) userUpdate(ctx context.Context, a userUpdateArgs) (any, error) {
	return m.updateRole(ctx, a.at(), role{a.Username, a.Createdb, a.Createroles, a.Inherit, a.Login,
		a.Connlimit, a.Encrypted, a.Superuser, a.Replication, a.Rolepassword,
		a.ValidUntil, a.Groups})
}

// userRemove drops a role, and reports whether the server did so. It returns False if the role does
// not exist.
//
// CLI Example:
//
//	salt '*' postgres.user_remove 'username'
func (m *module) userRemove(ctx context.Context, a userRemoveArgs) (any, error) {
	return m.removeRole(ctx, a.at(), a.Username)
}

// groupCreate creates a role that may not log in, and reports whether the server did so. It returns
// False if the role exists.
//
// CLI Example:
//
//	salt '*' postgres.group_create 'groupname' rolepassword='rolepassword'
func (m *module) groupCreate(ctx context.Context, a groupCreateArgs) (any, error) {
	return m.createRole(ctx, a.at(),
		role{a.Groupname, a.Createdb, a.Createroles, or(a.Inherit, true), or(a.Login, false),
			nil, a.Encrypted, a.Superuser, a.Replication, a.Rolepassword, nil, a.Groups})
}

// groupUpdate changes a role, and reports whether the server did so. It returns False if the role
// does not exist.
//
// CLI Example:
//
//	salt '*' postgres.group_update 'groupname' createdb=True
func (m *module) groupUpdate(ctx context.Context, a groupUpdateArgs) (any, error) {
	return m.updateRole(ctx, a.at(),
		role{a.Groupname, a.Createdb, a.Createroles, a.Inherit, a.Login, nil, a.Encrypted,
			a.Superuser, a.Replication, a.Rolepassword, nil, a.Groups})
}

// groupRemove drops a role, and reports whether the server did so. It returns False if the role
// does not exist.
//
// CLI Example:
//
//	salt '*' postgres.group_remove 'groupname'
func (m *module) groupRemove(ctx context.Context, a groupRemoveArgs) (any, error) {
	return m.removeRole(ctx, a.at(), a.Groupname)
}

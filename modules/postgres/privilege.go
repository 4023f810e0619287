package postgres

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// letters maps the letters that the server shows to privileges.
func letters() map[rune]string {
	return map[rune]string{'a': "INSERT", 'C': "CREATE", 'D': "TRUNCATE", 'c': "CONNECT",
		't': "TRIGGER", 'r': "SELECT", 'U': "USAGE", 'T': "TEMPORARY",
		'w': "UPDATE", 'X': "EXECUTE", 'x': "REFERENCES", 'd': "DELETE"}
}

// A kind is a type of objects: the letters of its privileges, and the queries for its privileges
// and its owner. {schema} and {name} in them are replaced by literals.
type kind struct{ letters, acl, owner string }

func kinds() map[string]kind {
	relation := func(letters, kinds string) kind {
		from := ` FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_roles r ON r.oid = c.relowner
			WHERE nspname = {schema} AND relname = {name} AND relkind IN (` + kinds + `)`
		return kind{letters, "SELECT relacl AS name" + from, "SELECT rolname AS name" + from}
	}
	other := func(letters, prefix, table, owner string) kind {
		from := " FROM " + table + " o JOIN pg_roles r ON r.oid = o." + owner + " WHERE " + prefix +
			"name = {name}"
		return kind{letters, "SELECT " + prefix + "acl AS name" + from,
			"SELECT rolname AS name" + from}
	}
	function := ` FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace JOIN pg_roles r ON r.oid = p.proowner
		WHERE nspname = {schema} AND p.oid::regprocedure::text = {name}`
	return map[string]kind{
		"table": relation("arwdDxt", "'r', 'v', 'm', 'f', 'p'"), "sequence": relation("rwU", "'S'"),
		"schema":   other("UC", "nsp", "pg_namespace", "nspowner"),
		"function": {"X", "SELECT proacl AS name" + function, "SELECT rolname AS name" + function},
		"language": other("U", "lan", "pg_language", "lanowner"), "tablespace": other("C", "spc",
			"pg_tablespace", "spcowner"),
		"database": other("CTc", "dat", "pg_database", "datdba"),
		"group": {"", `SELECT rolname, admin_option FROM pg_auth_members m JOIN pg_roles r ON m.member = r.oid
			WHERE m.roleid IN (SELECT oid FROM pg_roles WHERE rolname = {name}) ORDER BY rolname`, ""},
	}
}

// An object is something that privileges are granted on.
type object struct {
	kind
	kindName, schema, name string
}

func newObject(kindName, schema, name string) (object, error) {
	k, ok := kinds()[strings.ToLower(kindName)]
	if !ok {
		return object{}, loader.Invocation("Invalid object_type: %s provided",
			strings.ToLower(kindName))
	}
	return object{k, strings.ToLower(kindName), schema, name}, nil
}

func (o object) query(text string) string {
	return strings.NewReplacer("{schema}", literal(o.schema),
		"{name}", literal(o.name)).Replace(text)
}

// names returns the privileges that exist for objects of the kind.
func (o object) names() []string {
	var list []string
	for _, c := range o.letters {
		list = append(list, letters()[c])
	}
	return list
}

// wanted splits the requested privileges and checks them.
func (o object) wanted(privileges any) ([]string, error) {
	text := ""
	if privileges != nil {
		text = data.Str(privileges)
	}
	if o.kindName == "group" {
		if text != "" {
			return nil, loader.Invocation("The privileges option should not be set for object_type group")
		}
		return nil, nil
	}
	list := regexp.MustCompile(`\s?,\s?`).Split(strings.ToUpper(text), -1)
	for _, p := range list {
		if p != "ALL" && !slices.Contains(o.names(), p) {
			return nil, loader.Invocation("Invalid privilege(s): %s provided for object %s",
				text, o.kindName)
		}
	}
	return list, nil
}

// on returns the object in the form used in statements.
func (o object) on() string {
	switch {
	case (o.kindName == "table" || o.kindName == "sequence") && strings.EqualFold(o.name, "ALL"):
		return "ALL " + strings.ToUpper(o.kindName) + "S IN SCHEMA " + ident(o.schema)
	case o.kindName == "table" || o.kindName == "sequence":
		return strings.ToUpper(o.kindName) + " " + ident(o.schema) + "." + ident(o.name)
	case o.kindName == "function":
		return "FUNCTION " + o.name
	}
	return strings.ToUpper(o.kindName) + " " + ident(o.name)
}

// list returns the privileges on an object by role. For a group the value tells whether the role
// may add members, otherwise whether it may grant each privilege.
func (m *module) list(ctx context.Context, t target, o object) (*data.Map, error) {
	rows, err := m.rows(ctx, t, o.query(o.acl))
	all := data.NewMap()
	for _, row := range rows {
		if o.kindName == "group" {
			all.Set(row.Value("rolname"), row.Value("admin_option") == "t")
			continue
		}
		all.Update(parseACL(row.Text("name")))
	}
	return all, err
}

// parseACL parses an array of access privileges, such as {postgres=arwdDxt/postgres,=r/postgres}.
func parseACL(text string) *data.Map {
	all := data.NewMap()
	for _, item := range elements(text) {
		at := strings.LastIndexByte(item, '=')
		if at < 0 {
			continue
		}
		name := strings.ReplaceAll(strings.Trim(item[:at], `"`), `""`, `"`)
		if name == "" {
			name = "public"
		}
		given, _, _ := strings.Cut(item[at+1:], "/")
		all.Set(name, granted(given))
	}
	return all
}

func granted(text string) *data.Map {
	all, last := data.NewMap(), ""
	for _, c := range text {
		if name := letters()[c]; name != "" {
			all.Set(name, false)
			last = name
		} else if c == '*' && last != "" {
			all.Set(last, true)
		}
	}
	return all
}

// elements splits an array of texts in the server's output format.
func elements(array string) []string {
	var list []string
	var b strings.Builder
	quoted := false
	array = strings.TrimSuffix(strings.TrimPrefix(array, "{"), "}")
	for i := 0; i < len(array); i++ {
		switch c := array[i]; {
		case c == '\\' && quoted && i+1 < len(array):
			i++
			b.WriteByte(array[i])
		case c == '"':
			quoted = !quoted
		case c == ',' && !quoted:
			list = append(list, b.String())
			b.Reset()
		default:
			b.WriteByte(c)
		}
	}
	return append(list, b.String())
}

// privilegesList returns the privileges on an object by role. For groups the value tells whether a
// member may add others, otherwise whether the role may grant each privilege.
//
// CLI Example:
//
//	salt '*' postgres.privileges_list table_name table maintenance_db=db_name
func (m *module) privilegesList(ctx context.Context, a privilegesListArgs) (any, error) {
	o, err := newObject(a.ObjectType, data.Str(a.Prepend), a.Name)
	if err != nil {
		return nil, err
	}
	return m.list(ctx, a.at(), o)
}

// has reports whether a role has privileges on an object. The owner has all.
func (m *module) has(
	ctx context.Context, t target, o object, role string, wanted []string, grantOption bool,
) (bool, error) {
	if o.owner != "" {
		rows, err := m.rows(ctx, t, o.query(o.owner))
		if err != nil {
			return false, err
		}
		if len(rows) > 0 && rows[0].Value("name") == role {
			return true, nil
		}
	}
	all, err := m.list(ctx, t, o)
	if err != nil {
		return false, err
	}
	now, ok := all.Get(role)
	if o.kindName == "group" {
		return ok && (!grantOption || now == true), nil
	}
	held, _ := now.(*data.Map)
	if grantOption || slices.Contains(wanted, "ALL") {
		wanted = o.names()
	}
	for _, p := range wanted {
		if !held.Has(p) || grantOption && held.Value(p) != true {
			return false, nil
		}
	}
	return held.Len() > 0, nil
}

// hasPrivileges reports whether a role has privileges on an object. With grant_option it reports
// whether the role may grant all of them.
//
// CLI Example:
//
//	salt '*' postgres.has_privileges user_name table_name table SELECT,INSERT maintenance_db=db_name
func (m *module) hasPrivileges(ctx context.Context, a hasPrivilegesArgs) (any, error) {
	o, err := newObject(a.ObjectType, data.Str(a.Prepend), a.ObjectName)
	if err != nil {
		return nil, err
	}
	wanted, err := o.wanted(a.Privileges)
	if err != nil {
		return nil, err
	}
	return m.has(ctx, a.at(), o, a.Name, wanted, data.Truth(a.GrantOption))
}

// privilegesGrant grants privileges on an object to a role, and reports whether the server did so.
// It returns False if the role has them already.
//
// CLI Example:
//
//	salt '*' postgres.privileges_grant user_name table_name table SELECT,UPDATE maintenance_db=db_name
func (m *module) privilegesGrant(ctx context.Context, a privilegesGrantArgs) (any, error) {
	o, err := newObject(a.ObjectType, data.Str(a.Prepend), a.ObjectName)
	if err != nil {
		return nil, err
	}
	wanted, err := o.wanted(a.Privileges)
	if err != nil {
		return nil, err
	}
	option := data.Truth(a.GrantOption)
	if there, err := m.has(ctx, a.at(), o, a.Name, wanted, option); there || err != nil {
		return false, err
	}
	statement := "GRANT " + strings.Join(wanted, ", ") + " ON " + o.on() + " TO " + roleName(a.Name)
	with := " WITH GRANT OPTION"
	if o.kindName == "group" {
		statement, with = "GRANT "+ident(o.name)+" TO "+roleName(a.Name), " WITH ADMIN OPTION"
	}
	if option {
		statement += with
	}
	return m.execute(ctx, a.at(), statement)
}

// roleName returns a role in the form used in statements. public is a keyword and is not quoted.
func roleName(name string) string {
	if name == "public" {
		return name
	}
	return ident(name)
}

// privilegesRevoke revokes privileges on an object from a role, and reports whether the server did
// so. It returns False if the role does not have them.
//
// CLI Example:
//
//	salt '*' postgres.privileges_revoke user_name table_name table SELECT,UPDATE maintenance_db=db_name
func (m *module) privilegesRevoke(ctx context.Context, a privilegesRevokeArgs) (any, error) {
	o, err := newObject(a.ObjectType, data.Str(a.Prepend), a.ObjectName)
	if err != nil {
		return nil, err
	}
	wanted, err := o.wanted(a.Privileges)
	if err != nil {
		return nil, err
	}
	if there, err := m.has(ctx, a.at(), o, a.Name, wanted, false); !there || err != nil {
		return false, err
	}
	statement := "REVOKE " + strings.Join(wanted, ", ") + " ON " + o.on() + " FROM " +
		roleName(a.Name)
	if o.kindName == "group" {
		statement = "REVOKE " + ident(o.name) + " FROM " + roleName(a.Name)
	}
	return m.execute(ctx, a.at(), statement)
}

package mysql

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// hash returns a password in the form stored by mysql_native_password.
func hash(password string) string {
	once := sha1.Sum([]byte(password))
	twice := sha1.Sum(once[:])
	return "*" + strings.ToUpper(hex.EncodeToString(twice[:]))
}

// privileges are the privileges that can be granted.
const privileges = `ALL PRIVILEGES,ALTER,ALTER ROUTINE,BACKUP_ADMIN,BINLOG_ADMIN,BINLOG ADMIN,BINLOG MONITOR,BINLOG REPLAY,CONNECTION_ADMIN,
	CONNECTION ADMIN,CREATE,CREATE ROLE,CREATE ROUTINE,CREATE TABLESPACE,CREATE TEMPORARY TABLES,CREATE USER,CREATE VIEW,DELETE,
	DELETE HISTORY,DROP,DROP ROLE,ENCRYPTION_KEY_ADMIN,EVENT,EXECUTE,FEDERATED ADMIN,FILE,GRANT OPTION,GROUP_REPLICATION_ADMIN,INDEX,
	INSERT,LOCK TABLES,PERSIST_RO_VARIABLES_ADMIN,PROCESS,READ_ONLY ADMIN,REFERENCES,RELOAD,REPLICA MONITOR,REPLICATION CLIENT,
	REPLICATION MASTER ADMIN,REPLICATION REPLICA,REPLICATION SLAVE,REPLICATION_SLAVE_ADMIN,REPLICATION SLAVE ADMIN,RESOURCE_GROUP_ADMIN,
	RESOURCE_GROUP_USER,ROLE_ADMIN,SELECT,SET USER,SET_USER_ID,SHOW DATABASES,SHOW VIEW,SHUTDOWN,SLAVE MONITOR,SUPER,
	SYSTEM_VARIABLES_ADMIN,TRIGGER,UPDATE,USAGE,XA_RECOVER_ADMIN`

// notInAll are the privileges that ALL does not include in MySQL 8.
const notInAll = `ALL PRIVILEGES,BINLOG ADMIN,BINLOG MONITOR,BINLOG REPLAY,CONNECTION ADMIN,DELETE HISTORY,FEDERATED ADMIN,GRANT OPTION,
	READ_ONLY ADMIN,REPLICA MONITOR,REPLICATION MASTER ADMIN,REPLICATION REPLICA,REPLICATION SLAVE ADMIN,SET USER,SLAVE MONITOR,USAGE`

func listed(text string) []string {
	var list []string
	for name := range strings.SplitSeq(text, ",") {
		list = append(list, strings.TrimSpace(name))
	}
	return list
}

// all returns the privileges that ALL includes in MySQL 8.
func all() string {
	return strings.Join(slices.DeleteFunc(listed(privileges),
		func(p string) bool { return slices.Contains(listed(notInAll), p) }), ",")
}

// normalized returns privileges in the form used in a statement; an unknown privilege is an error.
func normalized(grant string) (string, error) {
	if strings.EqualFold(strings.TrimSpace(grant), "ALL") {
		return "ALL PRIVILEGES", nil
	}
	known := listed(privileges)
	rest := grant
	for _, part := range regexp.MustCompile(`([\w\s]+)(\([^)(]*\))?\s*,?`).FindAllStringSubmatch(grant, -1) {
		if !slices.Contains(known, strings.ToUpper(strings.TrimSpace(part[1]))) {
			return "", loader.Exception("Exception", "Invalid grant : '%s'", part[1])
		}
		rest = strings.Replace(rest, part[0], "", 1)
	}
	if strings.TrimSpace(rest) != "" || grant == "" {
		return "", loader.Exception("Exception", "Invalid grant : '%s'", grant)
	}
	return grant, nil
}

type grantArgs struct {
	Grant, Database, User string
	Host                  string    `default:"'localhost'"`
	GrantOption           any       `default:"False"`
	Escape                any       `default:"True"`
	Conn                  *data.Map `kwargs:"connection_args"`
}

// place returns a database and a table in the form used in a statement.
func (a grantArgs) place(escape bool) string {
	i := strings.LastIndexByte(a.Database, '.')
	database, table := "", a.Database[i+1:]
	if i >= 0 {
		database = a.Database[:i]
	}
	if escape && database != "*" {
		whole := table == "*"
		database = quoted(database)
		if whole {
			database = strings.ReplaceAll(database, "_", `\_`)
		}
	}
	if escape && table != "*" {
		table = quoted(table)
	}
	return database + "." + table
}

// statement returns the statement that grants the privileges, with placeholders for the user and
// the host.
func (a grantArgs) statement(ssl any) (string, error) {
	grant := strings.ToUpper(regexp.MustCompile(`\s*,\s*`).ReplaceAllString(a.Grant, ", "))
	grant, err := normalized(grant)
	if err != nil {
		return "", err
	}
	text := "GRANT " + grant + " ON " + a.place(data.Truth(a.Escape)) + " TO ?@?"
	if options, ok := ssl.([]any); ok && len(options) > 0 {
		required, err := required(options)
		if err != nil {
			return "", err
		}
		text += required
	}
	if isYes(a.GrantOption) {
		text += " WITH GRANT OPTION"
	}
	return text, nil
}

// required returns the requirements on a user's connections.
func required(options []any) (string, error) {
	var list []string
	for _, v := range options {
		option, _ := v.(*data.Map)
		if option.Len() == 0 {
			return "", loader.Exception("Exception", "Invalid SSL option : '%s'", data.Str(v))
		}
		key, value := option.At(0)
		switch name := strings.ToUpper(strings.TrimSpace(data.Str(key))); name {
		case "CIPHER", "ISSUER", "SUBJECT":
			list = append(list, name+" '"+
				strings.NewReplacer("'", "", `\`, "").Replace(data.Str(value))+"'")
		case "SSL", "X509":
			if data.Truth(value) {
				list = append(list, name)
			}
		default:
			return "", loader.Exception("Exception", "Invalid SSL option : '%s'", data.Str(key))
		}
	}
	return " REQUIRE " + strings.Join(list, " AND "), nil
}

// userGrants returns the grants of a user as statements without passwords, or False if there is no
// such user.
//
// CLI Example:
//
//	salt '*' mysql.user_grants 'frank' 'localhost'
func (m *module) userGrants(ctx context.Context, a userArgs) (any, error) {
	return m.with(ctx, a.Conn, false, func(s *session) (any, error) {
		if there, err := s.hasUser(existsArgs{User: a.User, Host: a.Host}); !there || err != nil {
			return false, err
		}
		return s.grants(a.User, a.Host)
	})
}

func (s *session) grants(user, host string) ([]any, error) {
	t, err := s.query("SHOW GRANTS FOR ?@?", user, host)
	list := make([]any, len(t.rows))
	for i, row := range t.rows {
		whole := data.Str(row[0])
		text, _, _ := strings.Cut(whole, " IDENTIFIED BY")
		const option = "WITH GRANT OPTION"
		if strings.Contains(whole, option) && !strings.Contains(text, option) {
			text += " " + option
		}
		list[i] = text
	}
	return list, err
}

type tokenArgs struct{ Grant string }

// tokenizeGrant splits a GRANT statement into user, host, database and the list grant.
//
// CLI Example:
//
//	salt '*' mysql.tokenize_grant "GRANT SELECT, INSERT ON testdb.* TO 'testuser'@'localhost'"
func (m *module) tokenizeGrant(_ context.Context, a tokenArgs) (any, error) {
	t, err := tokenize(a.Grant)
	if err != nil {
		return nil, err
	}
	grants := []any{}
	for _, g := range t.grants {
		grants = append(grants, g)
	}
	return data.NewMap("user", t.user, "host", t.host, "grant", grants, "database", t.database), nil
}

// grantExists returns whether a user has been granted privileges.
//
// CLI Example:
//
//	salt '*' mysql.grant_exists 'SELECT,INSERT,UPDATE,...' 'database.*' 'frank' 'localhost'
func (m *module) grantExists(ctx context.Context, a grantArgs) (any, error) {
	return m.with(ctx, a.Conn, false, func(s *session) (any, error) { return s.granted(a) })
}

// granted reports whether a user has privileges.
func (s *session) granted(a grantArgs) (bool, error) {
	v, err := s.server()
	if err != nil {
		return false, err
	}
	if strings.Contains(strings.ToUpper(a.Grant), "ALL") {
		a.Grant = "ALL PRIVILEGES"
		if !v.maria && v.since(8, 0, 0) && a.Database == "*.*" {
			a.Grant = all()
		}
	}
	text, err := a.statement(nil)
	if err != nil {
		s.m.env.Log.Errorf("Error during grant generation: %v", err)
		return false, nil
	}
	there, err := s.hasUser(existsArgs{User: a.User, Host: a.Host})
	if !there || err != nil {
		return false, err
	}
	grants, err := s.grants(a.User, a.Host)
	if err != nil {
		return false, err
	}
	return holds(v, grants, text, a.User, a.Host)
}

// holds reports whether grants include all privileges that a statement grants to a user.
func holds(v server, grants []any, statement, user, host string) (bool, error) {
	target, err := tokenize(strings.Replace(statement, "?@?", "u@h", 1))
	if err != nil {
		return false, err
	}
	wanted := v.aliases(target.grants)
	has := map[string][]string{}
	for _, g := range grants {
		t, err := tokenize(data.Str(g))
		if err != nil {
			continue // a GRANT of something other than privileges
		}
		if bare(t.user) == bare(user) && bare(t.host) == bare(host) {
			has[bare(t.database)] = append(has[bare(t.database)], v.aliases(t.grants)...)
		}
	}
	for _, w := range wanted {
		if !slices.Contains(has[bare(target.database)], w) {
			return false, nil
		}
	}
	return len(has[bare(target.database)]) > 0, nil
}

// bare returns a name without quotation marks.
func bare(s string) string { return strings.NewReplacer(`"`, "", `\`, "", "`", "").Replace(s) }

// aliases returns privileges under the names that the server shows.
func (v server) aliases(grants []string) []string {
	if !v.maria {
		return grants
	}
	list := slices.Clone(grants)
	for i, g := range list {
		switch {
		case g == "REPLICATION REPLICA" && v.since(10, 5, 1):
			list[i] = "REPLICATION SLAVE"
		case g == "REPLICATION CLIENT" && v.since(10, 5, 2):
			list[i] = "BINLOG MONITOR"
		case g == "REPLICA MONITOR" && v.since(10, 5, 9):
			list[i] = "SLAVE MONITOR"
		}
	}
	return list
}

type grantAddArgs struct {
	Grant, Database, User string
	Host                  string    `default:"'localhost'"`
	GrantOption           any       `default:"False"`
	Escape                any       `default:"True"`
	SslOption             any       `default:"False"`
	Conn                  *data.Map `kwargs:"connection_args"`
}

// grantAdd grants privileges to a user and returns whether the user has them afterwards.
//
// ssl_option
//
//	A list of requirements on the user's connections: SSL, X509, CIPHER, ISSUER, SUBJECT with their
//	values.
//
// CLI Example:
//
//	salt '*' mysql.grant_add 'SELECT,INSERT,UPDATE,...' 'database.*' 'frank' 'localhost'
func (m *module) grantAdd(ctx context.Context, b grantAddArgs) (any, error) {
	a := grantArgs{strings.TrimSpace(b.Grant), b.Database, b.User, b.Host, b.GrantOption,
		b.Escape, b.Conn}
	return m.with(ctx, a.Conn, false, func(s *session) (any, error) {
		text, err := a.statement(b.SslOption)
		if err != nil {
			m.env.Log.Errorf("Error during grant generation: %v", err)
			return false, nil
		}
		if _, err := s.exec(text, a.User, a.Host); err != nil {
			return nil, err
		}
		return s.granted(a)
	})
}

// grantRevoke revokes privileges from a user and returns whether the user lacks them afterwards.
//
// CLI Example:
//
//	salt '*' mysql.grant_revoke 'SELECT,INSERT,UPDATE' 'database.*' 'frank' 'localhost'
func (m *module) grantRevoke(ctx context.Context, a grantArgs) (any, error) {
	return m.with(ctx, a.Conn, false, func(s *session) (any, error) {
		grant, err := normalized(a.Grant)
		if err != nil {
			return nil, err
		}
		if isYes(a.GrantOption) {
			grant += ", GRANT OPTION"
		}
		if _, err := s.exec("REVOKE "+grant+" ON "+a.place(true)+" FROM ?@?", a.User,
			a.Host); err != nil {
			return nil, err
		}
		left, err := s.granted(a)
		return !left, err
	})
}

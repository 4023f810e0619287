package influxdb

import (
	"context"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

type noArgs struct {
	Kwargs *data.Map `kwargs:"client_args"`
}

type nameArgs struct {
	Name   string
	Kwargs *data.Map `kwargs:"client_args"`
}

// listDBs returns the databases. The arguments influxdb_user, influxdb_password, influxdb_host and
// influxdb_port of each function default to the options influxdb.user, influxdb.password, influxdb.host and
// influxdb.port; ssl, verify_ssl, timeout and path are further ones.
//
// CLI Example:
//
//	salt '*' influxdb.list_dbs
func (m *module) listDBs(ctx context.Context, a noArgs) (any, error) {
	return m.rows(ctx, a.Kwargs, "SHOW DATABASES")
}

// dbExists returns whether a database exists.
//
// CLI Example:
//
//	salt '*' influxdb.db_exists <name>
func (m *module) dbExists(ctx context.Context, a nameArgs) (any, error) {
	rows, err := m.rows(ctx, a.Kwargs, "SHOW DATABASES")
	return find(rows, "name", a.Name) != nil, err
}

// createDB creates a database. It returns False if it exists already.
//
// CLI Example:
//
//	salt '*' influxdb.create_db <name>
func (m *module) createDB(ctx context.Context, a nameArgs) (any, error) {
	there, err := m.dbExists(ctx, a)
	if err != nil || there == true {
		return false, err
	}
	return m.do(ctx, a.Kwargs, "CREATE DATABASE "+ident(a.Name))
}

// dropDB drops a database with its data. It returns False if there is none.
//
// CLI Example:
//
//	salt '*' influxdb.drop_db <name>
func (m *module) dropDB(ctx context.Context, a nameArgs) (any, error) {
	there, err := m.dbExists(ctx, a)
	if err != nil || there != true {
		return false, err
	}
	return m.do(ctx, a.Kwargs, "DROP DATABASE "+ident(a.Name))
}

// listUsers returns the users, each with whether it is an administrator.
//
// CLI Example:
//
//	salt '*' influxdb.list_users
func (m *module) listUsers(ctx context.Context, a noArgs) (any, error) {
	return m.rows(ctx, a.Kwargs, "SHOW USERS")
}

// userInfo returns a user, or None.
//
// CLI Example:
//
//	salt '*' influxdb.user_info <name>
func (m *module) userInfo(ctx context.Context, a nameArgs) (any, error) {
	rows, err := m.rows(ctx, a.Kwargs, "SHOW USERS")
	if user := find(rows, "user", a.Name); user != nil {
		return user, err
	}
	return nil, err
}

// userExists returns whether a user exists.
//
// CLI Example:
//
//	salt '*' influxdb.user_exists <name>
func (m *module) userExists(ctx context.Context, a nameArgs) (any, error) {
	user, err := m.userInfo(ctx, a)
	return user != nil, err
}

type createUserArgs struct {
	Name   string
	Passwd string
	Admin  any       `default:"False"`
	Kwargs *data.Map `kwargs:"client_args"`
}

// createUser creates a user. It returns False if it exists already. admin makes it an administrator.
//
// CLI Example:
//
//	salt '*' influxdb.create_user <name> <password>
func (m *module) createUser(ctx context.Context, a createUserArgs) (any, error) {
	there, err := m.userExists(ctx, nameArgs{a.Name, a.Kwargs})
	if err != nil || there == true {
		return false, err
	}
	query := "CREATE USER " + ident(a.Name) + " WITH PASSWORD " + literal(a.Passwd)
	if data.Truth(a.Admin) {
		query += " WITH ALL PRIVILEGES"
	}
	return m.do(ctx, a.Kwargs, query)
}

type passwordArgs struct {
	Name   string
	Passwd string
	Kwargs *data.Map `kwargs:"client_args"`
}

// setUserPassword sets the password of a user. It returns False if there is none.
//
// CLI Example:
//
//	salt '*' influxdb.set_user_password <name> <password>
func (m *module) setUserPassword(ctx context.Context, a passwordArgs) (any, error) {
	there, err := m.userExists(ctx, nameArgs{a.Name, a.Kwargs})
	if err != nil || there != true {
		return false, err
	}
	return m.do(ctx, a.Kwargs, "SET PASSWORD FOR "+ident(a.Name)+" = "+literal(a.Passwd))
}

// grantAdminPrivileges makes a user an administrator, and returns True.
//
// CLI Example:
//
//	salt '*' influxdb.grant_admin_privileges <name>
func (m *module) grantAdminPrivileges(ctx context.Context, a nameArgs) (any, error) {
	return m.do(ctx, a.Kwargs, "GRANT ALL PRIVILEGES TO "+ident(a.Name))
}

// revokeAdminPrivileges makes a user one without rights of an administrator, and returns True.
//
// CLI Example:
//
//	salt '*' influxdb.revoke_admin_privileges <name>
func (m *module) revokeAdminPrivileges(ctx context.Context, a nameArgs) (any, error) {
	return m.do(ctx, a.Kwargs, "REVOKE ALL PRIVILEGES FROM "+ident(a.Name))
}

// removeUser removes a user. It returns False if there is none.
//
// CLI Example:
//
//	salt '*' influxdb.remove_user <name>
func (m *module) removeUser(ctx context.Context, a nameArgs) (any, error) {
	there, err := m.userExists(ctx, a)
	if err != nil || there != true {
		return false, err
	}
	return m.do(ctx, a.Kwargs, "DROP USER "+ident(a.Name))
}

type inArgs struct {
	Database string
	Name     string
	Kwargs   *data.Map `kwargs:"client_args"`
}

// getRetentionPolicy returns a retention policy of a database, or an empty dictionary.
//
// CLI Example:
//
//	salt '*' influxdb.get_retention_policy metrics default
func (m *module) getRetentionPolicy(ctx context.Context, a inArgs) (any, error) {
	rows, err := m.rows(ctx, a.Kwargs, "SHOW RETENTION POLICIES ON "+ident(a.Database))
	if policy := find(rows, "name", a.Name); policy != nil {
		return policy, err
	}
	return &data.Map{}, err
}

// retentionPolicyExists returns whether a database has a retention policy.
//
// CLI Example:
//
//	salt '*' influxdb.retention_policy_exists metrics default
func (m *module) retentionPolicyExists(ctx context.Context, a inArgs) (any, error) {
	policy, err := m.getRetentionPolicy(ctx, a)
	return data.Truth(policy), err
}

// dropRetentionPolicy drops a retention policy with its data, and returns True.
//
// CLI Example:
//
//	salt '*' influxdb.drop_retention_policy mydb mypr
func (m *module) dropRetentionPolicy(ctx context.Context, a inArgs) (any, error) {
	return m.do(ctx, a.Kwargs, "DROP RETENTION POLICY "+ident(a.Name)+" ON "+ident(a.Database))
}

type policyArgs struct {
	Database    string
	Name        string
	Duration    string
	Replication any
	Default     any       `default:"False"`
	Kwargs      *data.Map `kwargs:"client_args"`
}

// createRetentionPolicy creates a retention policy, and returns True.
//
// duration
//
//	How long data are kept, such as 4w or INF.
//
// replication
//
//	The number of copies.
//
// default
//
//	Whether it is the policy for new data of the database.
//
// CLI Example:
//
//	salt '*' influxdb.create_retention_policy metrics default 52w 1
func (m *module) createRetentionPolicy(ctx context.Context, a policyArgs) (any, error) {
	tail, err := a.tail(" SHARD DURATION 0s")
	if err != nil {
		return nil, err
	}
	return m.do(ctx, a.Kwargs, "CREATE RETENTION POLICY "+tail)
}

// alterRetentionPolicy changes a retention policy, and returns True. Its arguments are those of
// influxdb.create_retention_policy.
//
// CLI Example:
//
//	salt '*' influxdb.alter_retention_policy metrics default 52w 1
func (m *module) alterRetentionPolicy(ctx context.Context, a policyArgs) (any, error) {
	tail, err := a.tail("")
	if err != nil {
		return nil, err
	}
	return m.do(ctx, a.Kwargs, "ALTER RETENTION POLICY "+tail)
}

// tail returns what follows the name of the command in a query on a retention policy.
func (a policyArgs) tail(shard string) (string, error) {
	copies := data.Str(a.Replication)
	if !durationForm.MatchString(a.Duration) || !numberForm.MatchString(copies) {
		return "", loader.Invocation("%q is not a duration, or %q not a number", a.Duration, copies)
	}
	text := ident(a.Name) + " ON " + ident(a.Database) + " DURATION " + a.Duration + " REPLICATION " +
		copies + shard
	if data.Truth(a.Default) {
		text += " DEFAULT"
	}
	return text, nil
}

// listPrivileges returns the privileges of a user by database: read, write, all or no.
//
// CLI Example:
//
//	salt '*' influxdb.list_privileges <name>
func (m *module) listPrivileges(ctx context.Context, a nameArgs) (any, error) {
	rows, err := m.rows(ctx, a.Kwargs, "SHOW GRANTS FOR "+ident(a.Name))
	all := &data.Map{}
	for _, v := range rows {
		row, _ := v.(*data.Map)
		word, _, _ := strings.Cut(row.Text("privilege"), " ")
		all.Set(row.Value("database"), strings.ToLower(word))
	}
	return all, err
}

type privilegeArgs struct {
	Database  string
	Privilege string
	Username  string
	Kwargs    *data.Map `kwargs:"client_args"`
}

// grantPrivilege grants a user the privilege read, write or all on a database, and returns True.
//
// CLI Example:
//
//	salt '*' influxdb.grant_privilege <database> <privilege> <username>
func (m *module) grantPrivilege(ctx context.Context, a privilegeArgs) (any, error) {
	p, err := privilege(a.Privilege)
	if err != nil {
		return nil, err
	}
	return m.do(ctx, a.Kwargs, "GRANT "+p+" ON "+ident(a.Database)+" TO "+ident(a.Username))
}

// revokePrivilege takes the privilege read, write or all on a database from a user, and returns True.
//
// CLI Example:
//
//	salt '*' influxdb.revoke_privilege <database> <privilege> <username>
func (m *module) revokePrivilege(ctx context.Context, a privilegeArgs) (any, error) {
	p, err := privilege(a.Privilege)
	if err != nil {
		return nil, err
	}
	return m.do(ctx, a.Kwargs, "REVOKE "+p+" ON "+ident(a.Database)+" FROM "+ident(a.Username))
}

// getContinuousQuery returns a continuous query of a database, or an empty dictionary.
//
// CLI Example:
//
//	salt '*' influxdb.get_continuous_query mydb cq_month
func (m *module) getContinuousQuery(ctx context.Context, a inArgs) (any, error) {
	all, err := m.ask(ctx, a.Kwargs, "", "SHOW CONTINUOUS QUERIES")
	for _, found := range all {
		for _, s := range found {
			if one := find(s.rows, "name", a.Name); s.name == a.Database && one != nil {
				return one, nil
			}
		}
	}
	return &data.Map{}, err
}

// continuousQueryExists returns whether a database has a continuous query.
//
// CLI Example:
//
//	salt '*' influxdb.continuous_query_exists metrics cq
func (m *module) continuousQueryExists(ctx context.Context, a inArgs) (any, error) {
	one, err := m.getContinuousQuery(ctx, a)
	return data.Truth(one), err
}

type cqArgs struct {
	Database       string
	Name           string
	Query          string
	ResampleTime   any       `default:"None"`
	CoveragePeriod any       `default:"None"`
	Kwargs         *data.Map `kwargs:"client_args"`
}

// createContinuousQuery creates a continuous query, and returns True. resample_time and coverage_period are
// durations.
//
// CLI Example:
//
//	salt '*' influxdb.create_continuous_query mydb cq_month 'SELECT mean(*) INTO mydb.a_month.:MEASUREMENT FROM mydb.a_week./.*/ GROUP BY time(5m), *'
func (m *module) createContinuousQuery(ctx context.Context, a cqArgs) (any, error) {
	query := "CREATE CONTINUOUS QUERY " + ident(a.Name) + " ON " + ident(a.Database)
	for _, part := range []struct {
		words string
		v     any
	}{{" RESAMPLE EVERY ", a.ResampleTime}, {" FOR ", a.CoveragePeriod}} {
		if !data.Truth(part.v) {
			continue
		}
		if !durationForm.MatchString(data.Str(part.v)) {
			return nil, loader.Invocation("%q is not a duration", data.Str(part.v))
		}
		query += part.words + data.Str(part.v)
	}
	return m.do(ctx, a.Kwargs, query+" BEGIN "+a.Query+" END")
}

// dropContinuousQuery drops a continuous query, and returns True.
//
// CLI Example:
//
//	salt '*' influxdb.drop_continuous_query mydb my_cq
func (m *module) dropContinuousQuery(ctx context.Context, a inArgs) (any, error) {
	return m.do(ctx, a.Kwargs, "DROP CONTINUOUS QUERY "+ident(a.Name)+" ON "+ident(a.Database))
}

type queryArgs struct {
	Database string
	Query    string
	Kwargs   *data.Map `kwargs:"client_args"`
}

// query sends a query, and returns a list with the rows of each statement by name.
//
// CLI Example:
//
//	salt '*' influxdb.query telemetry 'SELECT * FROM sensors'
func (m *module) query(ctx context.Context, a queryArgs) (any, error) {
	all, err := m.ask(ctx, a.Kwargs, a.Database, a.Query)
	if err != nil {
		return nil, err
	}
	list := []any{}
	for _, found := range all {
		one, err := results(found)
		if err != nil {
			return nil, err
		}
		if one.Len() > 0 || len(all) == 1 {
			list = append(list, one)
		}
	}
	return list, nil
}

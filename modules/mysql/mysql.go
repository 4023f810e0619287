// Package mysql is Salt's module mysql: users, grants, databases and queries of a MySQL or MariaDB
// server (salt/modules/mysql.py).
//
// The connection is configured by the settings mysql.host, mysql.port, mysql.user, mysql.pass,
// mysql.db, mysql.unix_socket, mysql.charset and mysql.default_file, in the configuration, the
// grains or the pillar. Arguments that begin with connection_ instead of mysql. override them for
// one call. Without a host, or with localhost, the server's usual socket is used.
//
// Over TCP, TLS is used if the server supports it. Its certificate is verified if mysql.ssl_ca,
// mysql.ssl_cert or mysql.ssl_key (files) are set: it must be trusted by ssl_ca, or else by the system,
// and be valid for the host, unless mysql.ssl_any_name is set. In an option file these are ssl-ca,
// ssl-cert and ssl-key. With its ssl-ca any name is valid, as for MySQL's own clients, unless ssl-mode
// is VERIFY_IDENTITY or ssl-verify-server-cert is set. Salt knows such files from option files only.
//
// A function that cannot reach the server, or whose statement the server rejects, returns what Salt
// returns in this case, mostly False. It stores the server's error in the job's context as
// mysql.error, where the states find it. Passwords are removed from that text.
//
// Differences from Salt: values are strings and numbers, never bytes; the server's version is not
// cached; a syntax error is reported like any other error; free_slave is missing.
package mysql

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Plugin returns the module mysql.
func Plugin() loader.Plugin { return loader.Plugin{Name: "mysql", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: append(append(m.users(), m.databases()...), m.server()...)}, nil
}

func (m *module) users() []loader.Func {
	return []loader.Func{
		loader.F("grant_add", m.grantAdd).Secret("connection_pass"),
		loader.F("grant_exists", m.grantExists).Secret("connection_pass"),
		loader.F("grant_revoke", m.grantRevoke).Secret("connection_pass"),
		loader.F("tokenize_grant", m.tokenizeGrant),
		loader.F("user_chpass", m.userChpass).Secret("password", "password_hash",
			"connection_pass"),
		loader.F("user_create", m.userCreate).Secret("password", "password_hash",
			"connection_pass"),
		loader.F("user_exists", m.userExists).Secret("password", "password_hash",
			"connection_pass"),
		loader.F("user_grants", m.userGrants).Secret("connection_pass"),
		loader.F("user_info", m.userInfo).Secret("connection_pass"),
		loader.F("user_list", m.userList).Secret("connection_pass"),
		loader.F("user_remove", m.userRemove).Secret("connection_pass"),
		loader.F("verify_login", m.verifyLogin).Secret("password", "connection_pass"),
	}
}

func (m *module) databases() []loader.Func {
	return []loader.Func{
		loader.F("alter_db", m.alterDb).Secret("connection_pass"),
		loader.F("db_check", m.dbCheck).Secret("connection_pass"),
		loader.F("db_create", m.dbCreate).Secret("connection_pass"),
		loader.F("db_exists", m.dbExists).Secret("connection_pass"),
		loader.F("db_get", m.dbGet).Secret("connection_pass"),
		loader.F("db_list", m.dbList).Secret("connection_pass"),
		loader.F("db_optimize", m.dbOptimize).Secret("connection_pass"),
		loader.F("db_remove", m.dbRemove).Secret("connection_pass"),
		loader.F("db_repair", m.dbRepair).Secret("connection_pass"),
		loader.F("db_tables", m.dbTables).Secret("connection_pass"),
		loader.F("file_query", m.fileQuery).Secret("connection_pass"),
		loader.F("query", m.query).Secret("connection_pass"),
		loader.F("quote_identifier", m.quoteIdentifier),
	}
}

func (m *module) server() []loader.Func {
	return []loader.Func{
		loader.F("get_master_status", m.getMasterStatus).Secret("connection_pass"),
		loader.F("get_slave_status", m.getSlaveStatus).Secret("connection_pass"),
		loader.F("plugin_add", m.pluginAdd).Secret("connection_pass"),
		loader.F("plugin_remove", m.pluginRemove).Secret("connection_pass"),
		loader.F("plugin_status", m.pluginStatus).Secret("connection_pass"),
		loader.F("plugins_list", m.pluginsList).Secret("connection_pass"),
		loader.F("processlist", m.processlist).Secret("connection_pass"),
		loader.F("showglobal", m.showglobal).Secret("connection_pass"),
		loader.F("showvariables", m.showvariables).Secret("connection_pass"),
		loader.F("slave_lag", m.slaveLag).Secret("connection_pass"),
		loader.F("status", m.status).Secret("connection_pass"),
		loader.F("version", m.version).Secret("connection_pass"),
	}
}

type connArgs struct {
	Conn *data.Map `kwargs:"connection_args"`
}

// version returns the version of the server.
//
// CLI Example:
//
//	salt '*' mysql.version
func (m *module) version(ctx context.Context, a connArgs) (any, error) {
	return m.with(ctx, a.Conn, "", func(s *session) (any, error) { return s.version() })
}

// status returns the counters of the server: SHOW STATUS.
//
// CLI Example:
//
//	salt '*' mysql.status
func (m *module) status(ctx context.Context, a connArgs) (any, error) {
	return m.with(ctx, a.Conn, data.NewMap(), func(s *session) (any, error) {
		t, err := s.query("SHOW STATUS")
		all := data.NewMap()
		for _, row := range t.rows {
			all.Set(row[0], row[1])
		}
		return all, err
	})
}

// records returns the rows of a statement as dictionaries.
func (m *module) records(ctx context.Context, conn *data.Map, statement string) (any, error) {
	return m.with(ctx, conn, []any{}, func(s *session) (any, error) {
		t, err := s.query(statement)
		return t.records(), err
	})
}

// first returns the first row of a statement as a dictionary, or an empty list if there is none.
func (m *module) first(ctx context.Context, conn *data.Map, statement string) (any, error) {
	v, err := m.records(ctx, conn, statement)
	if list, _ := v.([]any); len(list) > 0 {
		return list[0], err
	}
	return []any{}, err
}

// processlist returns the server's threads: SHOW FULL PROCESSLIST.
//
// CLI Example:
//
//	salt '*' mysql.processlist
func (m *module) processlist(ctx context.Context, a connArgs) (any, error) {
	return m.records(ctx, a.Conn, "SHOW FULL PROCESSLIST")
}

// getMasterStatus returns the information that replicas need about this server.
//
// CLI Example:
//
//	salt '*' mysql.get_master_status
func (m *module) getMasterStatus(ctx context.Context, a connArgs) (any, error) {
	return m.first(ctx, a.Conn, "SHOW MASTER STATUS")
}

// getSlaveStatus returns the state of the replica on this server.
//
// CLI Example:
//
//	salt '*' mysql.get_slave_status
func (m *module) getSlaveStatus(ctx context.Context, a connArgs) (any, error) {
	return m.first(ctx, a.Conn, "SHOW SLAVE STATUS")
}

// showvariables returns the variables of the session.
//
// CLI Example:
//
//	salt '*' mysql.showvariables
func (m *module) showvariables(ctx context.Context, a connArgs) (any, error) {
	return m.records(ctx, a.Conn, "SHOW VARIABLES")
}

// showglobal returns the variables of the server.
//
// CLI Example:
//
//	salt '*' mysql.showglobal
func (m *module) showglobal(ctx context.Context, a connArgs) (any, error) {
	return m.records(ctx, a.Conn, "SHOW GLOBAL VARIABLES")
}

// slaveLag returns by how many seconds a replica is behind. It returns -1 for a server that is not
// a replica, -2 for one that does not receive, and -3 if the server cannot be reached.
//
// CLI Example:
//
//	salt '*' mysql.slave_lag
func (m *module) slaveLag(ctx context.Context, a connArgs) (any, error) {
	return m.with(ctx, a.Conn, int64(-3), func(s *session) (any, error) {
		t, err := s.query("SHOW SLAVE STATUS")
		switch list := t.records(); {
		case err != nil:
			return nil, err
		case len(list) == 0:
			return int64(-1), nil
		case list[0].(*data.Map).Value("Slave_IO_Running") == "Yes":
			return list[0].(*data.Map).Value("Seconds_Behind_Master"), nil
		}
		return int64(-2), nil
	})
}

// pluginsList returns the plug-ins of the server, each with its name and status.
//
// CLI Example:
//
//	salt '*' mysql.plugins_list
func (m *module) pluginsList(ctx context.Context, a connArgs) (any, error) {
	return m.with(ctx, a.Conn, []any{}, func(s *session) (any, error) {
		t, err := s.query("SHOW PLUGINS")
		list := []any{}
		for _, row := range t.rows {
			list = append(list, data.NewMap("name", row[0], "status", row[1]))
		}
		return list, err
	})
}

type pluginArgs struct {
	Name any
	Conn *data.Map `kwargs:"connection_args"`
}

// pluginStatus returns the status of a plug-in of the server, or "" if there is none of that name.
//
// CLI Example:
//
//	salt '*' mysql.plugin_status auth_socket
func (m *module) pluginStatus(ctx context.Context, a pluginArgs) (any, error) {
	if !data.Truth(a.Name) {
		return false, nil
	}
	return m.with(ctx, a.Conn, "",
		func(s *session) (any, error) { return s.plugin(data.Str(a.Name)) })
}

type pluginAddArgs struct {
	Name   any
	Soname any       `default:"None"`
	Conn   *data.Map `kwargs:"connection_args"`
}

// pluginAdd installs a plug-in of the server. The library is soname, or by default has the name of
// the plug-in.
//
// CLI Example:
//
//	salt '*' mysql.plugin_add auth_socket
func (m *module) pluginAdd(ctx context.Context, a pluginAddArgs) (any, error) {
	library := data.Str(a.Soname)
	if !data.Truth(a.Soname) {
		library = data.Str(a.Name) + ".so"
	}
	return m.changePlugin(ctx, a.Name, a.Conn, "", "INSTALL PLUGIN "+quoted(data.Str(a.Name))+
		" SONAME ?", library)
}

// pluginRemove uninstalls a plug-in of the server.
//
// CLI Example:
//
//	salt '*' mysql.plugin_remove auth_socket
func (m *module) pluginRemove(ctx context.Context, a pluginArgs) (any, error) {
	return m.changePlugin(ctx, a.Name, a.Conn, "there", "UNINSTALL PLUGIN "+
		quoted(data.Str(a.Name)))
}

// changePlugin executes a statement if the plug-in is installed, or with when "" if it is not, and
// reports success.
func (m *module) changePlugin(
	ctx context.Context, name any, conn *data.Map, when, statement string, args ...any,
) (any, error) {
	if !data.Truth(name) {
		m.env.Log.Error("Plugin name is required.")
		return false, nil
	}
	return m.with(ctx, conn, false, func(s *session) (any, error) {
		status, err := s.plugin(data.Str(name))
		if err != nil || (status == "") != (when == "") {
			return err == nil, err
		}
		_, err = s.exec(statement, args...)
		return err == nil, err
	})
}

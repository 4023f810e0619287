// Package postgres is Salt's module postgres: roles, databases, privileges and extensions of a
// PostgreSQL server (salt/modules/postgres.py).
//
// The program psql does the work. It runs as the user postgres (or runas) if the server is on this
// host. The settings postgres.host, postgres.port, postgres.user, postgres.pass,
// postgres.maintenance_db, postgres.bins_dir and postgres.timeout describe the connection;
// arguments override them. Passwords reach psql through a file and statements through its standard
// input, so that no process list shows them.
//
// Differences from Salt: a server that cannot be queried is an error, where Salt treats all its
// objects as missing. Names are quoted in statements. owner_to leaves the server's own schemas
// unchanged and supports servers without proisagg. tablespace_alter renames a tablespace after its
// other changes; Salt renames it first and then fails to find it.
package postgres

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

// Plugin returns the module postgres. The module loads only if the program psql is installed.
func Plugin() loader.Plugin { return loader.Plugin{Name: "postgres", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	if _, err := m.program(context.Background()); err != nil {
		return nil, errors.New("psql was not found")
	}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("version", m.version).Secret("password"),
		loader.F("psql_query", m.psqlQuery).Secret("password"),
		loader.F("db_alter", m.dbAlter).Secret("password"),
		loader.F("db_create", m.dbCreate).Secret("password"),
		loader.F("db_exists", m.dbExists).Secret("password"),
		loader.F("db_list", m.dbList).Secret("password"),
		loader.F("db_remove", m.dbRemove).Secret("password"),
		loader.F("owner_to", m.ownerTo).Secret("password"),
		loader.F("user_create", m.userCreate).Secret("rolepassword", "password"),
		loader.F("user_exists", m.userExists).Secret("password"),
		loader.F("user_list", m.userList).Secret("password"),
		loader.F("user_remove", m.userRemove).Secret("password"),
		loader.F("user_update", m.userUpdate).Secret("rolepassword", "password"),
		loader.F("role_get", m.roleGet).Secret("password"),
		loader.F("group_create", m.groupCreate).Secret("rolepassword", "password"),
		loader.F("group_remove", m.groupRemove).Secret("password"),
		loader.F("group_update", m.groupUpdate).Secret("rolepassword", "password"),
		loader.F("available_extensions", m.availableExtensions).Secret("password"),
		loader.F("installed_extensions", m.installedExtensions).Secret("password"),
		loader.F("get_available_extension", m.getAvailableExtension).Secret("password"),
		loader.F("get_installed_extension", m.getInstalledExtension).Secret("password"),
		loader.F("is_available_extension", m.isAvailableExtension).Secret("password"),
		loader.F("is_installed_extension", m.isInstalledExtension).Secret("password"),
		loader.F("create_metadata", m.createMetadata).Secret("password"),
		loader.F("create_extension", m.createExtension).Secret("password"),
		loader.F("drop_extension", m.dropExtension).Secret("password"),
		loader.F("privileges_list", m.privilegesList).Secret("password"),
		loader.F("privileges_grant", m.privilegesGrant).Secret("password"),
		loader.F("privileges_revoke", m.privilegesRevoke).Secret("password"),
		loader.F("has_privileges", m.hasPrivileges).Secret("password"),
		loader.F("tablespace_alter", m.tablespaceAlter).Secret("password"),
		loader.F("tablespace_create", m.tablespaceCreate).Secret("password"),
		loader.F("tablespace_exists", m.tablespaceExists).Secret("password"),
		loader.F("tablespace_list", m.tablespaceList).Secret("password"),
		loader.F("tablespace_remove", m.tablespaceRemove).Secret("password"),
		loader.F("schema_create", m.schemaCreate).Secret("db_password"),
		loader.F("schema_exists", m.schemaExists).Secret("db_password"),
		loader.F("schema_get", m.schemaGet).Secret("db_password"),
		loader.F("schema_list", m.schemaList).Secret("db_password"),
		loader.F("schema_remove", m.schemaRemove).Secret("db_password"),
		loader.F("language_create", m.languageCreate).Secret("password"),
		loader.F("language_exists", m.languageExists).Secret("password"),
		loader.F("language_list", m.languageList).Secret("password"),
		loader.F("language_remove", m.languageRemove).Secret("password"),
		loader.F("datadir_exists", m.datadirExists),
		loader.F("datadir_init", m.datadirInit).Secret("password"),
	}}, nil
}

// A target is a server, a database and the users to access them. For fields that are None the
// settings apply.
type target struct{ user, host, port, db, password, runas any }

// program returns the path of psql.
func (m *module) program(ctx context.Context) (string, error) {
	path, err := exec.LookPath("psql")
	if err == nil {
		return path, nil
	}
	dir, fault := m.setting(ctx, "bins_dir")
	if fault != nil || dir == "" {
		return "", errors.Join(err, fault)
	}
	return exec.LookPath(filepath.Join(dir, "psql"))
}

// setting returns a setting of the module, "" if it is not set.
func (m *module) setting(ctx context.Context, name string) (string, error) {
	if m.env.Call == nil {
		return "", nil
	}
	return calls.OptionText(ctx, m.env, "postgres."+name)
}

// resolved returns the fields of a target with the settings as defaults, "" for those that neither
// sets.
func (m *module) resolved(ctx context.Context, t target) (map[string]string, error) {
	found := map[string]string{}
	for name, v := range map[string]any{"user": t.user, "host": t.host, "port": t.port,
		"maintenance_db": t.db, "pass": t.password, "timeout": nil} {
		if data.Truth(v) {
			found[name] = data.Str(v)
			continue
		}
		var err error
		if found[name], err = m.setting(ctx, name); err != nil {
			return nil, err
		}
	}
	if found["maintenance_db"] == "" {
		found["maintenance_db"] = "postgres"
	}
	if data.Truth(t.runas) {
		found["runas"] = data.Str(t.runas)
	} else if found["host"] == "" || strings.HasPrefix(found["host"], "/") {
		found["runas"] = "postgres"
		if m.env.GrainsNow().Text("os_family") == "OpenBSD" {
			found["runas"] = "_postgresql"
		}
	}
	return found, nil
}

// options returns the connection options of psql.
func options(resolved map[string]string) []any {
	words := []any{"--no-align", "--no-readline", "--no-psqlrc", "--no-password", "-v",
		"ON_ERROR_STOP=1", "-v", "VERBOSITY=terse"}
	for _, o := range [][2]string{{"--username", "user"}, {"--host", "host"}, {"--port", "port"},
		{"--dbname", "maintenance_db"}} {
		if v := resolved[o[1]]; v != "" {
			words = append(words, o[0], v)
		}
	}
	return words
}

// psql executes statements with the program psql and returns its output. A failure of psql is an
// error.
func (m *module) psql(
	ctx context.Context, t target, statements string, more ...any,
) (string, error) {
	resolved, err := m.resolved(ctx, t)
	if err != nil {
		return "", err
	}
	path, err := m.program(ctx)
	if err != nil {
		return "", loader.NotFound("psql was not found")
	}
	run := calls.Run{
		Argv:     data.Texts(append(append([]any{path}, options(resolved)...), more...)),
		CleanEnv: true, Stdin: statements, As: resolved["runas"],
		More: data.NewMap("reset_system_locale", false),
	}
	if resolved["timeout"] != "" {
		run.More.Set("timeout", resolved["timeout"])
	}
	if resolved["pass"] != "" {
		file, err := m.passwordFile(ctx, resolved)
		if err != nil {
			return "", err
		}
		defer os.Remove(file)
		run.Env = data.NewMap("PGPASSFILE", file)
	}
	ran, err := calls.RunAll(ctx, m.env, run)
	if err != nil {
		return "", err
	}
	if ran.Retcode != 0 {
		return "", refused("PostgreSQL: %s", ran.Stderr)
	}
	return ran.Stdout, nil
}

// refused returns the error for statements that the server rejected.
func refused(format string, args ...any) error {
	return &refusal{loader.Execution(format,
		args...)}
}

// A refusal is an error that psql reported.
type refusal struct{ error }

// Unwrap returns the error that operators see.
func (r *refusal) Unwrap() error { return r.error }

// passwordFile writes the password file of psql for the user that psql runs as.
func (m *module) passwordFile(ctx context.Context, resolved map[string]string) (string, error) {
	f, err := os.CreateTemp("", "brine-pgpass-")
	if err != nil {
		return "", err
	}
	escape := strings.NewReplacer(`\`, `\\`, ":", `\:`)
	field := func(v, otherwise string) string {
		if v == "" {
			return otherwise
		}
		return escape.Replace(v)
	}
	host, user := resolved["host"], resolved["user"]
	if host == "" || strings.HasPrefix(host, "/") {
		host = "localhost"
	}
	if user == "" {
		user = resolved["runas"]
	}
	_, err = fmt.Fprintf(f, "%s:%s:*:%s:%s", field(host, "*"), field(resolved["port"], "*"),
		field(user, "*"), escape.Replace(resolved["pass"]))
	if err = errors.Join(err, f.Close()); err == nil && resolved["runas"] != "" {
		err = calls.Chown(ctx, m.env, f.Name(), resolved["runas"], "")
	}
	if err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// execute executes statements and reports whether the server accepted them. It logs errors of psql.
func (m *module) execute(ctx context.Context, t target, statements string) (bool, error) {
	_, err := m.psql(ctx, t, statements, "--single-transaction", "--quiet")
	if r, ok := errors.AsType[*refusal](err); ok {
		m.env.Log.Error(r.Error())
		return false, nil
	}
	return err == nil, err
}

// rows returns the rows of a query as dictionaries by column.
func (m *module) rows(ctx context.Context, t target, query string) ([]*data.Map, error) {
	query = strings.TrimRight(strings.TrimSpace(query), ";")
	return m.copied(ctx, t, "COPY ("+query+") TO STDOUT WITH CSV HEADER;")
}

func (m *module) copied(ctx context.Context, t target, statements string) ([]*data.Map, error) {
	out, err := m.psql(ctx, t, statements, "--quiet", "-v", "datestyle=ISO,MDY")
	if err != nil {
		return nil, err
	}
	return parseCSV(out)
}

// parseCSV parses CSV with a header line and returns the rows as dictionaries by column.
func parseCSV(text string) ([]*data.Map, error) {
	r := csv.NewReader(strings.NewReader(text))
	r.FieldsPerRecord = -1
	var names []string
	var list []*data.Map
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return nil, loader.Execution("parse the output of psql: %w", err)
		}
		if names == nil {
			names = row
			continue
		}
		record := data.NewMap()
		for i := range min(len(names), len(row)) {
			record.Set(names[i], row[i])
		}
		list = append(list, record)
	}
}

// ident quotes a name for use in a statement, and literal quotes a text.
func ident(v any) string { return `"` + strings.ReplaceAll(data.Str(v), `"`, `""`) + `"` }

func literal(v any) string {
	return "E'" + strings.NewReplacer(`\`, `\\`, "'", "''").Replace(data.Str(v)) + "'"
}

// version returns the version of the server.
//
// CLI Example:
//
//	salt '*' postgres.version
func (m *module) version(ctx context.Context, a versionArgs) (any, error) {
	out, err := m.psql(ctx, a.at(),
		"SELECT setting FROM pg_catalog.pg_settings WHERE name = 'server_version'", "-t")
	first, _, _ := strings.Cut(out, "\n")
	return first, err
}

// psqlQuery executes a query and returns its rows, each a dictionary of texts by column. If psql
// fails there are none, and the reason is in the log.
//
// write
//
//	True: the query may change data and has a RETURNING clause.
//
// CLI Example:
//
//	salt '*' postgres.psql_query 'select * from pg_stat_activity'
func (m *module) psqlQuery(ctx context.Context, a psqlQueryArgs) (any, error) {
	query := "COPY (" + strings.TrimRight(strings.TrimSpace(a.Query), ";") +
		") TO STDOUT WITH CSV HEADER;"
	if data.Truth(a.Write) {
		query = "START TRANSACTION READ WRITE; " + query + " COMMIT TRANSACTION;"
	}
	rows, err := m.copied(ctx, a.at(), query)
	if err != nil {
		m.env.Log.Errorf("run a query with psql: %v", err)
		return []any{}, nil
	}
	list := make([]any, len(rows))
	for i, row := range rows {
		list[i] = row
	}
	return list, nil
}

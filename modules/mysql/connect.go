package mysql

import (
	"context"
	"crypto/tls"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/mysqltls"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

// dialTime is the timeout for establishing a connection.
const dialTime = 10 * time.Second

// errorKey is the key in the job's context under which states find the server's error.
const errorKey = "mysql.error"

// settings returns the connection settings: arguments override settings, which override the option
// file. Settings are ignored if a call names an option file.
func (m *module) settings(ctx context.Context, conn *data.Map) (*data.Map, error) {
	found := &data.Map{}
	for _, name := range []string{"host", "user", "pass", "port", "db", "unix_socket",
		"default_file", "default_group", "charset", "ssl_ca", "ssl_cert", "ssl_key", "ssl_any_name"} {
		v, given := conn.Get("connection_" + name)
		if !given && (!conn.Has("connection_default_file") || name == "charset") {
			var err error
			if v, err = calls.Option[any](ctx, m.env, "mysql."+name, nil); err != nil {
				return nil, err
			}
		}
		if data.Truth(v) {
			found.Set(name, data.Str(v))
		}
	}
	if file := found.Text("default_file"); file != "" {
		options, err := m.optionFile(file, found.Text("default_group"))
		if err != nil {
			return nil, err
		}
		found = merged(options, found)
	}
	return found, nil
}

// merged returns the settings of an option file with others over them.
func merged(file, over *data.Map) *data.Map {
	if over.Has("ssl_ca") {
		file.Delete("ssl_any_name") // it is about the authority of the file
	}
	file.Update(over)
	return file
}

// optionFile reads the section client, and another one, of a MySQL option file.
func (m *module) optionFile(name, group string) (*data.Map, error) {
	text, err := os.ReadFile(filepath.Join(m.env.Root, name))
	if err != nil {
		return nil, loader.OSError(err)
	}
	return parseOptions(string(text), group), nil
}

// parseOptions returns the connection options in an option file by the names of the settings.
func parseOptions(text, group string) *data.Map {
	names := map[string]string{"host": "host", "user": "user", "password": "pass", "port": "port",
		"database": "db", "socket": "unix_socket",
		"default-character-set": "charset", "ssl-ca": "ssl_ca", "ssl-cert": "ssl_cert", "ssl-key": "ssl_key",
		"ssl-mode": modeKey, "ssl-verify-server-cert": verifyKey}
	found, section := &data.Map{}, ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			section = strings.Trim(line, "[]")
			continue
		}
		key, value, _ := strings.Cut(line, "=")
		setting := names[strings.ReplaceAll(strings.TrimSpace(key), "_", "-")]
		if setting == "" || section != "client" && (group == "" || section != group) {
			continue
		}
		value = strings.TrimSpace(value)
		if n := len(value); n > 1 && (value[0] == '"' || value[0] == '\'') &&
			value[n-1] == value[0] {
			value = value[1 : n-1]
		}
		found.Set(setting, value)
	}
	identity := strings.EqualFold(found.Text(modeKey), "VERIFY_IDENTITY") || verifies(found)
	if found.Has("ssl_ca") && !identity {
		found.Set("ssl_any_name", "True") // as the clients of MySQL do
	}
	return found
}

// Keys of settings that only an option file has: ssl-mode of MySQL, and ssl-verify-server-cert of
// MariaDB.
const (
	modeKey   = "ssl-mode"
	verifyKey = "ssl-verify-server-cert"
)

// verifies reports whether an option file demands that the name of the server is verified.
func verifies(settings *data.Map) bool {
	v, ok := settings.Get(verifyKey)
	return ok && !slices.Contains([]string{"0", "OFF", "FALSE"}, strings.ToUpper(data.Str(v)))
}

// sockets are the usual paths of a server's socket. /tmp is not among them: anyone could listen
// there for passwords.
const sockets = "/run/mysqld/mysqld.sock /var/run/mysqld/mysqld.sock /var/lib/mysql/mysql.sock"

// address returns the address of the server.
func address(settings *data.Map) (network, addr string) {
	if socket := settings.Text("unix_socket"); socket != "" {
		return "unix", socket
	}
	host, port := settings.Text("host"), settings.Text("port")
	if host == "" || host == "localhost" {
		for socket := range strings.FieldsSeq(sockets) {
			if info, err := os.Stat(socket); err == nil && info.Mode()&fs.ModeSocket != 0 {
				return "unix", socket
			}
		}
		host = "localhost"
	}
	if port == "" {
		port = "3306"
	}
	return "tcp", net.JoinHostPort(host, port)
}

// driverConfig returns the settings of a connection. The files of TLS are below root.
func driverConfig(settings *data.Map, root string) (*mysql.Config, error) {
	cfg := mysql.NewConfig()
	cfg.User, cfg.Passwd, cfg.DBName = settings.Text("user"), settings.Text("pass"),
		settings.Text("db")
	if cfg.User == "" {
		if who, err := user.Current(); err == nil {
			cfg.User = who.Username
		}
	}
	cfg.Net, cfg.Addr = address(settings)
	cfg.Timeout = dialTime
	cfg.InterpolateParams = true // statements about users do not accept other parameters
	cfg.Logger = &mysql.NopLogger{}
	if cfg.Net == "tcp" {
		if err := secure(cfg, settings, root); err != nil {
			return nil, err
		}
	}
	if charset := settings.Text("charset"); charset != "" {
		if err := cfg.Apply(mysql.Charset(charset, "")); err != nil {
			return nil, err
		}
	}
	return cfg, nil
}

// secure sets how a connection uses TLS: verified if there are files with certificates, or if an option
// file says so, and else if the server supports it.
func secure(cfg *mysql.Config, settings *data.Map, root string) error {
	file := func(name string) string {
		if path := settings.Text(name); path != "" {
			return filepath.Join(root, path)
		}
		return ""
	}
	host, _, err := net.SplitHostPort(cfg.Addr)
	if err != nil {
		return err
	}
	mode := strings.ToUpper(settings.Text(modeKey))
	if mode == "DISABLED" {
		return nil
	}
	o := mysqltls.Options{CA: file("ssl_ca"), Cert: file("ssl_cert"), Key: file("ssl_key"), Host: host,
		AnyName: settings.Has("ssl_any_name") || mode == "VERIFY_CA",
		Always:  mode == "VERIFY_CA" || mode == "VERIFY_IDENTITY" || verifies(settings), Prefix: "ssl_"}
	if cfg.TLS, err = o.Config(); err != nil || cfg.TLS != nil {
		return err
	}
	cfg.TLSConfig = "preferred"
	if mode == "REQUIRED" {
		cfg.TLSConfig = "skip-verify" // encrypted in any case
	}
	return nil
}

// A session is a connection to the server for one call.
type session struct {
	ctx     context.Context //nolint:containedctx // lives as long as one call
	m       *module
	db      *sql.DB
	conn    *data.Map
	secrets []string
}

// with calls fn with a connection. If the connection fails, or the server rejects a statement of
// fn, it returns failed.
func (m *module) with(
	ctx context.Context, conn *data.Map, failed any, fn func(*session) (any, error),
) (any, error) {
	s, err := m.connect(ctx, conn)
	if err != nil {
		return failed, m.note(ctx, err, nil)
	}
	defer s.db.Close()
	v, err := fn(s)
	if err != nil {
		return failed, m.note(ctx, err, s.secrets)
	}
	return v, nil
}

func (m *module) connect(ctx context.Context, conn *data.Map) (*session, error) {
	settings, err := m.settings(ctx, conn)
	if err != nil {
		return nil, err
	}
	cfg, err := driverConfig(settings, m.env.Root)
	if err != nil {
		return nil, loader.Execution("connect to MySQL: %w", err)
	}
	m.flags(cfg, conn)
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, loader.Execution("connect to MySQL: %w", err)
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1)
	if err := db.PingContext(ctx); err != nil {
		return nil, errors.Join(unreachable(err, cfg), db.Close())
	}
	return &session{ctx: ctx, m: m, db: db, conn: conn, secrets: []string{cfg.Passwd}}, nil
}

// flags sets the client flags named by the argument client_flags.
func (m *module) flags(cfg *mysql.Config, conn *data.Map) {
	list, _ := conn.Value("client_flags").([]any)
	for _, flag := range list {
		switch flag {
		case "multi_statements":
			cfg.MultiStatements = true
		case "found_rows":
			cfg.ClientFoundRows = true
		default:
			m.env.Log.Errorf("MySQL client flag %s not valid, ignoring.", data.Str(flag))
		}
	}
}

// unreachable converts a network error to the numbered error of MySQL's client library.
func unreachable(err error, cfg *mysql.Config) error {
	if _, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return err
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok || errors.Is(err, mysql.ErrNoTLS) {
		return &mysql.MySQLError{Number: 2026, Message: fmt.Sprintf("TLS/SSL error: %v", err)}
	}
	number, _ := errors.AsType[syscall.Errno](err)
	if cfg.Net == "unix" {
		return &mysql.MySQLError{Number: 2002,
			Message: fmt.Sprintf("Can't connect to local MySQL server through socket '%s' (%d)",
				cfg.Addr, number)}
	}
	if number == 0 {
		return &mysql.MySQLError{Number: 2005,
			Message: fmt.Sprintf("Unknown MySQL server host '%s' (%v)", cfg.Addr, err)}
	}
	return &mysql.MySQLError{Number: 2003,
		Message: fmt.Sprintf("Can't connect to MySQL server on '%s' (%d)", cfg.Addr, number)}
}

// note logs the server's error and stores it for the states. Other errors are returned.
func (m *module) note(ctx context.Context, err error, secrets []string) error {
	said, ok := errors.AsType[*mysql.MySQLError](err)
	if !ok {
		return err
	}
	text := "MySQL Error " + strconv.Itoa(int(said.Number)) + ": " + said.Message
	for _, secret := range secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "***")
		}
	}
	loader.ContextOf(ctx).Set(errorKey, text)
	m.env.Log.Error(text)
	return nil
}

// hide keeps a text out of errors and logs.
func (s *session) hide(v any) {
	if data.Truth(v) {
		s.secrets = append(s.secrets, data.Str(v))
	}
}

// A table is the result of a statement.
type table struct {
	columns []any
	rows    [][]any
}

// records returns the rows as dictionaries.
func (t table) records() []any {
	list := make([]any, len(t.rows))
	for i, row := range t.rows {
		record := data.NewMap()
		for j, name := range t.columns {
			record.Set(name, row[j])
		}
		list[i] = record
	}
	return list
}

// query returns the result of a statement: numbers as numbers, everything else as strings.
func (s *session) query(statement string, args ...any) (table, error) {
	rows, err := s.db.QueryContext(s.ctx, statement, args...)
	if err != nil {
		return table{}, err
	}
	defer rows.Close()
	types, err := rows.ColumnTypes()
	if err != nil {
		return table{}, err
	}
	var t table
	for _, c := range types {
		t.columns = append(t.columns, c.Name())
	}
	for rows.Next() {
		cells, into := make([]sql.NullString, len(types)), make([]any, len(types))
		for i := range cells {
			into[i] = &cells[i]
		}
		if err := rows.Scan(into...); err != nil {
			return t, err
		}
		row := make([]any, len(types))
		for i, c := range cells {
			row[i] = value(c, types[i].DatabaseTypeName())
		}
		t.rows = append(t.rows, row)
	}
	return t, rows.Err()
}

func value(cell sql.NullString, kind string) any {
	if !cell.Valid {
		return nil
	}
	switch strings.TrimPrefix(kind, "UNSIGNED ") {
	case "TINYINT", "SMALLINT", "MEDIUMINT", "INT", "BIGINT", "YEAR":
		if n, err := strconv.ParseInt(cell.String, 10, 64); err == nil {
			return n
		}
	case "FLOAT", "DOUBLE", "DECIMAL":
		if f, err := strconv.ParseFloat(cell.String, 64); err == nil {
			return f
		}
	}
	return cell.String
}

// exec executes a statement and returns the number of affected rows.
func (s *session) exec(statement string, args ...any) (int64, error) {
	result, err := s.db.ExecContext(s.ctx, statement, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// one returns the only cell of a statement's result, or "" if there is none.
func (s *session) one(statement string, args ...any) (string, error) {
	t, err := s.query(statement, args...)
	if err != nil || len(t.rows) == 0 || t.rows[0][0] == nil {
		return "", err
	}
	return data.Str(t.rows[0][0]), nil
}

func (s *session) version() (string, error) { return s.one("SELECT VERSION()") }

func (s *session) plugin(name string) (string, error) {
	return s.one("SELECT PLUGIN_STATUS FROM INFORMATION_SCHEMA.PLUGINS WHERE PLUGIN_NAME = ?", name)
}

// A server is the kind of server and its version.
type server struct {
	maria  bool
	number [3]int
	text   string
}

func (s *session) server() (server, error) {
	text, err := s.version()
	return serverOf(text), err
}

func serverOf(text string) server {
	v := server{maria: strings.Contains(text, "MariaDB"), text: text}
	for i, part := range strings.SplitN(text, ".", 3) {
		digits := strings.IndexFunc(part, func(r rune) bool { return r < '0' || r > '9' })
		if digits >= 0 {
			part = part[:digits]
		}
		v.number[i], _ = strconv.Atoi(part)
	}
	return v
}

// since reports whether the server has this version or a later one.
func (v server) since(major, minor, patch int) bool {
	for i, n := range []int{major, minor, patch} {
		if v.number[i] != n {
			return v.number[i] > n
		}
	}
	return true
}

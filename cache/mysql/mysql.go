// Package mysql keeps a cache in a table of MySQL or MariaDB, with the columns of Salt
// (salt/cache/mysql_cache.py).
//
//	cache: mysql
//	mysql.host: 127.0.0.1         # port: 3306, user, password, unix_socket, connect_timeout
//	mysql.database: salt_cache
//	mysql.table_name: salt
//	mysql.ssl_ca: /etc/ssl/certs/db.pem   # ssl_cert, ssl_key; or ssl: {ca: FILE, cert: FILE, key: FILE}
//
// With one of these files, ssl_ca or else the system must trust the server's certificate. It must be
// valid for host; ssl_any_name: True accepts any name. Without them, TLS is used if the server
// supports it, and its certificate is not verified.
//
// The table is made if it is missing; its texts are compared byte by byte, so that Web1 and web1 are
// two minions. Difference: removing a bank also removes the banks below it, and a list has them.
package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/brineproject/brine/cache"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/mysqltls"
	"github.com/brineproject/brine/loader"
)

// limit is the timeout of a call, and maxValue the size of a MEDIUMBLOB.
const (
	limit    = 10 * time.Second
	maxValue = 1<<24 - 1
)

// A Cache is a cache in one table.
type Cache struct {
	db    *sql.DB
	table string

	mu   sync.Mutex
	made bool // the table exists
}

var _ cache.Bank = (*Cache)(nil)

var tableName = regexp.MustCompile(`\A\w{1,64}\z`)

// Open returns the cache that the options describe. It does not connect.
func Open(opts *data.Map) (*Cache, error) {
	cfg, table, err := read(opts)
	if err != nil {
		return nil, err
	}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, fmt.Errorf("cache in MySQL: %w", err)
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(16)
	db.SetConnMaxIdleTime(time.Minute)
	return &Cache{db: db, table: "`" + table + "`"}, nil
}

// read returns the settings of connections, and the name of the table.
func read(opts *data.Map) (*mysql.Config, string, error) {
	text := func(name, usual string) string {
		if v := opts.Value("mysql." + name); v != nil {
			return data.Str(v)
		}
		return usual
	}
	port := int64(3306)
	if v := opts.Value("mysql.port"); v != nil {
		var err error
		if port, err = loader.Int(v); err != nil || port < 1 || port > 65535 {
			return nil, "", errors.New("mysql.port: expected the number of a port")
		}
	}
	table := text("table_name", "salt")
	if !tableName.MatchString(table) {
		return nil, "", errors.New("mysql.table_name: expected letters, digits and _")
	}
	cfg := mysql.NewConfig()
	cfg.User, cfg.Passwd, cfg.DBName = text("user", ""), text("password", ""), text("database", "salt_cache")
	cfg.Net, cfg.Addr = "tcp", net.JoinHostPort(text("host", "127.0.0.1"), strconv.FormatInt(port, 10))
	if path := text("unix_socket", ""); path != "" {
		cfg.Net, cfg.Addr = "unix", path
	} else if err := secure(cfg, opts, text); err != nil {
		return nil, "", err
	}
	cfg.Timeout, cfg.ReadTimeout, cfg.WriteTimeout = limit, limit, limit
	if v := opts.Value("mysql.connect_timeout"); data.Truth(v) {
		n, err := loader.Float(v)
		if err != nil || n <= 0 || n > 3600 {
			return nil, "", errors.New("mysql.connect_timeout: expected seconds")
		}
		cfg.Timeout = time.Duration(n * float64(time.Second))
	}
	cfg.Logger, cfg.InterpolateParams = &mysql.NopLogger{}, true
	return cfg, table, nil
}

// secure sets how connections use TLS. The options are those of the returner mysql, and ssl, which Salt
// passes to its library.
func secure(cfg *mysql.Config, opts *data.Map, text func(name, usual string) string) (err error) {
	o := mysqltls.Options{CA: text("ssl_ca", ""), Cert: text("ssl_cert", ""), Key: text("ssl_key", ""),
		AnyName: data.Truth(opts.Value("mysql.ssl_any_name")), Host: text("host", "127.0.0.1"),
		Prefix: "mysql.ssl_"}
	if v := opts.Value("mysql.ssl"); data.Truth(v) {
		ssl, ok := v.(*data.Map)
		if !ok {
			return errors.New("mysql.ssl: expected a mapping of the files ca, cert and key")
		}
		o.CA, o.Cert, o.Key, o.Always = ssl.Text("ca"), ssl.Text("cert"), ssl.Text("key"), true
		if checked, set := ssl.Get("check_hostname"); set && !data.Truth(checked) {
			o.AnyName = true
		}
		o.Prefix = "mysql.ssl: "
	}
	if cfg.TLS, err = o.Config(); err == nil && cfg.TLS == nil {
		cfg.TLSConfig = "preferred"
	}
	return err
}

// Close closes the connections.
func (c *Cache) Close() error { return c.db.Close() }

// prepare makes the table, if it is missing.
func (c *Cache) prepare(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.made {
		return nil
	}
	_, err := c.db.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS "+c.table+` (
		bank CHAR(255), etcd_key CHAR(255), data MEDIUMBLOB,
		last_update TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
		PRIMARY KEY(bank, etcd_key)) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`)
	c.made = err == nil
	return err
}

// do runs a call with the table.
func (c *Cache) do(what, bank, key string, whole bool, call func(ctx context.Context) error) error {
	if err := cache.CheckName(bank, key, whole); err != nil {
		return err
	}
	if len(bank) > 255 || len(key) > 255 {
		return fmt.Errorf("cache in MySQL: %s %.80q/%.80q: a name has more than 255 bytes", what, bank, key)
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	err := c.prepare(ctx)
	if err == nil {
		err = call(ctx)
	}
	if errors.Is(err, sql.ErrNoRows) {
		err = cache.ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("cache in MySQL: %s %s/%s: %w", what, bank, key, err)
	}
	return nil
}

// Fetch implements cache.Bank.
func (c *Cache) Fetch(bank, key string) (value []byte, err error) {
	err = c.do("fetch", bank, key, false, func(ctx context.Context) error {
		return c.db.QueryRowContext(ctx, "SELECT data FROM "+c.table+" WHERE bank=? AND etcd_key=?",
			bank, key).Scan(&value)
	})
	return value, err
}

// Store implements cache.Bank.
func (c *Cache) Store(bank, key string, value []byte) error {
	if value == nil {
		value = []byte{}
	}
	return c.do("store", bank, key, false, func(ctx context.Context) error {
		if len(value) > maxValue {
			return fmt.Errorf("the value has more than %d bytes", maxValue)
		}
		_, err := c.db.ExecContext(ctx, "REPLACE INTO "+c.table+" (bank, etcd_key, data) VALUES (?, ?, ?)",
			bank, key, value)
		return err
	})
}

// below returns a pattern for the banks below a bank.
func below(bank string) string {
	return strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(bank) + "/%"
}

// Flush implements cache.Bank.
func (c *Cache) Flush(bank, key string) error {
	return c.do("flush", bank, key, true, func(ctx context.Context) error {
		query, args := " WHERE bank=? AND etcd_key=?", []any{bank, key}
		if key == "" {
			query, args = " WHERE bank=? OR bank LIKE ?", []any{bank, below(bank)}
		}
		_, err := c.db.ExecContext(ctx, "DELETE FROM "+c.table+query, args...)
		return err
	})
}

// List implements cache.Bank.
func (c *Cache) List(bank string) (names []string, err error) {
	err = c.do("list", bank, "", true, func(ctx context.Context) error {
		rows, err := c.db.QueryContext(ctx, "SELECT etcd_key FROM "+c.table+" WHERE bank=? UNION "+
			"SELECT DISTINCT SUBSTRING_INDEX(SUBSTRING(bank, ?), '/', 1) FROM "+c.table+" WHERE bank LIKE ?",
			bank, len([]rune(bank))+2, below(bank))
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var name string
			if err := rows.Scan(&name); err != nil {
				return err
			}
			names = append(names, name)
		}
		return rows.Err()
	})
	slices.Sort(names)
	return slices.Compact(names), err
}

// Updated implements cache.Bank.
func (c *Cache) Updated(bank, key string) (time.Time, error) {
	var seconds float64
	err := c.do("read the time of", bank, key, false, func(ctx context.Context) error {
		return c.db.QueryRowContext(ctx, "SELECT UNIX_TIMESTAMP(last_update) FROM "+c.table+
			" WHERE bank=? AND etcd_key=?", bank, key).Scan(&seconds)
	})
	if err != nil {
		return time.Time{}, err
	}
	return time.Unix(int64(seconds), 0), nil
}

// Package mysql is Salt's returner of that name (salt/returners/mysql.py): returns, events and a
// master's job cache in a MySQL or MariaDB database. Package returners/sqlcache describes the use
// of Salt's tables.
//
// Options are below mysql., or returner.mysql. for those that are not set: host, user, pass, db
// (all of them "salt"), port (3306), ssl_ca, ssl_cert, ssl_key (files). With ssl_ca the server's
// certificate must be issued by that authority; without it, TLS is used if the server supports it,
// and its certificate is not verified.
package mysql

import (
	"crypto/tls"
	"database/sql"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/mysqltls"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/returners/sqlcache"
)

// Name is the returner's name.
const Name = "mysql"

// dialTime is the timeout for connecting.
const dialTime = 5 * time.Second

const doc = `
    Return data to a mysql server

    CLI Example:

        salt '*' test.ping --return mysql
    `

func known() []returners.Setting {
	return []returners.Setting{
		{Name: "host", Default: "salt", Fixed: true}, {Name: "port", Default: int64(3306),
			Fixed: true},
		{Name: "user", Default: "salt", Fixed: true}, {Name: "pass", Default: "salt", Empty: true},
		{Name: "db", Default: "salt", Fixed: true},
		{Name: "ssl_ca", Fixed: true}, {Name: "ssl_cert", Fixed: true},
		{Name: "ssl_key", Fixed: true},
		{Name: "ssl_any_name", Fixed: true},
	}
}

// Database returns the returner for minions and masters.
func Database() sqlcache.Database {
	return sqlcache.Database{Dialect: dialect(), Doc: doc, Kind: "mysql on", Connect: connect}
}

// connect returns a database that connects on first use, and its address.
func connect(from returners.Source, ret *data.Map) (*sql.DB, string, error) {
	s := from.Read(ret, known(), Name, "returner."+Name)
	port, err := s.Int("port")
	if err != nil {
		return nil, "", fmt.Errorf("%s.%w", Name, err)
	}
	cfg := mysql.NewConfig()
	cfg.User, cfg.Passwd, cfg.DBName = s.Text("user"), s.Text("pass"), s.Text("db")
	cfg.Net, cfg.Addr = "tcp", net.JoinHostPort(s.Text("host"), strconv.Itoa(port))
	// contexts end earlier
	cfg.Timeout, cfg.ReadTimeout, cfg.WriteTimeout = dialTime, sqlcache.PurgeLimit,
		sqlcache.PurgeLimit
	cfg.Logger = &mysql.NopLogger{}
	if cfg.TLS, err = security(s); err != nil {
		return nil, "", err
	}
	if cfg.TLS == nil {
		cfg.TLSConfig = "preferred"
	}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, "", fmt.Errorf("mysql: %w", err)
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(16)
	db.SetMaxIdleConns(16)
	db.SetConnMaxIdleTime(time.Minute)
	return db, cfg.Addr, nil
}

// security returns the TLS settings, nil if none are set. The server's certificate must be trusted
// by ssl_ca, or else by the system, and be valid for host. Self-generated server certificates have
// no names: the option ssl_any_name, which is Brine's own, accepts any name.
func security(s *returners.Settings) (*tls.Config, error) {
	return mysqltls.Options{CA: s.Text("ssl_ca"), Cert: s.Text("ssl_cert"), Key: s.Text("ssl_key"),
		Host: s.Text("host"), AnyName: s.Bool("ssl_any_name"), Prefix: "mysql.ssl_"}.Config()
}

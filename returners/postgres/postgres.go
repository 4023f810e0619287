// Package postgres is Salt's returners postgres and pgjsonb (salt/returners/postgres.py,
// pgjsonb.py): returns, events and a master's job cache in a PostgreSQL database, as text or as
// jsonb. Package returners/sqlcache describes the use of Salt's tables.
//
// Options are below returner.postgres. or returner.pgjsonb.: host (localhost), user, db (both
// "salt"), the password passwd, for pgjsonb pass ("salt"), port (5432), and libpq's TLS options:
// sslmode, sslcert, sslkey, sslrootcert.
package postgres

import (
	"database/sql"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/lib/pq"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/returners/sqlcache"
)

// Names of the returners.
const (
	Name      = "postgres"
	NameJSONB = "pgjsonb"
)

// dialTime is the timeout for connecting.
const dialTime = 5 * time.Second

const doc = `
    Return data to a postgres server

    CLI Example:

        salt '*' test.ping --return %s
    `

// known returns the settings of a returner.
func known(name string) []returners.Setting {
	pass := "passwd"
	if name == NameJSONB {
		pass = "pass"
	}
	list := []returners.Setting{
		{Name: "host", Default: "localhost", Fixed: true}, {Name: "port", Default: int64(5432),
			Fixed: true},
		{Name: "user", Default: "salt", Fixed: true}, {Name: pass, Default: "salt", Empty: true},
		{Name: "db", Default: "salt", Fixed: true},
	}
	for _, s := range []string{"sslmode", "sslcert", "sslkey", "sslrootcert", "sslcrl"} {
		list = append(list, returners.Setting{Name: s, Fixed: true})
	}
	return list
}

// Database returns the returner postgres or pgjsonb for minions and masters.
func Database(name string) sqlcache.Database {
	return sqlcache.Database{
		Dialect: dialect(name), Doc: fmt.Sprintf(doc, name), Kind: name + " on",
		Connect: func(from returners.Source, ret *data.Map) (*sql.DB, string, error) { return connect(name, from, ret) },
	}
}

// connect returns a database that connects on first use, and its address.
func connect(name string, from returners.Source, ret *data.Map) (*sql.DB, string, error) {
	s := from.Read(ret, known(name), "returner."+name)
	port, err := s.Int("port")
	if err != nil {
		return nil, "", fmt.Errorf("returner.%s.%w", name, err)
	}
	if s.Text("sslcrl") != "" {
		return nil, "", fmt.Errorf("returner.%s.sslcrl: certificate revocation lists are not supported", name)
	}
	cfg, err := pq.NewConfig(target(s, port))
	if err != nil {
		return nil, "", fmt.Errorf("returner.%s: %w", name, err)
	}
	cfg.ConnectTimeout = dialTime
	connector, err := pq.NewConnectorConfig(cfg)
	if err != nil {
		return nil, "", fmt.Errorf("returner.%s: %w", name, err)
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(16)
	db.SetMaxIdleConns(16)
	db.SetConnMaxIdleTime(time.Minute)
	return db, net.JoinHostPort(s.Text("host"), strconv.Itoa(port)), nil
}

// target formats settings as a libpq connection string.
func target(s *returners.Settings, port int) string {
	words := []string{"port=" + strconv.Itoa(port)}
	add := func(key, value string) {
		words = append(words, key+"='"+strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(value)+"'")
	}
	pass := s.Text("passwd")
	if pass == "" {
		pass = s.Text("pass")
	}
	add("host", s.Text("host"))
	add("user", s.Text("user"))
	add("password", pass)
	add("dbname", s.Text("db"))
	for _, key := range []string{"sslmode", "sslcert", "sslkey", "sslrootcert"} {
		v := s.Text(key)
		if key == "sslmode" && v == "" {
			v = "prefer" // as libpq does
		}
		if v != "" {
			add(key, v)
		}
	}
	return strings.Join(words, " ")
}

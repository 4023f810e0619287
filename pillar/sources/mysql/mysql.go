// Package mysql is Salt's external pillar of that name: rows of a MySQL or MariaDB database
// (salt/pillar/mysql.py). Package pillar/sqltree describes how they become a pillar.
//
//	mysql: {host: localhost, port: 3306, user: salt, pass: salt, db: salt, ssl: {ca: FILE, cert: FILE, key: FILE}}
//	ext_pillar:
//	  - mysql: {fromdb: {query: 'SELECT role, value FROM roles WHERE minion LIKE %s', depth: 1}}
//
// Unlike in Salt, with ssl the server's certificate must be valid for host.
package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/mysqltls"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/pillar"
	"github.com/brineproject/brine/pillar/sqltree"
)

// dialTime is the timeout for connecting.
const dialTime = 5 * time.Second

// places is the limit of concurrent connections.
const places = 8

// A Source is the external pillar mysql.
type Source struct{ gate sqltree.Gate }

// New returns the source.
func New() *Source { return &Source{sqltree.NewGate(places)} }

var _ pillar.Checker = (*Source)(nil)

// Name implements pillar.Source.
func (*Source) Name() string { return "mysql" }

// Check implements pillar.Checker.
func (*Source) Check(argument any, opts *data.Map) error {
	queries, err := sqltree.Queries(argument)
	for _, q := range queries {
		_, placed := sqltree.Placed(q.Text, "?")
		err = errors.Join(err, placed)
	}
	_, options := target(opts)
	return errors.Join(err, options)
}

// Pillar implements pillar.Source.
func (s *Source) Pillar(ctx context.Context, q pillar.Query) (*data.Map, error) {
	return s.gate.Fetch(ctx, q, "MySQL",
		func(ctx context.Context) (sqltree.Database, error) { return open(ctx, q.Opts) })
}

func open(ctx context.Context, opts *data.Map) (sqltree.Database, error) {
	cfg, err := target(opts)
	if err != nil {
		return nil, err
	}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1)
	if err := db.PingContext(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &sqltree.Conn{DB: db, Mark: "?"}, nil
}

// target parses the option mysql.
func target(opts *data.Map) (*mysql.Config, error) {
	o := data.NewMap("host", "localhost", "port", int64(3306), "user", "salt", "pass", "salt",
		"db", "salt")
	set, ok := opts.Value("mysql").(*data.Map)
	if !ok && opts.Value("mysql") != nil {
		return nil, errors.New("mysql: expected a dictionary with host, port, user, pass and db")
	}
	o.Update(set)
	port, err := loader.Int(o.Value("port"))
	if err != nil || port < 1 || port > 65535 {
		return nil, errors.New("mysql: port: expected the number of a port")
	}
	cfg := mysql.NewConfig()
	cfg.User, cfg.Passwd, cfg.DBName = word(o, "user"), word(o, "pass"), word(o, "db")
	cfg.Net, cfg.Addr = "tcp", net.JoinHostPort(word(o, "host"), strconv.FormatInt(port, 10))
	cfg.Timeout, cfg.ReadTimeout, cfg.WriteTimeout = dialTime, time.Minute, time.Minute
	cfg.Logger = &mysql.NopLogger{}
	cfg.TLSConfig = "preferred"
	if ssl, ok := o.Value("ssl").(*data.Map); ok && ssl.Len() > 0 {
		files := mysqltls.Options{CA: ssl.Text("ca"), Cert: ssl.Text("cert"), Key: ssl.Text("key"),
			Host: word(o, "host"), Always: true}
		if cfg.TLS, err = files.Config(); err != nil {
			return nil, fmt.Errorf("mysql: ssl: %w", err)
		}
		cfg.TLSConfig = ""
	}
	return cfg, nil
}

func word(m *data.Map, name string) string {
	v := m.Value(name)
	if v == nil {
		return ""
	}
	return data.Str(v)
}

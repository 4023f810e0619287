package mysql

import (
	"strings"
	"testing"

	"github.com/brineproject/brine/cache"
	"github.com/brineproject/brine/cache/cachetest"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/testdb"
)

// open returns an empty cache in the MariaDB of the machine.
func open(t *testing.T) *Cache {
	t.Helper()
	names := testdb.Names{Prefix: "brine_test_cache_", Databases: []string{"x"}}
	db := testdb.MariaDB(t, names)
	testdb.Exec(t, db, "CREATE DATABASE brine_test_cache_x")
	c, err := Open(data.NewMap("mysql.user", "root", "mysql.database", "brine_test_cache_x"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestCache(t *testing.T) {
	cachetest.Run(t, func(t *testing.T) cache.Bank { return open(t) })
}

// TestRowsAreSalts checks the row that Salt 3006.18 would read, and that names that differ in case or
// look like patterns are apart.
func TestRowsAreSalts(t *testing.T) {
	c := open(t)
	for _, bank := range []string{"minions/web1", "minions/Web1", "m_nions/a", "minions"} {
		if err := c.Store(bank, "data", []byte("\x81"+bank)); err != nil {
			t.Fatal(err)
		}
	}
	var value string
	if err := c.db.QueryRow("SELECT data FROM salt WHERE bank='minions/web1' AND etcd_key='data'").Scan(&value); err != nil || value != "\x81minions/web1" {
		t.Errorf("%q, %v", value, err)
	}
	if got, err := c.List("minions"); err != nil || strings.Join(got, " ") != "Web1 data web1" {
		t.Errorf("%q, %v", got, err)
	}
	if err := c.Flush("m_nions", ""); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Fetch("minions/web1", "data"); err != nil {
		t.Errorf("the flush of m_nions removed minions: %v", err)
	}
}

func TestOptions(t *testing.T) {
	for option, value := range map[string]any{"mysql.port": "x", "mysql.table_name": "a b", "mysql.connect_timeout": "x"} {
		if _, err := Open(data.NewMap(option, value)); err == nil || !strings.HasPrefix(err.Error(), option+": ") {
			t.Errorf("%s: %v", option, err)
		}
	}
	c, err := Open(data.NewMap("mysql.port", int64(1), "mysql.user", "x", "mysql.password", "hunter2"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Fetch("a", "b"); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Error(err)
	}
}

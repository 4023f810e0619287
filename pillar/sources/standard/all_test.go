package standard_test

import (
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/pillar"
	stdsources "github.com/brineproject/brine/pillar/sources/standard"
)

func TestEachNameIsThereOnce(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range stdsources.Sources() {
		if seen[s.Name()] {
			t.Errorf("two external pillars are named %s", s.Name())
		}
		seen[s.Name()] = true
	}
	for _, name := range []string{"cmd_json", "cmd_yaml", "cmd_yamlex", "cobbler", "consul", "csv",
		"etcd", "extra_minion_data_in_pillar", "file_tree", "foreman", "git", "hiera", "http_json",
		"http_yaml", "libvirt", "mysql", "netbox", "nodegroups", "pillar_ldap", "postgres", "puppet", "reclass",
		"redis", "s3", "saltclass", "sqlite3", "stack", "varstack", "vault"} {
		if !seen[name] {
			t.Errorf("there is no %s", name)
		}
	}
}

// TestSourcesWithoutArguments checks that an entry without arguments is an error or empty,
// and does not panic.
func TestSourcesWithoutArguments(t *testing.T) {
	for _, s := range stdsources.Sources() {
		for _, argument := range []any{nil, []any{}, data.NewMap(), "x", int64(1), []any{nil},
			data.NewMap("x", nil)} {
			if c, ok := s.(pillar.Checker); ok {
				_ = c.Check(argument, data.NewMap())
			}
		}
	}
}

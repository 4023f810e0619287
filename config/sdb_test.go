package config

import (
	"errors"
	"testing"

	"github.com/brineproject/brine/data"
)

func TestResolveSDB(t *testing.T) {
	dir := tree(t, map[string]string{"minion": "id: m1\nmaster: sdb://p/master\nauth_tries: sdb://p/tries\n" +
		"mine: {a: [sdb://p/x, 1], b: text}\nbad: sdb://p/bad\n"})
	cfg, report, err := LoadMinion(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	var asked []string
	get := func(option, uri string) (any, error) {
		asked = append(asked, option+" "+uri)
		switch uri {
		case "sdb://p/master":
			return []any{"one", "two"}, nil
		case "sdb://p/tries":
			return int64(3), nil
		case "sdb://p/bad":
			return nil, errors.New("no answer")
		}
		return data.NewMap("k", "v"), nil
	}
	err = cfg.ResolveSDB(report, get)
	if err == nil || err.Error() != dir+"/minion:5: bad: no answer" {
		t.Errorf("error %v", err)
	}
	if len(cfg.Master) != 2 || cfg.Master[1] != "two" || cfg.AuthTries != 3 {
		t.Errorf("master %v, auth_tries %d", cfg.Master, cfg.AuthTries)
	}
	if got := data.Repr(cfg.Map().Value("mine")); got != "{'a': [{'k': 'v'}, 1], 'b': 'text'}" {
		t.Errorf("mine is %s", got)
	}
	if len(asked) != 4 {
		t.Errorf("asked for %q", asked)
	}
}

package match_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/match"
)

// reversed is a user's own matcher of some kinds, for targets that are the id backwards.
type reversed map[string]bool

func (r reversed) Has(kind string) bool { return r[kind] }

func (r reversed) Match(_ string, tgt any, delim, id string) (bool, error) {
	if tgt == "broken" {
		return false, errors.New("matcher broke")
	}
	var back string
	for _, c := range id {
		back = string(c) + back
	}
	return fmt.Sprint(tgt) == back+delim, nil
}

func TestOwn(t *testing.T) {
	groups := data.NewMap("g", "1bew and G@os:Debian")
	m := &match.Minion{ID: "web1", Grains: data.NewMap("os", "Debian")}
	for _, tt := range []struct {
		own       reversed
		tgt, kind string
		want      bool
		fails     bool
	}{
		{reversed{}, "web*", "glob", true, false},
		{reversed{"glob": true}, "web*", "glob", false, false},
		{reversed{"glob": true}, "1bew", "glob", true, false},
		{reversed{"glob": true}, "1bew and G@os:Debian", "compound", true, false},
		{reversed{"glob": true}, "g", "nodegroup", true, false},
		{reversed{"grain": true}, "web* and G@1bew", "compound", true, false},
		{reversed{"grain": true}, "web* and G!@1bew!", "compound", true, false},
		{reversed{"compound": true}, "1bew", "compound", true, false},
		{reversed{"new": true}, "1bew", "new", true, false},
		{reversed{"glob": true}, "broken", "glob", false, true},
		{reversed{"glob": true}, "not broken", "compound", true, true}, // Match says no for it
	} {
		e, err := match.Compile(tt.tgt, tt.kind, "", match.Options{Nodegroups: groups, Own: tt.own})
		if err != nil {
			t.Errorf("%s %s: %v", tt.kind, tt.tgt, err)
			continue
		}
		got, err := e.Check(m)
		if got != tt.want || (err != nil) != tt.fails {
			t.Errorf("%s %s: %t, %v", tt.kind, tt.tgt, got, err)
		}
		if e.Match(m) != (tt.want && !tt.fails) {
			t.Errorf("%s %s: Match differs", tt.kind, tt.tgt)
		}
	}
	if _, err := match.Compile("x", "new", "", match.Options{Own: reversed{}}); !errors.Is(err, match.ErrUnknownType) {
		t.Errorf("an unknown kind: %v", err)
	}
}

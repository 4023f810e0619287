package auth

import (
	"errors"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/yaml"
)

func loadMap(t testing.TB, src string) *data.Map {
	t.Helper()
	v, err := yaml.Load([]byte(src), yaml.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m, _ := v.(*data.Map)
	return m
}

func TestCheckLogins(t *testing.T) {
	open := func(name string) error {
		if name == "ldap" {
			return errors.New("no server")
		}
		return nil
	}
	own := func(name string) bool { return name == "oauth" }
	for _, tt := range []struct{ option, want string }{
		{"oauth: {ann: [.*], 'grp%': ['test.*']}", ""},
		{"oauth: ann", `oauth: expected a mapping of users to what they may do, got the text "ann"`},
		{"pam: {bob: [test.ping], '^x': 5}\nrest:", ""},
		{"auto: {bob: [.*]}", ""}, // open refuses it
		{"LDAP: {}", "LDAP: there is no authentication system 'LDAP', nobody can log in there; is ldap meant?"},
		{"ldap: {}", "ldap: nobody can log in there: no server"},
		{"pam: bob", `pam: expected a mapping of users to what they may do, got the text "bob"`},
		{"pam: {bob: [test.ping, '@runner', {'@wheel': [key.*]}, {'*': [{test.arg: [{kwargs: [a]}]}]}]}",
			"pam: bob: entry 4: *: entry 1: test.arg: entry 1: kwargs: expected a mapping, got a list of 1"},
	} {
		got := ""
		if err := CheckLogins(loadMap(t, tt.option), own, open); err != nil {
			got = err.Error()
		}
		if got != tt.want && (tt.want == "" || !strings.Contains(got, tt.want)) {
			t.Errorf("CheckLogins(%s) = %s\nwant %s", tt.option, got, tt.want)
		}
	}
}

// What is wrong in a part of a rule is told, and the rest of it holds.
func TestTheRestOfARuleHolds(t *testing.T) {
	rs, err := parseRules(loadMap(t, "x: [{'web*': [test.ping, 5]}]").Value("x"))
	if err == nil || !strings.Contains(err.Error(), "entry 1: web*: entry 2: expected a function") {
		t.Errorf("parseRules: %v", err)
	}
	if len(rs) != 1 || !allow(rs[0].calls, "test.ping", arguments{}) || allow(rs[0].calls, "5", arguments{}) {
		t.Errorf("rules %v", rs)
	}
}

// Of a mapping without values the names are the rules; with a value nothing is guessed.
func TestNamesOfAMappingAreRules(t *testing.T) {
	rs, err := parseRules(loadMap(t, "x: {test.ping: , test.echo: }").Value("x"))
	if err != nil || !rs.allowsEverywhere("test.ping") || !rs.allowsEverywhere("test.echo") ||
		rs.allowsEverywhere("cmd.run") {
		t.Errorf("rules %v, %v", rs, err)
	}
	rs, _ = parseRules(loadMap(t, "x: {test.ping: , test.echo: [{args: [a]}]}").Value("x"))
	if rs.allowsEverywhere("test.ping") || rs.allowsEverywhere("test.echo") {
		t.Errorf("a mapping with a value allows %v", rs)
	}
}

func FuzzCheck(f *testing.F) {
	for _, s := range []string{"pam: {bob: [test.ping]}",
		"a: [{b: [{c: [{args: [1, null], kwargs: {x: '('}}]}]}]", "users: x\nmodules: {a: b}"} {
		f.Add(s)
	}
	f.Fuzz(func(_ *testing.T, option string) {
		v, err := yaml.Load([]byte(option), yaml.Options{})
		m, ok := v.(*data.Map)
		if err != nil || !ok {
			return
		}
		// whatever they say
		_ = errors.Join(CheckACL(m), CheckPeers(m), CheckBlacklist(m),
			CheckLogins(m, func(string) bool { return false }, func(string) error { return nil }))
	})
}

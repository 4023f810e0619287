package mysql

import (
	"strings"
	"testing"
)

func FuzzTokenize(f *testing.F) {
	f.Add("GRANT SELECT (a, b), CREATE VIEW ON `d`.`t` TO 'u'@`h` WITH GRANT OPTION")
	f.Fuzz(func(t *testing.T, text string) {
		g, err := tokenize(text)
		if err == nil && len(g.database)+len(g.user)+len(g.host) > len(text) {
			t.Fatalf("%q returned %+v", text, g)
		}
	})
}

func FuzzStatements(f *testing.F) {
	f.Add("-- x\nSELECT 'a;' /* c */;\n", "")
	f.Fuzz(func(t *testing.T, text, _ string) {
		if n := len(strings.Join(statements(text), "")); n > 2*len(text) {
			t.Fatalf("%d bytes become %d", len(text), n)
		}
		parseOptions(text, "x")
	})
}

// The statements for servers that are not available in tests.
func TestOtherServers(t *testing.T) {
	for _, c := range []struct {
		version string
		args    chpassArgs
		want    string
	}{
		{"8.0.36-0ubuntu0.22.04.1", chpassArgs{Password: "x"}, "ALTER USER ?@? IDENTIFIED WITH ? BY ?"},
		{"8.0.36", chpassArgs{PasswordHash: "x"}, "ALTER USER ?@? IDENTIFIED WITH ? AS ?"},
		{"8.0.36", chpassArgs{AllowPasswordless: true}, "ALTER USER ?@? IDENTIFIED WITH ?"},
		{"8.0.36", chpassArgs{AllowPasswordless: true, UnixSocket: true},
			"ALTER USER ?@? IDENTIFIED WITH auth_socket"},
		{"5.7.42-log", chpassArgs{Password: "x"},
			"UPDATE mysql.user SET P = PASSWORD(?) WHERE User = ? AND Host = ?"},
		{"5.7.42", chpassArgs{AllowPasswordless: true, UnixSocket: true},
			"UPDATE mysql.user SET P = '', plugin = ? WHERE User = ? AND Host = ?"},
		{"5.5.5-10.3.2-MariaDB", chpassArgs{PasswordHash: "x"},
			"UPDATE mysql.user SET P = ? WHERE User = ? AND Host = ?"},
		{"10.11.6-MariaDB-0+deb12u1", chpassArgs{PasswordHash: "x"},
			"ALTER USER ?@? IDENTIFIED VIA ? USING ?"},
		{"11.4.2-MariaDB", chpassArgs{AllowPasswordless: true, UnixSocket: true},
			"ALTER USER ?@? IDENTIFIED VIA unix_socket"},
	} {
		got, args := newPassword(serverOf(c.version), c.args, native, "P")
		if got != c.want || strings.Count(got, "?") != len(args) {
			t.Errorf("%s: %s with %d, want %s", c.version, got, len(args), c.want)
		}
	}
	if got, _ := condition(serverOf("8.0.36"), existsArgs{Password: "x"}, "p", native); got != " AND p = ?" {
		t.Errorf("a password is compared by %q", got)
	}
	if hash("password") != "*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19" {
		t.Errorf("the hash is %s", hash("password"))
	}
}

// A statement must not contain values of a caller: Salt's user_chpass put the host into its text.
func TestCVE2019_1010259(t *testing.T) {
	const hostile = "x' OR '1'='1"
	for _, version := range []string{"5.7.42", "8.0.36", "5.5.5-10.3.2-MariaDB", "10.11.6-MariaDB"} {
		for _, a := range []chpassArgs{
			{User: hostile, Host: hostile, Password: hostile},
			{User: hostile, Host: hostile, PasswordHash: hostile},
		} {
			statement, values := newPassword(serverOf(version), a, native, "P")
			if strings.Contains(statement, hostile) {
				t.Errorf("%s: the statement is %s", version, statement)
			}
			if strings.Count(statement, "?") != len(values) {
				t.Errorf("%s: %s has %d values", version, statement, len(values))
			}
		}
	}
}

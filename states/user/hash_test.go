package user

import "testing"

func TestSettings(t *testing.T) {
	for hash, want := range map[string][2]string{
		"$6$salt$hash":                    {"sha512", "salt"},
		"!$6$salt$hash":                   {"sha512", "salt"},
		"$5$rounds=2000$salt$hash":        {"sha256", "rounds=2000$salt"},
		"$1$salt$hash":                    {"md5", "salt"},
		"$2b$12$abcdefghijklmnopqrstuuXX": {"blowfish", "12$abcdefghijklmnopqrstuu"},
		"$2b$12$short":                    {},
		"$y$j9T$salt$hash":                {},
		"$6$":                             {},
		"!":                               {},
		"":                                {},
	} {
		if algorithm, salt := settings(hash); algorithm != want[0] || salt != want[1] {
			t.Errorf("%q has %q, %q, want %q", hash, algorithm, salt, want)
		}
	}
}

func TestDays(t *testing.T) {
	for _, c := range [][2]any{{"2030-01-01", int64(21915)}, {"90", int64(90)},
		{int64(7), int64(7)}, {nil, nil}, {"soon", "soon"}, {"", ""}} {
		if got := days(c[0]); got != c[1] {
			t.Errorf("%v is %v, want %v", c[0], got, c[1])
		}
	}
}

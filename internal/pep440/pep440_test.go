package pep440

import "testing"

// The order is that of PEP 440.
func TestOrder(t *testing.T) {
	list := []string{"junk", "0.9", "1.0.dev456", "1.0a1", "1.0a2.dev456", "1.0a12.dev456",
		"1.0a12", "1.0b1.dev456", "1.0b2", "1.0b2.post345.dev456", "1.0b2.post345",
		"1.0rc1.dev456", "1.0rc1", "1.0", "1.0+abc.5", "1.0+abc.7", "1.0+5", "1.0.post456.dev34",
		"1.0.post456", "1.0.15", "1.1.dev1", "1.10", "2", "1!0.1"}
	for i, a := range list {
		for j, b := range list {
			want := 0
			if i < j {
				want = -1
			} else if i > j {
				want = 1
			}
			if got := Compare(a, b); got != want {
				t.Errorf("Compare(%s, %s) = %d, want %d", a, b, got, want)
			}
		}
	}
	for _, same := range [][2]string{{"1.0", "1.0.0"}, {"1.0RC1", "1.0-c1"}, {"v1.0", "1.0"},
		{"1.0-1", "1.0.post1"}, {"1.0alpha", "1.0a0"}} {
		if Compare(same[0], same[1]) != 0 {
			t.Errorf("%s is not %s", same[0], same[1])
		}
	}
}

func TestSatisfies(t *testing.T) {
	for _, c := range []struct {
		have, op, want string
		ok             bool
	}{
		{"1.2.3", "==", "1.2.*", true}, {"1.3", "==", "1.2.*", false}, {"1.3", "!=", "1.2.*", true},
		{"1.2.0", "==", "1.2", true}, {"2.2.post3", "~=", "2.2", true},
		{"2.9", "~=", "2.2", true}, {"3.0", "~=", "2.2", false}, {"1.4.9", "~=", "1.4.5", true},
		{"1.5", "~=", "1.4.5", false}, {"1.4.4", "~=", "1.4.5", false},
		{"1.9", "<", "1.10", true}, {"1.10", "<=", "1.10", true}, {"1.10", ">", "1.9", true},
		{"1.9", ">=", "1.10", false}, {"1.0", "===", "1.0.0", false}, {"1", "?", "1", false},
	} {
		if got := Satisfies(c.have, c.op, c.want); got != c.ok {
			t.Errorf("%s %s %s is %v", c.have, c.op, c.want, got)
		}
	}
}

func FuzzCompare(f *testing.F) {
	f.Add("1!1.0rc1.post2.dev3+a.1", "1.0.*")
	f.Fuzz(func(t *testing.T, a, b string) {
		if Compare(a, b) != -Compare(b, a) || Compare(a, a) != 0 {
			t.Errorf("%q and %q have no order", a, b)
		}
		Satisfies(a, "~=", b)
	})
}

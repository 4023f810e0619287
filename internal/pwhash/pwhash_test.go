package pwhash_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/brineproject/brine/internal/pwhash"
)

// TestHash compares with the results of crypt(3) of libxcrypt 4.4.33.
func TestHash(t *testing.T) {
	for _, c := range []struct {
		method               pwhash.Method
		password, salt, want string
	}{
		{pwhash.SHA512, "MyP@asswd", "My5alT",
			"$6$My5alT$dX70VD1wnFof0Pl8AkakL7hHca8J0fE4V8HSJHtuOPgUuwujI0hwNTlP4iAACE8wwTGiwt/ebo8g53mAAVb7L1"},
		{pwhash.SHA512, "€uro", "rounds=1000$abcdefghijklmnopqrst",
			"$6$rounds=1000$abcdefghijklmnop$KYh.7EqW9iIiax5BALGvRiZZ6HHgOEqtUFcyzF8tZa0OPXOzRPYgBf45hoWRlMJ01sHcjEdAjaeBwH4dLY2SA0"},
		{pwhash.SHA512, "", "x", "$6$x$QSmr1Bx2g4O6BzKvdkgOcyU6H91X6I/XBv5pSalMhSPkwdH6Beo3F455xZJg0v//bxVK5F4OE5k1.0xuR26MK0"},
		{pwhash.SHA256, "p", "rounds=2000$saltsalt",
			"$5$rounds=2000$saltsalt$1/CuieEZB83erTNemaYWkc8iuDtc86zDWq3c4yKq9qA"},
		{pwhash.SHA256, "longer than a block of the hash, by far, and some more letters to be sure of it", "s", "$5$s$54OOuItjGc20uAxFhpOZ1hVAeShP7VTbdlUT5Qkuki1"},
		{pwhash.SHA512, "longer than a block of the hash, by far, and some more letters to be sure of it", "s", "$6$s$SEnPQM4DjX7D1ZM7juZqaUBsG//RiIq2HPeOkRFVLAgSTnimq.ryR8Ms5weZSYNmamkXZ70x6o0E.lXIR5Zet1"},
		{pwhash.MD5, "p", "saltsaltmore", "$1$saltsalt$oVkV3EDq8KTkLj17vu4OM0"},
		{pwhash.MD5, "x", "", "$1$$LP5.V3ajGqHDdXW6XwZQy."},
		{pwhash.Blowfish, "secret", "04$abcdefghijklmnopqrstuu",
			"$2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW"},
		{pwhash.Blowfish, "secret", "05$......................",
			"$2b$05$......................35w9tBXOiWEqF4YNx8Fn9rPUbxS7RTu"},
		{pwhash.Blowfish, "", "04$zzzzzzzzzzzzzzzzzzzzzz",
			"$2b$04$zzzzzzzzzzzzzzzzzzzzzui03xBzXgofNodTRmeXjY4xrMhnsNteq"},
		{pwhash.Blowfish, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "04$abcdefghijklmnopqrstuu", "$2b$04$abcdefghijklmnopqrstuuBzzIgyKkz7xMWYSzkIjUSnxEQFQ0WNe"},
		{pwhash.Blowfish, "€", "04$ABCDEFGHIJKLMNOPQRSTUV",
			"$2b$04$ABCDEFGHIJKLMNOPQRSTUOorEN7vXzB./34Lp7ebKYY4TgkL7Q08q"},
	} {
		if got, err := c.method.Hash(c.password, c.salt); err != nil || got != c.want {
			t.Errorf("%s of %q with %q: %q, %v, want %q", c.method, c.password, c.salt, got, err, c.want)
		}
	}
}

func TestSaltsByChance(t *testing.T) {
	for _, m := range pwhash.Methods() {
		a, b := m.Salt(), m.Salt()
		if m == pwhash.Blowfish {
			// a test has no second to spare
			a, b = strings.Replace(a, "12", "04", 1), strings.Replace(b, "12", "04", 1)
		}
		one, err := m.Hash("p", a)
		again, err2 := m.Hash("p", a)
		other, err3 := m.Hash("p", b)
		if a == b || one != again || one == other || err != nil || err2 != nil || err3 != nil {
			t.Errorf("%s: %q with %q, %q with %q: %v, %v, %v", m, one, a, other, b, err, err2, err3)
		}
	}
}

func TestSaltsThatAreNone(t *testing.T) {
	for _, c := range []struct {
		method pwhash.Method
		salt   string
	}{
		{pwhash.SHA512, "rounds=10$abc"}, {pwhash.SHA512, "rounds=01000$abc"}, {pwhash.SHA256,
			"a:b"}, {pwhash.MD5, "a\nb"},
		{pwhash.Blowfish, "abcdefghijklmnopqrstuu"}, {pwhash.Blowfish, "03$abcdefghijklmnopqrstuu"},
		{pwhash.Blowfish, "04$short"},
	} {
		if got, err := c.method.Hash("p", c.salt); !errors.Is(err, pwhash.ErrSalt) {
			t.Errorf("%s with %q: %q, %v", c.method, c.salt, got, err)
		}
	}
}

// Hashes that take longer than about a second are rejected.
func TestTooMuchWork(t *testing.T) {
	for method, salt := range map[pwhash.Method]string{pwhash.SHA512: "rounds=1000001$x",
		pwhash.Blowfish: "15$abcdefghijklmnopqrstuu"} {
		if got, err := method.Hash("p", salt); err == nil || errors.Is(err, pwhash.ErrSalt) {
			t.Errorf("%s with %q: %q, %v", method, salt, got, err)
		}
	}
	if pwhash.Known("crypt") || !pwhash.Known("md5") {
		t.Error("methods are known wrongly")
	}
}

func FuzzHash(f *testing.F) {
	f.Add("secret", "rounds=1000$salt")
	f.Add("secret", "04$abcdefghijklmnopqrstuu")
	f.Fuzz(func(t *testing.T, password, salt string) {
		if strings.HasPrefix(salt, "rounds=") || strings.HasPrefix(salt, "1") {
			salt = salt[1:] // not what takes long
		}
		for _, m := range pwhash.Methods() {
			if got, err := m.Hash(password, salt); err == nil && !strings.HasPrefix(got, "$") {
				t.Errorf("%s: %q", m, got)
			}
		}
	})
}

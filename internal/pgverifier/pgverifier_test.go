package pgverifier

import (
	"strings"
	"testing"
)

// The verifiers are those of Salt 3006.0.
const (
	md5Stored   = "md584b8c9873262d0281f860c473e033c7f"
	scramStored = "SCRAM-SHA-256$4096:MDEyMzQ1Njc4OWFiY2RlZg==$3OPfWBonbfE0jHPyg+7jVfC7hdSDCVmc7AGNSfiVB+s=:uR4fxnSJbtxu9CAquVuZK2v6NiaB2TXfHXL1VHHGvko="
)

func TestVerifiers(t *testing.T) {
	for _, c := range []struct {
		password, stored, way string
		want                  bool
	}{
		{"pass word", md5Stored, MD5, true},
		{"pass word", scramStored, SCRAM, true},
		{"pass word", "pass word", Plain, true},
		{"other", md5Stored, MD5, false},
		{"other", scramStored, SCRAM, false},
		{"pass word", md5Stored, SCRAM, false},
		{"pass word", "SCRAM-SHA-256$99999999999:x$", SCRAM, false},
		{"pass word", "SCRAM-SHA-256$4096:?$", SCRAM, false},
		{md5Stored, md5Stored, MD5, true},
		{scramStored, scramStored, SCRAM, true},
		{"pass word", "pass word", "rot13", false},
	} {
		if got := Same("role", c.password, c.stored, c.way); got != c.want {
			t.Errorf("%q is stored as %q by %q: %v", c.password, c.stored, c.way, got)
		}
	}
	for range 2 {
		made, err := Make("role", "secret", SCRAM)
		if err != nil || !Same("role", "secret", made, SCRAM) || strings.Contains(made, "secret") {
			t.Errorf("made %q, %v", made, err)
		}
	}
}

package returnertest

import (
	"crypto/rand"
	"encoding/hex"
	"os"
	"testing"
)

// Need ends a test that cannot do without a server or program, when err says why that is not there: it is skipped, and
// fails where BRINE_REQUIRE_ALL is 1.
func Need(t testing.TB, what string, err error) {
	t.Helper()
	switch {
	case err == nil:
	case os.Getenv("BRINE_REQUIRE_ALL") == "1":
		t.Fatalf("%s is required: %v", what, err)
	default:
		t.Skipf("there is no %s: %v", what, err)
	}
}

// Name returns a name for a database or a prefix that nobody else has.
func Name() string {
	b := make([]byte, 6)
	_, _ = rand.Read(b) // never fails
	return "brine_test_" + hex.EncodeToString(b)
}

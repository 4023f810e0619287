package environ_test

import (
	"os"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/testroot"
)

// The comments, and the result of test mode, are those of Salt 3006.0.
func TestSetenv(t *testing.T) {
	r := testroot.Plain(t)
	t.Setenv("BRINE_TEST_A", "old")
	t.Setenv("BRINE_TEST_B", "same")
	same := testroot.Step{Result: true, Comment: "Environ values were already set with the correct values"}
	tested := testroot.Step{Result: true, Comment: "Environ values are already set with the correct values"}
	for _, c := range []struct {
		args        *data.Map
		would, done *data.Map
		is          string // value of A afterwards
	}{
		{data.NewMap("name", "BRINE_TEST_A", "value", "new"), data.NewMap("BRINE_TEST_A", "new"),
			data.NewMap("BRINE_TEST_A", "new"), "new"},
		{data.NewMap("name", "x", "value", data.NewMap("BRINE_TEST_A", "two", "BRINE_TEST_B", "same")),
			data.NewMap("BRINE_TEST_A", "two"), data.NewMap("BRINE_TEST_A", "two", "BRINE_TEST_B",
				"same"), "two"},
		{data.NewMap("name", "BRINE_TEST_A", "value", false), data.NewMap("BRINE_TEST_A", ""),
			data.NewMap("BRINE_TEST_A", ""), ""},
		{data.NewMap("name", "BRINE_TEST_A", "value", false, "false_unsets", true),
			data.NewMap("BRINE_TEST_A", nil), data.NewMap("BRINE_TEST_A", nil), "none"},
	} {
		before := os.Getenv("BRINE_TEST_A")
		r.Expect(t, true, "environ.setenv", c.args,
			testroot.Step{Result: true, Changes: c.would, Comment: "Environ values will be changed"})
		if now := os.Getenv("BRINE_TEST_A"); now != before {
			t.Errorf("test mode turned %q into %q", before, now)
		}
		r.Expect(t, false, "environ.setenv", c.args,
			testroot.Step{Result: true, Changes: c.done, Comment: "Environ values were set"})
		if now, ok := os.LookupEnv("BRINE_TEST_A"); ok != (c.is != "none") || ok && now != c.is {
			t.Errorf("%s makes it %q, %v", data.Repr(c.args), now, ok)
		}
		if c.is == "none" {
			continue // Salt removes a missing variable again in each run
		}
		r.Expect(t, false, "environ.setenv", c.args, same)
		r.Expect(t, true, "environ.setenv", c.args, tested)
	}
}

func TestSetenvFails(t *testing.T) {
	r := testroot.Plain(t)
	t.Setenv("BRINE_TEST_A", "old")
	r.Expect(t, false, "environ.setenv", data.NewMap("name", "BRINE_TEST_A", "value", int64(5)),
		testroot.Step{Result: false, Comment: "Environ value must be string, dict or False"})
	args := data.NewMap("name", "x", "value", data.NewMap("BRINE_TEST_A", int64(5)))
	r.Expect(t, false, "environ.setenv", args,
		testroot.Step{Result: false, Changes: data.NewMap("BRINE_TEST_A", int64(5)),
			Comment: "Failed to set environ variables"})
	if now := os.Getenv("BRINE_TEST_A"); now != "old" {
		t.Errorf("the variable has become %q", now)
	}
}

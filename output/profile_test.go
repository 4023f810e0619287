package output_test

import (
	"os"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/output"
)

// TestProfile compares the outputter profile with the output of Salt 3006.18.
func TestProfile(t *testing.T) {
	src, err := os.ReadFile("testdata/profile.json")
	if err != nil {
		t.Fatal(err)
	}
	list, err := vectors.Decode(src)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range vectors.Cases(t, list.([]any)) {
		c.Only("value", "text")
		o, err := output.New("profile", output.Options{Indent: output.NoIndent{}})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if text, err := o.Format(c.Value("value")); err != nil || text != c.Text("text") {
				t.Errorf("%s\n got %q, %v\nwant %q", data.Repr(c.Value("value")), text, err, c.Text("text"))
			}
		}
	}
}

// TestProfileOfOtherValues checks that it fails as Salt's outputter does, so that another one takes
// over.
func TestProfileOfOtherValues(t *testing.T) {
	o, err := output.New("profile", output.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []any{nil, "text", []any{}, data.NewMap("web1", true),
		data.NewMap("web1", data.NewMap("a", data.NewMap("duration", "x")))} {
		if text, err := o.Format(v); err == nil {
			t.Errorf("%s gives %q", data.Repr(v), text)
		}
	}
}

package hashutil

import (
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/internal/test/calls"
	"github.com/brineproject/brine/loader"
)

func TestCalls(t *testing.T) {
	r, err := loader.NewRegistry(&loader.Env{}, []loader.Plugin{Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	srv, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	calls.Check(t, "testdata/calls.json", r.Invoke, "SRV", srv, "OUT", filepath.Join(t.TempDir(), "out.bin"))
}

func FuzzDecode(f *testing.F) {
	for _, text := range []string{"Z2V0IHNhbHRlZA==", "a b\nc*d", "YQ==YQ==", "Y=W=J=j"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if out, err := decode(in); err == nil && len(out) > len(in) {
			t.Errorf("%q becomes %q", in, out)
		}
	})
}

package python

import (
	"math/big"
	"testing"

	"github.com/brineproject/brine/data"
)

// FuzzReadValue reads hostile values. What can be read can be written and is then the same.
func FuzzReadValue(f *testing.F) {
	huge := new(big.Int).Lsh(big.NewInt(1), 100)
	for _, v := range []any{nil, true, int64(-1), int64(1) << 40, huge, 1.5, "grüß", []byte{0xff},
		[]any{data.Tuple{}, data.NewMap("a", data.Set{int64(1)})}, data.Object{Repr: "<x>"}} {
		b, _, err := appendValue(nil, v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte("(\xff\xff\xff\x7f"))
	f.Add([]byte("[\x01\x00\x00\x000"))
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := readValue(b)
		if err != nil {
			return
		}
		again, _, err := appendValue(nil, v)
		if err != nil {
			return // an ellipsis alone, for example, is only read
		}
		w, err := readValue(again)
		if err != nil || data.Repr(w) != data.Repr(v) {
			t.Errorf("%q is read as %s, and after writing as %s, %v", b, data.Repr(v), data.Repr(w), err)
		}
	})
}

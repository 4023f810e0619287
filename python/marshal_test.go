package python

import (
	"bytes"
	"encoding/binary"
	"math/big"
	"testing"

	"github.com/brineproject/brine/data"
)

// FuzzReadValue reads hostile values. What can be read can be written and is then the same.
func FuzzReadValue(f *testing.F) {
	huge := new(big.Int).Lsh(big.NewInt(1), 100)
	for _, v := range []any{nil, true, int64(-1), int64(1) << 40, huge, 1.5, "grüß", []byte{0xff},
		[]any{data.Tuple{}, data.NewMap("a", data.Set{int64(1)})}, data.Object{Repr: "<x>"}} {
		b, err := appendValue(nil, v)
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
		again, err := appendValue(nil, v)
		if err != nil {
			t.Fatalf("%q is read as %s, which cannot be written: %v", b, data.Repr(v), err)
		}
		w, err := readValue(again)
		if err != nil || data.Repr(w) != data.Repr(v) {
			t.Errorf("%q is read as %s, and after writing as %s, %v", b, data.Repr(v), data.Repr(w), err)
		}
	})
}

// TestIntegers checks that integers of all lengths around the digits of both sides stay.
func TestIntegers(t *testing.T) {
	for bits := range uint(200) {
		for _, off := range []int64{-1, 0, 1} {
			n := new(big.Int).Lsh(big.NewInt(1), bits)
			n.Add(n, big.NewInt(off))
			for _, v := range []*big.Int{n, new(big.Int).Neg(n)} {
				b, err := appendValue(nil, v)
				if err != nil {
					t.Fatal(err)
				}
				got, err := readValue(b)
				if err != nil || data.Str(got) != v.String() {
					t.Errorf("%v is read as %v, %v", v, got, err)
				}
			}
		}
	}
}

// TestReadHasLimits checks that a message cannot have more values than allowed, and that a length that
// is claimed takes no memory.
func TestReadHasLimits(t *testing.T) {
	many := append([]byte{typeList, 0, 0, 0, 0}, bytes.Repeat([]byte{typeNone}, maxValues+1)...)
	binary.LittleEndian.PutUint32(many[1:], maxValues+1)
	if _, err := readValue(many); err == nil {
		t.Errorf("a list of %d values is read", maxValues+1)
	}
	deep := bytes.Repeat([]byte{typeList, 0, 0, 1, 0}, 200) // each claims 65,536 values
	deep = append(deep, make([]byte, 1<<16)...)
	if took := testing.AllocsPerRun(1, func() { _, _ = readValue(deep) }); took > 1000 {
		t.Errorf("a message that claims lists takes %v allocations", took)
	}
}

// TestEllipsis checks that an ellipsis of a plug-in is an object, and not taken for a mark.
func TestEllipsis(t *testing.T) {
	const tuple = "(\x03\x00\x00\x00" + ".u\x03\x00\x00\x00foo" + "N"
	for text, want := range map[string]string{
		".": "Ellipsis", tuple: "(Ellipsis, 'foo', None)", "[\x01\x00\x00\x00.": "[Ellipsis]",
		"{u\x01\x00\x00\x00a.0": "{'a': Ellipsis}",
	} {
		if got, err := readValue([]byte(text)); err != nil || data.Repr(got) != want {
			t.Errorf("%q is read as %s, %v, want %s", text, data.Repr(got), err, want)
		}
	}
}

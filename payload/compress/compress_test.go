package compress

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/brineproject/brine/payload"
)

func text(n int) []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "file_|-app_%04d_|-/etc/app/part%04d.conf_|-managed ", i, i)
	}
	return b.Bytes()[:n]
}

func TestTextBecomesShorter(t *testing.T) {
	for _, size := range []int{least, 20_000, 300_000} {
		whole := text(size)
		short, ok := Encode(whole)
		if !ok || len(short) > size*2/3 {
			t.Errorf("%d bytes have become %d, %t", size, len(short), ok)
		}
		back, err := Decode(short, size)
		if err != nil || !bytes.Equal(back, whole) {
			t.Errorf("%d bytes came back as %d: %v", size, len(back), err)
		}
	}
}

func TestWhatIsNotWorthTheWorkStays(t *testing.T) {
	noise := make([]byte, 20_000)
	rand.Read(noise)
	for name, b := range map[string][]byte{"nothing": nil, "little": text(least - 1), "noise": noise} {
		if got, ok := Encode(b); ok || !bytes.Equal(got, b) {
			t.Errorf("%s: %d bytes have become %d, %t", name, len(b), len(got), ok)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	short, _ := Encode(text(20_000))
	flipped := bytes.Clone(short)
	flipped[len(flipped)/2] ^= 0xff
	huge := []byte{0x80, 0x80, 0x80, 0x80, 0x04} // says that 1 GiB follow
	for name, c := range map[string]struct {
		b    []byte
		size int
		want string
	}{
		"nothing":      {nil, 20_000, "corrupt"},
		"half":         {short[:len(short)/2], 20_000, "corrupt"},
		"another size": {short, 20_001, "has 20000 bytes, expected are 20001"},
		"no size":      {short, 0, "expected are 0"},
		"too large":    {huge, 1 << 30, "allowed are"},
	} {
		_, err := Decode(c.b, c.size)
		if !errors.Is(err, payload.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if back, err := Decode(flipped, 20_000); err == nil && bytes.Equal(back, text(20_000)) {
		t.Error("a flipped byte changed nothing")
	}
}

func FuzzDecode(f *testing.F) {
	short, _ := Encode(text(2000))
	f.Add(short, 2000)
	f.Add([]byte{0}, 0)
	f.Fuzz(func(t *testing.T, b []byte, size int) {
		whole, err := Decode(b, size)
		if err == nil && len(whole) != size {
			t.Errorf("%d bytes, expected %d", len(whole), size)
		}
		if short, ok := Encode(b); ok {
			if back, err := Decode(short, len(b)); err != nil || !bytes.Equal(back, b) {
				t.Errorf("%q came back as %q: %v", b, back, err)
			}
		}
	})
}

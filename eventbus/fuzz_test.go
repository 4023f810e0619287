package eventbus

import (
	"bytes"
	"testing"

	"github.com/brineproject/brine/payload"
)

// FuzzEvent reads any bytes as a stream of frames and as an event; what is accepted can be fired
// again unchanged.
func FuzzEvent(f *testing.F) {
	f.Add([]byte("a/b\n\n\x81\xa1k\x01"))
	f.Add(payload.AppendFrame(payload.AppendFrame(nil, []byte("t\n\n\x80")),
		[]byte("u\n\n\x81\xa1k\xc4\x01\xff")))
	f.Add([]byte("\x82\xa4head\x80\xa4body\xc4\x04t\n\n\x80"))
	f.Add([]byte("\n\n\x80"))
	f.Fuzz(func(t *testing.T, b []byte) {
		checkEvent(t, b)
		frames := payload.NewFrameReader(bytes.NewReader(b), 1<<16)
		for body, err := frames.Next(); err == nil; body, err = frames.Next() {
			checkEvent(t, body)
		}
	})
}

func checkEvent(t *testing.T, b []byte) {
	e, err := ParseEvent(b)
	if err != nil || CheckTag(e.Tag) != nil {
		return
	}
	if again := framed(e.Tag, b, len(e.Data)); again.Tag != e.Tag || !bytes.Equal(again.Data, e.Data) {
		t.Fatalf("%q became %q %q", b, again.Tag, again.Data)
	}
	small, err := trim(e.Data, 16)
	if err == nil && payload.Check(small, payload.WireLimits()) != nil {
		t.Fatalf("trim(%q) = %q", e.Data, small)
	}
	_, _ = e.Map()
}

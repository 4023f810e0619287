package payload_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/payload"
)

// fuzzLimits are small, so that a fuzzer spends its time on forms and not on sizes.
func fuzzLimits() payload.Limits { return payload.Limits{Size: 1 << 16, Depth: 32, Nodes: 1 << 14} }

// seed adds the encodings of the vectors, and the bombs.
func seed(f *testing.F, fields ...string) {
	top := vectors.Load(f, file).Top
	for _, field := range fields {
		for _, b := range collect(top, field) {
			if len(b) < 4096 {
				f.Add(b)
			}
		}
	}
	for _, b := range bombs() {
		if len(b) < 4096 {
			f.Add(b)
		}
	}
}

// FuzzUnmarshal checks that what was decoded encodes, and that the encoding decodes to the same.
func FuzzUnmarshal(f *testing.F) {
	seed(f, "dumps", "dumps_bin", "bytes")
	f.Fuzz(func(t *testing.T, src []byte) {
		checkAgain(t, src, payload.Unmarshal, payload.Marshal)
		checkAgain(t, src, payload.UnmarshalText, payload.MarshalBin)
		checkAgain(t, src, payload.UnmarshalRaw, payload.Marshal)
	})
}

func checkAgain(
	t *testing.T, src []byte, read func([]byte, payload.Limits) (any, error), write func(any) ([]byte, error),
) {
	v, err := read(src, fuzzLimits())
	if err != nil {
		return
	}
	b, err := write(v)
	if err != nil {
		t.Fatalf("encode %s: %v", data.Repr(v), err)
	}
	again, err := read(b, payload.Limits{})
	if err != nil {
		t.Fatalf("decode %x, made of %x: %v", b, src, err)
	}
	if data.Repr(again) != data.Repr(v) {
		t.Errorf("%s comes back as %s", data.Repr(v), data.Repr(again))
	}
}

// FuzzIsText checks that what IsText takes for text is decoded as text, and that it takes no other.
func FuzzIsText(f *testing.F) {
	seed(f, "dumps", "dumps_bin", "bytes")
	f.Fuzz(func(t *testing.T, src []byte) {
		v, err := payload.UnmarshalText(src, fuzzLimits())
		if err != nil {
			return // extensions are not looked into
		}
		if is := payload.IsText(src, fuzzLimits()); is != payload.AllText(src, fuzzLimits()) {
			t.Errorf("IsText(%x) = %v, but it is %s", src, is, data.Repr(v))
		}
	})
}

// FuzzCheck checks that Check takes all that a decoder takes.
func FuzzCheck(f *testing.F) {
	seed(f, "dumps", "dumps_bin", "bytes")
	f.Fuzz(func(t *testing.T, src []byte) {
		checked := payload.Check(src, fuzzLimits())
		if v, err := payload.UnmarshalRaw(src, fuzzLimits()); err == nil && checked != nil {
			t.Errorf("Check: %v, but it is %s", checked, data.Repr(v))
		}
		fields, err := payload.ParseFields(src, fuzzLimits())
		if err != nil {
			return
		}
		if checked != nil {
			t.Errorf("Check: %v, but it has fields", checked)
		}
		for _, field := range fields {
			if err := payload.Check(field.Value, payload.Limits{}); err != nil {
				t.Errorf("field %q: %v", field.Key, err)
			}
		}
		again, err := payload.ParseFields(fields.Marshal(), payload.Limits{})
		if err != nil || len(again) != len(fields) {
			t.Errorf("%d fields come back as %d, %v", len(fields), len(again), err)
		}
	})
}

// FuzzRewrite checks that Rewrite does what decoding and encoding does.
func FuzzRewrite(f *testing.F) {
	seed(f, "dumps", "dumps_bin", "bytes")
	f.Fuzz(func(t *testing.T, src []byte) {
		if len(src) <= 1<<14 {
			checkRewrite(t, src)
		}
	})
}

// FuzzRewriteWithin checks that a value is rewritten in place as it is rewritten elsewhere, with
// what stands around it.
func FuzzRewriteWithin(f *testing.F) {
	seed(f, "dumps", "dumps_bin", "bytes")
	f.Fuzz(func(t *testing.T, src []byte) {
		if len(src) <= 1<<14 && payload.Check(src, payload.Limits{}) == nil {
			checkRewriteWithin(t, src)
		}
	})
}

func checkRewriteWithin(t *testing.T, src []byte) (inPlace bool) {
	t.Helper()
	for _, tok := range []string{"t", strings.Repeat("t", 300)} {
		all := payload.Fields{
			{Key: "cmd", Value: marshalOrFail(t, "_return")},
			{Key: "tok", Value: marshalOrFail(t, tok)}, {Key: "return", Value: src},
			{Key: "jid", Value: marshalOrFail(t, "1")},
			{Key: "fun_args", Value: marshalOrFail(t, []any{int64(1)})},
		}
		body := append(all.Marshal(), make([]byte, 48)...)
		body = body[:len(body)-48]
		fields, err := payload.ParseFields(body, payload.WireLimits())
		if err != nil {
			t.Fatal(err)
		}
		fields.Delete("tok")
		if err := fields.Set("jid", "20260101000000000000"); err != nil {
			t.Fatal(err)
		}
		want, wantErr := fields.AppendRewrite(nil)
		before := bytes.Clone(body)
		got, ok := fields.RewriteShortWithin(body, max(len(src), 30))
		switch {
		case !ok && !bytes.Equal(body, before):
			t.Fatalf("%x: not rewritten in place, but changed", src)
		case ok && (wantErr != nil || !bytes.Equal(got, want)):
			t.Fatalf("%x in place:\n got %x\nwant %x, %v", src, got, want, wantErr)
		}
		inPlace = inPlace || ok
	}
	return inPlace
}

func marshalOrFail(t *testing.T, v any) data.Raw {
	t.Helper()
	b, err := payload.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// FuzzEnvelope checks that an envelope written again is read as the same.
func FuzzEnvelope(f *testing.F) {
	for _, name := range []string{"04-auth.json", "05-request.json", "07-clear-requests.json"} {
		for _, b := range collect(vectors.Load(f, name).Top, "request_frame") {
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		e, err := payload.ParseEnvelope(src, fuzzLimits())
		if err != nil {
			return
		}
		again, err := payload.ParseEnvelope(e.Marshal(), payload.Limits{})
		if err != nil || again.Enc != e.Enc || again.ID != e.ID || again.Version != e.Version ||
			!bytes.Equal(again.Load, e.Load) {
			t.Errorf("%+v comes back as %+v, %v", e, again, err)
		}
		_, _ = e.Fields(fuzzLimits())
		_, _ = e.Blob()
	})
}

// FuzzFrame checks that a stream gives the same frames whole and in small pieces.
func FuzzFrame(f *testing.F) {
	seed(f, "frame_msg", "frame_msg_ipc")
	for _, b := range collect(vectors.Load(f, "08-events.json").Top, "pull_bytes") {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		whole := payload.NewFrameReader(bytes.NewReader(stream), 1<<14)
		pieces := payload.NewFrameReader(&slowReader{stream}, 1<<14)
		for {
			a, errA := whole.NextFrame()
			b, errB := pieces.NextFrame()
			if (errA == nil) != (errB == nil) || !bytes.Equal(a.Body, b.Body) ||
				!bytes.Equal(a.Head, b.Head) {
				t.Fatalf("%x, %v and %x, %v", a, errA, b, errB)
			}
			if errA != nil {
				return
			}
		}
	})
}

package payload_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/ugorji/go/codec"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/payload/typed"
)

// pingReturn is the return of a test.ping, stateReturn that of a large state run.
func pingReturn() *data.Map {
	return data.NewMap("cmd", "_return", "id", "web1.example.com", "success", true, "return", true,
		"retcode", int64(0), "jid", "20231108123456789012", "fun", "test.ping", "fun_args", []any{},
		"user", "root", "nonce", strings.Repeat("a", 32))
}

func stateReturn() *data.Map {
	states := data.NewMap()
	for i := range 300 {
		states.Set(fmt.Sprintf("file_|-conf_%d_|-/etc/app/%d.conf_|-managed", i, i), data.NewMap(
			"changes", data.NewMap("diff", strings.Repeat("+ line of a file\n", 8)), "comment",
			"File is in the correct state", "duration", 12.345, "name",
			fmt.Sprintf("/etc/app/%d.conf", i), "result", true, "__sls__", "app.conf",
			"__run_num__", int64(i), "start_time", "12:34:56.789012", "__id__", fmt.Sprintf("conf_%d", i)))
	}
	m := pingReturn()
	m.Set("return", states)
	return m
}

func benchmarkEach(b *testing.B, f func(b *testing.B, m *data.Map, src []byte)) {
	for name, m := range map[string]*data.Map{"ping": pingReturn(), "states": stateReturn()} {
		src, err := payload.Marshal(m)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(src)))
			f(b, m, src)
		})
	}
}

func BenchmarkMarshal(b *testing.B) {
	benchmarkEach(b, func(b *testing.B, m *data.Map, _ []byte) {
		var dst []byte
		for b.Loop() {
			dst, _ = payload.Append(dst[:0], m)
		}
	})
}

func BenchmarkUnmarshal(b *testing.B) {
	benchmarkEach(b, func(b *testing.B, _ *data.Map, src []byte) {
		for b.Loop() {
			_, _ = payload.Unmarshal(src, payload.Limits{})
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	benchmarkEach(b, func(b *testing.B, _ *data.Map, src []byte) {
		for b.Loop() {
			_ = payload.Check(src, payload.Limits{})
		}
	})
}

func BenchmarkParseFields(b *testing.B) {
	benchmarkEach(b, func(b *testing.B, _ *data.Map, src []byte) {
		for b.Loop() {
			_, _ = payload.ParseFields(src, payload.Limits{})
		}
	})
}

func BenchmarkRewrite(b *testing.B) {
	benchmarkEach(b, func(b *testing.B, _ *data.Map, src []byte) {
		for b.Loop() {
			_, _ = payload.Rewrite(src, true)
		}
	})
}

func BenchmarkFrame(b *testing.B) {
	benchmarkEach(b, func(b *testing.B, _ *data.Map, src []byte) {
		frame := payload.AppendFrame(nil, src)
		stream := bytes.Repeat(frame, 100)
		for b.Loop() {
			r := payload.NewFrameReader(bytes.NewReader(stream), 0)
			for range 100 {
				if _, err := r.Next(); err != nil {
					b.Fatal(err)
				}
			}
		}
		b.SetBytes(int64(len(stream)))
	})
}

func BenchmarkEnvelope(b *testing.B) {
	benchmarkEach(b, func(b *testing.B, _ *data.Map, src []byte) {
		msg := (&payload.Envelope{Enc: "aes", Load: payload.BlobOf(src), Version: 3,
			ID: "web1.example.com"}).Marshal()
		for b.Loop() {
			_, _ = payload.ParseEnvelope(msg, payload.Limits{})
		}
	})
}

// BenchmarkLibrary is what ugorji/go/codec takes for the same messages, decoded into its own
// unordered maps, and for a struct: the ground for which codec does what (see the package comment).
func BenchmarkLibrary(b *testing.B) {
	h := &codec.MsgpackHandle{}
	h.RawToString = true
	benchmarkEach(b, func(b *testing.B, _ *data.Map, src []byte) {
		b.Run("values", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var v any
				_ = codec.NewDecoderBytes(src, h).Decode(&v)
			}
		})
		b.Run("struct", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var m struct {
					Cmd    string    `codec:"cmd"`
					ID     string    `codec:"id"`
					JID    string    `codec:"jid"`
					Fun    string    `codec:"fun"`
					Return codec.Raw `codec:"return"`
				}
				_ = typed.Unmarshal(src, payload.Limits{}, &m)
			}
		})
	})
}

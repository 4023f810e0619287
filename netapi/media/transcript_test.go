package media

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pyjson"
	"github.com/brineproject/brine/payload"
)

func TestTranscript(t *testing.T) {
	const many = fewKeys + 9
	crowd, twice := data.NewMap(), []byte{0xde, many >> 8, many & 0xff}
	for i := range many {
		crowd.Set(fmt.Sprintf("k%03d", i), data.NewMap("k000", int64(i)))
		twice = fmt.Appendf(twice, "\xa4k%03d\x01", min(i, many-2))
	}
	crowded, err := pyjson.Append(nil, crowd, pyjson.Options{Comma: ", ", Colon: ": "})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		value data.Raw
		want  string // "" if it must be decoded
	}{
		{"scalars", raw(t, []any{nil, true, false, int64(-7), 0.5, 1e300, "é\"\n\x00"}),
			`[null, true, false, -7, 0.5, 1e+300, "é\"\n\u0000"]`},
		{"maps", raw(t, data.NewMap("b", data.NewMap("b", []any{}), "a", data.NewMap())), `{"b": {"b": []}, "a": {}}`},
		{"many keys", raw(t, crowd), string(crowded)},
		{"a key twice", data.Raw{0x82, 0xa1, 'a', 0x01, 0xa1, 'a', 0x02}, ""},
		{"one of many keys twice", twice, ""},
		{"a number as a key", data.Raw{0x81, 0x01, 0x01}, ""},
		{"text that is not UTF-8", data.Raw{0xa1, 0xff}, ""},
		{"bytes", data.Raw{0xc4, 0x01, 'a'}, ""},
		{"a large number", data.Raw{0xcf, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, ""},
		{"two values", data.Raw{0x01, 0x01}, ""},
		{"half a list", data.Raw{0x92, 0x01}, ""},
		{"nothing", nil, ""},
	} {
		got, err := appendRaw([]byte("-"), tt.value)
		if tt.want == "" {
			if err == nil {
				t.Errorf("%s: %s, want an error", tt.name, got)
			}
			continue
		}
		if err != nil || string(got) != "-"+tt.want {
			t.Errorf("%s: %s, %v, want %s", tt.name, got, err, tt.want)
		}
	}
}

// FuzzTranscript checks that what can be written without being decoded is the same as otherwise.
func FuzzTranscript(f *testing.F) {
	for _, b := range []string{"\x82\xa1a\x01\xa1b\x92\xc3\xcb\x3f\xe0\x00\x00\x00\x00\x00\x00",
		"\x82\xa1a\x01\xa1a\x02", "\xa1\xff", "\xc4\x01a",
		"\x81\x01\x02", "\x91\x80", "\xcf\xff\xff\xff\xff\xff\xff\xff\xff", "\x92\x01"} {
		f.Add([]byte(b))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := appendRaw(nil, b)
		if err != nil {
			return
		}
		v, err := payload.UnmarshalText(b, payload.WireLimits())
		if err != nil {
			t.Fatalf("%q is written as %s, but cannot be decoded: %v", b, got, err)
		}
		want, err := pyjson.Append(nil, v, pyjson.Options{Comma: ", ", Colon: ": "})
		if err != nil || string(want) != string(got) {
			t.Fatalf("%q is written as %s, want %s (%v)", b, got, want, err)
		}
	})
}

// BenchmarkReturns writes what minions have returned. The ratio is the time by that for decoding it first.
func BenchmarkReturns(b *testing.B) {
	for _, minions := range []int{4, 400} {
		b.Run(fmt.Sprintf("minions=%d", minions), func(b *testing.B) {
			returned := map[string]data.Raw{}
			for id, v := range answer(minions).Value("return").([]any)[0].(*data.Map).All() {
				returned[id.(string)] = raw(b, v)
			}
			var answers Answers
			write := func(read func(data.Raw) (any, error)) time.Duration {
				begin, all := time.Now(), data.NewMap()
				for id, encoded := range returned {
					v, err := read(encoded)
					if err != nil {
						b.Fatal(err)
					}
					all.Set(id, v)
				}
				err := answers.Write(discard{http.Header{}}, get(), JSON, 200, data.NewMap("return", []any{all}))
				if err != nil {
					b.Fatal(err)
				}
				return time.Since(begin)
			}
			var encoded, decoded time.Duration
			for b.Loop() {
				encoded += write(func(v data.Raw) (any, error) { return v, nil })
				decoded += write(func(v data.Raw) (any, error) {
					return payload.UnmarshalText(v, payload.WireLimits())
				})
			}
			b.ReportMetric(float64(encoded)/float64(decoded), "ratio")
		})
	}
}

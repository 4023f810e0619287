package payload_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/payload"
)

func decode64(v any) ([]byte, bool) {
	s, ok := v.(string)
	if !ok {
		return nil, false
	}
	b, err := base64.StdEncoding.DecodeString(s)
	return b, err == nil
}

// A slowReader gives one to seven bytes at a time.
type slowReader struct{ rest []byte }

func (r *slowReader) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.rest[:min(len(r.rest), 1+len(r.rest)%7)])
	r.rest = r.rest[n:]
	return n, nil
}

// bombs are small inputs that promise much.
func bombs() map[string][]byte {
	nested := bytes.Repeat([]byte{0xdc, 0xff, 0xff}, 40)
	return map[string][]byte{
		"list of 4G":            {0xdd, 0xff, 0xff, 0xff, 0xff},
		"map of 4G":             {0xdf, 0xff, 0xff, 0xff, 0xff},
		"map of 2G":             {0xdf, 0x80, 0, 0, 0},
		"str of 4G":             {0xdb, 0xff, 0xff, 0xff, 0xff},
		"bin of 4G":             {0xc6, 0xff, 0xff, 0xff, 0xff},
		"ext of 4G":             {0xc9, 0xff, 0xff, 0xff, 0xff, 5},
		"100 000 levels":        bytes.Repeat([]byte{0x91}, 100_000),
		"100 000 levels of map": bytes.Repeat([]byte{0x81, 0x01}, 100_000),
		"map as key as key":     bytes.Repeat([]byte{0x81}, 100_000),
		"levels of large lists": append(nested, make([]byte, 70000)...),
		"in a map": append([]byte{0x82, 0xa1, 'a', 0x01, 0xa1, 'b'}, 0xdd, 0xff,
			0xff, 0xff, 0xff),
		"in a constant":   {0xc7, 7, 79, 0x92, 0xa1, 'k', 0xdc, 0xff, 0xff, 0},
		"too many values": append([]byte{0xdd, 0, 0x20, 0, 0}, make([]byte, 0x200000)...),
	}
}

func TestBombs(t *testing.T) {
	for name, src := range bombs() {
		t.Run(name, func(t *testing.T) {
			for reader, read := range everyReader() {
				var err error
				size := allocated(func() { err = read(src) })
				if err == nil {
					t.Errorf("%s took it", reader)
				}
				if size > 40<<20 {
					t.Errorf("%s allocated %d bytes for %d", reader, size, len(src))
				}
			}
		})
	}
}

func everyReader() map[string]func([]byte) error {
	l := payload.Limits{}
	return map[string]func([]byte) error{
		"Unmarshal":     func(b []byte) error { _, err := payload.Unmarshal(b, l); return err },
		"UnmarshalText": func(b []byte) error { _, err := payload.UnmarshalText(b, l); return err },
		"UnmarshalRaw":  func(b []byte) error { _, err := payload.UnmarshalRaw(b, l); return err },
		"Check": func(b []byte) error {
			if b[0] == 0xc7 {
				return errors.New("does not look into extensions")
			}
			return payload.Check(b, l)
		},
		"ParseFields": func(b []byte) error { _, err := payload.ParseFields(b, l); return err },
		"Rewrite":     func(b []byte) error { _, err := payload.Rewrite(b, true); return err },
		"Envelope":    func(b []byte) error { _, err := payload.ParseEnvelope(b, l); return err },
		"Frame":       func(b []byte) error { _, err := payload.NewFrameReader(bytes.NewReader(b), 0).Next(); return err },
	}
}

func allocated(f func()) int {
	r := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			f()
			b.StopTimer()
			return
		}
	})
	return int(r.AllocedBytesPerOp())
}

func TestLimits(t *testing.T) {
	list, _ := payload.Marshal([]any{int64(1), []any{int64(2), int64(3)}})
	for _, tt := range []struct {
		name string
		l    payload.Limits
		want error
	}{
		{"all fits", payload.Limits{Size: len(list), Depth: 2, Nodes: 5}, nil},
		{"too large", payload.Limits{Size: len(list) - 1}, payload.ErrLimit},
		{"too deep", payload.Limits{Depth: 1}, payload.ErrLimit},
		{"too many", payload.Limits{Nodes: 4}, payload.ErrLimit},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := payload.Check(list, tt.l); !errors.Is(err, tt.want) {
				t.Errorf("Check: %v, want %v", err, tt.want)
			}
			if _, err := payload.Unmarshal(list, tt.l); !errors.Is(err, tt.want) {
				t.Errorf("Unmarshal: %v, want %v", err, tt.want)
			}
		})
	}
	if l := payload.PreAuthLimits(); l != (payload.Limits{Size: 1 << 20, Depth: 128, Nodes: 10_000,
		Names: 256}) {
		t.Errorf("PreAuthLimits = %+v", l)
	}
	deep := append(bytes.Repeat([]byte{0x91}, 127), 0x90)
	for name, read := range map[string]func([]byte, payload.Limits) error{
		"Check":     payload.Check,
		"Unmarshal": func(b []byte, l payload.Limits) error { _, err := payload.Unmarshal(b, l); return err },
		"Rewrite":   func(b []byte, _ payload.Limits) error { _, err := payload.Rewrite(b, true); return err },
	} {
		if err := read(deep, payload.Limits{}); err != nil {
			t.Errorf("%s of 128 levels: %v", name, err)
		}
		if err := read(append([]byte{0x91}, deep...), payload.Limits{}); !errors.Is(err, payload.ErrLimit) {
			t.Errorf("%s of 129 levels: %v", name, err)
		}
	}
}

func TestErrors(t *testing.T) {
	for name, tt := range map[string]struct {
		src  []byte
		want error
	}{
		"nothing":                {nil, payload.ErrTruncated},
		"half a number":          {[]byte{0xcd, 1}, payload.ErrTruncated},
		"half a text":            {[]byte{0xa2, 'a'}, payload.ErrTruncated},
		"two values":             {[]byte{1, 2}, payload.ErrTrailing},
		"the reserved byte":      {[]byte{0xc1}, payload.ErrInvalid},
		"reserved in a list":     {[]byte{0x91, 0xc1}, payload.ErrInvalid},
		"list of three with two": {[]byte{0x93, 1, 2}, payload.ErrTruncated},
	} {
		t.Run(name, func(t *testing.T) {
			if err := payload.Check(tt.src, payload.Limits{}); !errors.Is(err, tt.want) {
				t.Errorf("Check: %v, want %v", err, tt.want)
			}
			if _, err := payload.Unmarshal(tt.src, payload.Limits{}); !errors.Is(err, tt.want) {
				t.Errorf("Unmarshal: %v, want %v", err, tt.want)
			}
			if _, err := payload.Rewrite(tt.src, true); !errors.Is(err, tt.want) {
				t.Errorf("Rewrite: %v, want %v", err, tt.want)
			}
		})
	}
}

func TestMarshalRefusesOtherTypes(t *testing.T) {
	for _, v := range []any{struct{}{}, []string{"a"}, map[string]any{}, float32(1),
		[]any{data.NewMap("a", make(chan int))}} {
		if b, err := payload.Marshal(v); err == nil {
			t.Errorf("Marshal(%T) = %x", v, b)
		}
	}
	loop := []any{nil}
	loop[0] = loop
	if _, err := payload.Marshal(loop); !errors.Is(err, payload.ErrLimit) {
		t.Errorf("a list in itself: %v", err)
	}
}

func TestRewriteOfKeysThatMeet(t *testing.T) {
	for _, src := range []string{
		"\x82\xa1k\x01\xc4\x01k\x02",                                   // str and bin
		"\x82\xa1k\x01\xd9\x01k\x02",                                   // two lengths
		"\x83\x01\x01\xc3\x02\xcb\x3f\xf0\x00\x00\x00\x00\x00\x00\x03", // 1, true, 1.0
		"\x82\x05\x01\xcd\x00\x05\x02",                                 // two widths
		"\x82\xc0\x01\xc0\x02",
		"\x82\xd4\x05k\x01\xa1k\x02", // an unknown extension is its bytes
		"\x81\x90\x01", "\x81\x80\x01",
		"\x82\xa1a\x82\xa1k\x01\xa1k\x02\xa1b\x01",
		"\xca\x3f\x80\x00\x00", "\xd3\xff\xff\xff\xff\xff\xff\xff\xff", "\xdc\x00\x01\x01",
		"\xd9\x20" + strings.Repeat("x", 32), "\xda\x00\x40" + strings.Repeat("\xff", 64),
		"\xc7\x18N20231108T12:34:56.789012", "\xc7\x14N20231108T12:34:56.7\x00\x00\x00",
		"\xc7\x13N20231108T12:34:56.7", "\xc7\x04O\x92\xa1k\x01", "\xc7\x03O\x92\xa1k",
		"\xc7\x05O\x92\xa1\xff\x01\x00", "\xd6\xff\x00\x00\x00\x01", "\xd5\xff\x00\x00",
	} {
		checkRewrite(t, []byte(src))
	}
	many := data.NewMap()
	for i := range 200 {
		many.Set(int64(i), "x")
	}
	b, _ := payload.Marshal(many)
	checkRewrite(t, b)
	checkRewrite(t, append(append([]byte{0xde, 0, 201}, b[3:]...), 7, 1)) // one key again
}

func TestFields(t *testing.T) {
	src, err := payload.Marshal(data.NewMap("cmd", "_return", "n", int64(-5), "ok", true,
		"blob", []byte("\xff\x00"), "list", []any{int64(1)}, "long", strings.Repeat("x", 300), "none", nil))
	if err != nil {
		t.Fatal(err)
	}
	f, err := payload.ParseFields(src, payload.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(f.Marshal(), src) {
		t.Errorf("Marshal = %x, want %x", f.Marshal(), src)
	}
	if s, ok := f.Text("cmd"); !ok || s != "_return" {
		t.Errorf("Text = %q, %v", s, ok)
	}
	if _, ok := f.Text("blob"); ok {
		t.Error("bytes that are not UTF-8 are text")
	}
	if b, ok := f.Bytes("blob"); !ok || string(b) != "\xff\x00" {
		t.Errorf("Bytes = %x, %v", b, ok)
	}
	if n, ok := f.Int("n"); !ok || n != -5 {
		t.Errorf("Int = %d, %v", n, ok)
	}
	if b, ok := f.Bool("ok"); !ok || !b {
		t.Errorf("Bool = %v, %v", b, ok)
	}
	for _, key := range []string{"list", "nosuch", "none"} {
		_, isText := f.Text(key)
		_, isBytes := f.Bytes(key)
		_, isInt := f.Int(key)
		_, isBool := f.Bool(key)
		if isText || isBytes || isInt || isBool {
			t.Errorf("%s is a scalar", key)
		}
	}
	if f.Has("nosuch") || !f.Has("none") || f.Value("nosuch") != nil || data.Repr(f.Value("list")) != "[1]" {
		t.Error("Has or Value")
	}
	checkChange(t, f)
}

func checkChange(t *testing.T, f payload.Fields) {
	c := f.Clone()
	if err := c.Set("n", int64(6)); err != nil {
		t.Fatal(err)
	}
	if err := c.Set("new", data.Raw{0xc3}); err != nil {
		t.Fatal(err)
	}
	if err := c.Set("bad", struct{}{}); err == nil {
		t.Error("a struct was set")
	}
	if err := c.SetBin("long", strings.Repeat("x", 32)); err != nil || c.Raw("long")[0] != 0xd9 {
		t.Errorf("SetBin: %v", err)
	}
	if !c.Delete("cmd") || c.Delete("cmd") {
		t.Error("Delete")
	}
	if n, _ := f.Int("n"); n != -5 || !f.Has("cmd") {
		t.Error("a change of the clone shows")
	}
	v, err := payload.Unmarshal(c.Marshal(), payload.Limits{})
	if m, ok := v.(*data.Map); err != nil || !ok || m.Value("n") != int64(6) ||
		m.Value("new") != true || m.Keys()[m.Len()-1] != "new" {
		t.Errorf("changed: %s, %v", data.Repr(v), err)
	}
}

func TestFieldsKeepTheLastOfRepeatedKeys(t *testing.T) {
	f, err := payload.ParseFields([]byte("\x83\xa2id\xa1a\xa1x\x01\xc4\x02id\xa1b"), payload.Limits{})
	if err != nil || len(f) != 2 || f[0].Key != "id" || string(f[0].Value) != "\xa1b" {
		t.Errorf("got %v, %v", f, err)
	}
	many := []byte{0xde, 0, 100}
	for i := range 100 {
		many = append(many, 0xa1, byte('0'+i%50), byte(i))
	}
	f, err = payload.ParseFields(many, payload.Limits{})
	if n, _ := f.Int("0"); err != nil || len(f) != 50 || n != 50 {
		t.Errorf("got %d fields, %d, %v", len(f), n, err)
	}
}

func TestFieldsRefuse(t *testing.T) {
	for name, tt := range map[string]struct {
		src  string
		want error
	}{
		"a list": {"\x91\x01", payload.ErrNotMap}, "a number": {"\x01", payload.ErrNotMap},
		"nothing": {"", payload.ErrTruncated}, "number as key": {"\x81\x01\x01", payload.ErrNotMap},
		"key not UTF-8": {"\x81\xa1\xff\x01", payload.ErrNotMap},
		"no value":      {"\x81\xa1a", payload.ErrTruncated}, "half a value": {"\x81\xa1a\x92\x01",
			payload.ErrTruncated},
		"more": {"\x80\x01", payload.ErrTrailing}, "reserved": {"\x81\xa1a\xc1", payload.ErrInvalid},
	} {
		if f, err := payload.ParseFields([]byte(tt.src), payload.Limits{}); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, %v, want %v", name, f, err, tt.want)
		}
	}
}

func TestList(t *testing.T) {
	list, err := payload.ParseList([]byte("\x93\x01\xa1a\x91\x02"), payload.WireLimits())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range list {
		got = append(got, string(r))
	}
	if want := []string{"\x01", "\xa1a", "\x91\x02"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for name, tt := range map[string]struct {
		text string
		want error
	}{
		"a map": {"\x80", payload.ErrNotList}, "nothing": {"", payload.ErrTruncated},
		"one value too few":  {"\x92\x01", payload.ErrTruncated},
		"one value too many": {"\x91\x01\x02", payload.ErrTrailing},
	} {
		if _, err := payload.ParseList([]byte(tt.text), payload.WireLimits()); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
	}
}

func TestFieldsRewrite(t *testing.T) {
	long := strings.Repeat("x", 40)
	m := data.NewMap("a", []byte("\xff"), "s", long, long, []any{[]byte("t")})
	src, _ := payload.Marshal(m)
	f, err := payload.ParseFields(src, payload.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := f.AppendRewrite(nil)
	want, _ := payload.Rewrite(src, true)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("got %x, %v, want %x", got, err, want)
	}
}

func TestFrameReader(t *testing.T) {
	var stream []byte
	sizes := []int{0, 1, 255, 256, 70000, 3, 300000, 5}
	for _, n := range sizes {
		stream = payload.AppendFrame(stream, bytes.Repeat([]byte{byte(n)}, n))
	}
	for name, r := range map[string]io.Reader{
		"whole": bytes.NewReader(stream), "byte by byte": iotest.OneByteReader(bytes.NewReader(stream)),
		"with its end": iotest.DataErrReader(bytes.NewReader(stream)),
	} {
		t.Run(name, func(t *testing.T) {
			f := payload.NewFrameReader(r, 0)
			for _, n := range sizes {
				body, err := f.Next()
				if err != nil || !bytes.Equal(body, bytes.Repeat([]byte{byte(n)}, n)) {
					t.Fatalf("body of %d: %d bytes, %v", n, len(body), err)
				}
			}
			for range 2 {
				if _, err := f.Next(); err != io.EOF {
					t.Errorf("at the end: %v", err)
				}
			}
		})
	}
}

func TestFrameReaderRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		src  string
		want error
	}{
		"a number":       {"\x01", payload.ErrFrame},
		"no body":        {"\x81\xa4head\x80", payload.ErrFrame},
		"body a map":     {"\x82\xa4head\x80\xa4body\x80", payload.ErrFrame},
		"reserved":       {"\xc1", payload.ErrFrame},
		"cut":            {"\x82\xa4head\x80\xa4body\xc4\x05abc", io.ErrUnexpectedEOF},
		"cut in head":    {"\xdf\x00", io.ErrUnexpectedEOF},
		"too large":      {"\x82\xa4head\x80\xa4body\xc5\x04\x00", payload.ErrLimit},
		"just too large": {string(payload.AppendFrame(nil, make([]byte, 1024-14))), payload.ErrLimit},
		"too deep":       {strings.Repeat("\x91", 200), payload.ErrLimit},
		"too many":       {"\x82\xa4head\xdd\x00\x00\x08\x00", payload.ErrLimit},
	} {
		t.Run(name, func(t *testing.T) {
			f := payload.NewFrameReader(iotest.OneByteReader(strings.NewReader(tt.src)), 1024)
			if body, err := f.Next(); !errors.Is(err, tt.want) {
				t.Errorf("%q, %v, want %v", body, err, tt.want)
			}
		})
	}
	fits := payload.AppendFrame(nil, make([]byte, 1024-15))
	if len(fits) > 1024 {
		t.Fatalf("the test's frame has %d bytes", len(fits))
	}
	if _, err := payload.NewFrameReader(bytes.NewReader(fits), 1024).Next(); err != nil {
		t.Errorf("a frame of %d bytes: %v", len(fits), err)
	}
}

func TestEnvelope(t *testing.T) {
	e := &payload.Envelope{Enc: "aes", Load: payload.BlobOf([]byte("\xff\xfe")), Version: 3, ID: "web1",
		EncAlgo: "OAEP-SHA1", SigAlgo: "PKCS1v15-SHA1"}
	want, _ := payload.Marshal(data.NewMap("enc", "aes", "load", []byte("\xff\xfe"),
		"version", int64(3), "id", "web1", "enc_algo", "OAEP-SHA1", "sig_algo", "PKCS1v15-SHA1"))
	if got := e.Marshal(); !bytes.Equal(got, want) {
		t.Errorf("Marshal = %x, want %x", got, want)
	}
	back, err := payload.ParseEnvelope(want, payload.PreAuthLimits())
	if err != nil || back.ID != "web1" || back.Version != 3 || back.SigAlgo != e.SigAlgo ||
		back.EncAlgo != e.EncAlgo {
		t.Errorf("ParseEnvelope = %+v, %v", back, err)
	}
	if b, ok := back.Blob(); !ok || string(b) != "\xff\xfe" {
		t.Errorf("Blob = %x, %v", b, ok)
	}
	for name, src := range map[string]*data.Map{
		"no enc": data.NewMap("load", data.NewMap()), "no load": data.NewMap("enc", "clear"),
		"enc a list":    data.NewMap("enc", []any{}, "load", data.NewMap()),
		"load a number": data.NewMap("enc", "aes", "load", int64(1)),
		"load null":     data.NewMap("enc", "aes", "load", nil), "version text": data.NewMap("enc",
			"aes", "load", "x", "version", "2"),
		"version negative": data.NewMap("enc", "aes", "load", "x", "version", int64(-1)),
		"id bytes":         data.NewMap("enc", "aes", "load", "x", "id", []byte("\xff")),
		"version huge": data.NewMap("enc", "aes", "load", "x",
			"version", new(big.Int).SetUint64(math.MaxUint64)),
	} {
		b, _ := payload.Marshal(src)
		if e, err := payload.ParseEnvelope(b, payload.Limits{}); !errors.Is(err, payload.ErrEnvelope) {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
	}
	ok, _ := payload.Marshal(data.NewMap("x", 1, "enc", "clear",
		"load", data.NewMap("cmd", "ping"), "id", nil))
	if e, err := payload.ParseEnvelope(ok, payload.Limits{}); err != nil || e.Version != 0 {
		t.Errorf("with unknown and null fields: %+v, %v", e, err)
	} else if f, err := e.Fields(payload.Limits{}); err != nil || len(f) != 1 {
		t.Errorf("Fields = %v, %v", f, err)
	}
}

func TestTimes(t *testing.T) {
	for _, text := range []string{"20240229T01:02:03.000004", "20240229T01:02:03.4"} {
		b, _ := payload.Marshal(data.Ext{Code: 78, Data: []byte(text)})
		if v, err := payload.Unmarshal(b, payload.Limits{}); err != nil || v.(time.Time).Second() != 3 {
			t.Errorf("%s: %v, %v", text, v, err)
		}
	}
	for _, text := range []string{"", "20230229T01:02:03.0", "20240229T01:02:03",
		"20240229T01:02:03.", "20240229T01:02:03.1234567", "20240229T01:02:03.x",
		"00000101T00:00:00.0", "20240229T25:02:03.0"} {
		b, _ := payload.Marshal(data.Ext{Code: 78, Data: []byte(text)})
		if v, err := payload.Unmarshal(b, payload.Limits{}); !errors.Is(err, payload.ErrInvalid) {
			t.Errorf("%s: %v, %v", text, v, err)
		}
	}
	for _, ts := range []data.Timestamp{{}, {Seconds: 1, Nanoseconds: 0},
		{Seconds: math.MaxUint32, Nanoseconds: 0}, {Seconds: 1 << 32, Nanoseconds: 0}, {Seconds: 5,
			Nanoseconds: 999_999_999}, {Seconds: 1 << 34, Nanoseconds: 1}, {Seconds: -1, Nanoseconds: 5}} {
		b, _ := payload.Marshal(ts)
		if v, err := payload.Unmarshal(b, payload.Limits{}); err != nil || v != ts {
			t.Errorf("%+v comes back as %+v, %v", ts, v, err)
		}
	}
}

// TestRewriteWithin rewrites long values where they lie: texts and lists of them in both forms, and
// what would outgrow its place.
func TestRewriteWithin(t *testing.T) {
	texts, floats, binary := make([]any, 200), []byte{0xdc, 0, 200}, make([]any, 200)
	for i := range texts {
		texts[i], binary[i] = strings.Repeat("é", i), []byte{0xff, byte(i)}
		floats = append(floats, 0xca, 0x3f, 0x80, 0, 0) // 32 bits, which become 64
	}
	nested := data.NewMap("a", texts, strings.Repeat("k", 5000), true)
	for name, tt := range map[string]struct {
		src     data.Raw
		inPlace bool
	}{
		"text":                         {marshalOrFail(t, strings.Repeat("x", 100_000)), true},
		"list of texts":                {marshalOrFail(t, texts), true},
		"map with a long key":          {marshalOrFail(t, nested), false},
		"floats that become longer":    {floats, false},
		"short bytes that are no text": {marshalOrFail(t, binary), false},
		"long bytes that are no text":  {marshalOrFail(t, bytes.Repeat([]byte{0xff}, 100_000)), true},
		"keys that meet": {data.Raw("\x82\xa1a\x01\xa1a\xda\x00\x20" +
			strings.Repeat("x", 32)), false},
	} {
		if got := checkRewriteWithin(t, tt.src); got != tt.inPlace {
			t.Errorf("%s: in place %v, want %v", name, got, tt.inPlace)
		}
	}
}

// TestReadable checks that tuples as keys become text, at any depth, and that other values stay.
func TestReadable(t *testing.T) {
	inner := data.NewMap()
	inner.Set(data.Tuple{int64(1), "a"}, "x")
	inner.Set(int64(2), "y")
	got := payload.Readable([]any{data.Tuple{inner}, data.NewMap("k", inner)})
	if want := `[({"(1, 'a')": 'x', 2: 'y'},), {'k': {"(1, 'a')": 'x', 2: 'y'}}]`; data.Repr(got) != want {
		t.Errorf("got %s, want %s", data.Repr(got), want)
	}
	b, err := payload.Marshal(got)
	if err == nil {
		_, err = payload.UnmarshalText(b, payload.WireLimits())
	}
	if err != nil {
		t.Error(err)
	}
	if same := data.NewMap("a", []any{int64(1)}); payload.Readable(same) != any(same) {
		t.Error("a value with readable keys was copied")
	}
}

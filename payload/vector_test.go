package payload_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/payload"
)

const file = "01-payload.json"

// readers are the three ways to decode, by the name that the vectors give them.
func readers() map[string]func([]byte, payload.Limits) (any, error) {
	return map[string]func([]byte, payload.Limits) (any, error){
		"loads": payload.Unmarshal, "loads_utf8": payload.UnmarshalText, "loads_raw": payload.UnmarshalRaw,
	}
}

func TestVectorRoundtrip(t *testing.T) {
	f := vectors.Load(t, file)
	vectors.Later(t, f, []string{"roundtrip", "decode", "frame"}, nil)
	for _, c := range f.Section("roundtrip") {
		t.Run(c.Name, func(t *testing.T) {
			c := c.On(t)
			c.Only("name", "value", "value_built_by", "dumps", "dumps_back", "dumps_error",
				"dumps_len", "dumps_sha256", "dumps_head", "dumps_bin", "dumps_bin_back",
				"dumps_bin_error", "dumps_bin_len", "dumps_bin_sha256", "dumps_bin_head")
			value := builtValue(t, c)
			checkDumps(t, c, "dumps", value, payload.Marshal)
			checkDumps(t, c, "dumps_bin", value, payload.MarshalBin)
		})
	}
}

func builtValue(t *testing.T, c *vectors.Case) any {
	if c.Has("value") {
		return c.Value("value")
	}
	name := c.Text("value_built_by")
	form := strings.TrimRight(name, "0123456789+")
	n, err := strconv.Atoi(strings.Trim(name[len(form):], "+"))
	if err != nil {
		t.Fatalf("value built by %q is not understood", name)
	}
	switch form {
	case "str len ":
		return strings.Repeat("z", n)
	case "bytes len ":
		return bytes.Repeat([]byte("\xff\x7a"), n/2)
	case "list ":
		return zeros(n + 1)
	case "dict ":
		m := data.NewMap()
		for i := range n {
			m.Set(int64(i), int64(0))
		}
		return m
	}
	t.Fatalf("value built by %q is not understood", name)
	return nil
}

func zeros(n int) []any {
	list := make([]any, n)
	for i := range list {
		list[i] = int64(0)
	}
	return list
}

func checkDumps(t *testing.T, c *vectors.Case, field string, value any, dumps func(any) ([]byte, error)) {
	got, err := dumps(value)
	switch {
	case c.Has(field + "_error"):
		if err == nil {
			t.Errorf("%s = %x, want an error", field, got)
		}
		return
	case err != nil:
		t.Fatalf("%s: %v", field, err)
	case c.Has(field + "_len"):
		sum := sha256.Sum256(got)
		if len(got) != c.Int(field+"_len") || hex.EncodeToString(sum[:]) != c.Text(field+"_sha256") {
			t.Errorf("%s: %d bytes, sha256 %x, start %x", field, len(got), sum, got[:16])
		}
		return
	}
	if want := c.Bytes(field); !bytes.Equal(got, want) {
		t.Errorf("%s = %x, want %x", field, got, want)
	}
	back := vectors.Cases(t, []any{c.Object(field + "_back")})[0]
	back.Only("loads", "loads_utf8", "loads_raw", "loads_error", "loads_utf8_error", "loads_raw_error")
	checkLoads(t, back, got)
	checkRewrite(t, got)
}

// checkLoads reads src in the three ways and compares with the fields of c.
func checkLoads(t *testing.T, c *vectors.Case, src []byte) {
	for field, loads := range readers() {
		got, err := loads(src, payload.Limits{})
		if c.Has(field + "_error") {
			if err == nil {
				t.Errorf("%s = %s, want an error", field, data.Repr(got))
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", field, err)
			continue
		}
		want := c.Value(field)
		if data.Repr(got) != data.Repr(want) {
			t.Errorf("%s = %s, want %s", field, data.Repr(got), data.Repr(want))
		}
	}
}

// checkRewrite compares Rewrite with decoding and encoding, in both directions, errors included.
func checkRewrite(t *testing.T, src []byte) {
	t.Helper()
	for _, bin := range []bool{true, false} {
		got, gotErr := payload.Rewrite(src, bin)
		want, wantErr := recode(src, bin)
		if (gotErr == nil) != (wantErr == nil) {
			t.Errorf("Rewrite(%x, %v): %v, want %v", src, bin, gotErr, wantErr)
		} else if gotErr == nil && !bytes.Equal(got, want) {
			t.Errorf("Rewrite(%x, %v) = %x, want %x", src, bin, got, want)
		}
	}
}

func recode(src []byte, bin bool) ([]byte, error) {
	if bin {
		v, err := payload.Unmarshal(src, payload.Limits{})
		if err != nil {
			return nil, err
		}
		return payload.MarshalBin(v)
	}
	v, err := payload.UnmarshalText(src, payload.Limits{})
	if err != nil {
		return nil, err
	}
	return payload.Marshal(v)
}

func TestVectorDecode(t *testing.T) {
	for _, c := range vectors.Load(t, file).Section("decode") {
		t.Run(c.Name, func(t *testing.T) {
			c := c.On(t)
			c.Only("name", "bytes", "loads", "loads_error", "loads_utf8", "loads_utf8_error",
				"loads_raw", "loads_raw_error", "unpackage", "unpackage_error")
			src := c.Bytes("bytes")
			checkLoads(t, c, src)
			checkRewrite(t, src)
			checkUnpackage(t, c, src)
		})
	}
}

// checkUnpackage compares with the original's bare decoder, which knows no extensions; UnmarshalRaw
// stands for it, so an extension is compared by its payload, and those with a meaning by the other
// fields alone.
func checkUnpackage(t *testing.T, c *vectors.Case, src []byte) {
	got, err := payload.UnmarshalRaw(src, payload.Limits{})
	if c.Has("unpackage_error") {
		if err == nil {
			t.Errorf("unpackage = %s, want an error", data.Repr(got))
		}
		return
	}
	want, known := bare(c.Value("unpackage"))
	if known {
		return
	}
	if err != nil || data.Repr(got) != data.Repr(want) {
		t.Errorf("unpackage = %s, %v, want %s", data.Repr(got), err, data.Repr(want))
	}
}

// bare puts the payload in the place of each extension, and reports whether one has a meaning.
func bare(v any) (_ any, known bool) {
	switch v := v.(type) {
	case data.Ext:
		return v.Data, v.Code == 78 || v.Code == 79
	case []any:
		for i := range v {
			var k bool
			v[i], k = bare(v[i])
			known = known || k
		}
	case *data.Map:
		for k, e := range v.All() {
			b, isKnown := bare(e)
			v.Set(k, b)
			known = known || isKnown
		}
	}
	return v, known
}

func TestVectorFrame(t *testing.T) {
	for _, c := range vectors.Load(t, file).Section("frame") {
		t.Run(c.Name, func(t *testing.T) {
			c := c.On(t)
			c.Only("name", "body", "header", "frame_msg", "frame_msg_ipc")
			head, _ := c.Value("header").(*data.Map)
			for _, field := range []string{"frame_msg", "frame_msg_ipc"} {
				want := c.Bytes(field)
				got, err := payload.AppendFrameOf(nil, head, c.Value("body"))
				if err != nil || !bytes.Equal(got, want) {
					t.Errorf("%s = %x, %v, want %x", field, got, err, want)
				}
				checkFrame(t, c, want)
			}
			if body, ok := c.Value("body").([]byte); ok && head.Len() == 0 {
				if got := payload.AppendFrame([]byte("x"), body); !bytes.Equal(got[1:],
					c.Bytes("frame_msg_ipc")) {
					t.Errorf("AppendFrame = %x", got[1:])
				}
			}
		})
	}
}

func checkFrame(t *testing.T, c *vectors.Case, src []byte) {
	frame, err := payload.NewFrameReader(bytes.NewReader(src), 0).NextFrame()
	if err != nil {
		t.Fatal(err)
	}
	body, err := payload.UnmarshalText(frame.Body, payload.Limits{})
	if err != nil || !data.Equal(body, c.Value("body")) {
		t.Errorf("body = %s, %v, want %s", data.Repr(body), err, data.Repr(c.Value("body")))
	}
	head, err := payload.UnmarshalText(frame.Head, payload.Limits{})
	if want, _ := c.Value("header").(*data.Map); err != nil || data.Repr(head) != data.Repr(want) {
		t.Errorf("head = %s, %v, want %s", data.Repr(head), err, data.Repr(want))
	}
}

// TestVectorEventFrames reads what the original wrote to the sockets of its event bus.
func TestVectorEventFrames(t *testing.T) {
	f := vectors.Load(t, "08-events.json")
	vectors.Later(t, f, []string{"fire", "unpack", "life"}, map[string]string{
		"trim": "eventbus", "tagify": "eventbus", "socket_names": "eventbus", "tag_match": "eventbus",
	})
	for _, c := range f.Section("fire") {
		if !c.Has("pull_bytes") {
			continue // refused before anything was written: the event bus's own test
		}
		t.Run("fire/"+c.Name, func(t *testing.T) {
			c := c.On(t)
			checkEvents(t, c.Bytes("pull_bytes"), c.Sub("frames"))
		})
	}
	for _, c := range f.Section("life") {
		for _, bus := range []string{"master_bus", "minion_bus", "pull_frames"} {
			if !c.Has(bus) {
				continue
			}
			t.Run("life/"+c.Name+"/"+bus, func(t *testing.T) {
				var stream []byte
				frames := c.On(t).Sub(bus)
				for _, frame := range frames {
					stream = append(stream, frame.Bytes("frame")...)
				}
				checkEvents(t, stream, frames)
			})
		}
	}
}

func checkEvents(t *testing.T, stream []byte, want []*vectors.Case) {
	r := payload.NewFrameReader(&slowReader{stream}, 0)
	for _, w := range want {
		body, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(payload.AppendFrame(nil, body), w.Bytes("frame")) {
			t.Errorf("frame of %s is written otherwise", w.Text("tag"))
		}
		checkEvent(t, body, w)
	}
	if body, err := r.Next(); err == nil {
		t.Errorf("one more frame: %q", body)
	}
}

func checkEvent(t *testing.T, body []byte, want *vectors.Case) {
	tag, load, ok := bytes.Cut(body, []byte("\n\n"))
	if !ok || string(tag) != want.Text("tag") {
		t.Errorf("tag = %q, want %q", tag, want.Text("tag"))
	}
	v, err := payload.UnmarshalText(load, payload.Limits{})
	if want.Has("error") {
		if err == nil {
			t.Errorf("data = %s, want an error", data.Repr(v))
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	// what goes to the pull socket has bytes alone
	if want.Has("data") && data.Repr(v) != data.Repr(want.Value("data")) {
		t.Errorf("data = %s, want %s", data.Repr(v), data.Repr(want.Value("data")))
	}
	if again, err := payload.MarshalBin(v); err != nil || !bytes.Equal(again, load) {
		t.Errorf("written again: %x, %v, want %x", again, err, load)
	}
	checkRewrite(t, load)
}

func TestVectorUnpack(t *testing.T) {
	for _, c := range vectors.Load(t, "08-events.json").Section("unpack") {
		t.Run(c.Name, func(t *testing.T) {
			c := c.On(t)
			c.Only("name", "event", "tag", "data", "error")
			if c.Has("error") {
				_, load, _ := bytes.Cut(c.Bytes("event"), []byte("\n\n"))
				if v, err := payload.UnmarshalText(load, payload.Limits{}); err == nil {
					t.Errorf("data = %s, want an error", data.Repr(v))
				}
				return
			}
			checkEvent(t, c.Bytes("event"), c)
		})
	}
}

// TestVectorRequests reads and writes the envelopes of real requests.
func TestVectorRequests(t *testing.T) {
	for _, name := range []string{"04-auth.json", "05-request.json", "07-clear-requests.json"} {
		frames := collect(vectors.Load(t, name).Top, "request_frame")
		if len(frames) < 10 {
			t.Errorf("%s: only %d requests", name, len(frames))
		}
		written := 0
		for _, src := range frames {
			checkRewrite(t, src)
			e, err := payload.ParseEnvelope(src, payload.PreAuthLimits())
			if err != nil {
				if v, err := payload.Unmarshal(src, payload.Limits{}); err == nil && wellFormed(v) {
					t.Errorf("%s: request %s refused", name, data.Repr(v))
				}
				continue
			}
			v, err := payload.Unmarshal(src, payload.Limits{})
			if err != nil {
				t.Errorf("%s: envelope of what cannot be decoded: %v", name, err)
				continue
			}
			if m := v.(*data.Map); m.Text("enc") != e.Enc || m.Text("id") != e.ID {
				t.Errorf("%s: envelope %+v of %s", name, e, data.Repr(v))
			}
			if bytes.Equal(e.Marshal(), src) {
				written++
			}
		}
		if written < len(frames)/3 {
			t.Errorf("%s: only %d of %d envelopes are written as they came", name, written, len(frames))
		}
	}
}

func wellFormed(v any) bool {
	m, ok := v.(*data.Map)
	if !ok {
		return false
	}
	_, enc := m.Value("enc").(string)
	_, number := m.Value("version").(int64)
	load := m.Value("load")
	switch load.(type) {
	case *data.Map, string, []byte:
		return enc && (number || !m.Has("version"))
	}
	return false
}

// collect returns the bytes of the fields of that name, at any depth.
func collect(v any, name string) (found [][]byte) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			found = append(found, collect(e, name)...)
		}
	case *data.Map:
		for k, e := range v.All() {
			if b, ok := decode64(e); ok && k == name {
				found = append(found, b)
			}
			found = append(found, collect(e, name)...)
		}
	}
	return found
}

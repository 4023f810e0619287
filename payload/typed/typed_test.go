package typed_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/ugorji/go/codec"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/payload/typed"
)

type message struct {
	Cmd   string    `codec:"cmd"`
	Blob  []byte    `codec:"blob"`
	N     int       `codec:"n"`
	Tok   codec.Raw `codec:"tok,omitempty"`
	Empty string    `codec:"empty,omitempty"`
}

func TestStructs(t *testing.T) {
	m := message{Cmd: strings.Repeat("x", 40), Blob: []byte("\xff"), N: 200}
	got, err := typed.Marshal(&m)
	want, _ := payload.Marshal(data.NewMap("cmd", m.Cmd, "blob", m.Blob, "n", int64(200)))
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("got %x, %v, want %x", got, err, want)
	}
	for _, marshal := range []func(any) ([]byte, error){payload.Marshal, payload.MarshalBin} {
		src, _ := marshal(data.NewMap("n", int64(7), "more", []any{nil}, "cmd", m.Cmd,
			"tok", []any{int64(1)}, "blob", m.Blob))
		var back message
		if err := typed.Unmarshal(src, payload.Limits{}, &back); err != nil {
			t.Fatal(err)
		}
		if back.Cmd != m.Cmd || string(back.Blob) != "\xff" || back.N != 7 || string(back.Tok) != "\x91\x01" {
			t.Errorf("got %+v", back)
		}
	}
	var back message
	for name, src := range map[string]string{"cmd a map": "\x81\xa3cmd\x80",
		"n a text": "\x81\xa1n\xa1x", "no map": "\x01", "two": "\x80\x80",
		"bomb": "\x81\xa3cmd\xdd\xff\xff\xff\xff"} {
		if err := typed.Unmarshal([]byte(src), payload.Limits{}, &back); err == nil {
			t.Errorf("%s: %+v", name, back)
		}
	}
}

// FuzzUnmarshal checks that what is read as a message is read the same after it was written again.
func FuzzUnmarshal(f *testing.F) {
	for _, src := range []string{"\x80", "\x81\xa3cmd\xa1x", "\x82\xa1n\x07\xa3tok\x91\x01",
		"\x81\xa4blob\xc4\x01\xff"} {
		f.Add([]byte(src))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		var m, again message
		if typed.Unmarshal(src, payload.PreAuthLimits(), &m) != nil {
			return
		}
		b, err := typed.Marshal(&m)
		if err != nil {
			t.Fatalf("%+v: %v", m, err)
		}
		if err := typed.Unmarshal(b, payload.PreAuthLimits(), &again); err != nil ||
			again.Cmd != m.Cmd || again.N != m.N || !bytes.Equal(again.Blob, m.Blob) {
			t.Errorf("%+v comes back as %+v, %v", m, again, err)
		}
	})
}

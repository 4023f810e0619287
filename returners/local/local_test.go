package local

import (
	"bytes"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/returners"
)

func TestPrinter(t *testing.T) {
	var out bytes.Buffer
	p := &printer{&out}
	if err := p.Return(t.Context(),
		data.NewMap("id", "web1", "return", true, "ret_config", "x")); err != nil {
		t.Fatal(err)
	}
	if err := p.ReturnEvents(t.Context(),
		[]returners.Event{{Tag: "a", Data: data.NewMap("x", nil)}}); err != nil {
		t.Fatal(err)
	}
	if want := "{'id': 'web1', 'return': True}\n[{'data': {'x': None}, 'tag': 'a'}]\n"; out.String() != want {
		t.Errorf("printed %q, want %q", out.String(), want)
	}
}

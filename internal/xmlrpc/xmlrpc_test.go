package xmlrpc

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
)

// TestRequestIsPythons compares with xmlrpc.client.dumps(args, 'm', allow_none=True).
func TestRequestIsPythons(t *testing.T) {
	got, err := Encode("get_it", "a<b>&\"c'", nil, int64(-3), true, false, 1.5, []any{"x", nil},
		data.NewMap("k&", "v", "n", []any{}))
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/request.xml")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if _, err = Encode("m", struct{}{}); err == nil {
		t.Error("a value that XML-RPC does not have was written")
	}
}

// TestResponses reads what Python's xmlrpc.client writes.
func TestResponses(t *testing.T) {
	b, err := os.ReadFile("testdata/response.xml")
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(b)
	want := `{'text': 'a<b>&', 'n': -3, 'big': 9007199254740993, 'yes': True, 'f': 1.5, 'none': None, ` +
		`'list': ['x', [], {}], 'bytes': b'\x00\xff', 'date': '20200101T00:00:00', '': ''}`
	if err != nil || data.Repr(got) != want {
		t.Errorf("%s, %v, want %s", data.Repr(got), err, want)
	}
	if b, err = os.ReadFile("testdata/fault.xml"); err != nil {
		t.Fatal(err)
	}
	_, err = Decode(b)
	if fault, ok := errors.AsType[*Fault](err); !ok || fault.Code != 7 || fault.Text != "no such <thing>" {
		t.Errorf("%v", err)
	}
	if got, err = Decode([]byte("<methodResponse><params><param><value>plain</value></param></params></methodResponse>")); err != nil || got != "plain" {
		t.Errorf("%v, %v", got, err)
	}
}

func response(value string) string {
	return "<methodResponse><params><param>" + value + "</param></params></methodResponse>"
}

func TestBadResponses(t *testing.T) {
	for _, text := range []string{"", "<html></html>", "<methodResponse><params></params></methodResponse>",
		response("<value><int>x</int></value>"), response("<value><boolean>2</boolean></value>"),
		response("<value><base64>!</base64></value>"), response("<value><what>1</what></value>"),
		response("<value><array><value>1</value></array></value>"), response("<value><int>1<b/></int></value>"),
		response("<value><struct><member><value>1</value></member></struct></value>"),
		response(strings.Repeat("<value><array><data>", 100)), response("<value><string>x"),
	} {
		if v, err := Decode([]byte(text)); err == nil {
			t.Errorf("%.80s was read as %s", text, data.Repr(v))
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, name := range []string{"testdata/response.xml", "testdata/fault.xml"} {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if v, err := Decode(b); err == nil && !data.Plain(v) {
			t.Errorf("%T of %q", v, b)
		}
	})
}

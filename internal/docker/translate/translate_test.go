package translate_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/docker/spec"
	"github.com/brineproject/brine/internal/docker/translate"
	"github.com/brineproject/brine/internal/pyjson"
)

// TestSalt compares with Salt 3006.18 and docker 7.1 for Python. The cases are those of Salt's own tests
// and further ones; each has the translated arguments or the error, and what differs in the body of the
// request from that without arguments. A few have no body: docker 7.1 drops mac_address, and two are
// Python's own errors.
func TestSalt(t *testing.T) {
	src, err := os.ReadFile("testdata/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	v, err := pyjson.Load(string(src))
	if err != nil {
		t.Fatal(err)
	}
	cases := v.([]any)
	if len(cases) < 900 {
		t.Fatalf("there are %d cases only", len(cases))
	}
	base, err := body(data.NewMap())
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range cases {
		c := v.(*data.Map)
		got, err := run(c)
		if want, ok := c.Get("error"); ok {
			if err == nil || err.Error() != want {
				t.Errorf("%s\n got %v, %v\nwant %s", data.Repr(c), data.Repr(got), err, want)
			}
			continue
		}
		if err != nil || !same(got, c.Value("result")) {
			t.Errorf("%s\n got %s, %v\nwant %s", data.Repr(c.Value("args")), data.Repr(got), err, data.Repr(c.Value("result")))
			continue
		}
		if c.Has("body") || c.Has("bodyerror") {
			checkBody(t, c, got, base)
		}
	}
}

func run(c *data.Map) (*data.Map, error) {
	args := c.Value("args").(*data.Map)
	o := translate.Options{Skip: c.Value("skip_translate"), Collisions: c.Value("ignore_collisions") == true,
		AnyAddress: c.Value("validate_ip_addrs") == false}
	switch c.Text("translator") {
	case "network":
		return translate.Network(args, o)
	case "ipam":
		return translate.IPAM(c.Value("pools").([]any), args)
	}
	return translate.Container(args, o)
}

func checkBody(t *testing.T, c, got, base *data.Map) {
	t.Helper()
	made, err := body(got)
	if want, ok := c.Get("bodyerror"); ok {
		if err == nil || err.Error() != want {
			t.Errorf("body of %s\n got %s, %v\nwant %s", data.Repr(c.Value("args")), data.Repr(made), err, want)
		}
		return
	}
	if err != nil {
		t.Errorf("body of %s: %v, want %s", data.Repr(c.Value("args")), err, data.Repr(c.Value("body")))
		return
	}
	diff := data.NewMap()
	for k, v := range made.All() {
		if v != nil && !same(v, base.Value(k)) {
			diff.Set(k, v)
		}
	}
	if !same(diff, c.Value("body")) {
		t.Errorf("body of %s\n got %s\nwant %s", data.Repr(c.Value("args")), data.Repr(diff), data.Repr(c.Value("body")))
	}
}

func body(args *data.Map) (*data.Map, error) {
	own, about := data.NewMap(), data.NewMap()
	for k, v := range args.All() {
		if slices.Contains(spec.HostArgs(), k.(string)) {
			about.Set(k, v)
		} else if slices.Contains(spec.CreateArgs(), k.(string)) {
			own.Set(k, v)
		}
	}
	host, err := spec.Host(about, "1.43")
	if err != nil {
		return nil, err
	}
	return spec.Container("img", own, host, "1.43")
}

// same compares as JSON does, without the order of ports and keys: Salt keeps ports in sets.
func same(got, want any) bool { return text(got) == text(want) }

func text(v any) string {
	b, err := pyjson.Append(nil, v, pyjson.Options{Comma: ",", Colon: ":"})
	if err != nil {
		return err.Error()
	}
	v, err = pyjson.Load(string(b))
	if err != nil {
		return err.Error()
	}
	return sorted(v)
}

func sorted(v any) string {
	m, ok := v.(*data.Map)
	if !ok {
		return data.Repr(v)
	}
	var lines []string
	for k, v := range m.All() {
		if list, ok := v.([]any); ok && k == "ports" {
			words := make([]string, len(list))
			for i, one := range list {
				words[i] = data.Repr(one)
			}
			slices.Sort(words)
			lines = append(lines, "ports "+strings.Join(words, ","))
			continue
		}
		lines = append(lines, data.Repr(k)+" "+sorted(v))
	}
	slices.Sort(lines)
	return "{" + strings.Join(lines, ";") + "}"
}

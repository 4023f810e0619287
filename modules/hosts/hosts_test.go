package hosts

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// A name or a comment cannot inject another address.
func TestOneAddressIsOneLine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "hosts")
	const text = "127.0.0.1 localhost\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	conf := loader.Plugin{Name: "config", New: func(*loader.Env) (*loader.Module, error) {
		option := func(context.Context, struct{ Value string }) (any, error) { return file, nil }
		return &loader.Module{Funcs: []loader.Func{loader.F("option", option)}}, nil
	}}
	r, err := loader.NewRegistry(&loader.Env{}, []loader.Plugin{Plugin(), conf})
	if err != nil {
		t.Fatal(err)
	}
	const other = "x\n192.0.2.1 bank"
	for fun, args := range map[string]*data.Map{
		"hosts.set_host":    data.NewMap("ip", "192.0.2.2", "alias", other),
		"hosts.add_host":    data.NewMap("ip", "127.0.0.1", "alias", other),
		"hosts.set_comment": data.NewMap("ip", "127.0.0.1", "comment", other),
	} {
		v, err := r.Invoke(t.Context(), fun, nil, args)
		if now, readErr := os.ReadFile(file); err == nil || readErr != nil || string(now) != text {
			t.Errorf("%s: %s, %v\n%s", fun, data.Repr(v), err, now)
		}
	}
	v, err := r.Invoke(t.Context(), "hosts.set_comment", nil,
		data.NewMap("ip", "127.0.0.1", "comment", "mine"))
	if now, readErr := os.ReadFile(file); v != true || err != nil || readErr != nil || string(now) == text {
		t.Errorf("a comment of one line: %s, %v\n%s", data.Repr(v), err, now)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("# hosts\n127.0.0.1 localhost # here\n#\n::1\n", "::1", "a")
	f.Fuzz(func(t *testing.T, text, ip, name string) {
		once := render(parse(text))
		if again := render(parse(once)); again != once {
			t.Errorf("%q becomes %q, then %q", text, once, again)
		}
		if left := withoutName(withoutName(text, ip, name), ip, name); left != withoutName(text, ip, name) {
			t.Errorf("%q without %q of %q becomes %q", text, name, ip, left)
		}
		if line := ip + "\t\t" + name + "\n"; withLine(withLine(text, ip, line), ip, line) == "" {
			t.Error("nothing is left")
		}
	})
}

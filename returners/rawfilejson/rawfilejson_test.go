package rawfilejson

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/returners"
)

func content(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestReturner(t *testing.T) {
	dir := t.TempDir()
	name, other := filepath.Join(dir, "events"), filepath.Join(dir, "other")
	r, err := loader.NewRegistry(&loader.Env{Opts: data.NewMap("rawfile_json.filename", name)},
		[]loader.Plugin{Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	ret := data.NewMap("id", "web1", "return", []byte("größe\n"),
		"ret_kwargs", data.NewMap("filename", other))
	for range 2 { // it is a log: each return is a line
		if _, err := r.Invoke(t.Context(), "rawfile_json.returner", []any{ret}, nil); err != nil {
			t.Fatal(err)
		}
	}
	line := `{"id": "web1", "return": "größe\n"}` + "\n"
	if got := content(t, name); got != line+line {
		t.Errorf("the file holds %q", got)
	}
	if _, err := os.Stat(other); err == nil {
		t.Error("the order chose the file")
	}
	if info, _ := os.Stat(name); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
}

func TestEvents(t *testing.T) {
	name := filepath.Join(t.TempDir(), "events")
	e := OpenEvents(data.NewMap("rawfile_json", data.NewMap("filename", name)))
	if err := e.ReturnEvents(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(name); err == nil {
		t.Error("no events made a file")
	}
	if err := e.ReturnEvents(t.Context(),
		[]returners.Event{{Tag: "a", Data: data.NewMap("x", int64(1))},
			{Tag: "b", Data: data.NewMap()}}); err != nil {
		t.Fatal(err)
	}
	if got, want := content(t, name), `{"data": {"x": 1}, "tag": "a"}`+"\n"+
		`{"data": {}, "tag": "b"}`+"\n"; got != want {
		t.Errorf("the file holds %q, want %q", got, want)
	}
	e = OpenEvents(data.NewMap("rawfile_json.filename", t.TempDir()))
	if err := e.ReturnEvents(t.Context(), []returners.Event{{Tag: "a", Data: data.NewMap()}}); err == nil {
		t.Error("a folder was written to")
	}
}

package ini

import (
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/calls"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/loader"
)

const file = "/etc/t.ini"

func registry(t *testing.T) (*loader.Registry, string) {
	t.Helper()
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "etc"), 0o755); err != nil {
		t.Fatal(err)
	}
	r, err := loader.NewRegistry(&loader.Env{Root: root}, []loader.Plugin{Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	return r, filepath.Join(root, file)
}

// testdata/calls.json has results of Salt 3006.0 for handwritten and random files, and the
// resulting files. If it reports no change, our module leaves the file as it is.
func TestCalls(t *testing.T) {
	src, err := os.ReadFile("testdata/calls.json")
	if err != nil {
		t.Fatal(err)
	}
	list, err := vectors.Decode(src)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range vectors.Cases(t, list.([]any)) {
		c.Only("fun", "args", "kwargs", "before", "after", "value", "error")
		checkCase(t, c)
	}
}

// TestEncodings compares with Salt 3006.18: testdata/encodings.json has results, or the classes of
// exceptions, and the files before and after in hex. Where Salt fails, our module leaves the file as
// it is.
func TestEncodings(t *testing.T) {
	src, err := os.ReadFile("testdata/encodings.json")
	if err != nil {
		t.Fatal(err)
	}
	list, err := vectors.Decode(src)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range vectors.Cases(t, list.([]any)) {
		c.Only("fun", "args", "kwargs", "before", "after", "value", "error")
		r, path := registry(t)
		before, there := c.Map.Value("before").(string)
		if there {
			if err := os.WriteFile(path, c.Hex("before"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got, err := call(t, r, c)
		if c.Has("error") {
			class, _, _ := strings.Cut(calls.Text(err), ":")
			if now := hex.EncodeToString([]byte(content(t, path))); class != c.Text("error") || now != before {
				t.Errorf("%s: %s, %v, file %s", data.Repr(c.Map), data.Repr(got), err, now)
			}
			continue
		}
		if err != nil || !data.Equal(got, c.Value("value")) {
			t.Errorf("%s\ngives %s, %v", data.Repr(c.Map), data.Repr(got), err)
		}
		if now := hex.EncodeToString([]byte(content(t, path))); now != c.Text("after") {
			t.Errorf("%s\nleaves %s", data.Repr(c.Map), now)
		}
	}
}

// TestNoSpacesEverywhere checks that no_spaces counts for sections that were there before, as Salt's
// documentation says.
func TestNoSpacesEverywhere(t *testing.T) {
	r, path := registry(t)
	if err := os.WriteFile(path, []byte("a = 1\n\n[s]\nb = 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		_, err := r.Invoke(t.Context(), "ini.set_option", []any{file, data.NewMap("s", data.NewMap("c", "3"))},
			data.NewMap("no_spaces", true))
		if want := "a=1\n\n[s]\nb=2\nc=3\n"; err != nil || content(t, path) != want {
			t.Errorf("left %q, %v, want %q", content(t, path), err, want)
		}
	}
}

func checkCase(t *testing.T, c *vectors.Case) {
	r, path := registry(t)
	if c.Has("before") {
		if err := os.WriteFile(path, []byte(c.Text("before")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	result := data.Repr(c.Map)
	got, err := call(t, r, c)
	if c.Has("error") {
		if text := calls.Text(err); text != c.Text("error") {
			t.Errorf("%s\ngives %s, %v", result, data.Repr(got), text)
		}
		return
	}
	if err != nil || !data.Equal(got, c.Value("value")) {
		t.Errorf("%s\ngives %s, %v", result, data.Repr(got), err)
	}
	want := c.Map.Text("before")
	if changes := c.Value("value"); data.Truth(changes) || changes == "" ||
		c.Text("fun") == "ini.remove_section" && changes != nil {
		want = c.Text("after")
	}
	if reads := strings.HasPrefix(c.Text("fun"), "ini.get"); reads {
		want = c.Map.Text("before")
	}
	if now := content(t, path); now != want {
		t.Errorf("%s\nleaves %q", result, now)
	}
	checkAgain(t, r, c, path)
}

// checkAgain repeats a call, which must change nothing.
func checkAgain(t *testing.T, r *loader.Registry, c *vectors.Case, path string) {
	before := content(t, path)
	got, err := call(t, r, c)
	words := data.Repr(c.Value("args"))
	// Values that such files cannot represent are set each time.
	multi := strings.Contains(words, `\n`) || strings.Contains(words, "'sub'")
	if c.Text("fun") == "ini.set_option" && !multi && (err != nil || data.Truth(got)) {
		t.Errorf("%s\nthe second time returned %s, %v", data.Repr(c.Map), data.Repr(got), err)
	}
	if now := content(t, path); now != before && !multi && c.Text("fun") != "ini.remove_option" {
		t.Errorf("%s\nthe second time leaves %q", data.Repr(c.Map), now)
	}
}

func call(t *testing.T, r *loader.Registry, c *vectors.Case) (any, error) {
	kwargs, _ := c.Map.Value("kwargs").(*data.Map)
	return r.Invoke(t.Context(), c.Text("fun"), append([]any{file}, c.List("args")...), kwargs)
}

func content(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return string(text)
}

func TestIndentedFirstOption(t *testing.T) {
	r, path := registry(t)
	if err := os.WriteFile(path, []byte("[s]\n  a = 1\n  b = 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := r.Invoke(t.Context(), "ini.get_section", []any{file, "s"}, nil)
	if want := data.NewMap("a", "1", "b", "2"); err != nil || !data.Equal(got, want) {
		t.Errorf("got %s, %v, want %s", data.Repr(got), err, data.Repr(want))
	}
}

func TestLinkIsFollowed(t *testing.T) {
	r, path := registry(t)
	if err := os.Symlink("real.ini", path); err != nil {
		t.Fatal(err)
	}
	real := filepath.Join(filepath.Dir(path), "real.ini")
	if err := os.WriteFile(real, []byte("a = 1\n"), 0o640); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := r.Invoke(t.Context(), "ini.set_option", []any{file, data.NewMap("a", "2")},
			nil); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 || content(t, real) != "a = 2\n" {
		t.Errorf("the link is %v, %v, and leads to %q", info.Mode(), err, content(t, real))
	}
}

func TestFaults(t *testing.T) {
	r, path := registry(t)
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
	set := data.NewMap("a", "1")
	for _, c := range []struct {
		name string
		args []any
		want string
	}{
		{"folder", []any{file, set}, "salt.exceptions.CommandExecutionError: Unable to open file '/etc/t.ini'. Exception: [Errno 21] Is a directory: '/etc/t.ini'"},
		{"no folder", []any{"/nope/t.ini", set},
			"salt.exceptions.CommandExecutionError: Unable to write file '/nope/t.ini'. Exception: [Errno 2] No such file or directory: '/nope/t.ini'"},
		{"no separator", []any{"/etc/u.ini", set, ""},
			"salt.exceptions.SaltInvocationError: the separator of an ini file may not be empty"},
		{"no text", []any{"/etc/bytes.ini", set},
			"UnicodeDecodeError: 'utf-8' codec can't decode byte 0xff in position 4: invalid start byte"},
	} {
		if err := os.WriteFile(filepath.Join(filepath.Dir(path), "bytes.ini"), []byte("a = \xff\n"),
			0o600); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := r.Invoke(t.Context(), "ini.set_option", c.args, nil); calls.Text(err) != c.want {
				t.Errorf("%s returned %s, want %s", c.name, calls.Text(err), c.want)
			}
		}
	}
}

// A parsed and rendered file must parse to the same document.
func FuzzParse(f *testing.F) {
	f.Add("# c\na = 1\n  b\n\n[s]\n#x=1\nx=2\n[s]\n", "=")
	f.Add("a : 1\r\n [t] \n\tk\n", ":")
	f.Fuzz(func(t *testing.T, content, separator string) {
		s, err := newSyntax(separator)
		if err != nil {
			return
		}
		root, err := s.parse(content)
		if err != nil {
			return
		}
		once := (&document{root: root}).text()
		if len(once) > 4*len(content)*(2+len(separator))+64 {
			t.Fatalf("%d bytes become %d", len(content), len(once))
		}
	})
}

// What a charset decodes it encodes to the same bytes, but for byte order marks.
func FuzzCharsets(f *testing.F) {
	f.Add([]byte("a = \xfc\n"), uint8(2))
	f.Add([]byte("\xff\xfea\x00"), uint8(4))
	f.Fuzz(func(t *testing.T, raw []byte, n uint8) {
		names := []string{"utf-8", "utf-8-sig", "latin-1", "ascii", "utf-16", "utf-16-le", "utf-16-be",
			"cp1252", "iso8859-15"}
		c, err := charsetOf(names[int(n)%len(names)])
		if err != nil {
			t.Fatal(err)
		}
		text, err := c.decode(raw)
		if err != nil {
			return
		}
		back, err := c.encode(text)
		if err != nil {
			t.Fatalf("%q cannot be encoded again: %v", text, err)
		}
		if again, err := c.decode(back); err != nil || again != text {
			t.Fatalf("%q becomes %q, %v", text, again, err)
		}
	})
}

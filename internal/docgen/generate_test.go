package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestGeneratedFilesAreUpToDate(t *testing.T) {
	var lists []string
	for _, pattern := range []string{"modules/*.txt", "states/*.txt", "wheel/*.txt",
		"runners/standard/*.txt"} {
		found, err := filepath.Glob("../../" + pattern)
		if err != nil || len(found) == 0 {
			t.Errorf("%s: found %v, %v", pattern, found, err)
		}
		lists = append(lists, found...)
	}
	if len(lists) < 6 {
		t.Errorf("found only %v", lists)
	}
	for _, file := range lists {
		have, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want, err := Generate(strings.TrimSuffix(file, ".txt") + ".go")
		if err != nil {
			t.Errorf("%s: %v", file, err)
		} else if !bytes.Equal(have, want) {
			t.Errorf("%s differs from the doc comments: run go generate in its directory", file)
		}
		small, err := unpacked(file + ".gz")
		if err != nil || !bytes.Equal(have, small) {
			t.Errorf("%s.gz is not %s, %v: run go generate in its directory", file, file, err)
		}
	}
}

// unpacked returns the text of a file that gzip compressed.
func unpacked(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// TestCompressed compresses a text.
func TestCompressed(t *testing.T) {
	text := bytes.Repeat([]byte("test.ping\n    Answers.\n"), 100)
	small, err := compressed(text)
	if err != nil || len(small) > len(text)/10 {
		t.Fatalf("%d bytes, %v", len(small), err)
	}
	file := filepath.Join(t.TempDir(), "x.gz")
	if err := os.WriteFile(file, small, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := unpacked(file); err != nil || !bytes.Equal(got, text) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func TestGenerate(t *testing.T) {
	tests := []struct{ name, src, want string }{
		{"method, name dropped", "func f(m *module) { loader.F(\"ping\", m.ping) }\n\n" +
			"// ping answers.\n//\n// CLI Example:\n//\n//\tsalt '*' test.ping\nfunc (m *module) ping() {}",
			"p.ping\n    Answers.\n\n    CLI Example:\n\n        salt '*' test.ping\n"},
		{"function with chained options",
			"func f() { loader.F(\"ping\", Ping).Def(\"ping_\") }\n\n// Says ping.\nfunc Ping() {}",
			"p.Ping\n    Says ping.\n"},
		{"method in place of loader.F", "func f(m *module) { m.function(\"ping\", \"a b\", m.ping) }\n\n" +
			"// ping answers.\nfunc (m *module) ping() {}",
			"p.ping\n    Answers.\n"},
		{"two functions, sorted, and one that is not registered",
			"func f() { loader.F(\"b\", b); loader.F(\"a\", a) }\n\n" +
				"// b is two.\nfunc b() {}\n\n// a is one.\nfunc a() {}\n\n// c is none.\nfunc c() {}",
			"p.a\n    Is one.\n\n\np.b\n    Is two.\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Generate(writeShelf(t, tt.src))
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tt.want {
				t.Errorf("Generate gives\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

func TestGenerateRefusesUndocumentedFunctions(t *testing.T) {
	_, err := Generate(writeShelf(t, "func f() { loader.F(\"ping\", ping) }\n\nfunc ping() {}"))
	if err == nil || !strings.Contains(err.Error(), "ping") {
		t.Errorf("Generate gives error %v, want one about ping", err)
	}
}

// writeShelf returns the list of a shelf with one plug-in, p.
func writeShelf(t *testing.T, src string) string {
	t.Helper()
	shelf := filepath.Join(t.TempDir(), "shelf")
	for file, text := range map[string]string{
		"p/p.go":            "package p\n\n" + src + "\n",
		"standard/all.go":   "package standard\n\nimport (\n\t_ \"example.org/shelf/p\"\n\t_ \"example.org/loader\"\n)\n",
		"other/q.go":        "package other\n\nfunc f() { loader.F(\"q\", q) }\n",
		"p/p_test.go":       "package p\n\nfunc g() { loader.F(\"test\", test) }\n",
		"standard/extra.go": "package standard\n",
	} {
		path := filepath.Join(shelf, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(shelf, "standard", "all.go")
}

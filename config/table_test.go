package config

import (
	"bytes"
	"flag"
	"fmt"
	"go/format"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/yaml"
)

// TestTable holds options_gen.go against options.yaml, or writes it anew.
func TestTable(t *testing.T) {
	src, err := os.ReadFile("options.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want, err := writeTable(src)
	if err != nil {
		t.Fatal(err)
	}
	if *renew {
		if err := os.WriteFile("options_gen.go", want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile("options_gen.go")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("options_gen.go is not that of options.yaml: run go generate ./config")
	}
}

var renew = flag.Bool("update", false, "write options_gen.go")

// writeTable returns the Go text of the table of options.
func writeTable(src []byte) ([]byte, error) {
	v, err := yaml.Load(src, yaml.Options{})
	if err != nil {
		return nil, err
	}
	file, _ := v.(*data.Map)
	options, _ := file.Value("options").(*data.Map)
	if options.Len() == 0 {
		return nil, fmt.Errorf("no options")
	}
	var b bytes.Buffer
	b.WriteString("// Code generated from options.yaml by go generate. DO NOT EDIT.\n\npackage config\n\n" +
		"import \"github.com/brineproject/brine/data\"\n\n" +
		"func optionTable() []option {\n\tdefaults := data.NewMap\n\treturn []option{\n")
	for name, about := range options.All() {
		m, _ := about.(*data.Map)
		fmt.Fprintf(&b, "{%q, %s, %s},\n", name, literalWords(words(m.Value("is"))), literalDefaults(m))
	}
	for name := range strings.FieldsSeq(file.Text("other")) {
		fmt.Fprintf(&b, "{%q, nil, nil},\n", name)
	}
	b.WriteString("}\n}\n")
	return format.Source(b.Bytes())
}

func literalWords(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = strconv.Quote(s)
	}
	return "[]string{" + strings.Join(quoted, ", ") + "}"
}

func literalDefaults(about *data.Map) string {
	var parts []string
	for _, r := range []role{masterRole, minionRole} {
		if v, ok := about.Get(string(r)); ok {
			parts = append(parts, strconv.Quote(string(r)), literal(v))
		}
	}
	if parts == nil {
		return "nil"
	}
	return "defaults(" + strings.Join(parts, ", ") + ")"
}

// literal returns the Go text of a value.
func literal(v any) string {
	switch v := v.(type) {
	case nil:
		return "nil"
	case string:
		return strconv.Quote(v)
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return fmt.Sprintf("int64(%d)", v)
	case float64:
		return fmt.Sprintf("float64(%s)", strconv.FormatFloat(v, 'g', -1, 64))
	case []any:
		parts := make([]string, len(v))
		for i, e := range v {
			parts[i] = literal(e)
		}
		return "[]any{" + strings.Join(parts, ", ") + "}"
	case *data.Map:
		var parts []string
		for k, e := range v.All() {
			parts = append(parts, literal(k), literal(e))
		}
		return "data.NewMap(" + strings.Join(parts, ", ") + ")"
	}
	panic(fmt.Sprintf("no literal for %T", v)) // a kind of value that the file did not have so far
}

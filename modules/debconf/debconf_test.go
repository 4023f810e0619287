package debconf

import (
	"testing"

	"github.com/brineproject/brine/data"
)

// The lines are output of debconf-get-selections on Debian 12.
func TestParse(t *testing.T) {
	text := "# Some remark\nnullmailer, own\tshared/mailname\tstring\ta b\nferm\tferm/enable\tboolean\ttrue\nferm\tferm/empty\tstring\t\nshort\tline\n"
	want := data.NewMap("nullmailer", []any{[]any{"shared/mailname", "string", "a b"}},
		"own", []any{[]any{"shared/mailname", "string", "a b"}},
		"ferm", []any{[]any{"ferm/enable", "boolean", "true"}, []any{"ferm/empty", "string", ""}})
	if got := parse(text, true); !data.Equal(got, want) {
		t.Errorf("got %s", data.Repr(got))
	}
	if got, _ := parse(text, false).Value("ferm").([]any); len(got) != 1 {
		t.Errorf("without empty ones %s", data.Repr(got))
	}
}

func FuzzParse(f *testing.F) {
	f.Add("a, b\tq\tstring\tv\n")
	f.Fuzz(func(_ *testing.T, text string) { parse(text, true) })
}

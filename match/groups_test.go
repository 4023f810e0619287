package match

import (
	"errors"
	"testing"
)

func TestCompileGroups(t *testing.T) {
	for _, tt := range []struct {
		expr        string
		fold, lines bool
		text        string
		want        []string // nil: no match
	}{
		{`(?P<k>\w+)=(\d+)`, false, false, "é=12", []string{"é=12", "é", "12"}},
		{`A(b)?`, true, false, "xa", []string{"a", ""}},
		{`^b$`, false, true, "a\nb\nc", []string{"b"}},
		{`^b$`, false, false, "a\nb\nc", nil},
		{`a{,2}\Z`, false, false, "aa", []string{"aa"}},
	} {
		re, err := CompileGroups(tt.expr, tt.fold, tt.lines)
		if err != nil {
			t.Errorf("%s: %v", tt.expr, err)
			continue
		}
		got := re.FindStringSubmatch(tt.text)
		if len(got) != len(tt.want) {
			t.Errorf("%s on %q: got %q, want %q", tt.expr, tt.text, got, tt.want)
			continue
		}
		for i := range got {
			if got[i] != tt.want[i] {
				t.Errorf("%s on %q: got %q, want %q", tt.expr, tt.text, got, tt.want)
			}
		}
	}
	if _, err := CompileGroups(`a(?=b)`, false, false); !errors.Is(err, ErrUnsupported) {
		t.Errorf("look-ahead: %v", err)
	}
}

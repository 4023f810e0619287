package match

import (
	"slices"
	"strings"
	"testing"
)

// The matches are those of Python's re.finditer: each with its groups, "-" for a group that did not
// match.
func TestGroupsAreFoundAsPythonDoes(t *testing.T) {
	for _, tt := range []struct {
		expr        string
		fold, lines bool
		text        string
		want        []string
	}{
		{`(?P<k>\w+)=(\d+)`, false, false, "é=12", []string{"é=12 é 12"}},
		{`A(b)?`, true, false, "xa", []string{"a -"}},
		{`^b$`, false, true, "a\nb\nc", []string{"b"}},
		{`^b$`, false, false, "a\nb\nc", nil},
		{`b$`, false, false, "b\n", []string{"b"}},
		{`a{,2}\Z`, false, false, "aa", []string{"aa", ""}},
		{`x*`, false, false, "abxd", []string{"", "", "x", "", ""}},
		{`.*`, false, true, "ab\nc", []string{"ab", "", "c", ""}},
		{`é(?=b)`, false, false, "ééb éa", []string{"é"}},
		{`(?<!a)b`, false, false, "ab b", []string{"b"}},
		{`(?<=é)(\w)(?!c)`, false, false, "éxc éyd", []string{"y y"}},
		{`(\w)\1`, false, false, "aab11ü", []string{"aa a", "11 1"}},
		{`(?P<q>['"])(.*?)(?P=q)`, false, false, `a='b"' "c'"`, []string{`'b"' ' b"`, `"c'" " c'`}},
		{`(x)(?P<y>y)(z)\2`, false, false, "xyzy", []string{"xyzy x y z"}},
		{`(<)?\w+(?(1)>|$)`, false, false, "<a> b", []string{"<a> <", "b -"}},
		{`(?i)(a)\1`, false, false, "aA", []string{"aA a"}},
		{`(?x) (a) # ( the letter
		  \1`, false, false, "aa", []string{"aa a"}},
		{`(a)[\W\d[^]\1`, false, false, "a-a a1a a[a aba", []string{"a-a a", "a1a a", "a[a a"}},
		{`(?a)(\w)[\W]\1`, false, false, "aéa é-é", []string{"aéa a"}},
		{`(.)\1{,2}\n`, false, false, "aaa\n", []string{"aaa\n a"}},
		{`(a){2`, false, false, "a{2", []string{"a{2 a"}},
	} {
		re, err := CompileGroups(tt.expr, tt.fold, tt.lines)
		if err != nil {
			t.Errorf("%s: %v", tt.expr, err)
			continue
		}
		found, err := re.FindAll(tt.text, 0)
		if err != nil {
			t.Errorf("%s: %v", tt.expr, err)
		}
		var got []string
		for _, at := range found {
			got = append(got, pieces(tt.text, at))
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s on %q: got %q, want %q", tt.expr, tt.text, got, tt.want)
		}
		first, err := re.Find(tt.text)
		if err != nil || (first != nil) != (len(tt.want) > 0) ||
			first != nil && pieces(tt.text, first) != tt.want[0] {
			t.Errorf("%s on %q: first is %v, %v", tt.expr, tt.text, first, err)
		}
		if ok, err := re.Match(tt.text); err != nil || ok != (len(tt.want) > 0) {
			t.Errorf("%s on %q: matches is %v, %v", tt.expr, tt.text, ok, err)
		}
	}
}

func pieces(text string, at []int) string {
	var all []string
	for i := 0; i < len(at); i += 2 {
		if at[i] < 0 {
			all = append(all, "-")
			continue
		}
		all = append(all, text[at[i]:at[i+1]])
	}
	return strings.Join(all, " ")
}

func TestGroupsAtTheStart(t *testing.T) {
	for expr, text := range map[string]string{`(a)\1`: "aab", `b|a`: "ax", `(?i)A(?=b)`: "ab"} {
		re, err := CompileAtStart(expr, false, false)
		if err != nil {
			t.Fatal(err)
		}
		for _, before := range []string{"", "x"} {
			if ok, err := re.Match(before + text); err != nil || ok != (before == "") {
				t.Errorf("%s on %q: %v, %v", expr, before+text, ok, err)
			}
		}
	}
}

func TestGroupsByName(t *testing.T) {
	for _, expr := range []string{`(.)(?P<n>a)`, `(.)(?P<n>a)\1`} {
		re, err := CompileGroups(expr, false, false)
		if err != nil || re.NumSubexp() != 2 || re.SubexpIndex("n") != 2 || re.SubexpIndex("m") != -1 {
			t.Errorf("%s: %v, %v", expr, re, err)
		}
	}
}

func TestInvalidGroups(t *testing.T) {
	for expr, want := range map[string]string{`(a)\2`: "invalid group reference 2",
		`(?P=x)`: "unknown group name 'x'", `(?(1)a|b)`: "invalid group reference 1",
		`(?P=x`: "missing ), unterminated name", `(a)\1)`: "unbalanced parenthesis"} {
		if _, err := CompileGroups(expr, false, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", expr, err, want)
		}
	}
}

// TestGroupsTimeOut checks that an expression that would backtrack for years ends with an error.
func TestGroupsTimeOut(t *testing.T) {
	re, err := CompileGroups(`^(a|aa)+\1$`, false, false)
	if err != nil {
		t.Fatal(err)
	}
	re.back.MatchTimeout = 1
	if ok, err := re.Match(strings.Repeat("a", 200) + "b"); err == nil {
		t.Errorf("it ended with %v", ok)
	}
}

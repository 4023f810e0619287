package match

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
)

func TestGlob(t *testing.T) {
	for _, tt := range []struct {
		pattern, text string
		want          bool
	}{
		{"web*", "web1", true},
		{"*web", "1web1", false},
		{"*a*b*c", "xxaxxbxxc", true},
		{"*a*b*c", "xxaxxbxx", false},
		{"a?c", "aéc", true},
		{"a?c", "ac", false},
		{"[]x]", "]", true},
		{"[!]x]", "]", false},
		{"[!]x]", "a", true},
		{"[a-c-e]", "-", true},
		{"[a-c-e]", "d", false},
		{"[z-a]", "b", false},
		{"[!z-a]", "b", true},
		{"[--/]", ".", true},
		{"[a-]", "-", true},
		{"[", "[", true},
		{"[!", "[!", true},
		{"[]", "[]", true},
		{`\*`, `\x`, true},
		{"*", "", true},
		{"", "", true},
		{"*\n", "a\n", true},
		{"a*", "a\nb", true},
	} {
		if got := CompileGlob(tt.pattern).Match(tt.text); got != tt.want {
			t.Errorf("CompileGlob(%q).Match(%q) = %v, want %v", tt.pattern, tt.text, got, tt.want)
		}
	}
}

func TestRegexp(t *testing.T) {
	for _, tt := range []struct {
		expr, text string
		want       bool
	}{
		{"web", "web1", true},
		{"eb1", "web1", false},
		{"a|b", "xb", false},
		{"web1$", "web1\n", true},
		{`web1\Z`, "web1\n", false},
		{`(?m)a$`, "a\nb", true},
		{`(?P<x>w)eb`, "web", true},
		{`\d+`, "٣", true},
		{`(?a)\d+`, "٣", false},
		{`\w+\Z`, "été", true},
		{`[\W]`, "é", false},
		{`[^\W\d]`, "a", true},
		{`[[]`, "[", true},
		{`[[:alpha:]]`, ":]", true},
		{`[\b]`, "\b", true},
		{`a{,2}\Z`, "aa", true},
		{`a{,2}\Z`, "aaa", false},
		{`a{x}`, "a{x}", true},
		{`\x41\u0042\103`, "ABC", true},
		{"(?x) a  b # c\n c", "abc", true},
		{`(?i:A)b`, "ab", true},
		{`(?i:A)b`, "aB", false},
		{`a(?#no)b`, "ab", true},
		{`(?!web).*`, "web1", false},
		{`(?!web).*`, "db1", true},
		{`(?=.*1)(?=.*d)[a-z]+`, "db1", true},
		{`(?=.*1)(?=.*d)[a-z]+`, "web1", false},
		{`^(?:(?!prod).)*$`, "a-prod-b", false},
		{`^(?:(?!prod).)*$`, "a-test-b", true},
		{`.*(?<=web)1`, "xweb1", true},
		{`.*(?<!web)1`, "web1", false},
		{`(?i)(?!WEB)\w`, "web", false},
		{`.*(?<=(?!c)[a-d])\Z`, "xc", false},
		{`(?!(?!a))a`, "a", true},
		{`((?=a)|(?=b)).`, "b", true},
	} {
		re, err := CompileRegexp(tt.expr)
		if err != nil {
			t.Errorf("CompileRegexp(%q): %v", tt.expr, err)
			continue
		}
		if got := re.Match(tt.text); got != tt.want {
			t.Errorf("CompileRegexp(%q).Match(%q) = %v, want %v", tt.expr, tt.text, got, tt.want)
		}
	}
}

func TestRegexpRefused(t *testing.T) {
	for _, tt := range []struct {
		expr string
		want error // nil: any
	}{
		{`(a)\1`, ErrUnsupported},
		{`(?P<n>a)(?P=n)`, ErrUnsupported},
		{`(a)?(?(1)b|c)`, ErrUnsupported},
		{`(?>a)`, ErrUnsupported},
		{"\U000F0000", ErrUnsupported},
		{`\U000F0000`, ErrUnsupported},
		{`((a{100}){100}){100}`, nil},
		{strings.Repeat(`[a-z]{1000}`, 500), ErrTooBig},
		{strings.Repeat("(", 600) + strings.Repeat(")", 600), ErrTooBig},
		{strings.Repeat("a", MaxLength+1), ErrTooBig},
		{`[`, nil}, {`(`, nil}, {`)`, nil}, {`\`, nil}, {`*`, nil}, {`a**`, nil}, {`(?<=a*)b`, nil},
		{`(?P<1>a)`, nil},
		{`\p`, nil}, {`\x1`, nil}, {`a(?i)b`, nil}, {`(?#`, nil}, {`(?z)`, nil}, {`(?=a`, nil},
		{`\pL`, nil}, {`\Qa\E`, nil},
	} {
		re, err := CompileRegexp(tt.expr)
		if err == nil || tt.want != nil && !errors.Is(err, tt.want) {
			t.Errorf("CompileRegexp(%q) = %v, %v; want the error %v", clip(tt.expr), re, err, tt.want)
		}
	}
}

// TestRegexpIsBounded matches expressions that take exponential or quadratic time in a backtracking
// engine. They are limited here.
func TestRegexpIsBounded(t *testing.T) {
	long := strings.Repeat("a", 20_000) + "!"
	for _, expr := range []string{`(a+)+$`, `(?=(a+)+$)b`, `(?:(?=(?:(?=(?:(?=a*b)a)*b)a)*b)a)*b`,
		`(?:(?!.*b).)*c`} {
		re, err := CompileRegexp(expr)
		if err != nil {
			t.Fatalf("CompileRegexp(%q): %v", expr, err)
		}
		if re.Match(long) {
			t.Errorf("CompileRegexp(%q) matches", expr)
		}
	}
}

func TestSubnet(t *testing.T) {
	grains := data.NewMap("ipv4", []any{"10.0.1.11", int64(4), "rubbish"},
		"ipv6", []any{"2001:db8::11", "::ffff:1.2.3.4"})
	for _, tt := range []struct {
		target string
		want   bool
		bad    bool
	}{
		{target: "10.0.1.11", want: true},
		{target: "10.0.1.1"},
		{target: "10.0.1.0/24", want: true},
		{target: "10.0.1.0/0.0.0.255", want: true},
		{target: "10.0.1.0/255.255.255.0", want: true},
		{target: "10.0.1.0/024", want: true},
		{target: "0.0.0.0/0", want: true},
		{target: "0.0.0.0/0.0.0.0", want: true},
		{target: "2001:db8::/32", want: true},
		{target: "::ffff:102:304", want: true},
		{target: "::/0", want: true},
		{target: "10.0.1.0/255.0.255.0", bad: true},
		{target: "10.0.1.11/24", bad: true},
		{target: "10.0.1.0/33", bad: true},
		{target: "10.0.1.0/", bad: true},
		{target: "10.0.1.0/-1", bad: true},
		{target: "010.0.0.1", bad: true},
		{target: "2001:db8::/ffff::", bad: true},
		{target: "10.0.0", bad: true},
	} {
		e, err := Compile(tt.target, "ipcidr", "", Options{})
		if (err != nil) != tt.bad || tt.bad && !errors.Is(err, ErrMalformed) {
			t.Errorf("Compile(%q, ipcidr): %v, want an error: %v", tt.target, err, tt.bad)
		} else if err == nil && e.Match(&Minion{ID: "m", Grains: grains}) != tt.want {
			t.Errorf("%q matches %v, want %v", tt.target, !tt.want, tt.want)
		}
	}
}

func TestCompileRefuses(t *testing.T) {
	deep := data.NewMap()
	for i := range 100 {
		deep.Set(fmt.Sprint("g", i), fmt.Sprintf("N@g%d", i+1))
	}
	wide := data.NewMap("g0", "N@g1 N@g1")
	for i := range 60 {
		wide.Set(fmt.Sprint("g", i+1), fmt.Sprintf("N@g%d N@g%d", i+2, i+2))
	}
	for _, tt := range []struct {
		name   string
		tgt    any
		kind   string
		groups *data.Map
		want   error
	}{
		{"an unknown kind", "x", "grains", nil, ErrUnknownType},
		{"a kind that only masters have", "I@a:b", "compound_pillar_exact", nil, ErrUnknownType},
		{"range", "%cluster", "range", nil, ErrNoRange},
		{"range in compound", "R@%cluster", "compound", nil, ErrNoRange},
		{"a long glob", strings.Repeat("*", MaxLength+1), "glob", nil, ErrTooBig},
		{"a long list", []any{strings.Repeat("m", MaxList)}, "list", nil, ErrTooBig},
		{"a list with the length of no other target", slices.Repeat([]any{"minion"}, 20_000), "list", nil, nil},
		{"such a list as a compound target", slices.Repeat([]any{"minion"}, 20_000), "compound", nil, ErrTooBig},
		{"3000 brackets", strings.Repeat("( ", 3000) + "a" + strings.Repeat(" )", 3000),
			"compound", nil, ErrTooBig},
		{"many delimiters", strings.Repeat("a:", 500) + "b", "grain", nil, ErrTooBig},
		{"node groups in node groups", "g0", "nodegroup", deep, ErrTooBig},
		{"node groups that double", "g0", "nodegroup", wide, ErrTooBig},
		{"an unknown node group", "nosuch", "nodegroup", deep, ErrUnknownNodegroup},
		{"a number", int64(5), "glob", nil, ErrMalformed},
		{"a map as list", data.NewMap(), "list", nil, ErrMalformed},
		{"a back-reference in a grain", `os:(a)\1`, "grain_pcre", nil, ErrUnsupported},
		{"an operator at the end", "a and", "compound", nil, ErrMalformed},
		{"an open bracket", "( a", "compound", nil, ErrMalformed},
		{"a list with a number", []any{"a", int64(1)}, "compound", nil, ErrMalformed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := Compile(tt.tgt, tt.kind,
				"", Options{Nodegroups: tt.groups}); !errors.Is(err, tt.want) {
				t.Errorf("Compile: %v, want %v", err, tt.want)
			}
		})
	}
}

// TestCircularNodegroupsAreNamed checks the error for a target that matches nothing because its
// groups refer to one another. A target that has a meaning despite such groups keeps it, as in
// Salt.
func TestCircularNodegroupsAreNamed(t *testing.T) {
	groups := data.NewMap("a", "web1 or N@b", "b", "N@a", "c", "N@b and x", "self", "N@self or y",
		"fine", "L@web1,web2", "half", []any{"N@fine", "or", "db1"})
	for _, tt := range []struct{ tgt, kind, want string }{
		{"a", "nodegroup", "circular node groups: a names b names a: "},
		{"N@c or db1", "compound", "circular node groups: b names a names b: "},
		{"self", "nodegroup", "circular node groups: self names self: "},
		{"N@half and (", "compound", ""},
	} {
		_, err := Compile(tt.tgt, tt.kind, "", Options{Nodegroups: groups})
		if !errors.Is(err, ErrMalformed) || errors.Is(err, ErrCircular) != (tt.want != "") ||
			!strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", tt.tgt, err)
		}
	}
	e, err := Compile("N@b web1", "compound", "", Options{Nodegroups: data.NewMap("b", "N@b")})
	if err != nil || !e.Match(&Minion{ID: "web1"}) {
		t.Errorf("what is left of a circle: %v", err)
	}
}

// TestPairIsBounded uses data in which every key path of a target continues, so that Salt takes 2^n
// steps.
func TestPairIsBounded(t *testing.T) {
	m := data.NewMap("a", "x")
	for range 60 {
		m = data.NewMap("a", m)
	}
	e, err := Compile(strings.Repeat("a:", 50)+"nosuch", "grain", "", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if e.Match(&Minion{ID: "m", Grains: m}) {
		t.Error("matches")
	}
}

func TestPublicationDelimiter(t *testing.T) {
	if got := PublicationDelimiter("pillar_pcre", "|"); got != "" {
		t.Errorf("PublicationDelimiter(pillar_pcre) = %q, want none", got)
	}
	if got := PublicationDelimiter("grain", "|"); got != "|" {
		t.Errorf("PublicationDelimiter(grain) = %q, want |", got)
	}
}

func TestResolveWithoutCache(t *testing.T) {
	f := &Fleet{Accepted: []string{"a", "b"}, DataCache: true, Greedy: true}
	ids, _, err := f.Resolve("G@os:x and not b", "compound", "")
	if err != nil || !slices.Equal(ids, []string{"a"}) {
		t.Errorf("Resolve = %q, %v; want a", ids, err)
	}
	if ids, _, err = f.Resolve(nil, "glob", ""); err != nil || len(ids) > 0 {
		t.Errorf("Resolve(nil) = %q, %v; want nobody", ids, err)
	}
}

func ExampleCompile() {
	e, err := Compile("web* and not G@os:Windows", "compound", "", Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(e.Match(&Minion{ID: "web1", Grains: data.NewMap("os", "Debian")}))
	// Output: true
}

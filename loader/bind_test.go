package loader

import (
	"context"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
)

// spec returns the parameters of a struct of arguments.
func spec[A any](t *testing.T) *Spec {
	t.Helper()
	f := F("f", func(context.Context, A) (any, error) { return nil, nil })
	if f.err != nil {
		t.Fatal(f.err)
	}
	return f.Spec()
}

type one struct{ Text any }
type oneDefault struct {
	A any
	B any `default:"1"`
}
type three struct{ A, B, C any }
type twoDefaults struct {
	A any `default:"1"`
	B any `default:"2"`
}
type onlyKwargs struct {
	Kwargs *data.Map `kwargs:"kwargs"`
}
type withArgs struct {
	A    any
	Args []any `args:"args"`
}

// The texts are those of Python 3.11.
func TestBindRefusesAsPythonDoes(t *testing.T) {
	none, single, def := spec[NoArgs](t), spec[one](t), spec[oneDefault](t)
	tests := []struct {
		name   string
		spec   *Spec
		args   int
		kwargs *data.Map
		want   string
	}{
		{"one too many for none", none, 1, nil, "f() takes 0 positional arguments but 1 was given"},
		{"two too many for none", none, 2, nil, "f() takes 0 positional arguments but 2 were given"},
		{"one missing", single, 0, nil, "f() missing 1 required positional argument: 'text'"},
		{"too many for one", single, 3, nil, "f() takes 1 positional argument but 3 were given"},
		{"given twice", single, 1, data.NewMap("text", 2), "f() got multiple values for argument 'text'"},
		{"missing before a default", def, 0, nil, "f() missing 1 required positional argument: 'a'"},
		{"too many with a default", def, 3, nil,
			"f() takes from 1 to 2 positional arguments but 3 were given"},
		{"given twice and too many", def, 3, data.NewMap("a", 4), "f() got multiple values for argument 'a'"},
		{"unknown and too many", def, 3, data.NewMap("z", 4), "f() got an unexpected keyword argument 'z'"},
		{"three missing", spec[three](t), 0, nil,
			"f() missing 3 required positional arguments: 'a', 'b', and 'c'"},
		{"two missing", spec[three](t), 1, nil, "f() missing 2 required positional arguments: 'b' and 'c'"},
		{"too many for defaults", spec[twoDefaults](t), 4, nil,
			"f() takes from 0 to 2 positional arguments but 4 were given"},
		{"unknown keyword", single, 0, data.NewMap("x", 1), "f() got an unexpected keyword argument 'x'"},
		{"keyword that is no text", single, 0, data.NewMap(1, 2), "keywords must be strings"},
		{"positional for keywords only", spec[onlyKwargs](t), 1, nil,
			"f() takes 0 positional arguments but 1 was given"},
		{"missing before args", spec[withArgs](t), 0, nil, "f() missing 1 required positional argument: 'a'"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := tt.spec.Bind(make([]any, tt.args), tt.kwargs)
			if err == nil || err.Error() != tt.want || KindOf(err) != KindType {
				t.Errorf("Bind of %d, %s gives error %v, want %q", tt.args, data.Repr(tt.kwargs),
					err, tt.want)
			}
		})
	}
}

func TestBindFillsParameters(t *testing.T) {
	b, err := spec[oneDefault](t).Bind([]any{"x"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "values with a default", b.Values, []any{"x", int64(1)})
	b, err = spec[withArgs](t).Bind([]any{1, 2, 3}, nil)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "values", b.Values, []any{1})
	same(t, "*args", b.Args, []any{2, 3})
	b, err = spec[onlyKwargs](t).Bind(nil, data.NewMap("k", 1, "j", 2))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "**kwargs", b.Kwargs, data.NewMap("k", 1, "j", 2))
}

func TestKeywordOnly(t *testing.T) {
	s := spec[struct {
		List []any     `args:"args"`
		More *data.Map `only:"a,b"`
	}](t)
	b, err := s.Bind([]any{1}, data.NewMap("b", 2))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "keywords", b.Kwargs, data.NewMap("b", 2))
	if _, err := s.Bind(nil, data.NewMap("c", 2)); KindOf(err) != KindType {
		t.Errorf("another keyword: %v", err)
	}
	if _, _, err := s.Split([]any{"a=1"}, nil); KindOf(err) != KindInvocation {
		t.Errorf("a keyword of an operator: %v", err)
	}
}

func TestDefaultsAreFreshEachCall(t *testing.T) {
	s := spec[struct {
		List []any `default:"['a']"`
	}](t)
	first, _ := s.Bind(nil, nil)
	first.Values[0].([]any)[0] = "changed"
	second, _ := s.Bind(nil, nil)
	same(t, "second default", second.Values[0], []any{"a"})
}

func TestSplit(t *testing.T) {
	kw := func(pairs ...any) *data.Map { return data.NewMap(append([]any{"__kwarg__", true}, pairs...)...) }
	tests := []struct {
		name   string
		spec   *Spec
		arg    []any
		args   []any
		kwargs *data.Map
		fails  string
	}{
		{"plain", spec[one](t), []any{"a", int64(1)}, []any{"a", int64(1)}, &data.Map{}, ""},
		{"marked map", spec[one](t), []any{kw("text", "x")}, nil, data.NewMap("text", "x"), ""},
		{"text name=value is read as YAML", spec[one](t), []any{"text=[1, b]"}, nil,
			data.NewMap("text", []any{int64(1), "b"}), ""},
		{"text that is no keyword stays text", spec[one](t), []any{"1"}, []any{"1"}, &data.Map{}, ""},
		{"unknown text", spec[one](t), []any{"a=1", "b=x y"}, nil, nil,
			"The following keyword arguments are not valid: a=1, b=x y"},
		{"unknown in map", spec[one](t), []any{kw("k", []any{"v"})}, nil, nil,
			"The following keyword arguments are not valid: k=['v']"},
		{"any keyword with kwargs", spec[onlyKwargs](t), []any{kw("a", 1), "b=2"}, nil,
			data.NewMap("a", 1, "b", int64(2)), ""},
		{"mark that is not True goes away", spec[one](t),
			[]any{data.NewMap("__kwarg__", false, "a", 1)}, []any{data.NewMap("a", 1)}, &data.Map{}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			args, kwargs, err := tt.spec.Split(tt.arg, nil)
			if tt.fails != "" {
				if err == nil || err.Error() != tt.fails || KindOf(err) != KindInvocation {
					t.Errorf("Split gives error %v, want %q", err, tt.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			same(t, "args", args, tt.args)
			same(t, "kwargs", kwargs, tt.kwargs)
		})
	}
}

func TestSplitAddsPublicationForKwargs(t *testing.T) {
	marked := data.NewMap("__kwarg__", true, "k", 3)
	pub := data.NewMap("fun", "test.arg", "arg", []any{1, marked})
	_, kwargs, err := spec[onlyKwargs](t).Split([]any{marked}, pub)
	if err != nil {
		t.Fatal(err)
	}
	// as Salt 3006.18; 3006.0 drops the mark
	same(t, "kwargs", kwargs, data.NewMap("k", 3, "__pub_fun", "test.arg",
		"__pub_arg", []any{1, data.NewMap("__kwarg__", true, "k", 3)}))
	if !marked.Has("__kwarg__") {
		t.Error("Split changed the argument that it was given")
	}
	_, kwargs, _ = spec[one](t).Split(nil, pub)
	same(t, "kwargs without **kwargs", kwargs, &data.Map{})
}

type allTypes struct {
	Any     any
	Text    string
	Int     int
	Int64   int64
	Float   float64
	Bool    bool
	List    []any
	Texts   []string
	Map     *data.Map
	TextPtr *string
	IntPtr  *int
}

func TestConversions(t *testing.T) {
	m := data.NewMap("a", 1)
	five, text := 5, "t"
	tests := []struct {
		param string
		in    any
		want  any
	}{
		{"any", []any{1}, []any{1}}, {"any", nil, nil},
		{"text", "x", "x"}, {"text", int64(5), "5"}, {"text", true, "True"}, {"text", nil, ""},
		{"text", []any{"a"}, "['a']"},
		{"int", int64(5), 5}, {"int", " 1_0 ", 10}, {"int", 1.9, 1}, {"int", true, 1}, {"int", nil, 0},
		{"int64", -1.9, int64(-1)},
		{"float", "1e3", 1000.0}, {"float", int64(2), 2.0}, {"float", "1_0", 10.0}, {"float",
			"infinity", math.Inf(1)},
		{"bool", "False", true}, {"bool", "", false}, {"bool", int64(0), false}, {"bool", nil, false},
		{"list", []any{1}, []any{1}}, {"list", data.Tuple{1}, []any{1}}, {"list",
			"a,b", []any{"a,b"}}, {"list", nil, []any(nil)},
		{"texts", "a, b", []string{"a", "b"}}, {"texts", []any{int64(1), "b"}, []string{"1", "b"}},
		{"texts", int64(3), []string{"3"}},
		{"map", m, m}, {"map", nil, (*data.Map)(nil)},
		{"text_ptr", "t", &text}, {"text_ptr", nil, (*string)(nil)}, {"int_ptr", int64(5), &five},
	}
	for _, tt := range tests {
		t.Run(tt.param+" of "+data.Repr(tt.in), func(t *testing.T) {
			if got, err := converted(t, tt.param, tt.in); err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("field for %s is %#v, %v; want %#v", data.Repr(tt.in), got, err, tt.want)
			}
		})
	}
}

func TestConversionsRefuseAsPythonDoes(t *testing.T) {
	tests := []struct {
		param, want string
		in          any
	}{
		{"int", "invalid literal for int() with base 10: 'a'", "a"},
		{"int", "invalid literal for int() with base 10: '_1'", "_1"},
		{"int", "invalid literal for int() with base 10: '1.5'", "1.5"},
		{"int", "cannot convert float NaN to integer", math.NaN()},
		{"int", "cannot convert float infinity to integer", math.Inf(-1)},
		{"int", "int() argument must be a string, a bytes-like object or a real number, not 'list'", []any{}},
		{"float", "could not convert string to float: '0x1'", "0x1"},
		{"float", "float() argument must be a string or a real number, not 'dict'", &data.Map{}},
		{"map", "expected a dictionary, not list", []any{}},
		{"int_ptr", "invalid literal for int() with base 10: 'x'", "x"},
	}
	for _, tt := range tests {
		t.Run(tt.param+" of "+data.Repr(tt.in), func(t *testing.T) {
			if _, err := converted(t, tt.param, tt.in); err == nil || err.Error() != tt.want {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

// converted calls a function with one argument and returns what its field holds.
func converted(t *testing.T, param string, in any) (any, error) {
	t.Helper()
	var got allTypes
	f := F("f", func(_ context.Context, a allTypes) (any, error) {
		got = a
		return nil, nil
	})
	if f.err != nil {
		t.Fatal(f.err)
	}
	i := f.Spec().index(param)
	b := &Bound{Values: make([]any, len(f.Spec().Params))}
	b.Values[i] = in
	_, err := f.Call(t.Context(), b)
	return reflect.ValueOf(got).Field(i).Interface(), err
}

func TestNamesOfParameters(t *testing.T) {
	for field, want := range map[string]string{"A": "a", "DryRun": "dry_run", "URLPath": "url_path",
		"HashType": "hash_type", "ID": "id", "UseVT": "use_vt"} {
		if got := ArgumentName(field); got != want {
			t.Errorf("field %s is parameter %s, want %s", field, got, want)
		}
	}
}

type required struct{ Host any }

type login struct {
	User     any    `default:"'root'"`
	Password string `name:"pass" default:"None"`
}

type inner struct {
	Args   []any     `args:"args"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

type withLogin struct {
	Name string
	required
	Port int `default:"22"`
	login
	Timeout any `default:"5"`
	inner
}

func TestEmbeddedStructs(t *testing.T) {
	var got withLogin
	f := F("f", func(_ context.Context, a withLogin) (any, error) {
		got = a
		return nil, nil
	})
	if f.err != nil {
		t.Fatal(f.err)
	}
	same(t, "argspec", f.Spec().Argspec(), data.NewMap(
		"args", []any{"name", "host", "port", "user", "pass", "timeout"},
		"defaults", data.Tuple{int64(22), "root", nil, int64(5)}, "varargs", true, "kwargs", true))
	b, err := f.Spec().Bind([]any{"n", "h", "23", "u", "p", 6, 7}, data.NewMap("more", 8))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Call(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	want := withLogin{"n", required{"h"}, 23, login{"u", "p"}, 6, inner{[]any{7}, data.NewMap("more", 8)}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the function gets %+v, want %+v", got, want)
	}
}

func TestBadArgumentStructs(t *testing.T) {
	tests := map[string]*Function{
		"bare text": F("f", func(context.Context, struct {
			A string `default:"x"`
		}) (any, error) {
			return nil, nil
		}),
		"two values": F("f", func(context.Context, struct {
			A string `default:"1 2"`
		}) (any, error) {
			return nil, nil
		}),
		"no end": F("f", func(context.Context, struct {
			A []any `default:"[1"`
		}) (any, error) {
			return nil, nil
		}),
		"type": F("f", func(context.Context, struct{ A chan int }) (any, error) { return nil, nil }),
		"args type": F("f", func(context.Context, struct {
			A []string `args:"a"`
		}) (any, error) {
			return nil, nil
		}),
		"default before": F("f", func(context.Context, struct {
			A any `default:"1"`
			B any
		}) (any, error) {
			return nil, nil
		}),
		"default before what is embedded": F("f", func(context.Context, struct {
			A any `default:"1"`
			required
		}) (any, error) {
			return nil, nil
		}),
		"default in what is embedded before": F("f", func(context.Context, struct {
			login
			A any
		}) (any, error) {
			return nil, nil
		}),
		"embedded by pointer": F("f", func(context.Context, struct{ *login }) (any, error) { return nil, nil }),
		"a name twice": F("f", func(context.Context, struct {
			required
			Machine any `name:"host"`
		}) (any, error) {
			return nil, nil
		}),
		"a shadowed name": F("f", func(context.Context, struct {
			required
			Host any
		}) (any, error) {
			return nil, nil
		}),
		"two rests": F("f", func(context.Context, struct {
			inner
			More *data.Map `kwargs:"more"`
		}) (any, error) {
			return nil, nil
		}),
		"no struct": F("f", func(context.Context, int) (any, error) { return nil, nil }),
	}
	for name, f := range tests {
		t.Run(name, func(t *testing.T) {
			r, err := NewRegistry(&Env{}, []Plugin{{Name: "m",
				New: func(*Env) (*Module, error) { return &Module{Funcs: []Func{f}}, nil }}})
			if err != nil {
				t.Fatal(err)
			}
			if text := r.MissingText("m.f"); !strings.HasPrefix(text,
				"'m' __virtual__ returned False: function f: arguments ") {
				t.Errorf("the module is missing because %q, want a word about the arguments", text)
			}
		})
	}
}

func TestLiterals(t *testing.T) {
	for in, want := range map[string]any{
		"None": nil, "True": true, "False": false, "-3": int64(-3), "0.5": 0.5, "''": "",
		`"it's"`: "it's", "'a b'": "a b", "[]": []any{}, "[1, 'b', [None]]": []any{int64(1),
			"b", []any{nil}}, "('a',)": data.Tuple{"a"}, "()": data.Tuple{},
		"{}": &data.Map{}, "{'k': [1], 2: True}": data.NewMap("k", []any{int64(1)}, 2, true),
	} {
		got, err := literal(in)
		if err != nil {
			t.Errorf("literal %s: %v", in, err)
		}
		same(t, "literal "+in, got, want)
	}
}

func TestArgspec(t *testing.T) {
	none := data.NewMap("args", nil, "defaults", nil, "varargs", nil, "kwargs", nil)
	same(t, "no parameters", spec[NoArgs](t).Argspec(), none)
	same(t, "a default", spec[oneDefault](t).Argspec(),
		data.NewMap("args", []any{"a", "b"}, "defaults", data.Tuple{int64(1)}, "varargs", nil, "kwargs", nil))
	same(t, "varargs", spec[withArgs](t).Argspec(),
		data.NewMap("args", []any{"a"}, "defaults", nil, "varargs", true, "kwargs", nil))
}

func FuzzParseInput(f *testing.F) {
	for _, s := range []string{"a=1", "{a: &x [*x]}", "[1, 2", "k={a: {b: [1, {c: d}]}}", "é=ü",
		"1_000", "!!python/object:os.system x", "a=&a [*a,*a]"} {
		f.Add(s)
	}
	spec := (&Function{}).Spec()
	f.Fuzz(func(t *testing.T, s string) {
		list := WireArgs([]string{s})
		if len(list) != 1 {
			t.Fatalf("one argument %q became %d", s, len(list))
		}
		data.Repr(list[0])
		if _, _, err := spec.Split([]any{s}, nil); err != nil && KindOf(err) != KindInvocation {
			t.Errorf("Split of %q: %v", s, err)
		}
	})
}

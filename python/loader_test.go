package python_test

import (
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// decorated is a module whose functions are wrapped by one that shows how it was called.
const decorated = `
import functools

def shown(f):
    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        return list(args), kwargs, f(*args, **kwargs)
    return wrapper

@shown
def add(a, b=1):
    return a + b

def only(a, /, b, c=object):
    return a, b, c is object
`

// TestDecoratedFunctions checks that a decorated function has the parameters of the one below it,
// and gets its arguments as they were given.
func TestDecoratedFunctions(t *testing.T) {
	d := newDaemon(t, map[string]string{"own": decorated})
	add, ok := d.functions.Func("own.add")
	if !ok {
		t.Fatal("own.add is missing")
	}
	want := []loader.Param{{Name: "a", Required: true}, {Name: "b", Default: int64(1)}}
	if got := add.Spec(); len(got.Params) != 2 || got.Params[0] != want[0] || got.Params[1] != want[1] || got.Kwargs != "" {
		t.Errorf("own.add has parameters %v and **%s, want %v", got.Params, got.Kwargs, want)
	}
	only, ok := d.functions.Func("own.only")
	if !ok || len(only.Spec().Params) != 2 || only.Spec().Params[0].Name != "b" {
		t.Errorf("own.only has parameters %v, want b and c", only.Spec().Params)
	}
	d.want(t, "([1], {}, 2)", "own.add", int64(1))
	d.want(t, "([1, 5], {}, 6)", "own.add", int64(1), int64(5))
	d.want(t, "(1, 2, True)", "own.only", int64(1), int64(2))
	d.want(t, "error: add() missing 1 required positional argument: 'a'", "own.add")
	got, err := d.functions.Invoke(t.Context(), "own.add", []any{int64(1)}, data.NewMap("b", int64(2)))
	if err != nil || data.Repr(got) != "([1], {'b': 2}, 3)" {
		t.Errorf("own.add(1, b=2) = %s, %v: the keyword was not passed as one", data.Repr(got), err)
	}
}

// TestOnlyOwnFunctionsAreExposed checks that functions which a file imports from another file are
// not callable by its name.
func TestOnlyOwnFunctionsAreExposed(t *testing.T) {
	d := newDaemon(t, map[string]string{
		"helper": "def help_():\n    return 1\n",
		"own":    "from helper import help_\nfrom os.path import join\n\ndef f():\n    return help_()\n",
	})
	d.want(t, "1", "own.f")
	d.want(t, "1", "helper.help_")
	for _, name := range []string{"own.help_", "own.join"} {
		if d.functions.Has(name) {
			t.Errorf("%s can be called", name)
		}
	}
}

// TestVirtualNames checks under which name a file is called whose __virtual__ returns its own name,
// and why one is not loaded whose __init__ fails.
func TestVirtualNames(t *testing.T) {
	d := newDaemon(t, map[string]string{
		"own":  "__virtualname__ = 'other'\ndef __virtual__():\n    return 'own'\ndef f():\n    return 1\n",
		"init": "def __init__(opts):\n    raise ValueError(1)\ndef f():\n    return 1\n",
	})
	d.want(t, "1", "own.f")
	if d.functions.Has("other.f") {
		t.Error("other.f can be called")
	}
	if got, want := d.functions.MissingText("init.f"), "'init' __virtual__ returned False: __init__ failed"; got != want {
		t.Errorf("init.f: %s, want %s", got, want)
	}
	if !strings.Contains(d.log.String(), "ValueError: 1") {
		t.Errorf("the log does not say why __init__ failed: %s", d.log)
	}
}

// TestOwnModulesShareObjects checks that a call from one file to another stays in Python, also where
// the other has a virtual name.
func TestOwnModulesShareObjects(t *testing.T) {
	d := newDaemon(t, map[string]string{
		"renamed": "__virtualname__ = 'mine'\ndef __virtual__():\n    return 'mine'\ndef same(x):\n    return x\n",
		"own": `
def f():
    o = object()
    return [__salt__["mine.same"](o) is o, __salt__.mine.same(o) is o]
`,
	})
	d.want(t, "[True, True]", "own.f")
}

// TestUtils checks what is found in __utils__: own helpers under their virtual names, and functions
// of the library, unless an own file has the name of its module.
func TestUtils(t *testing.T) {
	d := newDaemon(t, map[string]string{
		"../utils/renamed": `
import functools

__virtualname__ = "mine"

def __virtual__():
    return "mine"

def f(n=1):
    return n

three = functools.partial(f, 3)
`,
		"../utils/url": "def own():\n    return 2\n",
		"own": `
def f():
    return [__utils__["mine.f"](), __utils__.mine.f(), __utils__["url.own"](), __utils__["mine.three"](), sorted(__utils__), len(__utils__)]

def library():
    return [__utils__["data.is_true"]("true"), "data.is_true" in __utils__, "data.none" in __utils__,
            "no.such" in __utils__, "url.validate" in __utils__, "renamed.f" in __utils__]
`,
	})
	d.want(t, "[1, 1, 2, 3, ['mine.f', 'mine.three', 'url.own'], 3]", "own.f")
	d.want(t, "[True, True, False, False, False, False]", "own.library")
}

// TestLibraryTakesContext passes __context__, which is no dict, to a function that keeps what it
// found in it.
func TestLibraryTakesContext(t *testing.T) {
	d := newDaemon(t, map[string]string{"own": `
import salt.utils.systemd

def f():
    return salt.utils.systemd.booted(__context__) == __context__["salt.utils.systemd.booted"]
`})
	d.want(t, "True", "own.f")
}

package state_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileclient"
	"github.com/brineproject/brine/state"
)

// oneFile is a file server that serves the same text for every SLS and top file.
type oneFile string

func (f oneFile) Envs(context.Context) ([]string, error) { return []string{"base"}, nil }

func (f oneFile) States(context.Context, string) ([]string, error) { return []string{"a", "b"}, nil }

func (f oneFile) State(_ context.Context, sls, _ string) (string, string, error) {
	if sls != "a" && sls != "b" {
		return "", "", fileclient.ErrNotFound
	}
	return "salt://" + sls + ".sls", string(f), nil
}

func (f oneFile) CacheFile(context.Context, string, string, fileclient.Fetch) (string, error) {
	return string(f), nil
}

func (f oneFile) MasterTops(context.Context, *data.Map) (*data.Map, error) { return nil, nil }

// FuzzCompile checks that no SLS or top file crashes the compiler.
func FuzzCompile(f *testing.F) {
	for _, seed := range []string{
		"include: [b, .b, {base: '*'}, 1]\nextend: {x: {test: [nop, {require: [{test: y}]}]}}\nexclude: [{id: z}, {sls: q}, 3]\n" +
			"x:\n  test.nop:\n    - require_in: [{test: y}, y, [1], {}]\n    - names: [a, {b: [{c: d}]}, [e]]\ny:\n  test.nop: [{order: []}]\n",
		"base:\n  '*': [a, {base: b}, {subfilter: {'*': [a]}}, {match: glob}, {}]\n  1: x\n",
		"x:\n  test.nop: &a\n  - use: {test: x}\n  - prereq: [{test: x}]\n  - name: [1]\ny: {test: *a, 1: [a], ~: b}\n2: {test.nop: []}\n",
		"extend: {? [a] : {t: [{? [b] : 1}]}, x: {t: [{? [c] : 2}, {? [d] : 1}]}}\nx: {t: [f, {? [c] : 1}]}\n? [a]\n: {t: [f, {? [b] : 1}]}\n",
		"__extend__: 1\n__exclude__: {a: b}\n__x: [1]\nx: {__sls__: 1, test: [{names: {a: b}}, fun, fun2]}\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		file := filepath.Join(t.TempDir(), "a.sls")
		if err := os.WriteFile(file, []byte("#!yaml\n"+text), 0o600); err != nil {
			t.Fatal(err)
		}
		m := &testMinion{opts: data.NewMap("id", "web1"), grains: data.NewMap(), pillar: data.NewMap()}
		c, err := state.New(state.Options{Engine: m.engine(t, nil), Files: oneFile(file)})
		if err != nil {
			t.Fatal(err)
		}
		_, _, _ = c.LowState(t.Context())
		high, _, err := c.SLS(t.Context(), []string{"*"}, "")
		if err != nil {
			return
		}
		state.Low(high)
		if problems := c.Resolve(high); len(problems) == 0 {
			state.Low(high)
		}
	})
}

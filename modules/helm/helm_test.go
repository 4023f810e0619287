package helm_test

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/replay"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/cmd"
	"github.com/brineproject/brine/modules/helm"
	"github.com/brineproject/brine/render"
)

// testdata/calls.json has the commands and results of Salt 3006.18.
func TestCalls(t *testing.T) {
	replay.Check(t, "testdata/calls.json", replay.Options{Root: t.TempDir(),
		Plugins: []loader.Plugin{helm.Plugin()}})
}

// helm.needs_upgrade compares what is there with a trial run.
func TestNeedsUpgrade(t *testing.T) {
	printed := func(text string) *data.Map {
		return data.NewMap("retcode", int64(0), "stdout", text, "stderr", "")
	}
	now := printed(`{"info": {"status": "deployed"}, "manifest": "a", "config": {"n": 1}}`)
	for _, c := range []struct {
		now, next *data.Map
		want      any
	}{
		{now, printed(`{"manifest": "a", "config": {"n": 1}}`), false},
		{now, printed(`{"manifest": "a", "config": {"n": 2}}`), true},
		{now, printed(`{"manifest": "b", "config": {"n": 1}}`), true},
		{printed(`{"info": {"status": "failed"}, "manifest": "a"}`), printed(`{"manifest": "a"}`), true},
		{printed(`{"info": {"status": "deployed"}, "manifest": "a"}`), printed(`{"manifest": "a", "config": {}}`),
			false},
		{nil, printed(`{}`), nil}, {now, nil, nil}, {now, printed("x"), nil},
	} {
		shell := &replay.Shell{Answers: &data.Map{}}
		if c.now != nil {
			shell.Answers.Set("helm status r --namespace ns --output json", c.now)
		}
		if c.next != nil {
			shell.Answers.Set("helm upgrade r c --wait --dry-run --output json --namespace ns", c.next)
		}
		r, err := loader.NewRegistry(&loader.Env{}, []loader.Plugin{shell.Plugin(), helm.Plugin()})
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.Invoke(t.Context(), "helm.needs_upgrade", []any{"r", "c"},
			data.NewMap("namespace", "ns", "flags", []any{"wait"}, "kvflags", data.NewMap("output", "yaml")))
		if got != c.want || (err == nil) != (c.want != nil) {
			t.Errorf("%s and %s give %v, %v", data.Repr(c.now), data.Repr(c.next), got, err)
		}
	}
}

// No secret is an argument of helm.
func TestSecrets(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "helm"), []byte("#!/bin/false\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	var ran []string
	env := &loader.Env{Opts: data.NewMap("id", "web1"), Run: func(_ context.Context, c *exec.Cmd) error {
		input := []byte{}
		if c.Stdin != nil {
			var err error
			if input, err = io.ReadAll(c.Stdin); err != nil {
				return err
			}
		}
		token := ""
		for _, v := range c.Env {
			if strings.HasPrefix(v, "HELM_KUBETOKEN=") {
				token = v
			}
		}
		ran = append(ran, strings.Join(c.Args[1:], " ")+"|"+string(input)+"|"+token)
		return nil
	}}
	r, err := loader.NewRegistry(env, []loader.Plugin{cmd.Plugin(render.Brought{}), helm.Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		fun    string
		args   []any
		kvargs *data.Map
		want   string
	}{
		{"repo_add", []any{"n", "u"}, data.NewMap("username", "me", "password", "marker"),
			"repo add n u --username me --password-stdin|marker\n|"},
		{"version", nil, data.NewMap("kube-token", "marker"), "version||HELM_KUBETOKEN=marker"},
		{"pull", []any{"p"}, data.NewMap("password", "marker"), ""},
		{"repo_add", []any{"n", "u"}, data.NewMap("password", "mark\ner"), ""},
	} {
		ran = nil
		_, err := r.Invoke(t.Context(), "helm."+c.fun, c.args, data.NewMap("kvflags", c.kvargs))
		if strings.Join(ran, ";") != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s ran %q, %v", c.fun, ran, err)
		}
		if err != nil && strings.Contains(err.Error(), "mark") {
			t.Errorf("the error of %s has the secret: %v", c.fun, err)
		}
	}
}

// No operand reaches helm as an option or as several lines.
func TestOperands(t *testing.T) {
	shell := &replay.Shell{}
	r, err := loader.NewRegistry(&loader.Env{}, []loader.Plugin{shell.Plugin(), helm.Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	for _, call := range []string{"install -x c", "install r --x", "upgrade r -x", "uninstall -x",
		"rollback r -1",
		"repo_add -x u", "repo_add n -x", "pull -x", "template n -x", "create a\nb", "status -x", "lint -x"} {
		fun, rest, _ := strings.Cut(call, " ")
		if got, err := r.Invoke(t.Context(), "helm."+fun, data.Values(strings.Split(rest, " ")), nil); err == nil {
			t.Errorf("%s returns %s", call, data.Repr(got))
		}
	}
	if got, err := r.Invoke(t.Context(), "helm.list", nil, data.NewMap("kvflags", data.NewMap("a",
		"b\nc"))); err == nil {
		t.Errorf("an option with two lines returns %s", data.Repr(got))
	}
	if data.Repr(shell.Ran) != "[]" {
		t.Errorf("it ran %s", data.Repr(shell.Ran))
	}
}

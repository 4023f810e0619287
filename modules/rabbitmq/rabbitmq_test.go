package rabbitmq_test

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
	"github.com/brineproject/brine/modules/rabbitmq"
	"github.com/brineproject/brine/render"
)

// install puts the programs of RabbitMQ into the search path.
func install(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"rabbitmqctl", "rabbitmq-plugins"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/false\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

// pkg is a module pkg that knows the version of RabbitMQ.
func pkg() loader.Plugin {
	type args struct{ Name string }
	return loader.Plugin{Name: "pkg", New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{loader.F("version", func(context.Context, args) (any, error) {
			return "3.10.8-1.1", nil
		})}}, nil
	}}
}

// testdata/calls.json has the commands and results of Salt 3006.18; the commands lack the passwords
// that Salt passes as arguments, and the outputs have rabbitmqctl's prompt for them.
func TestCalls(t *testing.T) {
	install(t)
	replay.Check(t, "testdata/calls.json",
		replay.Options{Root: t.TempDir(), Plugins: []loader.Plugin{rabbitmq.Plugin(), pkg()}})
}

// TestPasswordsOnStandardInput checks that no password is an argument of rabbitmqctl.
func TestPasswordsOnStandardInput(t *testing.T) {
	install(t)
	var ran, input []string
	env := &loader.Env{Opts: data.NewMap("id", "web1"), Run: func(_ context.Context, c *exec.Cmd) error {
		ran, input = append(ran, strings.Join(c.Args[1:], " ")), append(input, "")
		if c.Stdin == nil {
			return nil
		}
		text, err := io.ReadAll(c.Stdin)
		input[len(input)-1] = string(text)
		return err
	}}
	r, err := loader.NewRegistry(env, []loader.Plugin{cmd.Plugin(render.Brought{}), rabbitmq.Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	for fun, command := range map[string]string{"add_user": "add_user", "change_password": "change_password",
		"check_password": "authenticate_user"} {
		for range 2 {
			ran, input = nil, nil
			_, err := r.Invoke(t.Context(), "rabbitmq."+fun, []any{"bob", "marker"}, nil)
			if err != nil || strings.Join(ran, ";") != command+" bob" || input[0] != "marker\n" {
				t.Errorf("%s runs %q with %q, %v", fun, ran, input, err)
			}
		}
	}
	ran, input = nil, nil
	if _, err := r.Invoke(t.Context(), "rabbitmq.add_user", []any{"bob"}, nil); err != nil ||
		strings.Join(ran, ";") != "add_user bob;clear_password bob" || len(input[0]) < 16 {
		t.Errorf("a user without a password: %q, %v", ran, err)
	}
}

// TestOperands checks that no argument reaches a program as an option or as several lines.
func TestOperands(t *testing.T) {
	install(t)
	shell := &replay.Shell{}
	r, err := loader.NewRegistry(&loader.Env{}, []loader.Plugin{shell.Plugin(), rabbitmq.Plugin(), pkg()})
	if err != nil {
		t.Fatal(err)
	}
	for _, call := range []string{
		"add_user -x pw", "delete_user -x", "change_password -x pw", "check_password -x pw", "clear_password -x",
		"add_vhost -x", "delete_vhost -x", "set_permissions -x u", "set_permissions v -x", "set_permissions v u -x",
		"list_permissions -x", "list_user_permissions -x", "set_user_tags -x a", "set_user_tags u -x",
		"join_cluster h -x", "list_queues None -x", "list_queues_vhost -x", "list_policies -x",
		"set_policy -x n p {}", "set_policy v -x p {}", "set_policy v n -x {}", "delete_policy v -x",
		"policy_exists -x n", "enable_plugin -x", "disable_plugin -x", "set_upstream -x amqp://h", "delete_upstream -x",
		"set_policy v n p {} --node=x", "set_policy v n p {} 1\n2", "add_vhost a\nb", "delete_user a\nb", "add_user u a\nb",
	} {
		fun, rest, _ := strings.Cut(call, " ")
		args := data.Values(strings.Split(rest, " "))
		if args[0] == "None" {
			args[0] = nil
		}
		if got, err := r.Invoke(t.Context(), "rabbitmq."+fun, args, nil); err == nil {
			t.Errorf("%s returns %s", call, data.Repr(got))
		}
	}
	if data.Repr(shell.Ran) != "[]" {
		t.Errorf("it ran %s", data.Repr(shell.Ran))
	}
}

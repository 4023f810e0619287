package calls

import (
	"context"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

func TestServiceCalls(t *testing.T) {
	for fun, call := range map[string]ServiceCall{
		"start": ServiceStart, "stop": ServiceStop, "restart": ServiceRestart, "reload": ServiceReload,
		"enable": ServiceEnable, "disable": ServiceDisable,
		"enabled": ServiceEnabled, "disabled": ServiceDisabled,
	} {
		one := func(ctx context.Context, env *loader.Env) (any, error) {
			return call(ctx, env, "web", data.NewMap("no_block", true))
		}
		checkClients(t, []clientCase{
			{one, true, "service." + fun + " ['web'] {'no_block': True}", true, ""},
			{one, nil, "service." + fun + " ['web'] {'no_block': True}", false, ""},
		})
	}
}

func TestService(t *testing.T) {
	all := func(ctx context.Context, env *loader.Env) (any, error) {
		names, err := ServiceGetAll(ctx, env)
		return data.Values(names), err
	}
	checkClients(t, []clientCase{
		{func(ctx context.Context, env *loader.Env) (any, error) { return ServiceAvailable(ctx, env, "web") },
			true, "service.available ['web'] {}", true, ""},
		{func(ctx context.Context, env *loader.Env) (any, error) {
			return ServiceStatus(ctx, env, "web", nil, nil)
		},
			"4711", "service.status ['web', None] {}", true, ""},
		{func(ctx context.Context, env *loader.Env) (any, error) { return ServiceMasked(ctx, env, "web", true) },
			false, "service.masked ['web', True] {}", false, ""},
		{func(ctx context.Context, env *loader.Env) (any, error) {
			return nil, ServiceMask(ctx, env, "web", false)
		},
			true, "service.mask ['web', False] {}", nil, ""},
		{func(ctx context.Context, env *loader.Env) (any, error) {
			return nil, ServiceUnmask(ctx, env, "web", true)
		},
			true, "service.unmask ['web', True] {}", nil, ""},
		{func(ctx context.Context, env *loader.Env) (any, error) { return ServiceOffline(ctx, env) },
			"/bin/systemctl", "service.offline [] {}", true, ""},
		{all, []any{"a", "b"}, "service.get_all [] {}", []any{"a", "b"}, ""},
		{all, data.NewMap("a", []any{"boot"}), "service.get_all [] {}", []any{"a"}, ""},
		{all, "a", "service.get_all [] {}", nil, "service.get_all: returned str, expected list"},
	})
}

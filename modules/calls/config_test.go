package calls

import (
	"context"
	"testing"

	"github.com/brineproject/brine/loader"
)

func TestConfig(t *testing.T) {
	option := func(ctx context.Context, e *loader.Env) (any, error) {
		return Option[string](ctx, e, "hosts.file")
	}
	get := func(ctx context.Context, e *loader.Env) (any, error) {
		return texts(ConfigGet[[]string](ctx, e, "a:b"))
	}
	port := func(ctx context.Context, e *loader.Env) (any, error) {
		return OptionText(ctx, e, "port")
	}
	check(t, []client{
		{option, "/etc/hosts", "config.option ['hosts.file'] {}", "'/etc/hosts'"},
		{option, nil, "config.option ['hosts.file'] {}", "''"},
		{
			option, int64(1), "config.option ['hosts.file'] {}",
			"option hosts.file: config.option: returned int, expected str",
		},
		{
			func(ctx context.Context, e *loader.Env) (any, error) {
				return Option[any](ctx, e, "queue", false)
			},
			int64(2), "config.option ['queue', False] {}", "2",
		},
		{get, []any{"x", "y"}, "config.get ['a:b'] {}", "['x', 'y']"},
		{get, "", "config.get ['a:b'] {}", "[]"},
		{get, "x", "config.get ['a:b'] {}", "option a:b: config.get: returned str, expected list"},
		{
			func(ctx context.Context, e *loader.Env) (any, error) {
				return ConfigGet[int64](ctx, e, "port", int64(1))
			},
			int64(1), "config.get ['port'] {'default': 1}", "1",
		},
		{port, int64(5432), "config.option ['port'] {}", "'5432'"},
		{port, false, "config.option ['port'] {}", "''"},
		{
			func(ctx context.Context, e *loader.Env) (any, error) {
				return ValidFileProto(ctx, e, "salt://a")
			},
			true, "config.valid_fileproto ['salt://a'] {}", "True",
		},
	})
}

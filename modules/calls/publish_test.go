package calls

import (
	"context"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

func TestPublish(t *testing.T) {
	publish := func(p Publication) func(context.Context, *loader.Env) (any, error) {
		return func(ctx context.Context, e *loader.Env) (any, error) { return Publish(ctx, e, p) }
	}
	ping := Publication{Target: "web*", Fun: "test.ping"}
	check(t, []client{
		{
			publish(ping),
			data.NewMap("web1", true),
			"publish.publish ['web*', 'test.ping'] {}",
			"{'web1': True}",
		},
		{publish(ping), nil, "publish.publish ['web*', 'test.ping'] {}", "{}"},
		{
			publish(Publication{Target: "a", Fun: "test.arg", Arg: []any{"x"}, Timeout: 30}), false,
			"publish.publish ['a', 'test.arg'] {'arg': ['x'], 'timeout': 30}", "{}",
		},
		{
			publish(ping),
			"'test.ping' publish timed out",
			"publish.publish ['web*', 'test.ping'] {}",
			"'test.ping' publish timed out",
		},
		{
			publish(ping), int64(3), "publish.publish ['web*', 'test.ping'] {}",
			"publish.publish: returned int, expected dict",
		},
	})
}

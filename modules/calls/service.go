package calls

import (
	"context"
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// A ServiceCall is a function of the module service that takes a service name and returns whether a
// condition holds or the action succeeded. Any result is converted to its truth value. more has
// further keyword arguments, or is nil.
type ServiceCall func(
	ctx context.Context, env *loader.Env, name string, more *data.Map,
) (bool, error)

// ServiceStart calls service.start and reports whether the service was started.
func ServiceStart(
	ctx context.Context, env *loader.Env, name string, more *data.Map,
) (bool, error) {
	return serviceIs(ctx, env, "start", name, nil, more)
}

// ServiceStop calls service.stop and reports whether the service was stopped.
func ServiceStop(
	ctx context.Context, env *loader.Env, name string, more *data.Map,
) (bool, error) {
	return serviceIs(ctx, env, "stop", name, nil, more)
}

// ServiceRestart calls service.restart and reports whether the service was restarted.
func ServiceRestart(
	ctx context.Context, env *loader.Env, name string, more *data.Map,
) (bool, error) {
	return serviceIs(ctx, env, "restart", name, nil, more)
}

// ServiceReload calls service.reload and reports whether the service was reloaded.
func ServiceReload(
	ctx context.Context, env *loader.Env, name string, more *data.Map,
) (bool, error) {
	return serviceIs(ctx, env, "reload", name, nil, more)
}

// ServiceEnable calls service.enable, which makes the service start at boot.
func ServiceEnable(
	ctx context.Context, env *loader.Env, name string, more *data.Map,
) (bool, error) {
	return serviceIs(ctx, env, "enable", name, nil, more)
}

// ServiceDisable calls service.disable, which stops the service from starting at boot.
func ServiceDisable(
	ctx context.Context, env *loader.Env, name string, more *data.Map,
) (bool, error) {
	return serviceIs(ctx, env, "disable", name, nil, more)
}

// ServiceEnabled calls service.enabled and reports whether the service starts at boot.
func ServiceEnabled(
	ctx context.Context, env *loader.Env, name string, more *data.Map,
) (bool, error) {
	return serviceIs(ctx, env, "enabled", name, nil, more)
}

// ServiceDisabled calls service.disabled and reports whether the service does not start at boot.
func ServiceDisabled(
	ctx context.Context, env *loader.Env, name string, more *data.Map,
) (bool, error) {
	return serviceIs(ctx, env, "disabled", name, nil, more)
}

// ServiceAvailable calls service.available and reports whether the service exists.
func ServiceAvailable(ctx context.Context, env *loader.Env, name string) (bool, error) {
	return serviceIs(ctx, env, "available", name, nil, nil)
}

// ServiceStatus calls service.status and reports whether the service is running. sig is a string to
// find its process by, or nil.
func ServiceStatus(
	ctx context.Context, env *loader.Env, name string, sig any, more *data.Map,
) (bool, error) {
	return serviceIs(ctx, env, "status", name, []any{sig}, more)
}

// ServiceMasked calls service.masked and reports whether the service is masked. With runtime true,
// it checks for a mask until the next boot.
func ServiceMasked(ctx context.Context, env *loader.Env, name string, runtime bool) (bool, error) {
	return serviceIs(ctx, env, "masked", name, []any{runtime}, nil)
}

// ServiceMask calls service.mask, which prevents the service from being started, with runtime true
// only until the next boot.
func ServiceMask(ctx context.Context, env *loader.Env, name string, runtime bool) error {
	_, err := serviceIs(ctx, env, "mask", name, []any{runtime}, nil)
	return err
}

// ServiceUnmask calls service.unmask, which removes a mask.
func ServiceUnmask(ctx context.Context, env *loader.Env, name string, runtime bool) error {
	_, err := serviceIs(ctx, env, "unmask", name, []any{runtime}, nil)
	return err
}

// ServiceOffline calls service.offline and reports whether the host cannot start or stop services.
func ServiceOffline(ctx context.Context, env *loader.Env) (bool, error) {
	return loader.CallAs[bool](ctx, env, "service.offline", nil, nil)
}

// ServiceGetAll calls service.get_all and returns the names of all services: its list, or on OpenRC
// the keys of its dictionary.
func ServiceGetAll(ctx context.Context, env *loader.Env) ([]string, error) {
	const fun = "service.get_all"
	v, err := loader.CallAs[any](ctx, env, fun, nil, nil)
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case *data.Map:
		return data.Texts(v.Keys()), nil
	case []any:
		return data.Texts(v), nil
	case data.Tuple:
		return data.Texts(v), nil
	}
	return nil, fmt.Errorf("%s: returned %s, expected list", fun, loader.TypeName(v))
}

func serviceIs(
	ctx context.Context, env *loader.Env, fun, name string, more []any, kwargs *data.Map,
) (bool, error) {
	return loader.CallAs[bool](ctx, env, "service."+fun, append([]any{name}, more...), kwargs)
}

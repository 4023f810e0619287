package auth

import (
	"context"
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// ownSystem is a system of users' own code.
type ownSystem struct {
	name      string
	functions func() *loader.Registry
	opts      *data.Map
}

var (
	_ System   = (*ownSystem)(nil)
	_ Grouper  = (*ownSystem)(nil)
	_ Ruler    = (*ownSystem)(nil)
	_ Expander = (*ownSystem)(nil)
)

// Own returns the system NAME of users' own code, whose functions are in the registry that
// functions returns (salt/auth/__init__.py, LoadAuth): NAME.auth decides on a login, and if they
// exist groups names the user's groups, acl their rights, and process_acl changes a list of rights.
// opts are the options of the master.
func Own(name string, functions func() *loader.Registry, opts *data.Map) System {
	return &ownSystem{name, functions, opts}
}

// Login implements System.
func (s *ownSystem) Login(ctx context.Context, l Login) (bool, error) {
	v, ok, err := s.about(ctx, "auth", l)
	if err == nil && !ok {
		err = fmt.Errorf("authentication system of users' own code: %s",
			s.functions().MissingText(s.name+".auth"))
	}
	return err == nil && data.Truth(v), err
}

// Groups implements Grouper.
func (s *ownSystem) Groups(ctx context.Context, l Login) ([]string, error) {
	v, _, err := s.about(ctx, "groups", l)
	if err != nil {
		return nil, err
	}
	return data.TextsOf(listed(v)), nil
}

// Rules implements Ruler.
func (s *ownSystem) Rules(ctx context.Context, l Login) ([]any, bool, error) {
	v, _, err := s.about(ctx, "acl", l)
	if err != nil || v == nil {
		return nil, false, err
	}
	list, ok := listed(v).([]any)
	if !ok {
		return nil, false, fmt.Errorf("function acl of %s returned %.60s, which is no list", s.name,
			data.Repr(v))
	}
	return list, true, nil
}

// Expand implements Expander.
func (s *ownSystem) Expand(ctx context.Context, list []any) ([]any, error) {
	fun := s.name + ".process_acl"
	if !s.functions().Has(fun) {
		return list, nil
	}
	v, err := s.invoke(ctx, fun, []any{list, s.opts}, nil)
	if err != nil {
		return nil, fmt.Errorf("function process_acl of %s: %w", s.name, err)
	}
	expanded, ok := listed(v).([]any)
	if !ok {
		return nil, fmt.Errorf("function process_acl of %s returned %.60s, which is no list",
			s.name, data.Repr(v))
	}
	return expanded, nil
}

// about calls a function with the fields of a login that it takes. ok is false if there is no such
// function.
func (s *ownSystem) about(ctx context.Context, name string, l Login) (v any, ok bool, err error) {
	functions, fun := s.functions(), s.name+"."+name
	f, ok := functions.Func(fun)
	if !ok {
		return nil, false, nil
	}
	kwargs := data.NewMap()
	for _, field := range []struct{ name, value string }{
		{"username", l.Name}, {"password", l.Password},
	} {
		if f.Spec().Takes(field.name) {
			kwargs.Set(field.name, field.value)
		}
	}
	if f.Spec().Has("eauth") {
		kwargs.Set("eauth", s.name)
	}
	if v, err = s.invoke(ctx, fun, nil, kwargs); err != nil {
		err = fmt.Errorf("function %s of %s: %w", name, s.name, err)
	}
	return v, true, err
}

// invoke calls a function as a job of its own: the processes of users' own code are limited by the
// number of jobs, and so are those of logins.
func (s *ownSystem) invoke(
	ctx context.Context, fun string, args []any, kwargs *data.Map,
) (any, error) {
	ctx, scope := loader.WithScope(ctx)
	defer func() { _ = scope.Close() }()
	return s.functions().Invoke(ctx, fun, args, kwargs)
}

// listed returns a tuple or set as a list, and other values unchanged.
func listed(v any) any {
	switch v := v.(type) {
	case data.Tuple:
		return []any(v)
	case data.Set:
		return []any(v)
	}
	return v
}

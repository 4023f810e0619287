package selinux

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/state/change"
)

type fcontextArgs struct {
	Name     string
	SelType  any
	Filetype any `default:"'a'"`
	SelUser  any `default:"None"`
	SelLevel any `default:"None"`
}

func (a fcontextArgs) kwargs() *data.Map {
	return data.NewMap("name", a.Name, "filetype", a.Filetype, "sel_type", a.SelType,
		"sel_user", a.SelUser, "sel_level", a.SelLevel)
}

// fcontextPolicyPresent adds a context of files to the policy.
//
// name
//
//	The path, which may be a regular expression.
//
// sel_type, sel_user, sel_level
//
//	The context.
//
// filetype
//
//	One of the letters a, f, d, c, b, s, l, p of semanage-fcontext. Default: a, all files.
//
//	"/srv/www(/.*)?":
//	  selinux.fcontext_policy_present:
//	    - sel_type: httpd_sys_content_t
func (m *module) fcontextPolicyPresent(ctx context.Context, a fcontextArgs) (change.Result, error) {
	filetype, err := change.Ask[string](ctx, m.env, "selinux.filetype_id_to_string",
		[]any{a.Filetype}, nil)
	if err != nil {
		return change.Result{}, err
	}
	return change.Thing[*data.Map]{
		Name: a.Name,
		Look: func(ctx context.Context) (*data.Map, error) {
			return m.table(ctx, "fcontext_get_policy", a.kwargs())
		},
		Wants: func(now *data.Map) *data.Map {
			return change.When(now.Len() == 0, change.OldNew(data.NewMap(),
				data.NewMap(a.Name, data.NewMap("filetype", filetype, "sel_type", a.SelType))))
		},
		Apply: func(ctx context.Context, _ *data.Map) error {
			return m.act(ctx, "Error adding new rule", "fcontext_add_policy", a.kwargs())
		},
		Silent: true,
		Texts: change.Texts{Same: `SELinux policy for "` + a.Name + `" already present ` +
			`with specified filetype "` + filetype + `" and sel_type "` + data.Str(a.SelType) + `".`},
	}.Ensure(ctx)
}

type fcontextAbsentArgs struct {
	Name     string
	Filetype any `default:"'a'"`
	SelType  any `default:"None"`
	SelUser  any `default:"None"`
	SelLevel any `default:"None"`
}

// fcontextPolicyAbsent removes a context of files from the policy. The arguments are those of
// fcontext_policy_present.
//
//	"/srv/www(/.*)?":
//	  selinux.fcontext_policy_absent
func (m *module) fcontextPolicyAbsent(ctx context.Context, a fcontextAbsentArgs) (change.Result, error) {
	kwargs := fcontextArgs{a.Name, a.SelType, a.Filetype, a.SelUser, a.SelLevel}.kwargs()
	return change.Thing[*data.Map]{
		Name: a.Name,
		Look: func(ctx context.Context) (*data.Map, error) {
			return m.table(ctx, "fcontext_get_policy", kwargs)
		},
		Wants: func(now *data.Map) *data.Map {
			return change.When(now.Len() > 0, change.OldNew(data.NewMap(a.Name, now), data.NewMap()))
		},
		Apply: func(ctx context.Context, now *data.Map) error {
			its := kwargs.Clone()
			if !data.Truth(a.SelType) {
				its.Set("sel_type", now.Value("sel_type"))
			}
			return m.act(ctx, "Error removing policy", "fcontext_delete_policy", its)
		},
		Texts: change.Texts{Same: `SELinux policy for "` + a.Name + `" already absent ` +
			`with specified filetype "` + data.Str(a.Filetype) + `" and sel_type "` +
			data.Str(a.SelType) + `".`},
	}.Ensure(ctx)
}

type appliedArgs struct {
	Name      string
	Recursive any `default:"False"`
}

// fcontextPolicyApplied gives files the contexts of the policy.
//
// recursive
//
//	True: also the files below a directory.
//
//	/srv/www:
//	  selinux.fcontext_policy_applied:
//	    - recursive: True
func (m *module) fcontextPolicyApplied(ctx context.Context, a appliedArgs) (change.Result, error) {
	var ran *data.Map
	return change.Thing[string]{
		Name: a.Name,
		Look: func(ctx context.Context) (string, error) {
			left, err := loader.CallAs[string](ctx, m.env, "selinux.fcontext_policy_is_applied",
				[]any{a.Name, a.Recursive}, nil)
			return left, change.Except(err, loader.KindExecution)
		},
		Wants: func(left string) *data.Map { return change.When(left != "", data.NewMap(a.Name, left)) },
		Apply: func(ctx context.Context, _ string) (err error) {
			ran, err = change.Ask[*data.Map](ctx, m.env, "selinux.fcontext_apply_policy",
				[]any{a.Name, a.Recursive}, nil)
			if err == nil && !data.Equal(ran.Value("retcode"), int64(0)) {
				err = change.Reason(data.Repr(ran))
			}
			return err
		},
		Changed: func(_, left string) *data.Map {
			changes, _ := ran.Value("changes").(*data.Map)
			return change.When(left == "", changes)
		},
		Say: func(o change.Outcome[string]) any {
			if o.Stage == change.StageFailed && ran.Len() > 0 {
				return ran
			}
			return nil
		},
		Silent: true,
		Texts:  change.Texts{Same: `SElinux policies are already applied for filespec "` + a.Name + `"`},
	}.Ensure(ctx)
}

type portArgs struct {
	Name     string
	SelType  any
	Protocol any `default:"None"`
	Port     any `default:"None"`
	SelRange any `default:"None"`
}

// portPolicyPresent adds a port to the policy.
//
// name
//
//	A protocol and a port or a range, such as tcp/8080 or udp/20-21.
//
// sel_type, sel_range
//
//	The type, and the range of security levels.
//
// protocol, port
//
//	They are needed if the name has another form.
//
//	tcp/8080:
//	  selinux.port_policy_present:
//	    - sel_type: http_port_t
func (m *module) portPolicyPresent(ctx context.Context, a portArgs) (change.Result, error) {
	return m.port(ctx, a, true, "present", func(ctx context.Context) error {
		return m.act(ctx, "Error adding new policy", "port_add_policy", data.NewMap("name", a.Name,
			"sel_type", a.SelType, "protocol", a.Protocol, "port", a.Port, "sel_range", a.SelRange))
	})
}

type portAbsentArgs struct {
	Name     string
	SelType  any `default:"None"`
	Protocol any `default:"None"`
	Port     any `default:"None"`
}

// portPolicyAbsent removes a port from the policy.
//
// name, protocol, port
//
//	As in port_policy_present.
//
// sel_type
//
//	Only if the port has this type.
//
//	tcp/8080:
//	  selinux.port_policy_absent
func (m *module) portPolicyAbsent(ctx context.Context, a portAbsentArgs) (change.Result, error) {
	p := portArgs{Name: a.Name, SelType: a.SelType, Protocol: a.Protocol, Port: a.Port}
	return m.port(ctx, p, false, "absent", func(ctx context.Context) error {
		return m.act(ctx, "Error deleting policy", "port_delete_policy",
			data.NewMap("name", a.Name, "protocol", a.Protocol, "port", a.Port))
	})
}

// port adds or removes a port.
func (m *module) port(
	ctx context.Context, a portArgs, wanted bool, word string, apply func(context.Context) error,
) (change.Result, error) {
	return change.Thing[any]{
		Name: a.Name,
		Look: func(ctx context.Context) (any, error) {
			found, err := calls.Found[any](ctx, m.env, "selinux.port_get_policy", nil,
				data.NewMap("name", a.Name, "sel_type", a.SelType, "protocol", a.Protocol, "port", a.Port))
			return found, change.Except(err, loader.KindExecution)
		},
		Wants: func(now any) *data.Map {
			return change.When(data.Truth(now) != wanted, data.NewMap(a.Name, word))
		},
		Apply: func(ctx context.Context, _ any) error { return apply(ctx) },
		Changed: func(before, after any) *data.Map {
			return change.When(!data.Equal(before, after), change.OldNew(before, after))
		},
		Silent: true,
		Texts: change.Texts{Same: `SELinux policy for "` + a.Name + `" already ` + word +
			` with specified sel_type "` + data.Str(a.SelType) + `", protocol "` + data.Str(a.Protocol) +
			`" and port "` + data.Str(a.Port) + `".`},
	}.Ensure(ctx)
}

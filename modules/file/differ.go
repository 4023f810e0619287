//go:build unix

package file

import (
	"context"
	"slices"

	"github.com/brineproject/brine/data"
)

// ownersDiffer adds the differences of a file from its wanted owners, mode, attributes and context.
func (m checks) ownersDiffer(ctx context.Context, a metaArgs, now, changes *data.Map) error {
	if a.User != nil && !data.Equal(a.User, now.Value("user")) &&
		!data.Equal(a.User, now.Value("uid")) {
		changes.Set("user", a.User)
	}
	if a.Group != nil && !data.Equal(a.Group, now.Value("group")) &&
		!data.Equal(a.Group, now.Value("gid")) {
		changes.Set("group", a.Group)
	}
	if mode, ok := normalMode(a.Mode); ok && mode != now.Text("mode") {
		changes.Set("mode", mode)
	}
	if data.Truth(a.Attrs) {
		was, known, err := m.perms.attributes.letters(ctx, a.Name)
		if err != nil {
			return err
		}
		if missing, surplus := attrsDiffer(was, data.Str(a.Attrs)); known && missing+surplus != "" {
			changes.Set("attrs", a.Attrs)
		}
	}
	return m.contextDiffers(ctx, a, changes)
}

func (m checks) contextDiffers(ctx context.Context, a metaArgs, changes *data.Map) error {
	want := []any{a.Seuser, a.Serole, a.Setype, a.Serange}
	if !slices.ContainsFunc(want, data.Truth) {
		return nil
	}
	now, err := m.perms.contexts.parts(ctx, a.Name)
	if err != nil || now == nil {
		return err
	}
	for i, part := range []string{"user", "role", "type", "range"} {
		if wanted(want[i], now[i]) != nil {
			changes.Set("selinux", data.NewMap(part, want[i]))
		}
	}
	return nil
}

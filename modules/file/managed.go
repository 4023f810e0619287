//go:build unix

package file

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileclient"
	"github.com/brineproject/brine/loader"
)

type checkManagedArgs struct {
	Name           string
	Source         any
	SourceHash     any
	SourceHashName any
	User           any
	Group          any
	Mode           any
	Attrs          any
	Template       any
	Context        any
	Defaults       any
	Saltenv        any
	Contents       any       `default:"None"`
	SkipVerify     bool      `default:"False"`
	Seuser         any       `default:"None"`
	Serole         any       `default:"None"`
	Setype         any       `default:"None"`
	Serange        any       `default:"None"`
	FollowSymlinks bool      `default:"False"`
	Kwargs         *data.Map `kwargs:"kwargs"`
}

// checkManaged reports whether a file is as file.managed would make it, and a text that says so or what would change.
//
// CLI Example:
//
//	salt '*' file.check_managed /etc/httpd/conf.d/httpd.conf salt://http/httpd.conf '{hash_type: 'md5', 'hsum': <md5sum>}' root root '755' jinja True None None base
func (m *module) checkManaged(ctx context.Context, a checkManagedArgs) (any, error) {
	changes, complaint, err := m.managedChanges(ctx, checkChangesArgs{
		Name: a.Name, Source: a.Source, SourceHash: a.SourceHash, SourceHashName: a.SourceHashName, User: a.User, Group: a.Group, Mode: a.Mode,
		Attrs: a.Attrs, Template: a.Template, Context: a.Context, Defaults: a.Defaults, Saltenv: a.Saltenv, Contents: a.Contents,
		SkipVerify: a.SkipVerify, Seuser: a.Seuser, Serole: a.Serole, Setype: a.Setype, Serange: a.Serange, VerifySSL: true,
		FollowSymlinks: a.FollowSymlinks, Kwargs: a.Kwargs,
	})
	switch {
	case err != nil:
		return nil, err
	case complaint != "":
		return data.Tuple{false, complaint}, nil
	}
	if strings.HasPrefix(a.Name, os.TempDir()) {
		for _, key := range []string{"user", "group", "mode"} {
			changes.Delete(key)
		}
	}
	if changes.Len() == 0 {
		return data.Tuple{true, "The file " + a.Name + " is in the correct state"}, nil
	}
	text := "The following values are set to be changed:\n"
	for key, v := range changes.All() {
		text += data.Str(key) + ": " + data.Str(v) + "\n"
	}
	return data.Tuple{nil, text}, nil
}

type checkChangesArgs struct {
	Name           string
	Source         any
	SourceHash     any
	SourceHashName any
	User           any
	Group          any
	Mode           any
	Attrs          any
	Template       any
	Context        any
	Defaults       any
	Saltenv        any
	Contents       any       `default:"None"`
	SkipVerify     bool      `default:"False"`
	KeepMode       bool      `default:"False"`
	Seuser         any       `default:"None"`
	Serole         any       `default:"None"`
	Setype         any       `default:"None"`
	Serange        any       `default:"None"`
	VerifySSL      bool      `name:"verify_ssl" default:"True"`
	FollowSymlinks bool      `default:"False"`
	Kwargs         *data.Map `kwargs:"kwargs"`
}

// checkManagedChanges returns what file.managed would change in a file; False and a text where its source cannot be had.
//
// CLI Example:
//
//	salt '*' file.check_managed_changes /etc/httpd/conf.d/httpd.conf salt://http/httpd.conf '{hash_type: 'md5', 'hsum': <md5sum>}' root, root, '755' jinja True None None base
func (m *module) checkManagedChanges(ctx context.Context, a checkChangesArgs) (any, error) {
	changes, complaint, err := m.managedChanges(ctx, a)
	switch {
	case err != nil:
		return nil, err
	case complaint != "":
		return data.Tuple{false, complaint}, nil
	}
	return changes, nil
}

func (m *module) managedChanges(ctx context.Context, a checkChangesArgs) (changes *data.Map, complaint string, err error) {
	source, hash, err := m.pick(ctx, sourceListArgs{a.Source, a.SourceHash, a.Saltenv})
	if err != nil {
		return nil, "", err
	}
	g := got{sum: data.NewMap()}
	if a.Contents == nil {
		g, err = m.got(ctx, managedArgs{
			Name: a.Name, Template: a.Template, Source: source, SourceHash: hash, SourceHashName: a.SourceHashName, User: a.User, Group: a.Group,
			Mode: a.Mode, Attrs: a.Attrs, Saltenv: a.Saltenv, Context: a.Context, Defaults: a.Defaults, SkipVerify: a.SkipVerify,
			VerifySSL: a.VerifySSL, Kwargs: a.Kwargs,
		})
		defer func() { clean(g.file) }()
		if err != nil || g.comment != "" {
			return nil, g.comment, err
		}
		if a.KeepMode && data.Truth(source) {
			a.Mode = m.modeOf(ctx, data.Str(source), a.Saltenv, a.Mode)
		}
	}
	changes, err = m.meta(ctx, metaArgs{
		Name: a.Name, Sfn: g.file, Source: source, SourceSum: g.sum, User: a.User, Group: a.Group, Mode: a.Mode, Attrs: a.Attrs, Saltenv: a.Saltenv,
		Contents: a.Contents, Seuser: a.Seuser, Serole: a.Serole, Setype: a.Setype, Serange: a.Serange, VerifySSL: true, FollowSymlinks: a.FollowSymlinks,
	})
	return changes, "", err
}

// modeOf returns the mode of a source, for mode: keep, or the mode that was asked for where it is not known.
func (m *module) modeOf(ctx context.Context, source string, saltenv, asked any) any {
	switch fileclient.Scheme(source) {
	case "salt", "file", "":
		mode, err := m.env.Call(ctx, "cp.stat_file", []any{source}, data.NewMap("saltenv", saltenv, "octal", true))
		if err == nil {
			return mode
		}
		m.env.Log.Warnf("Unable to stat %s: %s", source, err)
	}
	return asked
}

type metaArgs struct {
	Name           string
	Sfn            any
	Source         any
	SourceSum      *data.Map
	User           any
	Group          any
	Mode           any
	Attrs          any
	Saltenv        any
	Contents       any  `default:"None"`
	Seuser         any  `default:"None"`
	Serole         any  `default:"None"`
	Setype         any  `default:"None"`
	Serange        any  `default:"None"`
	VerifySSL      bool `name:"verify_ssl" default:"True"`
	FollowSymlinks bool `default:"False"`
}

// checkFileMeta returns what is other in a file than it is to be: its content, as diff, and its user, group, mode and attrs; newfile
// where there is none.
//
// sfn
//
//	Where the content is that it is to have.
//
// source_sum
//
//	The hash of that, as a dictionary with hash_type and hsum.
//
// CLI Example:
//
//	salt '*' file.check_file_meta /etc/httpd/conf.d/httpd.conf None salt://http/httpd.conf '{hash_type: 'md5', 'hsum': <md5sum>}' root root '755' None base
func (m *module) checkFileMeta(ctx context.Context, a metaArgs) (any, error) {
	changes, err := m.meta(ctx, a)
	if err != nil {
		return nil, err
	}
	return changes, nil
}

func (m *module) meta(ctx context.Context, a metaArgs) (*data.Map, error) {
	changes := data.NewMap()
	now, err := statsOf(statsArgs{Path: a.Name, HashType: a.SourceSum.Value("hash_type"), FollowSymlinks: a.FollowSymlinks})
	if err != nil {
		if loader.KindOf(err) != loader.KindExecution {
			return nil, err
		}
		return data.NewMap("newfile", a.Name), nil //nolint:nilerr // it is missing
	}
	if err := m.sourceDiffers(ctx, a, now, changes); err != nil {
		return nil, err
	}
	if a.Contents != nil {
		diff, err := m.contentDiff(home(a.Name), a.Contents, true)
		if err != nil {
			diff = err.Error()
		}
		if diff != "" && m.obfuscates() {
			diff = "<Obfuscated Template>"
		}
		if diff != "" {
			changes.Set("diff", diff)
		}
	}
	return changes, m.ownersDiffer(ctx, a, now, changes)
}

func (m *module) sourceDiffers(ctx context.Context, a metaArgs, now, changes *data.Map) error {
	sum := a.SourceSum.Value("hsum")
	if sum == nil || strings.ToLower(data.Str(sum)) == now.Text("sum") {
		return nil
	}
	file := a.Sfn
	if !data.Truth(file) && data.Truth(a.Source) {
		var err error
		if file, err = m.env.Call(ctx, "cp.cache_file", []any{a.Source, a.Saltenv}, data.NewMap("source_hash", sum, "verify_ssl", a.VerifySSL)); err != nil {
			return err
		}
	}
	if !data.Truth(file) {
		changes.Set("sum", "Checksum differs")
		return nil
	}
	diff, err := m.diff(home(a.Name), data.Str(file), diffArgs{Template: true, ShowChanges: true})
	if err != nil {
		diff = err.Error()
	}
	changes.Set("diff", diff)
	return nil
}

// contentDiff returns the diff of a file and a content that it is to have.
func (m *module) contentDiff(path string, contents any, show bool) (string, error) {
	body, err := encoded(contents, nil, "")
	if err != nil {
		return "", err
	}
	return m.bodyDiff(path, body, diffArgs{ShowChanges: show})
}

// bodyDiff is diff with a content that is in no file yet.
func (m *module) bodyDiff(path string, body []byte, a diffArgs) (string, error) {
	old, err := readForDiff(path)
	if err != nil || slices.Equal(old, slices.Collect(strings.Lines(string(body)))) {
		return "", err
	}
	file, err := temporary(body)
	if err != nil {
		return "", osError(err)
	}
	defer clean(file)
	return m.diff(path, file, a)
}

func (m *module) ownersDiffer(ctx context.Context, a metaArgs, now, changes *data.Map) error {
	if a.User != nil && !data.Equal(a.User, now.Value("user")) && !data.Equal(a.User, now.Value("uid")) {
		changes.Set("user", a.User)
	}
	if a.Group != nil && !data.Equal(a.Group, now.Value("group")) && !data.Equal(a.Group, now.Value("gid")) {
		changes.Set("group", a.Group)
	}
	if mode, ok := normalMode(a.Mode); ok && mode != now.Text("mode") {
		changes.Set("mode", mode)
	}
	if data.Truth(a.Attrs) {
		was, known, err := m.attrsOf(ctx, a.Name)
		if err != nil {
			return err
		}
		if missing, surplus := attrsDiffer(was, data.Str(a.Attrs)); known && missing+surplus != "" {
			changes.Set("attrs", a.Attrs)
		}
	}
	return m.contextDiffers(ctx, a, changes)
}

func (m *module) contextDiffers(ctx context.Context, a metaArgs, changes *data.Map) error {
	want := []any{a.Seuser, a.Serole, a.Setype, a.Serange}
	if !slices.ContainsFunc(want, data.Truth) {
		return nil
	}
	now, err := m.contextOf(ctx, a.Name)
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

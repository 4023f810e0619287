package file

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileclient"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

// checks compares files with the arguments of the state file.managed.
type checks struct {
	env     *loader.Env
	diffs   diffs
	perms   perms
	sources sources
}

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

// checkManaged reports whether a file is as file.managed would make it, with a text that says so or
// lists the changes.
//
// CLI Example:
//
//	salt '*' file.check_managed /etc/httpd/conf.d/httpd.conf salt://http/httpd.conf '{hash_type: 'md5', 'hsum': <md5sum>}' root root '755' jinja True None None base
func (m checks) checkManaged(ctx context.Context, a checkManagedArgs) (any, error) {
	changes, complaint, err := m.changes(ctx, checkChangesArgs{
		Name: a.Name, Source: a.Source, SourceHash: a.SourceHash, SourceHashName: a.SourceHashName,
		User: a.User, Group: a.Group, Mode: a.Mode, Attrs: a.Attrs, Template: a.Template,
		Context: a.Context, Defaults: a.Defaults, Saltenv: a.Saltenv, Contents: a.Contents,
		SkipVerify: a.SkipVerify, Seuser: a.Seuser, Serole: a.Serole, Setype: a.Setype,
		Serange: a.Serange, VerifySSL: true, FollowSymlinks: a.FollowSymlinks, Kwargs: a.Kwargs,
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

// checkManagedChanges returns the changes that file.managed would make to a file, or False and a
// text if its source is not available.
//
// CLI Example:
//
//	salt '*' file.check_managed_changes /etc/httpd/conf.d/httpd.conf salt://http/httpd.conf '{hash_type: 'md5', 'hsum': <md5sum>}' root, root, '755' jinja True None None base
func (m checks) checkManagedChanges(ctx context.Context, a checkChangesArgs) (any, error) {
	changes, complaint, err := m.changes(ctx, a)
	switch {
	case err != nil:
		return nil, err
	case complaint != "":
		return data.Tuple{false, complaint}, nil
	}
	return changes, nil
}

func (m checks) changes(
	ctx context.Context, a checkChangesArgs,
) (changes *data.Map, complaint string, err error) {
	source, hash, err := m.sources.pick(ctx, sourceListArgs{a.Source, a.SourceHash, a.Saltenv})
	if err != nil {
		return nil, "", err
	}
	g := got{sum: data.NewMap()}
	if a.Contents == nil {
		g, err = m.sources.get(ctx, managedArgs{
			Name: a.Name, Template: a.Template, Source: source, SourceHash: hash,
			SourceHashName: a.SourceHashName, User: a.User, Group: a.Group, Mode: a.Mode,
			Attrs: a.Attrs, Saltenv: a.Saltenv, Context: a.Context,
			Defaults: a.Defaults, SkipVerify: a.SkipVerify, VerifySSL: a.VerifySSL,
			Kwargs: a.Kwargs,
		})
		defer func() { clean(g.file) }()
		if err != nil || g.comment != "" {
			return nil, g.comment, err
		}
		if a.KeepMode && data.Truth(source) {
			a.Mode = sourceMode(ctx, m.env, data.Str(source), a.Saltenv, a.Mode)
		}
	}
	changes, err = m.checkFileMeta(ctx, metaArgs{
		Name: a.Name, Sfn: g.file, Source: source, SourceSum: g.sum, User: a.User, Group: a.Group,
		Mode: a.Mode, Attrs: a.Attrs, Saltenv: a.Saltenv, Contents: a.Contents, Seuser: a.Seuser,
		Serole: a.Serole, Setype: a.Setype, Serange: a.Serange, VerifySSL: true,
		FollowSymlinks: a.FollowSymlinks,
	})
	return changes, "", err
}

// sourceMode returns the mode of a source, for mode: keep. If it is unknown, it returns the mode
// that was asked for.
func sourceMode(ctx context.Context, env *loader.Env, source string, saltenv, asked any) any {
	switch fileclient.Scheme(source) {
	case "salt", "file", "":
		mode, err := calls.StatFile(ctx, env, source, saltenv)
		switch {
		case err == nil && mode == "":
			return false
		case err == nil:
			return mode
		}
		env.Log.Warnf("Unable to stat %s: %s", source, err)
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

// checkFileMeta returns the differences of a file from its wanted state: its content as diff, and
// its user, group, mode and attrs. For a missing file the key is newfile.
//
// sfn
//
//	The path of the wanted content.
//
// source_sum
//
//	The hash of the wanted content, as a dictionary with hash_type and hsum.
//
// CLI Example:
//
//	salt '*' file.check_file_meta /etc/httpd/conf.d/httpd.conf None salt://http/httpd.conf '{hash_type: 'md5', 'hsum': <md5sum>}' root root '755' None base
func (m checks) checkFileMeta(ctx context.Context, a metaArgs) (*data.Map, error) {
	changes := data.NewMap()
	now, err := statsOf(statsArgs{Path: a.Name, HashType: a.SourceSum.Value("hash_type"),
		FollowSymlinks: a.FollowSymlinks})
	if err != nil {
		if loader.KindOf(err) != loader.KindExecution {
			return nil, err
		}
		return data.NewMap("newfile", a.Name), nil //nolint:nilerr // the file is missing
	}
	if err := m.sourceDiffers(ctx, a, now, changes); err != nil {
		return nil, err
	}
	if a.Contents != nil {
		diff, err := m.diffs.content(home(a.Name), a.Contents, true)
		if err != nil {
			diff = err.Error()
		}
		if diff != "" && m.diffs.obfuscates() {
			diff = "<Obfuscated Template>"
		}
		if diff != "" {
			changes.Set("diff", diff)
		}
	}
	if err := m.ownersDiffer(ctx, a, now, changes); err != nil {
		return nil, err
	}
	return changes, nil
}

func (m checks) sourceDiffers(ctx context.Context, a metaArgs, now, changes *data.Map) error {
	sum := a.SourceSum.Value("hsum")
	if sum == nil || strings.ToLower(data.Str(sum)) == now.Text("sum") {
		return nil
	}
	file := a.Sfn
	if !data.Truth(file) && data.Truth(a.Source) {
		var err error
		file, err = calls.CacheFile(ctx, m.env, calls.Source{
			Path: a.Source, SaltEnv: a.Saltenv, Hash: sum, NoVerify: !a.VerifySSL,
		})
		if err != nil {
			return err
		}
	}
	if !data.Truth(file) {
		changes.Set("sum", "Checksum differs")
		return nil
	}
	diff, err := m.diffs.files(home(a.Name), data.Str(file),
		diffArgs{Template: true, ShowChanges: true})
	if err != nil {
		diff = err.Error()
	}
	changes.Set("diff", diff)
	return nil
}

// content returns the diff of a file and its wanted content.
func (m diffs) content(path string, contents any, show bool) (string, error) {
	body, err := encoded(contents, nil, "")
	if err != nil {
		return "", err
	}
	return m.body(path, body, diffArgs{ShowChanges: show})
}

// body is like files, for a content that is not in a file yet.
func (m diffs) body(path string, body []byte, a diffArgs) (string, error) {
	old, err := readForDiff(path)
	if err != nil || slices.Equal(old, slices.Collect(strings.Lines(string(body)))) {
		return "", err
	}
	file, err := temporary(body)
	if err != nil {
		return "", osError(err)
	}
	defer clean(file)
	return m.files(path, file, a)
}

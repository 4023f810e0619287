package file

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/output"
	"github.com/brineproject/brine/process"
	"github.com/brineproject/brine/state/change"
)

type patchArgs struct {
	Name           string
	Source         any       `default:"None"`
	SourceHash     any       `default:"None"`
	SourceHashName any       `default:"None"`
	SkipVerify     bool      `default:"False"`
	Template       any       `default:"None"`
	Context        any       `default:"None"`
	Defaults       any       `default:"None"`
	Options        string    `default:"''"`
	RejectFile     any       `default:"None"`
	Strip          any       `default:"None"`
	Saltenv        any       `default:"None"`
	Kwargs         *data.Map `kwargs:"kwargs"`
}

// patch applies a patch to a file or to the files of a directory with the program patch. A patch
// that does not apply completely changes nothing.
//
// source, source_hash, source_hash_name, skip_verify, template, context, defaults, saltenv
//
//	The location of the patch, as in file.managed.
//
// options, strip
//
//	Options for the program; how many leading directories to strip from the names in the patch.
//
// reject_file
//
//	Where to save rejected hunks, not in test mode.
//
//	/opt/example.conf:
//	  file.patch:
//	    - source: salt://example.patch
func (m patches) patch(ctx context.Context, a patchArgs) (any, error) {
	ret, warnings, err := m.patched(ctx, a)
	if err != nil {
		return nil, err
	}
	if len(warnings) > 0 {
		ret.Set("warnings", warnings)
	}
	return ret, nil
}

func (m patches) patched(ctx context.Context, a patchArgs) (*data.Map, []any, error) {
	given := a.Name
	a.Name = home(a.Name)
	if complaint := a.complaint(); complaint != "" {
		return change.Failed(given, complaint), nil, nil
	}
	warnings := []any{}
	for _, gone := range []string{"hash", "dry_run_first"} {
		if a.Kwargs.Has(gone) {
			warnings = append(warnings, "The '"+gone+
				"' argument is no longer used and has been ignored.")
		}
	}
	if complaint := rejectComplaint(a.RejectFile); complaint != "" {
		return change.Failed(given, complaint), warnings, nil
	}
	options, complaint, err := a.words()
	if err != nil || complaint != "" {
		return change.Failed(given, complaint), warnings, err
	}
	url, more, err := m.patchSource(ctx, &a)
	warnings = append(warnings, more...)
	if loader.KindOf(err) == loader.KindExecution {
		return change.Failed(given, err.Error()), warnings, nil
	}
	if err != nil {
		return nil, nil, err
	}
	dir, err := os.MkdirTemp("", "__salt.tmp.")
	if err != nil {
		return nil, nil, err
	}
	p := &patchCall{m: m, a: a, given: given, options: options, dir: dir}
	ret, err := p.run(ctx, url)
	return ret, warnings, errors.Join(err, os.RemoveAll(dir))
}

func (a patchArgs) complaint() string {
	_, err := exec.LookPath("patch")
	switch {
	case err != nil:
		return "patch executable not found on minion"
	case a.Name == "":
		return "A file/directory to be patched is required"
	case !filepath.IsAbs(a.Name):
		return a.Name + " is not an absolute path"
	case !paths.Exists(a.Name):
		return a.Name + " does not exist"
	}
	return ""
}

func rejectComplaint(v any) string {
	path := data.Str(v)
	switch {
	case v == nil:
		return ""
	case !filepath.IsAbs(path):
		return "'" + path + "' is not an absolute path"
	case !paths.IsDir(dirname(path)):
		return "Parent directory for reject_file '" + path +
			"' either does not exist, or is not a directory"
	}
	return ""
}

// words returns the options of the program without those for the strip level, which become strip.
// It returns a message if they are invalid.
func (a *patchArgs) words() (kept []string, complaint string, err error) {
	words, err := process.Words(a.Options)
	if err != nil {
		return nil, "", loader.Exception("ValueError", "%w", err)
	}
	var refused []string
	for i := 0; i < len(words); i++ {
		word := words[i]
		if notAllowed(word) {
			refused = append(refused, word)
		}
		value, named, isStrip := word, "", false
		switch {
		case strings.HasPrefix(word, "-p"):
			value, named, isStrip = word[2:], "-p", true
		case strings.HasPrefix(word, "--strip"):
			value, named, isStrip = word[strings.LastIndexByte(word, '=')+1:], "-strip", true
			if !strings.Contains(word, "=") {
				i++
				value = ""
				if i < len(words) {
					value = words[i]
				}
			}
		}
		if !isStrip {
			kept = append(kept, word)
			continue
		}
		n, err := strconv.Atoi(strings.TrimSpace(value))
		if err != nil {
			return nil, "Invalid format for '" + named + "' CLI option. Consider using the 'strip' option for this state.", nil //nolint:nilerr // in the message
		}
		a.Strip = int64(n)
	}
	if len(refused) > 0 {
		return nil, "The following CLI options are not allowed: " + strings.Join(refused, ", "), nil
	}
	return kept, "", nil
}

// notAllowed reports whether the state sets this option itself.
func notAllowed(word string) bool {
	for _, own := range []string{"-N", "--forward", "-r", "--reject-file", "-o", "--output"} {
		if strings.HasPrefix(word, own) {
			return true
		}
	}
	return false
}

// patchSource returns the location of the patch, the first existing one of a list. It keeps the
// matching hash.
func (m patches) patchSource(ctx context.Context, a *patchArgs) (string, []any, error) {
	source, _, err := calls.SourceList(
		ctx, m.env, a.Source, a.SourceHash, change.CallOf(ctx).SaltEnv)
	if err != nil {
		return "", nil, err
	}
	url := data.Str(source)
	if a.Saltenv == nil || !strings.HasPrefix(url, "salt://") {
		return url, nil, nil
	}
	if _, env, ok := strings.Cut(url, "?saltenv="); ok {
		if env != data.Str(a.Saltenv) {
			return url, []any{"Ignoring 'saltenv' option in favor of saltenv included in the source URL."}, nil
		}
		return url, nil, nil
	}
	return url + "?saltenv=" + data.Str(a.Saltenv), nil, nil
}

// A patchCall is one run of the state, with a temporary directory.
type patchCall struct {
	m       patches
	a       patchArgs
	given   string
	options []string
	dir     string
}

func (p *patchCall) run(ctx context.Context, url string) (*data.Map, error) {
	file := filepath.Join(p.dir, "patch")
	failed, err := p.fetch(ctx, url, file)
	if failed != nil || err != nil {
		return failed, err
	}
	rejects := filepath.Join(p.dir, "rejects")
	if p.a.RejectFile != nil && !change.Test(ctx) {
		rejects = data.Str(p.a.RejectFile)
	}
	strip := []string{}
	if paths.IsDir(p.a.Name) && p.a.Strip != nil {
		strip = append(strip, "-p"+data.Str(p.a.Strip))
	}
	tried, err := p.apply(ctx, file, false,
		append([]string{"-N", "-r", rejects, "-o", filepath.Join(p.dir, "output")}, strip...))
	switch {
	case err != nil:
		return nil, err
	case tried.Value("retcode") != int64(0):
		return p.refused(ctx, tried, rejects)
	case change.Test(ctx):
		return change.Would(p.given, tried, "The patch would be applied"), nil
	}
	done, err := p.apply(ctx, file, false, strip)
	if err != nil {
		return nil, err
	}
	if done.Value("retcode") != int64(0) {
		return change.New(p.given, false, done, "Failed to apply patch"), nil
	}
	return change.New(p.given, true, done, "Patch successfully applied"), nil
}

// fetch saves the patch to a file in the temporary directory, also in test mode. It returns a
// result if that fails.
func (p *patchCall) fetch(ctx context.Context, url, file string) (*data.Map, error) {
	call := *change.CallOf(ctx)
	call.Test = false
	a := p.a
	ret, err := contents{p.m.module}.manage(change.WithCall(ctx, &call),
		managedArgs{Name: file, Source: url, SourceHash: a.SourceHash,
			SourceHashName: a.SourceHashName, SkipVerify: a.SkipVerify, Template: a.Template,
			Context: a.Context, Defaults: a.Defaults, KeepSource: true, Makedirs: false,
			Replace: true, Backup: "", ShowChanges: true, Create: true, ContentsNewline: true,
			ContentsDelimiter: ":", EncodingErrors: "strict", AllowEmpty: true,
			FollowSymlinks: true, VerifySSL: true, WinInheritance: true,
			WinPermsReset: false,
			Kwargs:        data.NewMap()})
	switch {
	case err != nil:
		return change.Failed(p.given, "Failed to cache patch file "+redacted(url)+": "+
			err.Error()), nil
	case !data.Truth(ret.Value("result")):
		return ret, nil
	}
	return nil, nil
}

// apply runs the program.
func (p *patchCall) apply(
	ctx context.Context, file string, dry bool, more []string,
) (*data.Map, error) {
	options := []any{}
	for _, word := range append(append([]string{}, p.options...), more...) {
		options = append(options, word)
	}
	return loader.CallAs[*data.Map](ctx, p.m.env, "file.patch", []any{p.a.Name, file},
		data.NewMap("options", options, "dry_run", dry))
}

// refused returns the result for a patch that does not apply. If all rejected hunks are already
// applied, there is nothing to do.
func (p *patchCall) refused(
	ctx context.Context, tried *data.Map, rejects string,
) (*data.Map, error) {
	back, err := p.apply(ctx, rejects, true, []string{"-R", "-f"})
	switch {
	case err != nil:
		return nil, err
	case tried.Value("retcode") == int64(2) && tried.Text("stderr") != "":
		return change.Failed(p.given, tried.Text("stderr")), nil
	case back.Value("retcode") == int64(0):
		return change.Unchanged(p.given, "Patch was already applied"), nil
	}
	comment := "Patch would not apply cleanly, no changes made. Results of dry-run are below."
	if p.a.RejectFile == nil {
		comment += " Run state again using the reject_file option to save rejects to a persistent file."
	}
	text, err := output.Nested(output.Options{NestedIndent: 14}).Format(tried)
	return change.Failed(p.given, comment+"\n\n"+text), err
}

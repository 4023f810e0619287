package file

import (
	"bytes"
	"context"
	"io"
	"os/exec"
	"runtime"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

type sedArgs struct {
	Path        string
	Before      any
	After       any
	Limit       string `default:"''"`
	Backup      any    `default:"'.bak'"`
	Options     string `default:"'-r -e'"`
	Flags       string `default:"'g'"`
	EscapeAll   bool   `default:"False"`
	NegateMatch bool   `default:"False"`
}

// sed replaces matches of a regular expression in a file with the program sed, and returns the
// result of the program, or False if the file does not exist. file.replace needs no program.
//
// limit
//
//	Only in lines that this matches; with negate_match only in the others.
//
// escape_all : False
//
//	Escape special characters in before and after.
//
// CLI Example:
//
//	salt '*' file.sed /etc/httpd/httpd.conf 'LogLevel warn' 'LogLevel info'
func (m programs) sed(ctx context.Context, a sedArgs) (any, error) {
	path := home(a.Path)
	if !paths.Exists(path) {
		return false, nil
	}
	options, err := process.Words(sedOptions(a.Options))
	if err != nil {
		return nil, loader.Exception("ValueError", "%w", err)
	}
	program := "s/" + sedEscape(data.Str(a.Before), a.EscapeAll) +
		"/" + sedEscape(data.Str(a.After), a.EscapeAll) + "/" + a.Flags
	if a.NegateMatch {
		program = "!" + program
	}
	inPlace := "-i"
	if data.Truth(a.Backup) {
		inPlace += data.Str(a.Backup)
	}
	return m.runAll(ctx, append(append([]string{"sed", inPlace}, options...),
		limited(a.Limit, a.EscapeAll)+program, path))
}

type sedContainsArgs struct {
	Path  string
	Text  any
	Limit any    `default:"''"`
	Flags string `default:"'g'"`
}

// sedContains reports whether a regular expression of the program sed matches in a file.
// file.search needs no program.
//
// CLI Example:
//
//	salt '*' file.sed_contains /etc/crontab 'mymaintenance.sh'
func (m programs) sedContains(ctx context.Context, a sedContainsArgs) (any, error) {
	path := home(a.Path)
	if !paths.Exists(path) {
		return false, nil
	}
	options, err := process.Words(sedOptions("-n -r -e"))
	if err != nil {
		return nil, loader.Exception("ValueError", "%w", err)
	}
	if err := readable(path); err != nil {
		return nil, err
	}
	program := limited(data.Str(a.Limit), false) + "s/" + sedEscape(data.Str(a.Text), false) +
		"/$/p" + a.Flags
	argv := append(append([]string{"sed"}, options...), program, path)
	out, err := calls.RunOutput(ctx, m.env, calls.Run{Argv: argv})
	return out != "", err
}

// sedOptions returns options for the sed of this system.
func sedOptions(options string) string {
	if runtime.GOOS == "darwin" {
		return strings.ReplaceAll(options, "-r", "-E")
	}
	return options
}

// sedEscape escapes a text for use between slashes, and with all set also special characters of
// expressions.
func sedEscape(text string, all bool) string {
	text = strings.NewReplacer("'", `'"'"'`, "/", `\/`).Replace(text)
	if !all {
		return text
	}
	for _, sign := range "^.[$()|*+?{" {
		text = strings.ReplaceAll(text, string(sign), `\`+string(sign))
	}
	return text
}

func limited(limit string, all bool) string {
	if limit == "" {
		return ""
	}
	return "/" + sedEscape(limit, all) + "/ "
}

// runAll runs a program and returns the result of cmd.run_all.
func (m programs) runAll(ctx context.Context, argv []string) (any, error) {
	ran, err := calls.RunAll(ctx, m.env, calls.Run{Argv: argv})
	return ran.Map, err
}

// readable returns an error for a file that a program would read forever.
func readable(path string) error {
	if paths.IsDir(path) {
		return nil
	}
	f, err := open(path)
	if err != nil {
		return err
	}
	return f.Close()
}

type grepArgs struct {
	Path    string
	Pattern any
	Opts    []any `args:"opts"`
}

// grep searches files for a pattern with the program grep, and returns its result. The path may be
// a glob. Files that may never end, such as pipes, are an error.
//
// opts
//
//	Options of grep, one per argument.
//
// CLI Example:
//
//	salt '*' file.grep /etc/passwd nobody
//	salt '*' file.grep /etc/sysconfig/network-scripts/ifcfg-eth0 ipaddr -- -i
func (m programs) grep(ctx context.Context, a grepArgs) (any, error) {
	path := home(a.Path)
	files := globbed(path)
	if len(files) == 0 {
		files = []string{path}
	}
	cmd := []string{"grep"}
	for _, opt := range a.Opts {
		words, err := process.Words(data.Str(opt))
		if err != nil {
			return nil, loader.Exception("ValueError", "%w", err)
		}
		if len(words) > 1 {
			return nil, loader.Invocation("Passing multiple command line arguments in a single string is not supported, "+
				"please pass the following arguments separately: %s", data.Str(opt))
		}
		cmd = append(cmd, words...)
	}
	for _, file := range files {
		if paths.Exists(file) {
			if err := readable(file); err != nil && loader.KindOf(err) == loader.KindExecution {
				return nil, err
			}
		}
	}
	return m.runAll(ctx, append(append(cmd, data.Str(a.Pattern)), files...))
}

type patchArgs struct {
	Originalfile string
	Patchfile    string
	Options      any  `default:"''"`
	DryRun       bool `default:"False"`
}

// patch applies a patch to a file, or to the files of a directory, with the program patch, and
// returns its result.
//
// options
//
//	Options of patch, as text or list.
//
// dry_run : False
//
//	Change nothing.
//
// CLI Example:
//
//	salt '*' file.patch /opt/file.txt /tmp/file.txt.patch
func (m programs) patch(ctx context.Context, a patchArgs) (any, error) {
	program, err := exec.LookPath("patch")
	if err != nil {
		return nil, loader.Execution("patch executable not found. Is the distribution's patch package installed?")
	}
	options, err := optionWords(a.Options)
	if err != nil {
		return nil, loader.Exception("ValueError", "%w", err)
	}
	cmd := append([]string{program}, options...)
	if a.DryRun {
		dry := "--dry-run"
		if runtime.GOOS == "freebsd" || runtime.GOOS == "openbsd" {
			dry = "-C"
		}
		cmd = append(cmd, dry)
	}
	if !begins(cmd, "-N", "--forward") {
		cmd = append(cmd, "--forward") // ask no questions
	}
	if !begins(cmd, "-r", "--reject-file") {
		cmd = append(cmd, "--reject-file=-") // leave no reject file
	}
	cmd = append(cmd, "-i", a.Patchfile)
	if !paths.IsDir(a.Originalfile) {
		return m.runAll(ctx, append(cmd, a.Originalfile))
	}
	cmd = append(cmd, "-d", a.Originalfile)
	if !begins(cmd, "-p", "--strip=") {
		cmd = append(cmd, "--strip=0")
	}
	return m.runAll(ctx, cmd)
}

// begins reports whether a word is the short or long option. -N and -r must stand alone; others may
// include their value.
func begins(words []string, short, long string) bool {
	for _, word := range words {
		if word == short || short == "-p" && strings.HasPrefix(word, short) ||
			strings.HasPrefix(word, short+" ") || strings.HasPrefix(word, long) {
			return true
		}
	}
	return false
}

// optionWords splits options, given as text or list, into words.
func optionWords(v any) ([]string, error) {
	list, ok := v.([]any)
	if !ok {
		return process.Words(data.Str(v))
	}
	var words []string
	for _, word := range list {
		words = append(words, data.Str(word))
	}
	return words, nil
}

// readAll returns the content of a file.
func readAll(path string) (string, error) {
	f, err := open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var body bytes.Buffer
	if _, err := io.Copy(&body, io.LimitReader(f, mostRead)); err != nil {
		return "", osError(err)
	}
	return body.String(), nil
}

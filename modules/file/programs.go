//go:build unix

package file

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
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

// sed replaces what a regular expression matches in a file by the program sed, and returns the answer of the program; False where
// there is no file. file.replace does so without a program.
//
// limit
//
//	Only in lines that this matches; with negate_match only in others.
//
// escape_all : False
//
//	Signs of expressions in before and after stand for themselves.
//
// CLI Example:
//
//	salt '*' file.sed /etc/httpd/httpd.conf 'LogLevel warn' 'LogLevel info'
func (m *module) sed(ctx context.Context, a sedArgs) (any, error) {
	path := home(a.Path)
	if !paths.Exists(path) {
		return false, nil
	}
	options, err := process.Words(sedOptions(a.Options))
	if err != nil {
		return nil, loader.Exception("ValueError", "%w", err)
	}
	program := "s/" + sedEscape(data.Str(a.Before), a.EscapeAll) + "/" + sedEscape(data.Str(a.After), a.EscapeAll) + "/" + a.Flags
	if a.NegateMatch {
		program = "!" + program
	}
	inPlace := "-i"
	if data.Truth(a.Backup) {
		inPlace += data.Str(a.Backup)
	}
	return m.runAll(ctx, append(append([]string{"sed", inPlace}, options...), limited(a.Limit, a.EscapeAll)+program, path))
}

type sedContainsArgs struct {
	Path  string
	Text  any
	Limit any    `default:"''"`
	Flags string `default:"'g'"`
}

// sedContains reports whether a regular expression of the program sed matches in a file. file.search does so without a program.
//
// CLI Example:
//
//	salt '*' file.sed_contains /etc/crontab 'mymaintenance.sh'
func (m *module) sedContains(ctx context.Context, a sedContainsArgs) (any, error) {
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
	program := limited(data.Str(a.Limit), false) + "s/" + sedEscape(data.Str(a.Text), false) + "/$/p" + a.Flags
	argv := append(append([]string{"sed"}, options...), program, path)
	out, err := calls.RunOutput(ctx, m.env, calls.Run{Argv: argv})
	return out != "", err
}

// sedOptions returns options as the sed of this system has them.
func sedOptions(options string) string {
	if runtime.GOOS == "darwin" {
		return strings.ReplaceAll(options, "-r", "-E")
	}
	return options
}

// sedEscape makes a text fit between slashes; with all set, signs of expressions stand for themselves.
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
func (m *module) runAll(ctx context.Context, argv []string) (any, error) {
	ran, err := calls.RunAll(ctx, m.env, calls.Run{Argv: argv})
	return ran.Map, err
}

// readable returns an error for what a program would read for ever.
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

// grep looks for a pattern in files by the program grep, and returns the answer of the program. The path may be a glob; what would be
// read for ever, as pipes are, is an error.
//
// opts
//
//	Options of grep, each an argument of its own.
//
// CLI Example:
//
//	salt '*' file.grep /etc/passwd nobody
//	salt '*' file.grep /etc/sysconfig/network-scripts/ifcfg-eth0 ipaddr -- -i
func (m *module) grep(ctx context.Context, a grepArgs) (any, error) {
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
			return nil, loader.Invocation("Passing multiple command line arguments in a single string is not supported, please pass the following arguments separately: %s", data.Str(opt))
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

// patch applies a patch to a file, or to the files of a directory, by the program patch, and returns the answer of the program.
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
func (m *module) patch(ctx context.Context, a patchArgs) (any, error) {
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
		cmd = append(cmd, "--forward") // it asks nobody
	}
	if !begins(cmd, "-r", "--reject-file") {
		cmd = append(cmd, "--reject-file=-") // nothing stays beside the file
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

// begins reports whether a word is one of two options. The options -N and -r stand alone, others may have their value with them.
func begins(words []string, short, long string) bool {
	for _, word := range words {
		if word == short || short == "-p" && strings.HasPrefix(word, short) || strings.HasPrefix(word, short+" ") || strings.HasPrefix(word, long) {
			return true
		}
	}
	return false
}

// optionWords returns options as words, given as text or list.
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

type restoreconArgs struct {
	Path      string
	Recursive bool `default:"False"`
}

// restorecon gives a file the SELinux context that the policy says, by the program of that name, and reports whether it could.
//
// recursive : False
//
//	Do so with all that is below it.
//
// CLI Example:
//
//	salt '*' file.restorecon /home/user/.ssh/authorized_keys
func (m *module) restorecon(ctx context.Context, a restoreconArgs) (any, error) {
	flags := "-F"
	if a.Recursive {
		flags = "-FR"
	}
	return calls.Succeeds(ctx, m.env, calls.Run{Argv: []string{"restorecon", flags, a.Path}})
}

type statvfsArgs struct{ Path string }

// statvfs returns what the system knows of the file system that a path is on: blocks and files, free ones, and how large they are.
//
// CLI Example:
//
//	salt '*' file.statvfs /path/to/file
func (m *module) statvfs(_ context.Context, a statvfsArgs) (any, error) {
	path := home(a.Path)
	if !filepath.IsAbs(path) {
		return nil, loader.Invocation("File path must be absolute.")
	}
	v, err := volume(path)
	if err != nil {
		return nil, loader.Execution("Could not statvfs '%s'", path)
	}
	return v, nil
}

type psedArgs struct {
	Path      string
	Before    any
	After     any
	Limit     string `default:"''"`
	Backup    any    `default:"'.bak'"`
	Flags     string `default:"'gMS'"`
	EscapeAll bool   `default:"False"`
	Multi     any    `default:"False"`
}

// psed replaces what a regular expression of Python matches in a file. file.replace does more; this one is kept for those who have it.
//
// flags : gMS
//
//	g replaces all; I, L, M, S, U and X are flags of the expression.
//
// multi : False
//
//	Look at each line of its own.
//
// A limit is an error, as it is in Salt, but nothing is written then.
//
// CLI Example:
//
//	salt '*' file.psed /etc/httpd/httpd.conf 'LogLevel warn' 'LogLevel info'
func (m *module) psed(_ context.Context, a psedArgs) (any, error) {
	path := home(a.Path)
	info, err := os.Stat(path)
	if err != nil {
		return nil, osError(err)
	}
	if a.Limit != "" {
		return nil, loader.TypeError("must be str or None, not re.Pattern")
	}
	text, err := readAll(path)
	if err != nil {
		return nil, err
	}
	result, err := a.result(text)
	if err != nil {
		return nil, err
	}
	if err := copyBeside(path, path, data.Str(a.Backup)); err != nil {
		return nil, osError(err)
	}
	return nil, osError(m.place(path, placing{mode: info.Mode()}, bytesOf([]byte(result))))
}

func (a psedArgs) result(text string) (string, error) {
	once := 1
	var flags int64
	for _, letter := range a.Flags {
		if letter == 'g' {
			once = 0
			continue
		}
		flag, err := flagsOf(string(letter))
		if err != nil {
			return "", loader.Exception("KeyError", "%s", data.Repr(string(letter)))
		}
		flags |= flag
	}
	s, err := newSubstitution(sedEscape(data.Str(a.Before), a.EscapeAll), data.Str(a.After), flags)
	if err != nil {
		return "", err
	}
	if !data.Truth(a.Multi) {
		return s.in(text, once)
	}
	var all strings.Builder
	for line := range strings.Lines(text) {
		result, err := s.in(line, once)
		if err != nil {
			return "", err
		}
		all.WriteString(result)
	}
	return all.String(), nil
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

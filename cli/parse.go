package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
)

// parse reads the part of a command line that all programs share. The caller fills its struct when
// the values are final.
func parse(table func(environ) *program, in Invocation) (*Line, error) {
	l, err := readLine(table, in)
	if err != nil {
		return nil, err
	}
	l.configDir()
	if l.values.Has("no_parse") {
		l.noParse()
	}
	if l.values.Has("state_verbose") {
		l.truthText("state_verbose", false)
	}
	return l, nil
}

// ParseSalt reads the command line of salt. The error is an *Exit for a wrong one, for --help and
// the like.
func ParseSalt(in Invocation) (*SaltOptions, error) {
	l, err := parse(saltProgram, in)
	if err != nil {
		return nil, err
	}
	o := &SaltOptions{Line: l}
	l.into = o
	l.fill()
	if o.TargetKind, err = l.targetKind(); err != nil {
		return nil, err
	}
	if o.QueueFor, err = queueTime(o.Queue); err != nil {
		return nil, o.fail("%v", err)
	}
	if len(l.Args) <= 1 && !o.Doc && !o.PreviewTarget {
		l.Preface = l.Help()
	}
	if o.ConfigDump {
		return o, nil
	}
	if err := o.arguments(); err != nil {
		return nil, err
	}
	return o, nil
}

// arguments interprets the arguments as the target and one or more functions.
func (o *SaltOptions) arguments() error {
	args := o.Args
	if o.PreviewTarget {
		args = append(args, "not_a_valid_command")
	}
	if o.Doc {
		if args = docArguments(args); len(args) > 3 {
			return o.fail("You can only get documentation for one method at one time.")
		}
	}
	switch len(args) {
	case 0:
		return o.incomplete("\nCannot execute command without defining a target.\n\n")
	case 1:
		return o.incomplete("\nIncomplete options passed.\n\n")
	}
	o.Target = args[0]
	if o.List {
		o.Target = idList(args[0], true)
	}
	if !strings.Contains(args[1], ",") {
		o.Calls = []Call{{args[1], args[2:]}}
		return nil
	}
	o.Multi = true
	return o.compound(strings.Split(args[1], ","), args[2:])
}

func (o *SaltOptions) incomplete(message string) error {
	return &Exit{Code: exitNoTarget, Stdout: o.Preface, Stderr: o.Warnings + message}
}

// docArguments adds the function sys.doc, and a default target, to the arguments of --doc.
func docArguments(args []string) []string {
	if len(args) == 0 {
		return []string{"*", "sys.doc"}
	}
	if len(args) > 1 && args[1] == "sys.doc" {
		return args
	}
	return append([]string{args[0], "sys.doc"}, args[1:]...)
}

// compound distributes the arguments among the functions of a compound command. If stand-alone
// separators occur as often as needed, only they count; else also separators within an argument.
func (o *SaltOptions) compound(funs, args []string) error {
	sep := o.ArgsSeparator
	if sep == "" {
		return o.fail("the argument of --args-separator is empty")
	}
	lists := splitAlone(args, sep)
	if len(lists) != len(funs) {
		lists = splitWithin(args, sep)
	}
	switch {
	case len(funs) > len(lists):
		return o.incomplete("Cannot execute compound command without defining all arguments.\n")
	case len(funs) < len(lists):
		return o.incomplete("Cannot execute compound command with more arguments than commands.\n")
	}
	for i, fun := range funs {
		o.Calls = append(o.Calls, Call{fun, lists[i]})
	}
	return nil
}

func splitAlone(args []string, sep string) [][]string {
	lists := [][]string{nil}
	for _, arg := range args {
		if arg == sep {
			lists = append(lists, nil)
			continue
		}
		lists[len(lists)-1] = append(lists[len(lists)-1], arg)
	}
	return lists
}

func splitWithin(args []string, sep string) [][]string {
	lists := [][]string{nil}
	for _, arg := range args {
		if !strings.Contains(arg, sep) {
			lists[len(lists)-1] = append(lists[len(lists)-1], arg)
			continue
		}
		for i, part := range strings.Split(arg, sep) {
			if i > 0 {
				lists = append(lists, nil)
			}
			if part != "" {
				lists[len(lists)-1] = append(lists[len(lists)-1], part)
			}
		}
	}
	return lists
}

// idList splits a list of ids at commas, or at white space if it has no comma.
func idList(s string, dropSpaces bool) []any {
	parts := strings.Fields(s)
	if strings.Contains(s, ",") {
		if dropSpaces {
			s = strings.ReplaceAll(s, " ", "")
		}
		parts = strings.Split(s, ",")
	}
	list := []any{}
	for _, id := range parts {
		list = append(list, id)
	}
	return list
}

// targetKind returns the chosen kind of target as sent to the master, or "glob".
func (l *Line) targetKind() (string, error) {
	kind := "glob"
	var chosen []string
	for _, g := range l.program.groups {
		if g.title != "Target Options" {
			continue
		}
		for _, o := range g.options {
			if v := l.values.Value(o.dest); data.Truth(v) {
				kind = strings.TrimSuffix(o.dest, "_target") // pillar_target
				if v == true {
					chosen = append(chosen, "--"+o.long())
				}
			}
		}
	}
	if len(chosen) > 1 {
		return "", l.fail("The options %s are mutually exclusive. Please only choose one of them",
			strings.Join(chosen, "/"))
	}
	return kind, nil
}

// ParseKey reads the command line of salt-key, as ParseSalt does. With --gen-keys and an unreadable
// configuration, the directory for the keys is used as the configuration directory.
func ParseKey(in Invocation) (*KeyOptions, error) {
	l, err := readLine(keyProgram, in)
	if err != nil {
		return nil, err
	}
	o := &KeyOptions{Line: l}
	l.into = o
	if dir := l.in.expand(data.Str(l.Value("config_dir"))); l.text("gen_keys") != "" &&
		!readable(dir) {
		l.values.Set("config_dir", l.Value("gen_keys_dir"))
	}
	l.configDir()
	l.truthText("state_verbose", false)
	l.truthText("rotate_aes_key", true)
	l.truthText("preserve_minions", true)
	l.fill()
	return o, o.check()
}

func readable(dir string) bool {
	f, err := os.Open(dir)
	if err != nil {
		return false
	}
	return f.Close() == nil
}

func (o *KeyOptions) check() error {
	if o.List != "" && !hasAnyPrefix(o.List, "acc", "pre", "un", "rej", "den", "all") {
		return o.fail("'%s' is not a valid argument to '--list'", o.List)
	}
	switch {
	case o.KeySize < 2048:
		return o.fail("The minimum value for keysize is 2048")
	case o.KeySize > 32768:
		return o.fail("The maximum value for keysize is 32768")
	}
	if err := o.checkAll(); err != nil || len(o.Args) == 0 || o.FingerAll {
		return err // operators type `salt-key -F master`, which Salt accepts
	}
	return o.fail("salt-key accepts no argument %q; write names after an option, separated by commas: salt-key -a web1,web2", o.Args[0])
}

// checkAll rejects arguments beside an option that changes all keys, so that typing -D for -d does
// not delete all keys. The text for -D is Salt's (salt/cli/key.py). For accepting and rejecting all
// keys Salt ignores further arguments.
func (o *KeyOptions) checkAll() error {
	if len(o.Args) == 0 {
		return nil
	}
	for _, c := range []struct {
		all          bool
		name, letter string
	}{{o.AcceptAll, "accept", "a"}, {o.RejectAll, "reject", "r"}, {o.DeleteAll, "delete", "d"}} {
		if c.all {
			return &Exit{Code: ExitUsage, Stderr: fmt.Sprintf("%sError: %s all takes no arguments. Use -%s to %s specified keys\n",
				o.Warnings, strings.ToUpper(c.name[:1])+c.name[1:], c.letter, c.name)}
		}
	}
	return nil
}

func hasAnyPrefix(s string, prefixes ...string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

// ParseCall reads the command line of salt-call, as ParseSalt does.
func ParseCall(in Invocation) (*CallOptions, error) {
	l, err := parse(callProgram, in)
	if err != nil {
		return nil, err
	}
	l.values.Set("module_dirs", l.moduleDirs())
	o := &CallOptions{Line: l}
	l.into = o
	l.fill()
	switch {
	case len(l.Args) == 0 && !o.GrainsRun && !o.Doc:
		return nil, l.failWithHelp("Requires function, --grains or --doc")
	case len(l.Args) > 0 && o.GrainsRun:
		return nil, l.fail("-g/--grains does not accept any arguments")
	case len(l.Args) > 1 && o.Doc:
		return nil, l.fail("You can only get documentation for one method at one time")
	}
	o.Call = firstCall(l.Args)
	return o, nil
}

// moduleDirs makes the directories absolute; each option may list several, separated by commas.
func (l *Line) moduleDirs() []any {
	dirs := []any{}
	for _, list := range data.TextsOf(l.Value("module_dirs")) {
		for dir := range strings.SplitSeq(list, ",") {
			dirs = append(dirs, l.in.path(dir))
		}
	}
	return dirs
}

func firstCall(args []string) Call {
	if len(args) == 0 {
		return Call{}
	}
	return Call{args[0], args[1:]}
}

// ParseRun reads the command line of salt-run, as ParseSalt does. Only the form of the job ID is
// checked.
func ParseRun(in Invocation) (*RunOptions, error) {
	l, err := parse(runProgram, in)
	if err != nil {
		return nil, err
	}
	o := &RunOptions{Line: l}
	l.into = o
	l.fill()
	if _, err := job.ParseID(o.JID); l.Value("jid") != nil && err != nil {
		return nil, l.fail("'%s' is not a valid JID", o.JID)
	}
	if o.Doc && len(l.Args) > 1 {
		return nil, l.fail("You can only get documentation for one method at one time")
	}
	o.Call = firstCall(l.Args)
	return o, nil
}

// ParseCp reads the command line of salt-cp, as ParseSalt does.
func ParseCp(in Invocation) (*CpOptions, error) {
	l, err := parse(cpProgram, in)
	if err != nil {
		return nil, err
	}
	o := &CpOptions{Line: l}
	l.into = o
	l.fill()
	if o.TargetKind, err = l.targetKind(); err != nil {
		return nil, err
	}
	if len(l.Args) <= 1 {
		return nil, l.failWithHelp("Insufficient arguments")
	}
	o.Target = l.Args[0]
	if o.List {
		o.Target = idList(l.Args[0], false)
	}
	last := len(l.Args) - 1
	for _, path := range l.Args[1:last] {
		o.Sources = append(o.Sources, l.realPath(path))
	}
	o.Dest = l.Args[last]
	return o, nil
}

// realPath makes a path absolute and follows its symbolic links as far as it exists.
func (l *Line) realPath(path string) string {
	path = l.in.path(path)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// ParseMaster reads the command line of salt-master, as ParseSalt does.
func ParseMaster(in Invocation) (*MasterOptions, error) {
	l, err := parse(masterProgram, in)
	if err != nil {
		return nil, err
	}
	o := &MasterOptions{Line: l}
	l.into = o
	l.fill()
	return o, l.noArguments()
}

// ParseMinion reads the command line of salt-minion, as ParseSalt does.
func ParseMinion(in Invocation) (*MinionOptions, error) {
	l, err := parse(minionProgram, in)
	if err != nil {
		return nil, err
	}
	o := &MinionOptions{Line: l}
	l.into = o
	l.fill()
	return o, l.noArguments()
}

// noArguments rejects arguments of a daemon. Salt ignores them and starts.
func (l *Line) noArguments() error {
	if len(l.Args) == 0 {
		return nil
	}
	return l.fail("%s accepts only options, no argument %q", l.program.name, l.Args[0])
}

// ParseSyndic reads the command line of salt-syndic, as ParseSalt does.
func ParseSyndic(in Invocation) (*SyndicOptions, error) {
	l, err := parse(syndicProgram, in)
	if err != nil {
		return nil, err
	}
	o := &SyndicOptions{Line: l}
	l.into = o
	l.fill()
	return o, l.noArguments()
}

// ParseAPI reads the command line of salt-api, as ParseSalt does.
func ParseAPI(in Invocation) (*APIOptions, error) {
	l, err := parse(apiProgram, in)
	if err != nil {
		return nil, err
	}
	o := &APIOptions{Line: l}
	l.into = o
	l.fill()
	return o, l.noArguments()
}

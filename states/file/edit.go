package file

import (
	"context"
	"os"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

type replaceArgs struct {
	Name              string
	Pattern           any
	Repl              any
	Count             any  `default:"0"`
	Flags             any  `default:"8"`
	Bufsize           any  `default:"1"`
	AppendIfNotFound  bool `default:"False"`
	PrependIfNotFound bool `default:"False"`
	NotFoundContent   any  `default:"None"`
	Backup            any  `default:"'.bak'"`
	ShowChanges       bool `default:"True"`
	IgnoreIfMissing   bool `default:"False"`
	BackslashLiteral  bool `default:"False"`
}

// replace replaces the matches of a regular expression in a file. The arguments are those of the
// function file.replace.
//
//	/etc/ssh/sshd_config:
//	  file.replace:
//	    - pattern: '^PermitRootLogin .*'
//	    - repl: PermitRootLogin no
//	    - append_if_not_found: True
func (m edits) replace(ctx context.Context, a replaceArgs) (any, error) {
	name := home(a.Name)
	if name == "" {
		return change.Failed(name, "Must provide name to file.replace"), nil
	}
	if complaint := checkFile(name); complaint != "" {
		if a.IgnoreIfMissing && strings.Contains(complaint, "file not found") {
			return change.Unchanged(name, "No changes needed to be made"), nil
		}
		return change.Failed(name, complaint), nil
	}
	v, err := m.call(ctx, "file.replace", data.NewMap("count", a.Count, "flags", a.Flags,
		"bufsize", a.Bufsize, "append_if_not_found", a.AppendIfNotFound,
		"prepend_if_not_found", a.PrependIfNotFound, "not_found_content", a.NotFoundContent,
		"backup", a.Backup, "dry_run", change.Test(ctx), "show_changes", a.ShowChanges,
		"ignore_if_missing", a.IgnoreIfMissing, "backslash_literal", a.BackslashLiteral), name,
		a.Pattern, a.Repl)
	if err != nil {
		return nil, err
	}
	return edited(ctx, name, v, "Changes would have been made"), nil
}

// edited returns the result of a state whose function returned a diff, or whether there was a
// difference.
func edited(ctx context.Context, name string, diff any, would string) *data.Map {
	switch {
	case !data.Truth(diff):
		return change.Unchanged(name, "No changes needed to be made")
	case change.Test(ctx):
		return change.Would(name, data.NewMap("diff", diff), would)
	}
	return change.New(name, true, data.NewMap("diff", diff), "Changes were made")
}

type lineArgs struct {
	Name        string
	Content     any  `default:"None"`
	Match       any  `default:"None"`
	Mode        any  `default:"None"`
	Location    any  `default:"None"`
	Before      any  `default:"None"`
	After       any  `default:"None"`
	ShowChanges bool `default:"True"`
	Backup      bool `default:"False"`
	Quiet       bool `default:"False"`
	Indent      bool `default:"True"`
	Create      bool `default:"False"`
	User        any  `default:"None"`
	Group       any  `default:"None"`
	FileMode    any  `default:"None"`
}

// line edits one line of a file. The arguments are those of the function file.line, and these:
//
// create
//
//	Create the file if it is missing.
//
// user, group, file_mode
//
//	Owner and mode of the file.
//
//	/etc/myconfig.conf:
//	  file.line:
//	    - content: my key = my value
//	    - mode: ensure
//	    - after: somekey.*?
func (m edits) line(ctx context.Context, a lineArgs) (any, error) {
	name := home(a.Name)
	if name == "" {
		return change.Failed(name, "Must provide name to file.line"), nil
	}
	_, err := contents{m.module}.manage(ctx,
		managedArgs{Name: name, SourceHash: "", KeepSource: true, User: a.User, Group: a.Group,
			Mode: a.FileMode, Create: a.Create, ShowChanges: true, ContentsNewline: true,
			AllowEmpty: true, FollowSymlinks: true, VerifySSL: true, EncodingErrors: "strict"})
	if err != nil {
		return nil, err
	}
	if complaint := checkFile(name); complaint != "" {
		return change.Failed(name, complaint), nil
	}
	mode := strings.ToLower(data.Str(a.Mode))
	switch {
	case a.Mode == nil:
		return change.Failed(name, "Mode was not defined. How to process the file?"), nil
	case mode != "delete" && a.Content == nil:
		return change.Failed(name, "Content can only be empty if mode is ['delete']"), nil
	}
	v, err := m.call(ctx, "file.line", data.NewMap("match", a.Match, "mode", mode,
		"location", a.Location, "before", a.Before, "after", a.After,
		"show_changes", a.ShowChanges, "backup", a.Backup, "quiet", a.Quiet, "indent", a.Indent),
		name, a.Content)
	if err != nil {
		return nil, err
	}
	return edited(ctx, name, v, "Changes would be made"), nil
}

type blockreplaceArgs struct {
	Name              string
	MarkerStart       any  `default:"'#-- start managed zone --'"`
	MarkerEnd         any  `default:"'#-- end managed zone --'"`
	Source            any  `default:"None"`
	SourceHash        any  `default:"None"`
	Template          any  `default:"'jinja'"`
	Sources           any  `default:"None"`
	SourceHashes      any  `default:"None"`
	Defaults          any  `default:"None"`
	Context           any  `default:"None"`
	Content           any  `default:"''"`
	AppendIfNotFound  bool `default:"False"`
	PrependIfNotFound bool `default:"False"`
	Backup            any  `default:"'.bak'"`
	ShowChanges       bool `default:"True"`
	AppendNewline     any  `default:"None"`
	InsertBeforeMatch any  `default:"None"`
	InsertAfterMatch  any  `default:"None"`
}

// blockreplace replaces the text between two markers in a file. The new text consists of content,
// the accumulated texts for the file, and the rendered source or sources. Further arguments are
// those of the function file.blockreplace.
//
//	/etc/hosts:
//	  file.blockreplace:
//	    - marker_start: "# START managed zone -DO-NOT-EDIT-"
//	    - marker_end: "# END managed zone --"
//	    - content: 10.0.0.1 db
//	    - append_if_not_found: True
func (m edits) blockreplace(ctx context.Context, a blockreplaceArgs) (any, error) {
	name := home(a.Name)
	t := templates{a.Source, a.SourceHash, a.Template, a.Sources, a.SourceHashes,
		a.Defaults, a.Context}
	m.warnOfHash(t.source, t.sourceHash)
	complaint := t.complaint()
	switch {
	case name == "":
		complaint = "Must provide name to file.blockreplace"
	case complaint == "":
		complaint = checkFile(name)
	}
	if complaint != "" {
		return change.Failed(name, complaint), nil
	}
	content := accumulatorsOf(ctx).joined(name, data.Str(a.Content),
		change.CallOf(ctx).Low.Value("__id__"))
	if t.any() {
		list, failed, err := m.contentOf(ctx, t)
		if err != nil || failed != nil {
			return failed, err
		}
		content += strings.Join(list, "")
	}
	v, err := m.call(ctx, "file.blockreplace",
		data.NewMap("content", content, "append_if_not_found", a.AppendIfNotFound,
			"prepend_if_not_found", a.PrependIfNotFound, "insert_before_match", a.InsertBeforeMatch,
			"insert_after_match", a.InsertAfterMatch, "backup", a.Backup, "dry_run",
			change.Test(ctx), "show_changes", a.ShowChanges, "append_newline", a.AppendNewline),
		name, a.MarkerStart, a.MarkerEnd)
	if err != nil {
		return change.Failed(name, "Encountered error managing block: "+err.Error()+
			". See the log for details."), nil
	}
	return edited(ctx, name, v, "Changes would be made"), nil
}

// joined appends the accumulated texts for a file to the content: those for the state with this ID,
// or all if none are for it alone.
func (acc *accumulators) joined(file, content string, id any) string {
	all := acc.texts[file]
	var chosen []any
	for name := range all.All() {
		for _, dep := range acc.deps[file][data.Str(name)] {
			if data.Equal(dep, id) {
				chosen = append(chosen, name)
				break
			}
		}
	}
	if chosen == nil {
		chosen = all.Keys()
	}
	for _, name := range chosen {
		for _, line := range texts(all.Value(name)) {
			if content != "" {
				content += "\n"
			}
			content += line
		}
	}
	return content
}

type commentArgs struct {
	Name          string
	Regex         string
	Char          string `default:"'#'"`
	Backup        any    `default:"'.bak'"`
	IgnoreMissing bool   `default:"False"`
}

// comment puts a comment sign in front of the lines that match a regular expression.
//
// char, backup
//
//	The comment sign; the suffix for a copy of the old file.
//
// ignore_missing
//
//	Succeed if there is no such line.
//
//	/etc/fstab:
//	  file.comment:
//	    - regex: ^bind 127.0.0.1
func (m edits) comment(ctx context.Context, a commentArgs) (change.Result, error) {
	name := home(a.Name)
	plain := unanchored(a.Regex)
	c := &commentCall{
		name: name, regex: a.Regex, char: a.Char, backup: a.Backup, on: true,
		before: `^(?!\s*` + a.Char + `)\s*` + plain, done: a.Char + plain,
		word: "file.comment", did: "commented", absent: plain + ": Pattern not found",
	}
	if a.IgnoreMissing {
		c.missing = "Pattern not found and ignore_missing set to True"
	}
	return m.commentLines(ctx, c)
}

// unanchored returns an expression without flags and anchors.
func unanchored(expr string) string {
	if len(expr) > 3 && strings.HasPrefix(expr, "(?") &&
		strings.ContainsRune("iLmsux", rune(expr[2])) && expr[3] == ')' {
		expr = expr[4:]
	} else if len(expr) > 2 && strings.HasPrefix(expr, "(") &&
		strings.ContainsRune("iLmsux", rune(expr[1])) && expr[2] == ')' {
		expr = expr[3:]
	}
	return strings.TrimSuffix(strings.TrimPrefix(expr, "^"), "$")
}

type uncommentArgs struct {
	Name   string
	Regex  string
	Char   string `default:"'#'"`
	Backup any    `default:"'.bak'"`
}

// uncomment removes comment signs in front of the lines that match a regular expression after the
// sign.
//
//	/etc/adduser.conf:
//	  file.uncomment:
//	    - regex: EXTRA_GROUPS
func (m edits) uncomment(ctx context.Context, a uncommentArgs) (change.Result, error) {
	name := home(a.Name)
	plain := strings.TrimLeft(a.Regex, "^")
	return m.commentLines(ctx, &commentCall{
		name: name, regex: a.Regex, char: a.Char, backup: a.Backup,
		before: a.Char + "[ \t]*" + plain, done: "^[ \t]*" + plain,
		word: "file.uncomment", did: "uncommented", absent: a.Regex + ": Pattern not found",
	})
}

// A commentCall is one call of comment or uncomment. Lines that match before are turned into lines
// that match done.
type commentCall struct {
	name, regex, char string
	backup            any
	on                bool
	before, done      string
	word, did         string // name of the state, and the verb in its comment
	absent, missing   string // failure if there are no such lines, or comment that this is fine

	changes *data.Map
}

func (m edits) commentLines(ctx context.Context, c *commentCall) (change.Result, error) {
	if c.name == "" {
		return change.Refuse(c.name, "Must provide name to "+c.word)
	}
	if complaint := checkFile(c.name); complaint != "" {
		return change.Refuse(c.name, complaint)
	}
	return change.Thing[string]{
		Name: c.name,
		Look: func(ctx context.Context) (string, error) { return c.nothing(ctx, m) },
		Wants: func(nothing string) *data.Map {
			return change.When(nothing == "", data.NewMap(c.name, "updated"))
		},
		Apply:   func(ctx context.Context, _ string) error { return c.apply(ctx, m) },
		Changed: func(_, _ string) *data.Map { return c.changes },
		Say: func(o change.Outcome[string]) any {
			switch o.Stage {
			case change.StageSame:
				return o.Before
			case change.StageWould:
				return "File " + c.name + " is set to be updated"
			case change.StageDone:
				return strings.ToUpper(c.did[:1]) + c.did[1:] + " lines successfully"
			}
			return nil
		},
		Trust: true, // afterwards only the edited lines matter
	}.Ensure(ctx)
}

// nothing returns why there is nothing to do, or "" if there is something.
func (c *commentCall) nothing(ctx context.Context, m edits) (string, error) {
	found, err := m.searched(ctx, c.name, c.before)
	if err != nil || found {
		return "", err
	}
	done, err := m.searched(ctx, c.name, c.done)
	switch {
	case err != nil:
		return "", err
	case done:
		return "Pattern already " + c.did, nil
	case c.missing != "":
		return c.missing, nil
	}
	return "", change.Reason(c.absent)
}

func (c *commentCall) apply(ctx context.Context, m edits) error {
	before, err := readLines(c.name)
	if err == nil {
		_, err = m.call(ctx, "file.comment_line", nil, c.name, c.regex, c.char, c.on, c.backup)
	}
	if err != nil {
		return change.Raise(err)
	}
	after, err := readLines(c.name)
	if err != nil {
		return change.Raise(err)
	}
	c.changes = m.diffOf(c.name, before, after, "")
	done, err := m.searched(ctx, c.name, c.done)
	if err == nil && !done {
		return change.Reason("Expected " + c.did + " lines not found")
	}
	return err
}

// searched reports whether an expression matches in a file. Its error is to be raised.
func (m edits) searched(ctx context.Context, name, expr string) (bool, error) {
	return change.Ask[bool](ctx, m.env, "file.search", []any{name, expr},
		data.NewMap("multiline", true))
}

type keyvalueArgs struct {
	Name              string
	Key               any    `default:"None"`
	Value             any    `default:"None"`
	KeyValues         any    `default:"None"`
	Separator         string `default:"'='"`
	AppendIfNotFound  bool   `default:"False"`
	PrependIfNotFound bool   `default:"False"`
	SearchOnly        bool   `default:"False"`
	ShowChanges       bool   `default:"True"`
	IgnoreIfMissing   bool   `default:"False"`
	Count             int64  `default:"1"`
	Uncomment         any    `default:"None"`
	KeyIgnoreCase     bool   `default:"False"`
	ValueIgnoreCase   bool   `default:"False"`
}

// keyvalue sets values in a file with lines of the form KEY=VALUE.
//
// key, value, key_values
//
//	One key and its value, or a dictionary of them.
//
// separator
//
//	The separator between key and value.
//
// append_if_not_found, prepend_if_not_found
//
//	Add a line at the end or the beginning for missing keys.
//
// count
//
//	How many lines of a key to keep. Further ones are removed. -1 keeps all.
//
// uncomment
//
//	Characters to remove in front of keys.
//
// key_ignore_case, value_ignore_case
//
//	Ignore case in comparisons.
//
// ignore_if_missing, show_changes
//
//	Succeed if there is no file; omit the diff from the result.
//
//	/etc/ssh/sshd_config:
//	  file.keyvalue:
//	    - key_values:
//	        permitrootlogin: without-password
//	    - separator: ' '
//	    - uncomment: '# '
//	    - key_ignore_case: True
func (m edits) keyvalue(ctx context.Context, a keyvalueArgs) (change.Result, error) {
	name := home(a.Name)
	pairs, complaint := a.pairs(name)
	if complaint != "" {
		return change.Refuse(name, complaint)
	}
	body, err := os.ReadFile(name)
	switch {
	case err != nil && a.IgnoreIfMissing:
		return change.Leave(name, "unable to open "+name)
	case err != nil:
		return change.Refuse(name, "unable to open "+name)
	}
	k := &keyValueEdit{keyvalueArgs: a, pairs: pairs, left: map[any]int64{}}
	for key := range pairs.All() {
		k.left[key] = a.Count
	}
	text := string(body)
	if paths.LineEnd == "\n" { // on Windows lines keep their ends
		text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	}
	k.edit(text)
	k.add()
	return m.keep(ctx, name, k)
}

func (a keyvalueArgs) pairs(name string) (*data.Map, string) {
	pairs, isMap := a.KeyValues.(*data.Map)
	switch {
	case name == "":
		return nil, "Must provide name to file.keyvalue"
	case a.Key != nil && a.Value != nil && isMap:
		return nil, "file.keyvalue can not combine key_values with key and value"
	case a.Key != nil && a.Value != nil:
		return data.NewMap(data.Str(a.Key), a.Value), ""
	case !data.Truth(a.KeyValues):
		return nil, "file.keyvalue key and value not supplied and key_values is empty"
	case !isMap:
		return nil, "file.keyvalue key and value not supplied and key_values is not a dictionary"
	}
	return pairs, ""
}

// A keyValueEdit is an edit of a file with keys and values.
type keyValueEdit struct {
	keyvalueArgs
	pairs   *data.Map
	left    map[any]int64 // remaining number of lines to keep for each key
	lines   []string
	diff    []string
	changes int64
}

// bare returns a line without the characters that mark a comment.
func (k *keyValueEdit) bare(line string) string {
	if k.Uncomment == nil {
		return strings.TrimLeft(line, " \t\n\r\v\f")
	}
	return strings.TrimLeft(line, data.Str(k.Uncomment))
}

func (k *keyValueEdit) edit(text string) {
	for line := range strings.Lines(text) {
		k.lines = append(k.lines, k.edited(line))
	}
}

// edited returns the new form of a line.
func (k *keyValueEdit) edited(line string) string {
	bare := k.bare(line)
	commented := len(line) > len(bare)
	for key, value := range k.pairs.All() {
		working := line
		if commented {
			working = bare
		}
		name, had, ok := strings.Cut(working, k.Separator)
		want := data.Str(key)
		if !ok || !strings.HasPrefix(k.fold(bare), k.fold(want)) || k.fold(name) != k.fold(want) {
			continue
		}
		had, new := strings.TrimSpace(had), strings.TrimSpace(data.Str(value))
		if k.ValueIgnoreCase {
			had, new = strings.ToLower(had), strings.ToLower(new)
		}
		same, must := had == new, false
		switch {
		case commented && k.left[key] > 0:
			must = true
		case commented:
			same = true
		case k.left[key] == 0:
			must = true
		}
		if !same || must {
			line = k.changed(line, name, key, value)
		}
		if k.left[key] > 0 {
			k.left[key]--
		}
	}
	return line
}

func (k *keyValueEdit) fold(s string) string {
	if k.KeyIgnoreCase {
		return strings.ToLower(s)
	}
	return s
}

// changed records that a line is changed or removed.
func (k *keyValueEdit) changed(line, name string, key, value any) string {
	k.diff = append(k.diff, "- "+line)
	k.changes++
	if k.left[key] == 0 {
		return ""
	}
	line = name + k.Separator + data.Str(value) + paths.LineEnd
	if _, ok := value.(string); ok {
		k.diff = append(k.diff, "+ "+line)
	} else {
		k.diff = append(k.diff, "+ "+strings.TrimRight(line, " \t\n\r\v\f")+" (from "+
			loader.TypeName(value)+" type)\n")
	}
	return line
}

// add adds the missing keys.
func (k *keyValueEdit) add() {
	var added []string
	for key, value := range k.pairs.All() {
		if k.left[key] > 0 && (k.AppendIfNotFound || k.PrependIfNotFound) {
			added = append(added, data.Str(key)+k.Separator+data.Str(value)+paths.LineEnd)
		}
	}
	k.changes += int64(len(added))
	if len(added) == 0 {
		return
	}
	if k.AppendIfNotFound {
		k.diff = append(k.diff, "- <EOF>\n")
		for _, line := range added {
			k.diff = append(k.diff, "+ "+line)
			k.lines = append(k.lines, line)
		}
		k.diff = append(k.diff, "+ <EOF>\n")
		return
	}
	for _, line := range added {
		k.diff = append([]string{"+ " + line}, k.diff...)
		k.lines = append([]string{line}, k.lines...)
	}
	k.diff = append([]string{"  <SOF>\n"}, k.diff...)
}

// keep writes the file if any lines changed.
func (m edits) keep(ctx context.Context, name string, k *keyValueEdit) (change.Result, error) {
	n := data.Str(k.changes)
	would := "File " + name + " is set to be changed (" + n + " lines)"
	if k.ShowChanges {
		would += "\nPredicted diff:\n\r\t\t" + strings.Join(k.diff, "\r\t\t")
	}
	diff := data.NewMap("diff", strings.Join(k.diff, ""))
	return change.Thing[*keyValueEdit]{
		Name:  name,
		Look:  func(context.Context) (*keyValueEdit, error) { return k, nil },
		Wants: func(k *keyValueEdit) *data.Map { return change.When(k.changes > 0, diff) },
		Apply: func(ctx context.Context, k *keyValueEdit) error {
			words := data.NewMap("contents", strings.Join(k.lines, ""), "show_changes", false)
			done, err := loader.CallAs[*data.Map](ctx, m.env, "file.manage_file", []any{
				name, "", data.NewMap(), nil, data.NewMap(), nil, nil, nil, nil,
				change.CallOf(ctx).SaltEnv, "",
			}, words)
			if err != nil || done.Value("result") == false {
				return change.Reason(name + " not writable")
			}
			return nil
		},
		Changed: func(_, k *keyValueEdit) *data.Map { return change.When(k.ShowChanges, diff) },
		Texts:   change.Texts{Would: would, Done: "Changed " + n + " lines"},
		Silent:  !k.ShowChanges,
		Trust:   true, // missing lines that may not be added stay missing
	}.Ensure(ctx)
}

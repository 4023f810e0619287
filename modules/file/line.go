package file

import (
	"context"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/difflib"
	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/loader"
)

type lineArgs struct {
	Path        string
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
}

// line edits one line of a file and returns the diff.
//
// content
//
//	The line.
//
// match
//
//	The line to delete or replace: a part of its text, or a regular expression.
//
// mode
//
//	ensure inserts the line before or after another unless it exists, insert inserts it there or
//	at a location, replace replaces another line, delete deletes a line.
//
// location
//
//	start or end of the file.
//
// before, after
//
//	The lines between which to insert it, or next to which: a part of their text, or regular
//	expressions.
//
// show_changes : True
//
//	Return the diff instead of whether there is one.
//
// backup : False
//
//	Keep a copy of the old file beside it, with the time in its name.
//
// quiet : False
//
//	A missing file is not an error.
//
// indent : True
//
//	Indent the line like the line that it replaces or stands next to.
//
// CLI Example:
//
//	salt '*' file.line /etc/nsswitch.conf "networks:\tfiles dns" after="hosts:.*?" mode='ensure'
func (m edits) line(ctx context.Context, a lineArgs) (any, error) {
	path := where(a.Path)
	if !paths.IsFile(path) {
		if a.Quiet {
			return false, nil
		}
		return nil, loader.Execution(`File "%s" does not exists or is not a file.`, path)
	}
	mode, err := a.mode()
	if err != nil {
		return nil, err
	}
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, osError(err)
	}
	text := string(src)
	if paths.LineEnd == "\n" { // as Python reads text; on Windows lines keep their ends
		text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	}
	e := &edited{lines: slices.Collect(strings.Lines(text)), indent: a.Indent,
		content: data.Str(a.Content)}
	if len(e.lines) > 0 && strings.HasSuffix(text, "\n") {
		e.lines = append(e.lines, "")
	}
	if err := e.apply(a, mode); err != nil {
		return nil, err
	}
	e.end()
	result := strings.Join(e.lines, "")
	if result == text {
		return false, nil
	}
	if !testMode(ctx, m.env) {
		ending := time.Now().Format(".2006-01-02-15-04-05")
		if a.Backup {
			if err := copyBeside(path, path, ending); err != nil {
				return nil, loader.Execution("Unable to create the backup file of %s. Exception: %w", path,
					osError(err))
			}
		}
		if err := place(path, placing{}, bytesOf([]byte(result))); err != nil {
			return nil, osError(err)
		}
	}
	if !a.ShowChanges {
		return true, nil
	}
	if diff := difflib.Text(decoded(difflib.Lines(text)), decoded(e.lines)); diff != "" {
		return diff, nil
	}
	return true, nil
}

func (a lineArgs) mode() (string, error) {
	mode := strings.ToLower(data.Str(a.Mode))
	switch {
	case a.Mode == nil:
		return "", loader.Execution("Mode was not defined. How to process the file?")
	case !slices.Contains([]string{"insert", "ensure", "delete", "replace"}, mode):
		return "", loader.Execution(`Unknown mode: "%s"`, mode)
	case mode != "delete" && a.Content == nil:
		return "", loader.Execution(`Content can only be empty if mode is "delete"`)
	}
	return mode, nil
}

// An edited is a file in which a line changes.
type edited struct {
	lines                []string
	content              string
	indent               bool
	before, after, match []string // lines that match the arguments
}

func (e *edited) apply(a lineArgs, mode string) error {
	if a.Before == nil && a.After == nil && !data.Truth(a.Match) {
		a.Match = a.Content
	}
	for _, look := range []struct {
		to   *[]string
		expr any
	}{{&e.after, a.After}, {&e.before, a.Before}, {&e.match, a.Match}} {
		var err error
		if *look.to, err = e.like(look.expr); err != nil {
			return err
		}
	}
	switch {
	case mode == "delete" && len(e.match) > 0:
		e.lines = slices.DeleteFunc(e.lines, func(line string) bool { return line == e.match[0] })
	case mode == "replace" && len(e.match) > 0:
		i := slices.Index(e.lines, e.match[0])
		e.lines[i] = e.indented(e.lines[i])
	case mode == "insert":
		return e.insert(a)
	case mode == "ensure":
		return e.ensure()
	}
	return nil
}

// like returns the lines that an expression matches, or that contain its text.
func (e *edited) like(v any) ([]string, error) {
	if !data.Truth(v) {
		return nil, nil
	}
	expr := data.Str(v)
	matches, err := searcher(expr, reDotAll)
	if err != nil {
		return nil, loader.Execution("%s: '%s'", err, expr)
	}
	var found []string
	for _, line := range e.lines {
		ok, err := matches(line)
		if err != nil {
			return nil, loader.Execution("%s: '%s'", err, expr)
		}
		if ok || strings.Contains(line, expr) {
			found = append(found, line)
		}
	}
	return found, nil
}

// indented returns the content with the indentation of another line.
func (e *edited) indented(like string) string {
	if !e.indent {
		return e.content
	}
	return like[:len(like)-len(strings.TrimLeft(like, "\t "))] + strings.TrimLeft(e.content,
		" \t\n\r\v\f")
}

// put inserts the content before line i, indented like another line.
func (e *edited) put(i int, like string) { e.lines = slices.Insert(e.lines, i, e.indented(like)) }

// same reports whether a line is the content.
func (e *edited) same(line string) bool {
	return strings.TrimRight(line, "\r\n") == strings.TrimRight(e.content, "\r\n")
}

// only returns the index of the found line. More or less than one is an error.
func (e *edited) only(found []string, what string) (int, error) {
	switch {
	case len(found) > 1:
		return 0, loader.Execution(`Found more than expected occurrences in "%s" expression`, what)
	case len(found) == 0:
		return 0, loader.Execution(`Found less than expected occurrences in "%s" expression`, what)
	}
	return slices.Index(e.lines, found[0]), nil
}

func (e *edited) insert(a lineArgs) error {
	switch {
	case a.Location == nil && e.before == nil && e.after == nil:
		if a.Before == nil && a.After == nil || len(e.lines) == 0 {
			return loader.Execution(`On insert either "location" or "before/after" conditions are required.`)
		}
		return loader.Execution("Neither before or after was found in file")
	case data.Truth(a.Location):
		e.insertAt(data.Str(a.Location))
		return nil
	case len(e.before) > 0 && len(e.after) > 0:
		last, err := e.only(e.before, "before")
		if err != nil {
			return err
		}
		if _, err := e.only(e.after, "after"); err != nil {
			return err
		}
		e.put(last, e.lines[last])
		return nil
	case len(e.after) > 0:
		i, err := e.only(e.after, "after")
		if err == nil && (i+1 >= len(e.lines) || !e.same(e.lines[i+1])) {
			e.put(i+1, e.lines[i])
		}
		return err
	}
	i, err := e.only(e.before, "before")
	if err == nil && !e.same(e.lines[(i+len(e.lines)-1)%len(e.lines)]) {
		e.put(i, e.lines[i])
	}
	return err
}

func (e *edited) insertAt(location string) {
	switch {
	case location == "end" && len(e.lines) == 0:
		e.lines = []string{e.content}
	case location == "end":
		e.put(len(e.lines), e.lines[len(e.lines)-1])
	case location == "start" && len(e.lines) == 0:
		e.lines = []string{e.content + paths.LineEnd}
	case location == "start":
		e.lines = slices.Insert(e.lines, 0, ended(e.lines[0], e.content))
	}
}

func (e *edited) ensure() error {
	if len(e.before) > 0 && len(e.after) > 0 {
		return e.between()
	}
	if len(e.before) > 0 {
		i, err := e.only(e.before, "before")
		if err == nil && (i == 0 || !e.same(e.lines[i-1])) {
			e.put(i, e.lines[(i+len(e.lines)-1)%len(e.lines)])
		}
		return err
	}
	if len(e.after) > 0 {
		i, err := e.only(e.after, "after")
		if err == nil && (i+1 >= len(e.lines) || !e.same(e.lines[i+1])) {
			e.put(i+1, e.lines[i])
		}
		return err
	}
	return loader.Execution("Wrong conditions? Unable to ensure line without knowing where to put it before and/or after.")
}

func (e *edited) between() error {
	after, err := e.only(e.after, "after")
	if err != nil {
		return err
	}
	before, err := e.only(e.before, "before")
	if err != nil {
		return err
	}
	there := func(line string) bool { return strings.TrimLeft(line, " \t\n\r\v\f") == e.content }
	switch {
	case slices.ContainsFunc(e.lines, there):
	case after+1 == before:
		e.put(after+1, e.lines[after])
	case after+2 == before:
		e.lines[after+1] = e.indented(e.lines[after])
	default:
		return loader.Execution(`Found more than one line between boundaries "before" and "after".`)
	}
	return nil
}

// ended returns a line with the line ending of another.
func ended(like, line string) string {
	end := paths.LineEnd
	switch {
	case strings.HasSuffix(like, "\r\n"):
		end = "\r\n"
	case strings.HasSuffix(like, "\n"):
		end = "\n"
	case strings.HasSuffix(like, "\r"):
		end = "\r"
	}
	return strings.TrimRight(line, " \t\n\r\v\f") + end
}

// end completes the line endings of all lines but the last.
func (e *edited) end() {
	for i, line := range e.lines {
		if i+1 == len(e.lines) || strings.HasSuffix(line, "\n") || strings.HasSuffix(line, "\r") {
			continue
		}
		before := i - 1
		if i < 2 {
			before = 1
		}
		e.lines[i] = ended(e.lines[before], line)
	}
	if n := len(e.lines); n > 0 && e.lines[n-1] == "" {
		e.lines = e.lines[:n-1]
	}
}

type blockreplaceArgs struct {
	Path              string
	MarkerStart       string `default:"'#-- start managed zone --'"`
	MarkerEnd         string `default:"'#-- end managed zone --'"`
	Content           string `default:"''"`
	AppendIfNotFound  bool   `default:"False"`
	PrependIfNotFound bool   `default:"False"`
	Backup            any    `default:"'.bak'"`
	DryRun            bool   `default:"False"`
	ShowChanges       bool   `default:"True"`
	AppendNewline     any    `default:"False"`
	InsertBeforeMatch any    `default:"None"`
	InsertAfterMatch  any    `default:"None"`
}

// blockreplace replaces the text between two markers in a file and returns the diff.
//
// append_if_not_found, prepend_if_not_found : False
//
//	If there are no markers, add markers and content at the end or beginning.
//
// insert_before_match, insert_after_match : None
//
//	If there are no markers, add them before or after the first line that this regular expression
//	matches.
//
// backup : .bak
//
//	The suffix for a copy of the old file; False makes no copy.
//
// dry_run : False
//
//	Change nothing.
//
// show_changes : True
//
//	Return the diff instead of whether there is one.
//
// append_newline : False
//
//	End the content with a line feed before the end marker. None adds one only if it is missing.
//
// CLI Example:
//
//	salt '*' file.blockreplace /etc/hosts '#-- start managed zone foobar : DO NOT EDIT --' '#-- end managed zone foobar --' $'10.0.1.1 foo.foobar\n10.0.1.2 bar.foobar' True
func blockreplace(_ context.Context, a blockreplaceArgs) (any, error) {
	ways := 0
	for _, way := range []bool{a.AppendIfNotFound, a.PrependIfNotFound,
		data.Truth(a.InsertBeforeMatch),
		data.Truth(a.InsertAfterMatch)} {
		if way {
			ways++
		}
	}
	path := home(a.Path)
	switch {
	case ways > 1:
		return nil, loader.Invocation("Only one of append_if_not_found, prepend_if_not_found, " +
			"insert_before_match, and insert_after_match is permitted")
	case !paths.Exists(path):
		return nil, loader.Invocation("File not found: %s", path)
	case !isText(path):
		return nil, loader.Invocation("Cannot perform string replacements on a binary file: %s",
			path)
	}
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, loader.Execution("Failed to read from %s: %w", path, osError(err))
	}
	old := difflib.ByteLines(string(src))
	now, err := a.replaced(old)
	if err != nil {
		return nil, err
	}
	diff := difflib.Text(decoded(old), decoded(now))
	if diff != "" && !a.DryRun {
		if a.Backup == nil {
			a.Backup = "None" // as Salt writes it
		}
		if err := edit(realPath(path, 0), path, strings.Join(now, ""), blockBackup(a.Backup),
			false); err != nil {
			return nil, err
		}
	}
	if a.ShowChanges {
		return diff, nil
	}
	return diff != "", nil
}

// blockBackup returns the suffix of the backup, or nil for False and "".
func blockBackup(v any) any {
	if v == false || v == "" {
		return nil
	}
	return data.Str(v)
}

// replaced returns the lines with the block replaced or added.
func (a blockreplaceArgs) replaced(old []string) ([]string, error) {
	sep := paths.LineEnd
	switch {
	case len(old) > 0 && strings.HasSuffix(old[0], "\r\n"):
		sep = "\r\n"
	case len(old) > 0 && strings.HasSuffix(old[0], "\n"):
		sep = "\n"
	}
	var now []string
	inside, found := false, false
	for _, line := range old {
		keep := true
		if strings.Contains(line, a.MarkerStart) {
			inside = true
		} else if inside {
			keep = false
			if i := strings.Index(line, a.MarkerEnd); i >= 0 {
				inside, found = false, true
				now = append(now, a.block(sep, line[i:])...)
			}
		}
		if keep {
			now = append(now, line)
		}
	}
	switch {
	case inside:
		return nil, loader.Execution("Unterminated marked block. End of file reached before marker_end.")
	case found:
		return now, nil
	}
	return a.added(now, sep)
}

// added returns the lines with a new block.
func (a blockreplaceArgs) added(lines []string, sep string) ([]string, error) {
	block := append([]string{a.MarkerStart + sep}, a.block(sep, a.MarkerEnd)...)
	switch {
	case a.PrependIfNotFound:
		return append(block, lines...), nil
	case a.AppendIfNotFound:
		if n := len(lines); n > 0 && !strings.HasSuffix(lines[n-1], sep) {
			lines[n-1] += sep
		}
		return append(lines, block...), nil
	}
	expr, after := a.InsertBeforeMatch, 0
	if !data.Truth(expr) {
		expr, after = a.InsertAfterMatch, 1
	}
	if data.Truth(expr) {
		text, ok := expr.(string)
		if !ok {
			return nil, loader.Execution("RegEx expected in insert_%s_match parameter.",
				[]string{"before", "after"}[after])
		}
		matches, err := searcher(text, 0)
		if err != nil {
			return nil, err
		}
		for i, line := range lines {
			ok, err := matches(line)
			if err != nil {
				return nil, err
			}
			if ok {
				return slices.Insert(slices.Clone(lines), i+after, block...), nil
			}
		}
	}
	return nil, loader.Execution("Cannot edit marked block. Markers were not found in file.")
}

// block returns the lines of the content and of the end marker.
func (a blockreplaceArgs) block(sep, end string) []string {
	end = strings.TrimRight(end, "\r\n") + sep
	content := strings.Split(strings.ReplaceAll(a.Content, "\r\n", "\n"), "\n")
	last := len(content) - 1
	for i := range content[:last] {
		content[i] += sep
	}
	if data.Truth(a.AppendNewline) || a.AppendNewline == nil &&
		!strings.HasSuffix(a.Content, "\n") {
		content[last] += sep
		return append(content, end)
	}
	content[last] += end
	return content
}

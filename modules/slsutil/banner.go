package slsutil

import (
	"context"
	"runtime"
	"strings"
	"unicode/utf8"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/jinja"
	"github.com/brineproject/brine/loader"
)

type bannerArgs struct {
	Width       int    `default:"72"`
	Commentchar string `default:"'#'"`
	Borderchar  string `default:"'#'"`
	Blockstart  any    `default:"None"`
	Blockend    any    `default:"None"`
	Title       any    `default:"None"`
	Text        any    `default:"None"`
	Newline     bool   `default:"False"`
}

// These texts are Salt's.
const (
	bannerTitle = "THIS FILE IS MANAGED BY SALT - DO NOT EDIT"
	bannerText  = "The contents of this file are managed by Salt. Any changes to this file may be overwritten automatically and without warning."
)

// mostWidth is the maximum width of a banner, in characters.
const mostWidth = 100_000

// banner returns a comment for managed files that warns against changing them: a box with a title
// and a text.
//
// width : 72
//
//	The length of its lines in characters.
//
// commentchar : #
//
//	The text that begins a comment.
//
// borderchar : #
//
//	The character of the upper and lower border.
//
// blockstart, blockend : None
//
//	Lines before and after the box, such as /* and */.
//
// title, text : None
//
//	Texts that replace the warning that the file is managed.
//
// newline : False
//
//	Add a newline at the end.
//
// CLI Example:
//
//	salt '*' slsutil.banner width=60 commentchar='//'
func (m *module) banner(_ context.Context, a bannerArgs) (any, error) {
	left, right := strings.TrimRight(a.Commentchar, " \t\n\r\v\f"), strings.TrimSpace(a.Commentchar)
	inside := a.Width - runes(left) - runes(right) - 2
	if a.Width > mostWidth {
		return nil, loader.Invocation("a banner has at most %d characters a line", mostWidth)
	}
	if inside <= 0 {
		return nil, loader.Exception("salt.exceptions.ArgumentValueError",
			"Width is too small to render banner")
	}
	border, _ := utf8.DecodeRuneInString(a.Borderchar)
	edge := a.Commentchar + right
	if a.Borderchar != "" {
		edge = a.Commentchar + strings.Repeat(string(border),
			a.Width-runes(left)-runes(right)) + right
	}
	space := a.Commentchar + strings.Repeat(" ",
		max(0, a.Width-2*runes(a.Commentchar))) + a.Commentchar
	lines := []string{edge, space}
	if a.Blockstart != nil {
		lines = []string{data.Str(a.Blockstart), edge, space}
	}
	for _, line := range paragraph(a.Title, bannerTitle, inside) {
		lines = append(lines, left+" "+centred(line, inside)+" "+right)
	}
	lines = append(lines, space)
	for _, line := range paragraph(a.Text, bannerText, inside) {
		lines = append(lines, left+" "+line+strings.Repeat(" ", inside-runes(line))+" "+right)
	}
	lines = append(lines, edge)
	if a.Blockend != nil {
		lines = append(lines, data.Str(a.Blockend))
	}
	return ended(lines, a.Newline), nil
}

func runes(s string) int { return utf8.RuneCountInString(s) }

// paragraph wraps a text, or otherwise if v is not set, and returns the lines.
func paragraph(v any, otherwise string, width int) []string {
	text := otherwise
	if v != nil {
		text = data.Str(v)
	}
	text = strings.Map(func(r rune) rune {
		if strings.ContainsRune("\t\n\r\v\f", r) {
			return ' '
		}
		return r
	}, untabbed(text))
	return jinja.Wrap(text, width)
}

// untabbed replaces tabs by blanks up to the next multiple of eight columns.
func untabbed(text string) string {
	var b strings.Builder
	column := 0
	for _, r := range text {
		switch r {
		case '\t':
			n := 8 - column%8
			b.WriteString(strings.Repeat(" ", n))
			column += n
			continue
		case '\n', '\r':
			column = -1
		}
		column++
		b.WriteRune(r)
	}
	return b.String()
}

// centred pads a line on both sides as Python's str.center does.
func centred(line string, width int) string {
	free := width - runes(line)
	if free <= 0 {
		return line
	}
	left := free/2 + free&width&1
	return strings.Repeat(" ", left) + line + strings.Repeat(" ", free-left)
}

// ended joins lines with the line ends of this system.
func ended(lines []string, last bool) string {
	end := "\n"
	if runtime.GOOS == "windows" {
		end = "\r\n"
	}
	text := strings.Join(lines, end)
	if last {
		text += end
	}
	return text
}

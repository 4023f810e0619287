// Package pages reads the examples of pages of documentation, so that tests can try them out.
package pages

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// A Block is a block of code of a page.
type Block struct {
	Language string // behind the fence: go, python, console
	// the path of the file that it is, "" for none: the line before ends with it in backquotes and a
	// colon, or begins with it and ends with a colon
	File string
	Text string
}

// A Command is a line of a console with what it prints.
type Command struct{ Line, Output string }

// fileLine is a line that names the file of the block below.
var fileLine = regexp.MustCompile("^.*`([^` ]+)`:$|^`([^` ]+/[^` ]+)` .*:$")

// Read returns the blocks of a page.
func Read(t testing.TB, path string) []Block {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var blocks []Block
	var block *Block
	before := ""
	for line := range strings.Lines(string(text)) {
		language, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && block == nil:
			block = &Block{Language: strings.TrimSpace(language)}
			if m := fileLine.FindStringSubmatch(before); m != nil {
				block.File = m[1] + m[2]
			}
		case fence:
			blocks = append(blocks, *block)
			block, before = nil, ""
		case block != nil:
			block.Text += line
		case strings.TrimSpace(line) != "":
			before = strings.TrimSpace(line)
		}
	}
	if block != nil {
		t.Fatalf("%s: a block of code does not end", path)
	}
	return blocks
}

// Commands returns the commands of a console. Each begins with a dollar.
func (b Block) Commands() []Command {
	var all []Command
	for line := range strings.Lines(b.Text) {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			all = append(all, Command{Line: strings.TrimSpace(command)})
		} else if n := len(all); n > 0 {
			all[n-1].Output += line
		}
	}
	return all
}

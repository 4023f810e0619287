package program

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"

	programs "github.com/brineproject/brine/process"
)

// maxHead is how much of a file is read for its first line.
const maxHead = 512

// maxScan is how much of a file is searched for the word describe.
const maxScan = 256 << 20

// names matches the names of programs. A name with a dot belongs to another kind of file: a module
// in Python, its compiled form, a page of documentation.
var names = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)

// Is reports whether a file is a program that offers functions: its name has no suffix, it begins
// with #! or is a binary, and it contains the word describe. Scripts that lie beside modules for
// another purpose are thus not run.
func Is(path, name string) bool {
	if runtime.GOOS == "windows" || !names.MatchString(name) {
		return false
	}
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	head := make([]byte, 4)
	if _, err := io.ReadFull(file, head); err != nil || !isScript(head) && !isBinary(head) {
		return false
	}
	return holds(file, []byte("describe"))
}

func isScript(head []byte) bool { return bytes.HasPrefix(head, []byte("#!")) }

func isBinary(head []byte) bool {
	// the second and the third are those of macOS
	for _, magic := range []string{"\x7fELF", "\xcf\xfa\xed\xfe", "\xca\xfe\xba\xbe"} {
		if bytes.HasPrefix(head, []byte(magic)) {
			return true
		}
	}
	return false
}

// holds reports whether r contains a word.
func holds(r io.Reader, word []byte) bool {
	r = io.LimitReader(r, maxScan)
	buf, kept := make([]byte, 64<<10), 0
	for {
		n, err := r.Read(buf[kept:])
		if bytes.Contains(buf[:kept+n], word) {
			return true
		}
		if err != nil {
			return false
		}
		all := buf[:kept+n]
		kept = copy(buf, all[max(0, len(all)-len(word)+1):])
	}
}

// command returns the command that starts a program with an argument. It returns an error if others
// can change the program by now. The command runs the file behind all links, so that a link cannot
// be changed meanwhile.
func command(path, argument string) (*exec.Cmd, error) {
	path, err := resolve(path)
	if err != nil {
		return nil, err
	}
	words, err := commandLine(path)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(words[0], append(words[1:], argument)...)
	cmd.Dir, cmd.Env = "/", programs.Environment(os.Environ())
	cmd.SysProcAttr = bound()
	return cmd, nil
}

// commandLine returns the words that start a file. A script is started by the interpreter that its
// first line names, so it needs no executable bit, which the file server does not carry. A binary
// without the bit gets it.
func commandLine(path string) ([]string, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	head := make([]byte, maxHead)
	n, err := io.ReadFull(file, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if !isScript(head[:n]) {
		return []string{path}, makeExecutable(file)
	}
	line, _, _ := strings.Cut(string(head[2:n]), "\n")
	interpreter, option, _ := strings.Cut(strings.TrimSpace(line), " ")
	if interpreter == "" {
		return nil, fmt.Errorf("the first line of %s names no interpreter", path)
	}
	if option = strings.TrimSpace(option); option != "" {
		return []string{interpreter, option, path}, nil
	}
	return []string{interpreter, path}, nil
}

// makeExecutable sets the owner's executable bit of a file that has no such bit.
func makeExecutable(file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if mode := info.Mode().Perm(); mode&0o111 == 0 {
		return file.Chmod(mode | 0o100)
	}
	return nil
}

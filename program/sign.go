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

// names are those of programs. A name with a dot is that of a file for something else: a module in
// Python, its compiled form, a page that explains it.
var names = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)

// Is reports whether a file is a program that offers functions: it has a name without suffix, it
// begins with #! or is a binary of this system, and it holds the word describe. So the scripts that
// lie beside modules for another purpose are not run.
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
	for _, magic := range []string{"\x7fELF", "\xcf\xfa\xed\xfe", "\xca\xfe\xba\xbe"} { // the others are macOS's
		if bytes.HasPrefix(head, []byte(magic)) {
			return true
		}
	}
	return false
}

// holds reports whether a word stands in what a reader gives.
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

// command returns the command that starts a program with an argument. A script is started by the
// interpreter that its first line names, so that it needs no executable bit: the file server does
// not carry one. A binary without the bit gets it. A program that others could change is refused.
func command(path, argument string) (*exec.Cmd, error) {
	if err := Trusted(path); err != nil { // it may have changed since it was found
		return nil, err
	}
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
	cmd := exec.Command(path, argument)
	if isScript(head[:n]) {
		line, _, _ := strings.Cut(string(head[2:n]), "\n")
		interpreter, option, _ := strings.Cut(strings.TrimSpace(line), " ")
		if interpreter == "" {
			return nil, fmt.Errorf("the first line of %s names no interpreter", path)
		}
		cmd = exec.Command(interpreter, path, argument)
		if option = strings.TrimSpace(option); option != "" {
			cmd = exec.Command(interpreter, option, path, argument)
		}
	} else if err := makeExecutable(file); err != nil {
		return nil, err
	}
	cmd.Dir = "/"
	cmd.Env = programs.PluginEnv(os.Environ())
	return cmd, nil
}

// makeExecutable gives the owner of a file the right to run it.
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

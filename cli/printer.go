package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"golang.org/x/term"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/output"
)

// A Printer prints results as the options of output ask for (salt/output/__init__.py, display_output).
type Printer struct {
	options output.Options
	choice  output.Choice
	file    string // results go here in place of standard output
	stdout  *bufio.Writer
	stderr  io.Writer
}

// NewPrinter returns a printer for a command line that was merged into config; fun is the function that runs, or "".
// It prints what reading the command line gave rise to, and empties the file that --out-file names unless results are
// to be added to it. Flush it at the end.
func (l *Line) NewPrinter(config *data.Map, fun string, stdout, stderr io.Writer) (*Printer, error) {
	p := &Printer{stdout: bufio.NewWriter(stdout), stderr: stderr, file: l.text("output_file")}
	l.tell(p.stdout, stderr)
	var err error
	if p.options, err = Printing(config, isTerminal(stdout) && p.file == ""); err != nil {
		p.Log("ERROR", err.Error()) // the usual colours are there
	}
	p.choice = output.Choice{Forced: l.text("output"), Static: data.Truth(l.Value("static")), Fun: fun}
	if p.file != "" {
		p.file = l.in.path(p.file)
	}
	return p, l.EmptyOutputFile()
}

// Print prints v by the outputter that is forced, or else by asked. code is that of the run. An error is told on
// standard error; it wraps output.ErrKey or output.ErrValue when the outputter cannot print v.
func (p *Printer) Print(v any, asked string, code int) error {
	choice, how := p.choice, p.options
	choice.Asked, how.Retcode = asked, code
	text, err := output.Printout(choice, v, how)
	if err != nil {
		p.Log("ERROR", err.Error())
	}
	var unknown *output.UnknownError
	if err != nil && !errors.As(err, &unknown) {
		return err
	}
	if text == "" {
		return nil
	}
	if err := p.write(text + "\n"); err != nil {
		p.Log("ERROR", err.Error())
		return err
	}
	return nil
}

// KeepOrder says whether dictionaries are printed in their order where the outputter would sort their keys.
func (p *Printer) KeepOrder(keep bool) { p.options.KeepOrder = keep }

func (p *Printer) write(text string) error {
	if p.file == "" {
		_, err := io.WriteString(p.stdout, text)
		return err
	}
	return appendFile(p.file, text, true)
}

// appendFile writes text to a file, behind what is there when add is true.
func appendFile(name, text string, add bool) error {
	flags := os.O_CREATE | os.O_WRONLY | os.O_TRUNC
	if add {
		flags = os.O_CREATE | os.O_WRONLY | os.O_APPEND
	}
	f, err := os.OpenFile(name, flags, 0o644)
	if err != nil {
		return fmt.Errorf("output file: %w", err)
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// Printf prints to standard output, whatever --out-file says.
func (p *Printer) Printf(format string, args ...any) { fmt.Fprintf(p.stdout, format, args...) }

// Tell prints to standard error, behind what was printed before.
func (p *Printer) Tell(format string, args ...any) {
	_ = p.Flush() // a reader of standard output that has gone is no reason to say less
	fmt.Fprintf(p.stderr, format, args...)
}

// Log tells a line as the log on the console has it.
func (p *Printer) Log(level, text string) { p.Tell("[%-8s] %s\n", level, text) }

// Flush lets who watches see what was printed.
func (p *Printer) Flush() error { return p.stdout.Flush() }

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// columns returns how to look up the width of standard error: that of its terminal, else one less than COLUMNS, else 79.
func (p *Printer) columns(env func(string) string) func() int {
	return func() int {
		if f, ok := p.stderr.(*os.File); ok {
			if width, _, err := term.GetSize(int(f.Fd())); err == nil {
				return width
			}
		}
		if width, err := strconv.Atoi(env("COLUMNS")); err == nil && width <= maxColumns {
			return width - 1
		}
		return 79
	}
}

// maxColumns is the widest terminal that COLUMNS may claim.
const maxColumns = 10000

// tell prints what reading the command line gave rise to.
func (l *Line) tell(stdout, stderr io.Writer) {
	_, _ = io.WriteString(stderr, l.Warnings)
	_, _ = io.WriteString(stdout, l.Preface) // a reader that has gone is no reason to say more
}

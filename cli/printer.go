package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/term"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/output"
)

// A Printer prints results as the output options say (salt/output/__init__.py, display_output).
type Printer struct {
	options output.Options
	choice  output.Choice
	level   string // least important level of the log
	file    string // results go to this file instead of standard output
	stdout  *bufio.Writer
	stderr  io.Writer
}

// NewPrinter returns a printer for a command line that was merged into config. fun is the called
// function, or "". It prints the warnings of the command line. It empties the file of --out-file
// unless results are to be appended. The caller flushes the printer at the end.
func (l *Line) NewPrinter(
	config *data.Map, fun string, stdout, stderr io.Writer,
) (*Printer, error) {
	p := &Printer{stdout: bufio.NewWriter(stdout), stderr: stderr, file: l.text("output_file"),
		level: config.Text("log_level")}
	l.notify(p.stdout, stderr)
	var err error
	if p.options, err = Printing(config, isTerminal(stdout) && p.file == ""); err != nil {
		p.Log("ERROR", err.Error()) // the default colours are used
	}
	p.choice = output.Choice{Forced: l.text("output"),
		Static: data.Truth(l.Value("static")), Fun: fun}
	if p.file != "" {
		p.file = l.in.path(p.file)
	}
	return p, l.EmptyOutputFile()
}

// Print prints v with the forced outputter, or with asked. code is the exit code of the run. An
// error is also printed to standard error; it wraps output.ErrKey or output.ErrValue if the
// outputter cannot print v.
func (p *Printer) Print(v any, asked string, code int) error {
	choice, how := p.choice, p.options
	choice.Asked, how.Retcode = asked, code
	text, err := output.Printout(choice, v, how)
	if e, ok := errors.AsType[*loader.Error](err); ok { // of a user's own outputter
		p.Unhandled(loader.Traceback(e))
		return err
	}
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

// KeepOrder sets whether dictionaries keep their order with outputters that would sort their keys.
func (p *Printer) KeepOrder(keep bool) { p.options.KeepOrder = keep }

func (p *Printer) write(text string) error {
	if p.file == "" {
		_, err := io.WriteString(p.stdout, text)
		return err
	}
	return appendFile(p.file, text, true)
}

// appendFile writes text to a file, and appends it if add is true.
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

// Printf prints to standard output, even with --out-file.
func (p *Printer) Printf(format string, args ...any) { fmt.Fprintf(p.stdout, format, args...) }

// PrintErr prints to standard error, after flushing standard output.
func (p *Printer) PrintErr(format string, args ...any) {
	_ = p.Flush() // ignored: the reader of standard output may be gone
	fmt.Fprintf(p.stderr, format, args...)
}

// Log prints a line to standard error in the form of the console log.
func (p *Printer) Log(level, text string) { p.PrintErr("[%-8s] %s\n", level, text) }

// Unhandled shows an unexpected exception: as an error in the log, or bare if the log hides errors.
func (p *Printer) Unhandled(trace string) {
	switch p.level {
	case "quiet", "critical", "fatal":
		p.PrintErr("%s", trace)
		return
	}
	p.Log("ERROR", "An un-handled exception was caught by Salt's global exception handler:\n"+
		strings.TrimSuffix(trace, "\n"))
}

// Flush writes buffered output to standard output.
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

// columns returns a function that looks up the width of standard error: that of its terminal, else
// COLUMNS minus one, else 79.
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

// maxColumns is the limit of the width in COLUMNS.
const maxColumns = 10000

// notify prints the warnings and the preface of a command line.
func (l *Line) notify(stdout, stderr io.Writer) {
	_, _ = io.WriteString(stderr, l.Warnings)
	_, _ = io.WriteString(stdout, l.Preface) // ignored: the reader may be gone
}

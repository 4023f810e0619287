package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/output"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/pki/keyring"
)

// Key runs the program salt-key and returns its exit code (salt/cli/key.py, salt/key.py). It works
// on the key tree of a Brine or a Salt master, whether that master runs or not.
//
// As in Salt the code is 0 even if an error was printed, because scripts look at the keys. It is
// not 0 for a wrong command line or configuration, if the log cannot be written, or if a key could
// not be moved or deleted; Salt reports the latter as done.
func Key(ctx context.Context, in Invocation, stdout, stderr io.Writer) int {
	o, err := ParseKey(in)
	if err != nil {
		return PrintError(err, stdout, stderr)
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	out := bufio.NewWriter(stdout)
	o.notify(out, stderr)
	k := &keyRun{o: o, in: in, stdout: out, stderr: stderr}
	code := k.exit(k.prepare(ctx, stdout))
	if k.ready {
		code = k.exit(k.run(ctx))
		k.close()
	}
	if err := out.Flush(); err != nil && code == exitOK {
		return exitGeneric
	}
	return code
}

// keyRun is one run of salt-key.
type keyRun struct {
	o        *KeyOptions
	opts     *data.Map // configuration with the command line applied
	in       Invocation
	stdout   *bufio.Writer
	stderr   io.Writer
	log      *logrus.Logger
	closeLog io.Closer
	printing output.Options
	ring     *keyring.Ring
	bus      *keyEvents
	endCode  func() // ends users' own outputters
	ready    bool   // prepare has opened everything
	failed   bool   // a key could not be moved or deleted
	terminal bool   // output goes to a terminal
}

// prepare reads the configuration and opens what the run needs.
func (k *keyRun) prepare(ctx context.Context, stdout io.Writer) error {
	report, err := k.configure()
	if err != nil {
		return &Exit{Code: exitGeneric, Stderr: fmt.Sprintln(err)}
	}
	if k.o.EAuth != "" {
		return k.prepareRemote(stdout)
	}
	if err := k.o.EmptyOutputFile(); err != nil {
		return err
	}
	if err := k.makeKeysDir(); err != nil {
		return err
	}
	if err := k.openLog(); err != nil {
		return err
	}
	Warn(k.log, report)
	if err := k.becomeUser(); err != nil {
		return errors.Join(err, k.closeLog.Close())
	}
	k.terminal = isTerminal(stdout)
	if k.printing, err = Printing(k.opts, isTerminal(stdout) && k.o.OutputFile == ""); err != nil {
		k.log.Warn(err)
	}
	if k.endCode, err = openOutputters(ctx, &k.printing, k.opts, k.log); err != nil {
		return errors.Join(err, k.closeLog.Close())
	}
	k.bus = &keyEvents{sockets: masterSockets(k.opts), log: k.log}
	k.ring = keyring.New(keyring.Options{Tree: pki.Visit(k.opts.Text("pki_dir"), pki.Options{}),
		CacheDir:         k.opts.Text("cachedir"),
		PreserveCaches:   data.Truth(k.opts.Value("preserve_minion_cache")),
		PreserveAccepted: k.o.PreserveMinions == true, Rotate: data.Truth(k.o.RotateAESKey),
		Changed: k.bus.changed})
	k.ready = true
	return nil
}

// prepareRemote is prepare for a run through the master, which needs none of the master's files.
func (k *keyRun) prepareRemote(stdout io.Writer) error {
	log := logrus.New()
	log.SetOutput(k.stderr)
	log.SetLevel(logrus.WarnLevel)
	k.log, k.closeLog, k.bus = log, io.NopCloser(nil), &keyEvents{off: true}
	var err error
	if k.printing, err = Printing(k.opts, isTerminal(stdout) && k.o.OutputFile == ""); err != nil {
		k.log.Warn(err)
	}
	k.ready = true
	return nil
}

func (k *keyRun) configure() (*config.Report, error) {
	cfg, report, err := config.LoadMaster(k.o.ConfigDir, k.in.Env)
	if err != nil {
		return nil, err
	}
	k.opts = cfg.Map()
	if err := ReadClientConfig(k.opts, k.in, time.Now()); err != nil {
		return nil, err
	}
	k.o.Merge(k.opts)
	return report, nil
}

func (k *keyRun) close() {
	k.bus.close()
	if k.endCode != nil { // not of a run through the master
		k.endCode()
	}
	_ = k.closeLog.Close() // lost output was reported already
}

// exit prints an error as Salt does, and returns the exit code of the run.
func (k *keyRun) exit(err error) int {
	var exit *Exit
	var interrupted *interruptError
	switch {
	case errors.As(err, &exit):
		return exit.Print(k.stdout, k.stderr)
	case errors.As(err, &interrupted):
		k.flush()
		fmt.Fprintf(k.stderr, "%s\n", interrupted)
		if k.o.HardCrash {
			return exitGeneric
		}
	case err != nil:
		k.flush()
		fmt.Fprintf(k.stderr, "Error: %s\n", pythonText(err))
	}
	if k.failed {
		return exitGeneric
	}
	return exitOK
}

// An interruptError ends a run that waits for an answer.
type interruptError struct{}

func (*interruptError) Error() string { return "\nExiting gracefully on Ctrl-c" }

// run performs the first of these actions that the command line names; by default it lists all
// keys.
func (k *keyRun) run(ctx context.Context) error {
	o := k.o
	switch {
	case o.EAuth != "":
		return k.remote(ctx)
	case o.GenKeys != "":
		return k.generateKeys()
	case o.GenSignature:
		return k.generateSignature()
	case o.RotateMasterKey != "":
		return k.rotateMaster(ctx)
	case o.List != "":
		return k.list(o.List)
	case o.ListAll:
		return k.list("all")
	case o.Print != "", o.PrintAll:
		return k.print(globOr(o.Print))
	case o.Accept != "", o.AcceptAll:
		return k.change(ctx, accepting(o))
	case o.Reject != "", o.RejectAll:
		return k.change(ctx, rejecting(o))
	case o.Delete != "", o.DeleteAll:
		return k.change(ctx, deleting(o))
	case o.Finger != "", o.FingerAll:
		return k.finger(globOr(o.Finger))
	}
	return k.list("all")
}

// globOr returns glob, or the glob for all keys if it is empty.
func globOr(glob string) string {
	if glob == "" {
		return "*"
	}
	return glob
}

func (k *keyRun) printf(format string, args ...any) { fmt.Fprintf(k.stdout, format, args...) }

func (k *keyRun) flush() { _ = k.stdout.Flush() } // Key reports errors when it flushes at the end

// display prints a value with the outputter for keys, or the one of --out.
func (k *keyRun) display(v any) error {
	text, err := output.Printout(output.Choice{Forced: k.o.Output, Asked: "key"}, v, k.printing)
	var unknown *output.UnknownError
	if errors.As(err, &unknown) {
		k.log.Error(unknown)
	} else if err != nil {
		return err
	}
	switch {
	case text == "":
		return nil
	case k.o.OutputFile != "":
		return appendFile(k.in.path(k.o.OutputFile), text+"\n", true)
	}
	k.printf("%s\n", text)
	return nil
}

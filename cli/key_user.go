package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/daemon"
	"github.com/brineproject/brine/logging"
)

const exitNoUser = 67

// becomeUser switches the process to the configured user, so that files it writes belong to the
// master's user. If it cannot, it ends the run; as in Salt (salt/utils/verify.py: check_user) the
// reason is only in the log.
func (k *keyRun) becomeUser() error {
	name := k.opts.Text("user")
	who, err := daemon.LookUp(name)
	if err != nil {
		return noUser(name)
	}
	if err := who.Become(); err != nil {
		k.log.Logf(logrus.FatalLevel, "Salt configured to run as user \"%s\" but unable to switch.",
			name)
		return &Exit{Code: exitOK}
	}
	return nil
}

func noUser(name string) error {
	return &Exit{Code: exitNoUser, Stderr: fmt.Sprintf(
		"Failed to prepare the Salt environment for user %s. The user is not available.\n", name)}
}

// openLog opens the log of the program: the console, and the file of the option key_logfile. If
// that is not writable and the running user is not the configured one, the log is in their home
// directory (salt/utils/parsers.py: LogLevelMixIn).
func (k *keyRun) openLog() error {
	s, err := logging.SettingsOf(k.opts)
	if err != nil {
		return k.o.fail("%s", err)
	}
	s.File = k.opts.Text("key_logfile")
	if s.Level == "quiet" {
		s.File = ""
	}
	owner, err := daemon.LookUp(k.opts.Text("user"))
	if err != nil {
		return noUser(k.opts.Text("user"))
	}
	_, statErr := os.Stat(s.File)
	err = k.newLog(s)
	if errors.Is(err, fs.ErrPermission) {
		path := s.File
		if s.File = filepath.Join(k.in.home(), ".salt", "key.log"); statErr != nil || !owner.Other {
			return noLog(path)
		}
		if err = k.newLog(s); err != nil {
			return noLog(path)
		}
	}
	if err != nil {
		return k.o.fail("%s", pythonText(err))
	}
	if statErr != nil && s.File != "" && owner.Other {
		_ = os.Chown(s.File, owner.UID, -1) // the log is written even if this fails
	}
	return nil
}

func (k *keyRun) newLog(s logging.Settings) error {
	log, err := logging.New(s, logging.Options{Console: k.stderr,
		Program: "salt.key", PID: os.Getpid()})
	if err == nil {
		k.log, k.closeLog = log.Logger, log
	}
	return err
}

func noLog(path string) error {
	return &Exit{Code: exitGeneric, Stderr: fmt.Sprintf(
		"No permissions to access \"%s\", are you running as the correct user?\n", path)}
}

// pythonText returns the text of an error. System errors get Python's wording, which operators
// know.
func pythonText(err error) string {
	var pathErr *fs.PathError
	var number syscall.Errno
	if !errors.As(err, &pathErr) || !filepath.IsAbs(pathErr.Path) ||
		!errors.As(pathErr.Err, &number) {
		return err.Error()
	}
	text := number.Error()
	return fmt.Sprintf("[Errno %d] %s%s: '%s'", int(number), strings.ToUpper(text[:1]), text[1:],
		pathErr.Path)
}

// Package syslog is Salt's returner of that name (salt/returners/syslog_return.py): it writes
// returns as JSON to the system's log.
//
// Options: syslog.level (LOG_INFO), syslog.facility (LOG_USER), syslog.tag (salt-minion, at most 32
// characters) and syslog.options, a list in which LOG_PID and LOG_PERROR have an effect. The log
// may truncate long messages.
package syslog

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/output"
	"github.com/brineproject/brine/returners"
)

// Name is the returner's name.
const Name = "syslog"

const doc = `
    Return data to the local syslog

    CLI Example:

        salt '*' test.ping --return syslog
    `

// maxTag is the maximum length of the tag.
const maxTag = 32

func known() []returners.Setting {
	return []returners.Setting{{Name: "level", Default: "LOG_INFO"},
		{Name: "facility", Default: "LOG_USER"}, {Name: "tag", Default: "salt-minion"},
		{Name: "options"}}
}

// Plugin returns the returner for a minion.
func Plugin() loader.Plugin {
	return loader.Plugin{Name: Name, New: func(env *loader.Env) (*loader.Module, error) {
		for _, socket := range []string{"/dev/log", "/var/run/syslog", "/var/run/log"} {
			if info, err := os.Stat(socket); err == nil && info.Mode()&os.ModeSocket != 0 {
				return returners.Module(doc, &writer{returners.EnvSource(env), socket}), nil
			}
		}
		return nil, errors.New("this system has no syslog")
	}}
}

type writer struct {
	from   returners.Source
	socket string
}

// Return writes a line.
func (w *writer) Return(ctx context.Context, ret *data.Map) error {
	s := w.from.Read(ret, known(), Name)
	line, err := lineOf(s, time.Now())
	if err != nil {
		return err
	}
	text, err := output.JSON(returners.Decoded(data.Clone(returners.Passed(ret))))
	if err != nil {
		return fmt.Errorf("%w: %w", returners.ErrRefused, err)
	}
	if has(s, "LOG_PERROR") {
		fmt.Fprintf(os.Stderr, "%s: %s\n", s.Text("tag"), text)
	}
	return w.send(ctx, []byte(line+text))
}

// send sends a message to the log, over datagrams or, on some systems, a stream.
func (w *writer) send(ctx context.Context, msg []byte) error {
	var errs []error
	for _, network := range []string{"unixgram", "unix"} {
		var d net.Dialer
		conn, err := d.DialContext(ctx, network, w.socket)
		if err == nil {
			if end, ok := ctx.Deadline(); ok {
				err = conn.SetWriteDeadline(end)
			}
			if network == "unix" {
				msg = append(msg, '\n')
			}
			_, sent := conn.Write(msg)
			return errors.Join(err, sent, conn.Close())
		}
		errs = append(errs, err)
	}
	return fmt.Errorf("syslog: %w", errors.Join(errs...))
}

// lineOf returns the text before the message in the C library's form: priority, time, tag and
// possibly the process id.
func lineOf(s *returners.Settings, now time.Time) (string, error) {
	level, ok := levels()[s.Text("level")]
	if !ok {
		return "", fmt.Errorf("syslog.level: %s is not a syslog level", s.Text("level"))
	}
	facility, ok := facilities()[s.Text("facility")]
	if !ok {
		return "", fmt.Errorf("syslog.facility: %s is not a syslog facility", s.Text("facility"))
	}
	tag, isText := s.Value("tag").(string)
	if !isText || len(tag) > maxTag || strings.ContainsAny(tag, "\x00\n") {
		return "", errors.New("syslog.tag: tag must be a text of at most 32 characters")
	}
	if has(s, "LOG_PID") {
		tag += fmt.Sprintf("[%d]", os.Getpid())
	}
	return fmt.Sprintf("<%d>%s %s: ", facility<<3|level, now.Format(time.Stamp), tag), nil
}

func has(s *returners.Settings, option string) bool {
	list, _ := s.Value("options").([]any)
	for _, o := range list {
		if o == option {
			return true
		}
	}
	return false
}

func levels() map[string]int {
	return map[string]int{"LOG_EMERG": 0, "LOG_ALERT": 1, "LOG_CRIT": 2, "LOG_ERR": 3,
		"LOG_WARNING": 4, "LOG_NOTICE": 5, "LOG_INFO": 6, "LOG_DEBUG": 7}
}

func facilities() map[string]int {
	all := map[string]int{"LOG_KERN": 0, "LOG_USER": 1, "LOG_MAIL": 2, "LOG_DAEMON": 3,
		"LOG_AUTH": 4, "LOG_SYSLOG": 5, "LOG_LPR": 6, "LOG_NEWS": 7,
		"LOG_UUCP": 8, "LOG_CRON": 9, "LOG_AUTHPRIV": 10}
	for n := range 8 {
		all[fmt.Sprintf("LOG_LOCAL%d", n)] = 16 + n
	}
	return all
}

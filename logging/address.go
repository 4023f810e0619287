package logging

import (
	"errors"
	"fmt"
	"net"
	"path"
	"strconv"
	"strings"
)

// An address is the address of a syslog daemon with the facility for its messages.
type address struct {
	scheme   string // file, udp or tcp
	place    string // a path, or host and port
	facility int
}

const (
	facilityUser = 1
	syslogPort   = "514"
)

// ErrFacility is wrapped by the errors of New, Apply and Check about an invalid syslog facility.
var ErrFacility = errors.New("no facility of syslog")

// unknownFacility is an invalid facility name. Its error text is Salt's.
type unknownFacility string

func (e unknownFacility) Error() string {
	return fmt.Sprintf("The syslog facility '%s' is not known", string(e))
}

func (unknownFacility) Unwrap() error { return ErrFacility }

// parseSyslog parses a log_file such as file:///dev/log/LOG_DAEMON, udp://host:514/LOG_USER or
// tcp://host, like setup_logfile_handler of salt/_logging/impl.py. Any other value is a path; then
// ok is false.
func parseSyslog(file string) (a address, ok bool, err error) {
	scheme, rest, found := strings.Cut(file, ":")
	a.scheme = strings.ToLower(scheme)
	if !found || a.scheme != "file" && a.scheme != "udp" && a.scheme != "tcp" {
		return a, false, nil
	}
	host, folder := "", rest
	if after, ok := strings.CutPrefix(rest, "//"); ok {
		host, folder = after, ""
		if i := strings.IndexByte(after, '/'); i >= 0 {
			host, folder = after[:i], after[i:]
		}
	}
	if a.scheme == "file" {
		return a, true, a.readPath(folder)
	}
	if err := a.readHost(host); err != nil {
		return a, true, err
	}
	a.facility = facilityUser
	if folder != "" {
		a.facility, err = parseFacility(stem(folder))
	}
	return a, true, err
}

// readPath parses the path of a socket with an optional facility at the end.
func (a *address) readPath(file string) (err error) {
	a.place, a.facility = file, facilityUser
	if name := stem(file); strings.HasPrefix(name, "LOG_") {
		a.place = path.Dir(file)
		a.facility, err = parseFacility(name)
	}
	if err == nil && !path.IsAbs(a.place) {
		err = fmt.Errorf("the socket of the syslog %q is no absolute path", a.place)
	}
	return err
}

func (a *address) readHost(host string) error {
	if i := strings.LastIndexByte(host, '@'); i >= 0 {
		host = host[i+1:]
	}
	name, port, err := net.SplitHostPort(host)
	if err != nil { // without a port
		name, port = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"), syslogPort
	}
	if port == "" {
		port = syslogPort
	}
	if name == "" {
		return errors.New("the address of the syslog has no host")
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return fmt.Errorf("the port %q of the syslog is none", port)
	}
	a.place = net.JoinHostPort(strings.ToLower(name), port)
	return nil
}

// stem returns the last element of a path without its extension, in upper case.
func stem(file string) string {
	base := path.Base(file)
	if i := strings.LastIndexByte(base, '.'); i > 0 {
		base = base[:i]
	}
	return strings.ToUpper(base)
}

// parseFacility parses a syslog facility name.
func parseFacility(name string) (int, error) {
	names := []string{"KERN", "USER", "MAIL", "DAEMON", "AUTH", "SYSLOG", "LPR", "NEWS", "UUCP",
		"CRON", "AUTHPRIV", "FTP", "NTP", "SECURITY", "CONSOLE", "SOLCRON", "LOCAL0", "LOCAL1",
		"LOCAL2", "LOCAL3", "LOCAL4", "LOCAL5", "LOCAL6", "LOCAL7"}
	for i, known := range names {
		if name == "LOG_"+known {
			return i, nil
		}
	}
	return 0, unknownFacility(name)
}

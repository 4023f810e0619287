package cmd

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

type ttyArgs struct {
	Device string
	Echo   any `default:"''"`
}

// tty writes a text to a terminal.
//
// CLI Example:
//
//	salt '*' cmd.tty tty0 'This is a test'
//	salt '*' cmd.tty pts3 'This is a test'
func (m terminals) tty(_ context.Context, a ttyArgs) (any, error) {
	var path string
	switch {
	case strings.HasPrefix(a.Device, "tty"):
		path = "/dev/" + a.Device
	case strings.HasPrefix(a.Device, "pts"):
		path = "/dev/" + strings.ReplaceAll(a.Device, "pts", "pts/")
	default:
		return data.NewMap("Error", "The specified device is not a valid TTY"), nil
	}
	text, ok := a.Echo.(string)
	if !ok {
		return nil, loader.TypeError("expected str, bytes, or bytearray not <class '%s'>",
			loader.TypeName(a.Echo))
	}
	if err := m.writeDevice(path, text); err != nil {
		return data.NewMap("Error", "Echoing to "+path+" returned error"), nil
	}
	return data.NewMap("Success", "Message was successfully echoed to "+path), nil
}

// writeDevice writes to an existing character device. It never creates or changes files.
func (m terminals) writeDevice(path, text string) error {
	path = filepath.Join("/", m.env.Root, path)
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeCharDevice == 0 {
		return fs.ErrInvalid
	}
	f, err := os.OpenFile(path, os.O_WRONLY|noTerminal, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}

package transport

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"
	"time"
)

// maxPath is the maximum length of a unix socket path on Linux, in bytes.
const maxPath = 107

// listenUnix binds a unix socket. The socket gets its final name only after its mode is set.
func listenUnix(ctx context.Context, path string) (net.Listener, error) {
	if strings.HasPrefix(path, "@") {
		return new(net.ListenConfig).Listen(ctx, "unix", path)
	}
	if len(path) > maxPath {
		return nil, fmt.Errorf("listen on %s: the path has %d bytes, a unix socket's at most %d",
			path, len(path), maxPath)
	}
	if err := removeDead(ctx, path); err != nil {
		return nil, err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// removeDead removes a socket on which nobody listens. Other files are left alone.
func removeDead(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("check socket: %w", err)
	case info.Mode()&fs.ModeSocket == 0:
		return fmt.Errorf("%s exists and is not a socket", path)
	}
	d := net.Dialer{Timeout: time.Second}
	conn, err := d.DialContext(ctx, "unix", path)
	if err == nil {
		return errors.Join(fmt.Errorf("socket %s: %w", path, syscall.EADDRINUSE), conn.Close())
	}
	if !isRefused(err) {
		return fmt.Errorf("probe socket: %w", err)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove dead socket: %w", err)
	}
	return nil
}

package eventbus

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/brineproject/brine/crypto"
)

// maxPath is the maximum length of a unix socket path that every system supports, in bytes.
const maxPath = 107

// Sockets are the two addresses of a bus.
type Sockets struct {
	Network   string // "unix", or "tcp" for `ipc_mode: tcp`
	Pub, Pull string // path, or host:port
}

// MasterSockets returns the sockets of a master whose option `sock_dir` is dir.
func MasterSockets(dir string) Sockets {
	return Sockets{"unix", filepath.Join(dir, "master_event_pub.ipc"),
		filepath.Join(dir, "master_event_pull.ipc")}
}

// MinionSockets returns the sockets of a minion. Their names contain the start of a hash of the id.
// hashType is the option `hash_type`; "" means sha256. It fails for an unknown hash.
func MinionSockets(dir, id, hashType string) (Sockets, error) {
	h, err := crypto.NewHash(cmp.Or(hashType, "sha256"))
	if err != nil {
		return Sockets{}, err
	}
	h.Write([]byte(id))
	name := filepath.Join(dir, "minion_event_"+hex.EncodeToString(h.Sum(nil))[:10])
	return Sockets{"unix", name + "_pub.ipc", name + "_pull.ipc"}, nil
}

// TCPSockets returns the sockets of a bus with `ipc_mode: tcp`, which is required on Windows.
func TCPSockets(pubPort, pullPort int) Sockets {
	at := func(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
	return Sockets{"tcp", at(pubPort), at(pullPort)}
}

// check rejects paths that are too long for a unix socket.
func (s Sockets) check() error {
	if s.Network != "unix" {
		return nil
	}
	for _, path := range []string{s.Pub, s.Pull} {
		if len(path) > maxPath {
			return fmt.Errorf("event socket %s: the path has %d bytes, a unix socket's at most %d; set sock_dir to a shorter one",
				path, len(path), maxPath)
		}
	}
	return nil
}

// An opening opens the sockets of one call of Serve. They share one waiting period.
type opening struct {
	patience time.Duration
	onWait   func(error)
	until    time.Time // zero until the first socket is found in use
}

// retryInterval is the interval between attempts to open a socket in use.
const retryInterval = 250 * time.Millisecond

// listen opens a socket. If another process listens there, it waits for that process to end.
func (o *opening) listen(
	ctx context.Context, network, addr string, mode fs.FileMode,
) (net.Listener, error) {
	for {
		l, err := listen(ctx, network, addr, mode)
		if !errors.Is(err, errTaken) || o.patience <= 0 {
			return l, err
		}
		if o.until.IsZero() {
			o.until = time.Now().Add(o.patience)
			if o.onWait != nil {
				o.onWait(err)
			}
		}
		left := time.Until(o.until)
		if left <= 0 {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(min(retryInterval, left)):
		}
	}
}

// listen opens a socket. It replaces a socket file on which no process listens.
func listen(ctx context.Context, network, addr string, mode fs.FileMode) (net.Listener, error) {
	if network == "unix" {
		if err := removeStale(ctx, addr); err != nil {
			return nil, err
		}
	}
	var c net.ListenConfig
	l, err := c.Listen(ctx, network, addr)
	if err != nil {
		return nil, fmt.Errorf("open event socket: %w", err)
	}
	if network != "unix" {
		return l, nil
	}
	if err := os.Chmod(addr, mode); err != nil {
		l.Close()
		return nil, fmt.Errorf("open event socket: %w", err)
	}
	own, err := os.Lstat(addr)
	if err != nil {
		l.Close()
		return nil, fmt.Errorf("open event socket: %w", err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	return &unixListener{l.(*net.UnixListener), addr, own}, nil
}

// A unixListener removes its socket file when it is closed, unless another file has replaced it.
type unixListener struct {
	*net.UnixListener
	path string
	own  fs.FileInfo
}

// Close removes the file before it closes the socket: once nobody listens, another process may
// create its own file there.
func (l *unixListener) Close() error {
	if now, err := os.Lstat(l.path); err == nil && os.SameFile(now, l.own) {
		os.Remove(l.path)
	}
	return l.UnixListener.Close()
}

// errTaken is returned if another process listens on a socket.
var errTaken = errors.New("another process listens there")

// A holder is the process that listens on a socket, if known.
type holder struct {
	text string // ": " followed by its process id and command line, or ""
	gone bool   // it has ended; a process that it forked holds the socket but serves nobody
}

// removeStale removes a socket file if no process serves it.
func removeStale(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("open event socket: %w", err)
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("event socket %s: the file exists and is not a socket", path)
	}
	d := net.Dialer{Timeout: time.Second}
	conn, err := d.DialContext(ctx, "unix", path)
	owner := holder{}
	if err == nil {
		owner = holderOf(conn)
		conn.Close()
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if !owner.gone && !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("event socket %s: %w%s", path, errTaken, owner.text)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove stale event socket: %w", err)
	}
	return nil
}
